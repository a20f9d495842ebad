"""Real faults around a run: full and read-only disks, deleted folders, other processes, pipes.

As in `test_faults.py`, mounts, limits, pipes and terminals are the system's own.
"""

import json
import os
import pty
import re
import resource
import sys
import time

import numpy as np
import pytest

from _support.faults import (
    WHOLE,
    Command,
    assert_whole,
    can_mount,
    in_own_mounts,
    leftovers,
    make_read_only,
    written_views,
)
from mkclust import MKCDNM
from mkclust.bench.machine import alive, owner_name
from mkclust.bench.store import DONE, LEASE, Limits, Outcome, Store
from mkclust.bench.suite import Planned, Unit
from mkclust.cli.output_directory import OutputFolder
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.progress import listening

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="faults are made with Linux calls")


@pytest.fixture
def views(tmp_path):
    return written_views(tmp_path)


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """Skip where no disk can be mounted; set the folder for temporary files."""
    rescue = tmp_path / "temporary"
    rescue.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(rescue))
    if not can_mount(tmp_path / "probe"):
        pytest.skip("this system does not allow mounting a disk")
    return tmp_path


def listed(folder, file):
    file.write_text("\n".join(sorted(path.name for path in folder.iterdir())))


def test_a_full_disk_leaves_nothing_half_written_and_the_results_elsewhere(views, disks):
    out, found = disks / "out", disks / "found"
    command = Command(
        disks, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: in_own_mounts(out, size="8k"), after=lambda: listed(out, found),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code == 1 and "No space left on device; they are in" in said and said.count("\n") == 1
    assert set(found.read_text().split()) <= WHOLE  # no temporary file
    (other,) = (disks / "temporary").iterdir()
    assert str(other) in said and {path.name for path in other.iterdir()} <= WHOLE
    assert_whole(other)


def test_a_disk_that_turns_read_only_loses_nothing(views, disks):
    out = disks / "out"
    real = OutputFolder.write

    def before():
        in_own_mounts(out)
        OutputFolder.write = lambda *given: make_read_only(out) and real(*given)

    command = Command(disks, "cluster", views, "-k", 3, "-o", "out", before=before)
    code, said, _ = command.end()
    assert code == 1 and "Read-only file system; they are in" in said
    (other,) = (disks / "temporary").iterdir()
    assert "labels.csv" in {path.name for path in other.iterdir()}
    assert_whole(other)


def test_a_read_only_folder_is_refused_before_the_work(views, disks):
    out = disks / "out"
    command = Command(
        disks, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: in_own_mounts(out, read_only=True),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code == 2 and "Read-only file system" in said and said.count("\n") == 1


def test_a_limit_on_file_size_is_a_full_disk_too(views, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code == 1 and "File too large; nor to" in said
    assert not leftovers(tmp_path) and not [*tmp_path.glob("mkclust-out-*")]


def test_a_folder_deleted_during_the_run_is_created_again(views, tmp_path):
    real, out = OutputFolder.write, tmp_path / "out"
    out.mkdir()

    def deleted(*given):
        out.rmdir()
        return real(*given)

    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: setattr(OutputFolder, "write", deleted),
    )  # fmt: skip
    assert command.end()[0] == 0
    assert {path.name for path in out.iterdir()} >= {"labels.csv", "result.json"}


def test_a_file_that_appears_during_the_run_is_kept(views, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    real, out = OutputFolder.write, tmp_path / "out"

    def appeared(*given):
        out.mkdir()
        (out / "labels.csv").write_text("of my own")
        return real(*given)

    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: setattr(OutputFolder, "write", appeared),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code == 1 and "did not write" in said and "they are in" in said
    assert [path.name for path in out.iterdir()] == ["labels.csv"]
    assert (out / "labels.csv").read_text() == "of my own"
    (other,) = tmp_path.glob("mkclust-out-*")
    assert_whole(other)


def test_an_output_inside_a_file_is_refused(views, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, said, _ = Command(tmp_path, "cluster", views, "-k", 3, "-o", "file/out").end()
    assert code == 2 and "Not a directory" in said
    assert (tmp_path / "file").read_text() == "mine"


# Other processes and clocks


def test_two_commands_with_one_output_leave_the_files_of_one(views, tmp_path):
    both = [Command(tmp_path, "cluster", views, "-k", k, "-o", "out") for k in (2, 3)]
    assert [command.end()[0] for command in both] == [0, 0]
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    labels = (tmp_path / "out" / "labels.csv").read_text().splitlines()[1:]
    assert len({row.split(",")[1] for row in labels}) == result["parameters"]["n_clusters"]
    with np.load(tmp_path / "out" / "embedding.npz") as stored:
        assert stored["labels"].tolist() == [int(row.split(",")[1]) for row in labels]


def test_two_runs_share_a_work_folder(tmp_path):
    views = make_views(3000, 3, 2, noise=0.3, random_state=0)
    for name, X in zip(views.names, views.views, strict=True):
        np.save(tmp_path / f"{name}.npy", X)
    arguments = [
        "cluster", *(f"{name}.npy" for name in views.names), "-k", 3, "--method", "mkc-dnm",
        "--approximation", "nystroem", "--n-components", 40, "--no-report", "--no-stability",
        "--work", "work",
    ]  # fmt: skip
    both = [Command(tmp_path, *arguments, "-o", f"out{i}") for i in range(2)]
    assert [command.end()[0] for command in both] == [0, 0]
    parts = [sorted((tmp_path / f"out{i}").rglob("*.npy")) for i in range(2)]
    assert parts[0] and len(parts[0]) == len(parts[1])
    for one, other in zip(*parts, strict=True):
        np.testing.assert_array_equal(np.load(one), np.load(other))


@pytest.mark.parametrize("jump", [-86400.0, 86400.0])
def test_a_clock_that_jumps_takes_no_claim_from_the_living(jump, tmp_path, monkeypatch):
    store = Store(tmp_path / "s.db")
    unit = Unit("planted", "mkclust:planted", "concat-kmeans", {})
    store.plan("s", [Planned(unit, False)], Limits(10.0, 1e9))
    me = owner_name()
    assert store.claim(me, 9)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert alive(me, real() + LEASE)
    assert store.claim(owner_name(os.getppid()), 9) == []
    assert store.finish(unit.id, Outcome(DONE), Limits(10.0, 1e9))
    assert store.counts() == {DONE: 1}


def test_a_file_that_is_cut_while_it_is_read_is_refused_by_name(tmp_path):
    X = np.random.default_rng(0).standard_normal((200_000, 4))
    path = tmp_path / "view.npy"
    np.save(path, X)
    real = MKCDNM.fit

    def cut(self, given, y=None):
        os.truncate(path, 1000)
        return real(self, given, y)

    command = Command(
        tmp_path, "cluster", path, "-k", 3, "--method", "mkc-dnm", "--approximation", "nystroem",
        "--no-stability",
        before=lambda: setattr(MKCDNM, "fit", cut),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code in (1, 2) and "view.npy" in said and "Traceback" not in said
    assert not (tmp_path / "mkclust-out" / "result.json").exists()


def test_a_file_that_changes_between_two_passes_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((3000, 4))
    path = tmp_path / "view.npy"
    np.save(path, X)

    def change(message):
        if message.startswith("cross-products"):
            np.save(path, X + 1)

    model = MKCDNM(3, approximation="nystroem", n_components=40, random_state=0)
    with listening(change), pytest.raises(InputError, match="view 'view' changed"):
        model.fit({"view": path})


# Terminals, pipes, surroundings


def test_a_closed_pipe_costs_no_results(views, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out", "--save", "model.npz", out=writing
    )
    os.close(writing)
    code, said, _ = command.end()
    assert code == 0 and said == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"labels.csv", "report.html"}
    assert (tmp_path / "model.npz").exists()
    assert_whole(tmp_path / "out")


def test_a_name_that_is_not_utf_8_costs_no_results(views, tmp_path):
    odd = os.fsdecode(bytes(tmp_path) + b"/od\xff.npz")
    os.rename(views, odd)
    assert Command(tmp_path, "cluster", odd, "-k", 3, "-o", "out", "--no-report").end()[0] == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text())["source"]
    assert_whole(tmp_path / "out")


def bare():
    """Close standard input; no home, no known language, no folder for temporary files."""
    os.close(0)
    os.environ.clear()
    os.environ |= {"LC_ALL": "C", "TMPDIR": "/nowhere", "COLUMNS": "40"}


def test_no_home_no_language_no_input_and_no_temporary_folder_do_no_harm(views, tmp_path):
    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out", before=bare, out=tmp_path / "printed"
    )
    assert command.end()[0] == 0
    printed = (tmp_path / "printed").read_text(encoding="utf-8")
    assert "60 samples, 2 views, 3 clusters" in " ".join(printed.split())
    assert_whole(tmp_path / "out")


def test_an_ascii_terminal_of_forty_columns_shows_every_word(views, tmp_path):
    ours, theirs = pty.openpty()
    printed = b""

    def before():
        sys.stdout = os.fdopen(1, "w", encoding="ascii", errors="strict", closefd=False)
        os.environ |= {"COLUMNS": "40", "LC_ALL": "C", "TERM": "vt100"}

    command = Command(tmp_path, "cluster", views, "-k", 3, "-o", "out", before=before, out=theirs)
    os.close(theirs)
    while True:
        try:
            arrived = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        printed += arrived
    code, said, _ = command.end()
    assert (code, said) == (0, "")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", printed.decode("ascii")).splitlines()
    tables = [line for line in lines if "  " in line.strip()]
    assert tables and max(map(len, tables)) <= 40, tables
    assert "3 clusters" in " ".join(" ".join(lines).split())
