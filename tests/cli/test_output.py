"""The output folder: replaced as a whole, or left as it was."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import count
from multiprocessing import get_context

import pytest

from mkclust import datasets, read
from mkclust.cli.output import OutputFolder, changed_files, read_result, write_table
from mkclust.exceptions import FileFormatError, InputError

QUICK = ("--no-report", "--no-checks")


def contents(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture
def tables(tmp_path):
    """A folder `d` of two tables with named samples."""
    views = datasets.make_cohort(60, missing=0, random_state=0)
    (tmp_path / "d").mkdir()
    for p, name in enumerate(views.names[:2]):
        rows = [[n, *row] for n, row in zip(views.index, views.views[p].tolist(), strict=True)]
        write_table(tmp_path / "d" / f"{name}.csv", ["patient", *views.feature_names[p]], rows)
    return tmp_path / "d"


def test_an_earlier_result_is_replaced_as_a_whole_and_said(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, "--no-report")[0] == 0
    assert "stability.csv" in contents(tmp_path / "mkclust-out")
    code, out, _ = run("cluster", "d", "-k", 2, *QUICK)
    assert code == 0 and "Replaced the earlier result" in out
    found = read_result(tmp_path / "mkclust-out")
    assert set(found["files"]) | {"result.json"} == set(contents(tmp_path / "mkclust-out"))
    assert len(found["clusters"]) == 2 and "stability.csv" not in found["files"]
    assert not [p for p in tmp_path.iterdir() if p.name.endswith((".tmp", ".old"))]


@pytest.mark.parametrize("given", ["other file", "changed result", "a file", "of predict"])
def test_a_folder_that_is_not_ours_is_refused_before_the_work(run, tables, tmp_path, given):
    out = tmp_path / "out"
    if given == "a file":
        out.write_text("mine")
    elif given == "other file":
        out.mkdir()
        (out / "notes.txt").write_text("mine")
    else:
        assert run("cluster", "d", "-k", 3, "-o", "out", *QUICK)[0] == 0
        result = json.loads((out / "result.json").read_text())
        if given == "changed result":
            (out / "labels.csv").write_text("sample,cluster\nP1,0\n")
        else:
            (out / "result.json").write_text(json.dumps(result | {"command": "predict"}))
    before = out.read_bytes() if out.is_file() else contents(out)
    code, _, err = run("cluster", "d", "-k", 3, "-o", "out", *QUICK)
    assert code == 2 and "-o" in err and "Traceback" not in err
    assert (out.read_bytes() if out.is_file() else contents(out)) == before


def test_input_is_never_replaced(run, tables, tmp_path, monkeypatch):
    assert run("cluster", "d", "-k", 3, "-o", "res", "--save", *QUICK)[0] == 0
    before = contents(tmp_path / "res")
    for model in ("res", "res/model.npz"):
        code, _, err = run("predict", model, "d", "-o", "res")
        assert code == 2 and "holds input" in err
    assert contents(tmp_path / "res") == before
    code, _, err = run("cluster", "d", "-k", 3, "-o", "d")
    assert code == 2 and "holds input" in err and len(contents(tables)) == 2
    monkeypatch.chdir(tables)
    assert run("cluster", "expression.csv", "-k", 2, "-o", ".")[0] == 2


def test_results_are_no_data_nor_any_file_of_that_name_a_result(run, tables, tmp_path):
    assert run("cluster", "d", "-k", 3, "-o", "out", *QUICK)[0] == 0
    for given in (["out"], ["out/labels.csv"], ["d/expression.csv", "out/labels.csv"]):
        code, _, err = run("cluster", *given, "-k", 3, "-o", "other")
        assert code == 2 and "result" in err, given
    with pytest.raises(FileFormatError, match="result"):
        read(tmp_path / "out" / "embedding.npz")
    (tmp_path / "d" / "result.json").write_text("{}")  # no list of files
    with pytest.raises(FileFormatError, match="not a result of mkclust"):
        read_result(tmp_path / "d")


def test_nothing_is_left_by_a_failed_write(tmp_path):
    folder = OutputFolder(tmp_path / "a" / "b", "cluster")

    def fail(staging):
        (staging / "labels.csv").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="results cannot be written"):
        folder.write(fail)
    assert not contents(tmp_path)
    first = folder.write(lambda staging: {"clusters": [1]})
    with pytest.raises(OSError, match="the earlier result is unchanged"):
        folder.write(fail)
    assert read_result(folder.path) == first and not changed_files(folder.path, first)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused_before_the_work(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be written"):
        OutputFolder(tmp_path / "locked" / "out", "cluster").check()


def replace_without_end(out, ready):
    def write(number, staging):
        for name in "abc":
            (staging / name).write_text(str(number) * 20000)
        return {"number": number}

    folder = OutputFolder(out, "cluster")
    for number in count():
        folder.write(partial(write, number))
        ready.set()


def test_a_run_killed_at_any_moment_leaves_a_whole_result(tmp_path):
    """Processes replace a result again and again, and are killed at random moments."""
    out, rng, fork = tmp_path / "out", random.Random(0), get_context("fork")
    for _ in range(12):
        ready = fork.Event()
        process = fork.Process(target=replace_without_end, args=(out, ready))
        process.start()
        assert ready.wait(60)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.join()
        found = read_result(out)
        assert not changed_files(out, found)
        assert (out / "a").read_text() == str(found["number"]) * 20000


def test_ctrl_c_ends_a_run_with_one_line_and_nothing_written(tmp_path, tables):
    # A background job of a shell ignores the interrupt, and so would the tests that it runs.
    code = "import sys; from signal import *; signal(SIGINT, default_int_handler)\n"
    code += "from mkclust.cli import command; sys.argv[1:] = ['demo', '-o', 'out']\n"
    program = [sys.executable, "-c", code + "print('ready', flush=True); command()"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(program, cwd=tmp_path, **pipes)
    process.stdout.readline()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and err.strip() == "interrupted"
    assert {path.name for path in tmp_path.iterdir()} == {"d"}


def test_names_with_line_ends_are_quoted_and_read_back(tmp_path):
    names = ["a\rb", "c\nd", 'e"f', "g,h", "plain"]
    write_table(tmp_path / "t.csv", ["sample", "cluster"], [[n, 0] for n in names])
    text = (tmp_path / "t.csv").read_bytes().decode()
    assert text.endswith("plain,0\n") and "\r\n" not in text
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row[0] for row in csv.reader(file)][1:] == names
