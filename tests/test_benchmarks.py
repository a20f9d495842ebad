"""The experiments beside the package: runner, table of results, ranks and pages."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pebble")
from benchmarks import pages, runner, suites, tables
from benchmarks.__main__ import main
from benchmarks.data import dataset, registry, remove_values

from _support.paths import ROOT
from mkclust import METHODS, datasets

QUICK = ["planted", "akkm", "concat-kmeans", "graph-fusion"]


def command(table, *more, methods=QUICK[1:]):
    given = ["run", "quick", "--table", str(table), "--datasets", "planted"]
    return [*given, "--methods", *methods, *more]


def run(*arguments, **more):
    """What the command prints."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr(sys, "argv", ["benchmarks", *command(*arguments, **more)])
        main()
    return printed.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    table = tmp_path_factory.mktemp("bench") / "results.csv"
    run(table)
    return table


def test_a_run_writes_one_row_per_unit_and_prints_its_table(finished):
    table = runner.read_table(finished)
    assert sorted(table.method) == sorted(QUICK[1:]) and (table.status == "done").all()
    assert table.acc_mean.between(0.3, 1).all() and (table.runs == 3).all()


def test_a_second_run_continues_and_computes_nothing_twice(finished):
    before = finished.read_text()
    assert "0 units to run" in run(finished)
    assert finished.read_text() == before
    assert "1 units to run" in run(finished, methods=["akkm", "mkkm"])


def test_units_of_a_status_are_run_again(finished, tmp_path):
    table = tmp_path / "results.csv"
    table.write_text(finished.read_text().replace("akkm,{},0,0,done", "akkm,{},0,0,out of time"))
    assert "0 units to run" in run(table)
    assert "1 units to run" in run(table, "--again", "out of time")
    assert (runner.read_table(table).status == "done").all()


def test_a_run_that_is_killed_goes_on_with_the_same_numbers(finished, tmp_path):
    table = tmp_path / "results.csv"
    program = [sys.executable, "-m", "benchmarks", *command(table, "--jobs", "1")]
    process = subprocess.Popen(program, cwd=ROOT, start_new_session=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and (not table.exists() or table.read_text().count("\n") < 2):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run(table)
    columns = ["method", "acc_mean", "nmi_mean", "ari_mean"]
    one, other = (runner.read_table(t)[columns].sort_values("method") for t in (table, finished))
    assert one.to_numpy().tolist() == other[other.method.isin(QUICK)].to_numpy().tolist()


class UnpicklableError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MemoryError(), "out of memory"),
        (ValueError("no\nmore"), "failed: ValueError: no"),
        (UnpicklableError(1, 2), "failed: UnpicklableError: 1 2"),
    ],
)
def test_what_goes_wrong_in_a_unit_is_its_status(error, status, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(runner, "compute", fail)
    monkeypatch.setattr(runner.resource, "setrlimit", lambda *_: None)
    assert runner.run_unit(suites.SUITES["quick"]) == {"status": status}


def endless(*_):
    runner.resource.setrlimit(runner.resource.RLIMIT_CPU, (1, 2))
    while True:
        math.sqrt(2)


def test_a_unit_beyond_its_cpu_limit_is_ended_and_recorded():
    from pebble import ProcessPool

    with ProcessPool(1) as pool:
        late = runner.outcome(pool.schedule(endless, timeout=60), 1)
        assert late == {"status": "out of time", "cpu": "1.000"}


def test_units_of_a_suite_cover_methods_grids_and_seeds():
    table2 = list(suites.SUITES["paper-table2"].units()) if os.environ.get("MKCLUST_DATA") else []
    assert not table2 or {unit[1] for unit in table2} == set(suites.PAPER)
    quick = list(suites.SUITES["quick"].units())
    assert {unit[1] for unit in quick} == {*METHODS, "concat-kmeans", "best-view"}
    assert len(suites.grid("onkc", 5, 3)) == 121 and len(suites.grid("onkc", 5)) == 961


def test_every_registered_set_has_what_a_run_needs():
    for entry in registry().values():
        assert entry.n > entry.k > 1 and (entry.files or entry.group == "bundled"), entry.name
    assert dataset("yaleA cells 5 %").gaps == ("cells", 0.05)


@pytest.mark.parametrize("kind", ["rows", "cells"])
def test_removed_values_leave_something_of_every_sample(kind):
    views = remove_values(datasets.make_views(50, 2, 4, random_state=0), kind, 0.4, 0)
    if kind == "rows":
        assert views.present.mean() == pytest.approx(0.6) and views.present.any(axis=1).all()
    else:
        assert all((~np.isnan(view)).any(axis=1).all() for view in views.views)


def results(scores):
    rows = [
        {"suite": "x", "dataset": d, "method": m, "parameters": "{}", "seed": 0, "tuned": 0,
         "status": "out of time" if np.isnan(v) else "done", "cpu": 1.0, "acc_mean": v,
         "nmi_mean": v, "ari_mean": v, "logrank_mean": np.nan}
        for m, column in scores.items()
        for d, v in column.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_missing_results_rank_last_and_ranks_are_given_over_finished_sets_too():
    table, notes = tables.standing(
        results({"graph-fusion": {"A": 0.5, "B": 0.9, "C": 0.8},
                 "akkm": {"A": 0.4, "B": 0.7, "C": 0.9},
                 "snf": {"A": 0.6, "B": np.nan, "C": 0.7}})
    )  # fmt: skip
    assert table["rank"].round(2).to_dict() == {"Graph fusion": 1.67, "AKKM": 2.0, "SNF": 2.33}
    assert table["rank, all finished"].to_dict() == {"Graph fusion": 2.0, "AKKM": 2.0, "SNF": 2.0}
    assert table["results"].tolist() == [3, 3, 2] and table["wins"].tolist() == [1, 1, 1]
    assert "2 of 3 sets" in notes[0] and "Friedman" in notes[0]


def test_table2_compares_with_the_published_value():
    row = {"suite": "paper-table2", "dataset": "BBCSport", "method": "mkc-dnm", "parameters": "{}",
           "seed": 0, "tuned": 0, "status": "done", "cpu": 1.0}  # fmt: skip
    row |= {f"{metric}_mean": 0.876 for metric in ("acc", "nmi", "purity", "ari")}
    made = tables.table2(pd.DataFrame([row])).iloc[0]
    assert made["published"] == 87.61 and made["difference"] == pytest.approx(-0.01)


@pytest.mark.parametrize("path", [pages.README, pages.PAGE], ids=lambda path: path.name)
def test_the_tables_of_a_page_are_made_from_the_results(path):
    assert path.read_text(encoding="utf-8") == pages.pages()[path]


def test_the_committed_results_are_complete_rows():
    table = runner.read_table()
    assert set(suites.FAMILIES) <= set(table.suite)
    assert table[table.status == "done"].cpu.notna().all()
    assert all(json.loads(parameters) is not None for parameters in table.parameters)
