"""Real signals: at any moment the command ends within a second and keeps what was finished.

Commands run in a forked process, so that each starts at once; signals, mounts, limits and pipes are
the system's own. The table of all of them is docs/faults.md.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from _support.faults import (
    SECOND,
    Command,
    assert_whole,
    leftovers,
    long_lapack,
    wait_for,
    written_views,
)
from _support.paths import TESTS
from mkclust import GraphFusion
from mkclust.bench.machine import owner_name
from mkclust.bench.store import Limits, Store
from mkclust.bench.suite import Planned
from mkclust.data.datasets import make_views
from mkclust.io import atomic

ENDLESS = "_support.bench_methods:endless"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="faults are made with Linux calls")


@pytest.fixture
def views(tmp_path):
    return written_views(tmp_path)


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_lapack_ends_the_command_within_a_second(number, views, tmp_path):
    marker = tmp_path / "begun"

    def slow(*_):
        long_lapack(marker)

    command = Command(
        tmp_path, "cluster", views, "-k", 3, "-o", "out",
        before=lambda: setattr(GraphFusion, "fit", slow),
    )  # fmt: skip
    wait_for(marker.exists)
    time.sleep(0.1)
    code, said, seconds = command.end(number)
    assert code == 128 + number
    assert said == {signal.SIGINT: "interrupted\n", signal.SIGTERM: "terminated\n"}[number]
    assert seconds < SECOND
    assert not command.survivors() and not leftovers(tmp_path)
    assert not (tmp_path / "out").exists()  # no empty folder stays behind


@pytest.mark.timed
def test_a_signal_while_a_file_is_written_leaves_the_old_file_whole(views, tmp_path):
    assert Command(tmp_path, "cluster", views, "-k", 3, "-o", "out").end()[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    marker = tmp_path / "begun"
    command = Command(
        tmp_path, "cluster", views, "-k", 2, "-o", "out",
        before=lambda: setattr(atomic.os, "fsync", lambda _: long_lapack(marker)),
    )  # fmt: skip
    wait_for(marker.exists)
    assert leftovers(tmp_path)
    code, said, seconds = command.end(signal.SIGTERM)
    assert (code, said) == (143, "terminated\n") and seconds < SECOND
    assert not leftovers(tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.timed
def test_signals_at_random_moments_leave_whole_files_or_none(views, tmp_path):
    chance, codes = random.Random(0), []
    for trial in range(8):
        number = chance.choice([signal.SIGINT, signal.SIGTERM])
        command = Command(tmp_path, "cluster", views, "-k", 3, "-o", f"out{trial}")
        time.sleep(chance.random() * 0.8)
        code, said, seconds = command.end(number)
        codes.append(code)
        assert code in (0, 128 + number, -number)  # done; ended; ended before it began
        assert seconds < SECOND
        assert "Traceback" not in said and said.count("\n") == (code > 0)
        assert not command.survivors() and not leftovers(tmp_path)
        assert_whole(tmp_path / f"out{trial}")
    assert any(code > 0 for code in codes)


@pytest.mark.timed
def test_a_large_run_goes_on_where_a_signal_ended_it(tmp_path):
    made = make_views(4000, 3, 2, noise=0.3, random_state=0)
    for name, X in zip(made.names, made.views, strict=True):
        (tmp_path / name).mkdir()
        for part, rows in enumerate(np.array_split(X, 4)):
            np.save(tmp_path / name / f"part-{part}.npy", rows)
    arguments = [
        "cluster", *made.names, "-k", 3, "--method", "mkc-dnm", "--approximation", "nystroem",
        "--n-components", 40, "--no-report", "--no-stability",
    ]  # fmt: skip
    assert Command(tmp_path, *arguments, "-o", "calm").end()[0] == 0
    chance = random.Random(1)
    for _ in range(3):
        command = Command(tmp_path, *arguments, "--work", "work", "-o", "stormy")
        time.sleep(chance.random() * 0.4)
        _, said, seconds = command.end(signal.SIGINT)
        assert seconds < SECOND and "Traceback" not in said
        assert not leftovers(tmp_path) and not command.survivors()
    assert Command(tmp_path, *arguments, "--work", "work", "-o", "stormy").end()[0] == 0
    for part in sorted((tmp_path / "calm").rglob("*.npy")):
        again = tmp_path / "stormy" / part.relative_to(tmp_path / "calm")
        np.testing.assert_array_equal(np.load(part), np.load(again))


@pytest.mark.timed
def test_killed_parent_takes_the_work_with_it(views, tmp_path):
    marker = tmp_path / "begun"
    command = Command(
        tmp_path, "cluster", views, "-k", 3,
        before=lambda: setattr(GraphFusion, "fit", lambda *_: long_lapack(marker)),
    )  # fmt: skip
    wait_for(marker.exists)
    command.end(signal.SIGKILL)
    wait_for(lambda: not command.survivors(), SECOND)


def test_a_killed_process_is_reported(views, tmp_path):
    command = Command(
        tmp_path, "cluster", views, "-k", 3,
        before=lambda: setattr(GraphFusion, "fit", lambda *_: os.kill(os.getpid(), signal.SIGKILL)),
    )  # fmt: skip
    code, said, _ = command.end()
    assert code == 128 + signal.SIGKILL and "ended by SIGKILL" in said and "memory" in said


def test_ctrl_c_before_the_command_has_begun_is_quiet(tmp_path):
    script = tmp_path / "mkclust"  # the name of the console script
    script.write_text(
        "import os, signal\nimport mkclust.cli\nos.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert done.returncode == -signal.SIGINT and not done.stderr


@pytest.mark.timed
def test_experiments_end_at_once_and_keep_what_they_had(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("BENCH_TEST", str(tmp_path))
    (tmp_path / "suite.toml").write_text(
        'title = "t"\ndatasets = ["planted"]\n'
        f'methods = ["akkm", "{ENDLESS}"]\n'
        "time_limit = 600\n[protocol]\nruns = 2\n"
    )
    command = Command(tmp_path, "bench", "run", "suite.toml", "--store", "s.db")
    path = tmp_path / "s.db"
    wait_for(lambda: path.exists() and sum(Store(path).attempts().values()) == 3, 120)
    code, said, seconds = command.end(signal.SIGINT)
    assert code == 130 and said.splitlines()[-1] == "interrupted" and "Traceback" not in said
    assert seconds < SECOND
    wait_for(lambda: not marked(tmp_path), SECOND)
    store = Store(path)
    assert [record.method for record in store.records()] == ["akkm"]
    store.plan("again", [Planned(unit, False) for unit in open_units(store)], Limits(10.0, 1e9))
    assert [unit.method for unit in store.claim(owner_name(), 9)] == [ENDLESS]


def open_units(store):
    return store._texts("u.status IS NULL")


def marked(folder):
    """Return the running processes that a test started, except this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
                ended = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if f"BENCH_TEST={folder}".encode() in environment and not ended:
                found.append(int(entry.name))
    return found
