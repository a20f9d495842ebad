"""mkclust bench on the command line: output, files and the display of progress."""

import csv
import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from mkclust.bench import cli as display
from mkclust.bench.cli import following
from mkclust.bench.registry import registered
from mkclust.bench.suite import suites

SUITE = """
title = "quick"
datasets = ["planted", "BBCSport"]
methods = ["concat-kmeans", "best-view"]
time_limit = 600
memory_limit = 4

[protocol]
runs = 2
"""


@pytest.fixture(name="bench")
def _bench(run, tmp_path, monkeypatch):
    """mkclust bench inside an empty folder with a suite in it, and no data."""
    monkeypatch.delenv("MKCLUST_DATA", raising=False)
    (tmp_path / "quick.toml").write_text(SUITE)
    return lambda *arguments: run("bench", *arguments)


def test_a_suite_is_run_and_its_results_are_shown_and_exported(bench, tmp_path, monkeypatch):
    where = ("--store", "kept.db")
    code, _, err = bench("run", "quick.toml", *where, "--methods", " concat-kmeans ,")
    assert code == 0, err
    assert "skipped: BBCSport is absent: put" in err
    assert "1 done, in kept.db" in " ".join(err.split())
    code, out, _ = bench("table", "quick", *where, "--format", "csv")
    assert code == 0
    assert "planted" in out
    code, out, _ = bench("export", "rows.csv", *where)
    assert (code, out) == (0, "1 rows written to rows.csv\n")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [row["method"] for row in rows] == ["concat-kmeans"]
    code, _, err = bench("export", "rows.txt", *where)
    assert code != 0
    assert "results are written as .csv or .parquet, not 'rows.txt'" in " ".join(err.split())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = bench("export", "rows.parquet", *where)
    assert code != 0
    assert "pip install" in err
    assert not (tmp_path / "rows.parquet").exists()
    # All units are done: the same command again has nothing to run.
    code, out, err = bench("run", "quick.toml", *where, "--methods", "concat-kmeans", "--quiet")
    assert (code, out, err) == (0, "", "")


@pytest.mark.slow
def test_graph_fusion_runs_in_both_row_orders_and_is_named_in_the_tables(bench, tmp_path):
    choice = ("--methods", "graph-fusion", "--store", "kept.db")
    code, out, err = bench("run", "quick.toml", *choice)
    assert code == 0, err
    assert "Standing over 1 data set" in out and "Graph fusion" in out
    code, _, err = bench("table", "quick", "--store", "kept.db", "--order", "sorted")
    assert code != 0
    assert "mkclust bench run quick --order sorted" in " ".join(err.split())
    code, out, err = bench("run", "quick.toml", *choice, "--order", "sorted")
    assert code == 0, err
    assert "Rows were sorted by class" in out
    code, out, _ = bench("table", "quick", "--store", "kept.db", "--format", "markdown")
    assert code == 0
    assert "| Graph fusion |" in out and "sorted by class" not in out and "±" not in out
    assert "±" in bench("table", "quick", "--store", "kept.db", "--spread")[1]
    bench("export", "rows.csv", "--store", "kept.db")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [(row["suite"], row["row_order"]) for row in rows] == [
        ("quick", "shuffled"), ("quick-sorted", "sorted"),
    ]  # fmt: skip
    code, _, err = bench("run", "quick.toml", "--order", "reversed")
    assert code != 0
    assert "rows are shuffled or sorted, not 'reversed'" in " ".join(err.split())


def test_what_is_asked_for_must_be_there(bench, tmp_path):
    code, _, err = bench("table", "quick")
    assert code != 0
    assert "run a suite first, or give the file by --store" in " ".join(err.split())
    code, _, err = bench("figure", "ranks")
    assert code != 0
    assert "first: mkclust bench run multiview" in " ".join(err.split())
    code, _, err = bench("figure", "ranks", "--suite", "omics")
    assert code != 0
    assert "first: mkclust bench run omics" in " ".join(err.split())
    code, _, err = bench("run", "quick.toml", "--data", tmp_path / "nowhere")
    assert code != 0
    assert "is not a folder" in " ".join(err.split())
    code, _, err = bench("run", "quick.toml", "--methods", "concat-kmeans", "--time-limit", "0")
    assert code != 0
    assert "time_limit and memory_limit must be above 0" in " ".join(err.split())
    bench("run", "quick.toml", "--methods", "concat-kmeans", "--store", "kept.db", "-q")
    code, _, err = bench("table", "other", "--store", "kept.db")
    assert code != 0
    assert "has no results of other: mkclust bench run other" in " ".join(err.split())


def test_the_list_names_every_suite_and_every_data_set(bench, tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"")
    code, out, _ = bench("list", "--data", tmp_path)
    assert code == 0
    for name in (*suites(), *registered()):
        assert name in out
    assert "unregistered file, can be run by its name: mine" in out


# ---------------------------------------------------------------- progress


def runner_at(done, total, finished=0, method="hmkc"):
    """A run with one worker, as far as its display can see."""
    units = [SimpleNamespace(method=method, dataset="Mfeat")]
    counts = {"": total - done, "done": done}
    return SimpleNamespace(
        store=SimpleNamespace(counts=lambda: counts),
        jobs=[SimpleNamespace(units=units), SimpleNamespace(units=[])],
        finished=finished,
    )


@pytest.fixture(name="clock")
def _clock(monkeypatch):
    """A clock that is set by hand."""
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(display.time, "monotonic", lambda: now.time)
    return now


def test_without_a_terminal_a_line_now_and_then_and_one_at_the_end(clock):
    shown = io.StringIO()
    with following(Console(file=shown, force_terminal=False)) as report:
        report(runner_at(1, 9, finished=1))
        assert shown.getvalue() == ""  # half a minute has not passed
        clock.time += display.EVERY
        report(runner_at(3, 9, finished=3))
        report(runner_at(4, 9, finished=4))
        report(runner_at(9, 9, finished=9))
    lines = [line.strip() for line in shown.getvalue().splitlines()]
    assert lines == ["3/9 units  hmkc on Mfeat; about 60 s left", "9/9 units"]


@pytest.mark.parametrize(
    ("finished", "passed", "text"),
    [(0, 10.0, ""), (2, 20.0, "; about 80 s left"), (2, 60.0, "; about 4 min left")],
)
def test_time_left_is_the_pace_so_far(clock, finished, passed, text):
    began, clock.time = clock.time, clock.time + passed
    done, total, words = display.state(runner_at(2, 10, finished), began)
    assert (done, total, words) == (2, 10, f"hmkc on Mfeat{text}")


def test_on_a_terminal_there_is_a_bar():
    shown = io.StringIO()
    with following(Console(file=shown, force_terminal=True, width=100)) as report:
        report(runner_at(2, 8, finished=2))
    assert "2/8" in shown.getvalue()
    assert "hmkc on Mfeat" in shown.getvalue()


def test_quiet_is_quiet():
    shown = io.StringIO()
    with following(Console(file=shown), quiet=True) as report:
        report(runner_at(8, 8))
    assert shown.getvalue() == ""
