"""Streams, names and disks that fail: results are kept, and nothing ends in a traceback."""

import errno
import os
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
def test_a_full_standard_output_is_named(views, tmp_path):
    code, err, _ = Command(tmp_path, "cluster", "views.npz", *FAST, out="/dev/full").end()
    assert code == 1
    assert "standard output: No space left on device; the results are in mkclust-out" in err


@linux
@pytest.mark.parametrize("name", ["a/part-1.parquet", "single.npy", "single.csv"])
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
