"""Streams, names and disks that fail: results are kept, and nothing ends in a traceback."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from _support.faults import Command
from mkclust import datasets
from mkclust.cli import output_directory
from mkclust.io import atomic

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs named pipes and /dev/full")
FAST = ("-k", "3", "--no-report", "--no-stability")


@pytest.fixture
def views(tmp_path):
    made = datasets.make_views(40, 3, 2, noise=0.5, random_state=0)
    named = dict(zip(("rna", "atac\x1b[2J\x1b]0;x\x07"), made.views, strict=True))
    np.savez(tmp_path / "views.npz", **named, y=made.labels)
    return made


@linux
def test_a_reader_that_stops_reading_loses_nothing(views, tmp_path):
    reader, writer = os.pipe()
    command = Command(
        tmp_path, "cluster", "views.npz", *FAST, "--save", "m.npz",
        before=lambda: os.close(reader), out=writer,
    )  # fmt: skip
    os.close(reader)
    os.close(writer)
    assert command.end()[:2] == (0, "")
    assert (tmp_path / "m.npz").exists() and (tmp_path / "mkclust-out" / "result.json").exists()


def close_streams(*names):
    """Close standard streams as Python finds them where the caller has closed them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if name in names:
            os.close(number)
            setattr(sys, name, None)


@linux
@pytest.mark.parametrize("names", [["stdout"], ["stdout", "stderr"]])
def test_closed_streams_are_no_error(views, tmp_path, names):
    command = Command(tmp_path, "cluster", "views.npz", *FAST, before=lambda: close_streams(*names))
    assert command.end()[:2] == (0, "")
    assert json.loads((tmp_path / "mkclust-out" / "result.json").read_text())["clusters"]


@linux
def test_all_streams_closed_from_the_start_are_no_error(views, tmp_path):
    line = f"{sys.executable} -m mkclust cluster views.npz {' '.join(FAST)} >&- 2>&- <&-"
    assert subprocess.run(["bash", "-c", line], cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "mkclust-out" / "result.json").read_text())["clusters"]


@linux
def test_a_full_standard_output_is_named(views, tmp_path):
    code, err, _ = Command(tmp_path, "cluster", "views.npz", *FAST, out="/dev/full").end()
    assert code == 1
    assert "standard output: No space left on device; the results are in mkclust-out" in err


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "views.npz"),
        ("cluster", "views.npz", *FAST),
        ("cluster", "views.npz", *FAST, "--views", "absent"),
        ("cluster", "views.npz", *FAST, "--labels", "absent"),
    ],
)
def test_terminal_escapes_in_names_are_not_printed(run, views, command):
    _, out, err = run(*command)
    assert "atac" in out + err
    assert not {"\x1b", "\x07"} & {*(out + err)}


@linux
@pytest.mark.parametrize("name", ["a/part-1.npy", "a/part-1.parquet", "single.npy", "single.csv"])
def test_a_named_pipe_is_refused(run, tmp_path, name):
    path = tmp_path / "data" / name
    path.parent.mkdir(parents=True)
    if "part" in name and path.suffix == ".npy":
        np.save(path.with_name("part-0.npy"), np.ones((4, 2)))
    os.mkfifo(path)
    given = path if name.startswith("single") else tmp_path / "data"
    other = tmp_path / "b.npy"
    np.save(other, np.ones((4, 2)))
    arguments = [path.parent, other] if path.suffix == ".parquet" else [given]
    code, _, err = run("cluster", *arguments, *FAST)
    assert code == 2 and "not a regular file" in err


@linux
def test_a_named_pipe_is_no_target_of_save(run, views, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run("cluster", "views.npz", *FAST, "--save", "pipe")
    assert code == 2 and "--save pipe is no regular file" in err


def test_a_folder_as_target_is_refused_before_the_fit(run, views, tmp_path, monkeypatch):
    monkeypatch.setattr("mkclust.cli.cluster.Reading.read", None)
    (tmp_path / "models").mkdir()
    code, _, err = run("cluster", "views.npz", *FAST, "--save", "models")
    assert code == 2 and "--save models is a folder; name a file" in err


@linux
def test_file_names_that_are_not_utf8(tmp_path, views):
    folder = os.fsencode(tmp_path) + b"/data\xff"
    os.mkdir(folder)
    for name, X in zip((b"a\xff.csv", b"a\xfe.csv"), views.views, strict=True):
        rows = "".join(f"s{i},{x},{y}\n" for i, (x, y) in enumerate(X[:, :2]))
        with open(folder + b"/" + name, "w") as file:
            file.write(f"id,x,y\n{rows}")
    data, out, model = map(os.fsdecode, (b"data\xff", b"out\xff", b"m\xff.npz"))
    command = Command(
        tmp_path, "cluster", data, "-k", 3, "-o", out, "--save", model, "--json",
        out=tmp_path / "said.json",
    )  # fmt: skip
    code, err, _ = command.end()
    assert code == 0 and "Traceback" not in err
    found = json.loads((tmp_path / "said.json").read_text())
    assert {*found["input"]["views"]} == {"a\\xff", "a\\xfe"}
    written = os.listdir(os.fsencode(tmp_path) + b"/out\xff")
    assert {b"result.json", b"labels.csv", b"report.html"} <= {*written}
    assert b"m\xff.npz" in os.listdir(os.fsencode(tmp_path))


class Full:
    """A disk that is full after some files: everything else raises OSError."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self.write = atomic.replacing
        monkeypatch.setattr(atomic, "replacing", self)

    def __call__(self, path):
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.write(path)


def test_a_full_disk_is_named_and_the_labels_are_rescued(run, views, tmp_path, monkeypatch):
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.setattr(output_directory.tempfile, "mkdtemp", lambda prefix: str(other))
    disk = Full(monkeypatch, 0)
    code, _, err = run("cluster", "views.npz", *FAST)
    assert code == 1 and "results cannot be written to mkclust-out: No space left" in err
    assert f"nor to {other}" in err and not other.exists()
    other.mkdir()
    real = output_directory._rescued

    def rescued(*arguments):
        disk.room = 1
        return real(*arguments)

    monkeypatch.setattr(output_directory, "_rescued", rescued)
    disk.room = 0
    code, _, err = run("cluster", "views.npz", *FAST)
    assert code == 1 and f"{other} holds only labels.csv" in err
    assert len((other / "labels.csv").read_text().splitlines()) == 41
