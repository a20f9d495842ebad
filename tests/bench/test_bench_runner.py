"""The runner: killed and resumed, shared by two, and held to its limits."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from _support.faults import wait_for
from _support.paths import TESTS
from mkclust.bench.machine import usages
from mkclust.bench.protocol import Place, compute
from mkclust.bench.runner import Options, prepare, run
from mkclust.bench.shared import Shared
from mkclust.bench.store import DONE, OUT_OF_MEMORY, OUT_OF_TIME, Store
from mkclust.bench.suite import KERNELS
from mkclust.bench.workers import peak, reset_peak
from mkclust.exceptions import InputError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc"),
]

SMALL = """
title = "small"
datasets = ["planted"]
methods = ["graph-fusion", "akkm", "mkkm-mr", "lfmkc", "best-view", "mkc-dnm", "concat-kmeans"]
tuned = true
thin = { mkkm-mr = 5, lfmkc = 5 }
time_limit = 60
memory_limit = 4

[protocol]
runs = 2
"""
UNRULY = """
title = "unruly"
datasets = ["planted"]
methods = [
  "_support.bench_methods:endless", "_support.bench_methods:asleep",
  "_support.bench_methods:crashing",
  "_support.bench_methods:complaining", "_support.bench_methods:honest", "akkm",
]
time_limit = 2
memory_limit = 4

[protocol]
runs = 2
"""
HUNGRY = """
title = "hungry"
datasets = ["planted"]
methods = ["_support.bench_methods:hungry", "_support.bench_methods:honest"]
time_limit = 60
memory_limit = 0.6
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Writes a suite's file; workers find this folder's methods, and we find the workers."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("BENCH_TEST", str(tmp_path))

    def write(text):
        path = tmp_path / "small.toml"
        path.write_text(text)
        return path

    return write


def start(suite, store, jobs=1):
    """A run in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=go, args=(suite, store, jobs))
    process.start()
    return process


def go(suite, store, jobs=1):
    options = Options(jobs=jobs)
    run(prepare(str(suite), options), store).close()


def survivors(marker):
    """Processes, other than this one's own, that were started under a test's marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                marked = f"BENCH_TEST={marker}".encode() in (entry / "environ").read_bytes()
                ended = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if marked and not ended:
                found.append(int(entry.name))
    return found


def finished(store):
    return len({repr(row[:3]) for row in results(store)}) if store.exists() else 0


def results(path):
    """All that must not depend on when and how often a run was interrupted."""
    return [
        (r.dataset, r.method, dict(r.parameters), r.tuned, r.status, r.metrics)
        for r in Store(path).records()
    ]


def undisturbed(suite, cache):
    """The same, computed here and now, one unit after the other."""
    place, expected = Place(None, cache), []
    for item in prepare(str(suite), Options()).planned:
        if not Shared.of(place.cache, item.unit).ready:
            compute(item.unit.shared(), place)
        rows = compute(item.unit, place).metrics
        scores = {"-".join(filter(None, (m, n))).replace("-max", ""): (a, b) for m, n, a, b in rows}
        unit = item.unit
        expected.append((unit.dataset, unit.method, unit.parameters, item.tuned, DONE, scores))
    return expected


def test_killed_three_times_and_resumed_by_two_it_equals_an_undisturbed_run(suite, tmp_path):
    file, path = suite(SMALL), tmp_path / "stormy.db"
    expected = undisturbed(file, tmp_path / "calm")
    total = len({repr(row[:3]) for row in expected})
    for share in (0.2, 0.45, 0.7):
        process = start(file, path)
        wait_for(lambda share=share: finished(path) >= share * total, 60.0)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        wait_for(lambda: not survivors(tmp_path), 60.0)
        assert finished(path) < total
    before = {unit for unit, n in Store(path).attempts().items() if n}
    both = [start(file, path), start(file, path)]
    for process in both:
        process.join()
        assert process.exitcode == 0
    assert results(path) == expected
    kernels = {unit.id for unit in Store(path)._texts("u.method = ?", KERNELS)}
    attempts = {unit: n for unit, n in Store(path).attempts().items() if unit not in kernels}
    assert sum(attempts.values()) <= total + 3  # only what was under way at a kill is done again
    assert all(n == 1 for unit, n in attempts.items() if unit not in before)
    assert not survivors(tmp_path) and not list(tmp_path.glob("*.kernels"))


def test_kernels_may_be_removed_by_another_runner_at_the_same_time(tmp_path, monkeypatch):
    shared = Shared(tmp_path / "planted")
    shared.folder.mkdir()

    def too_late(name):
        listing = getattr(os, name)

        def after_the_other(path="."):
            if shared.folder.exists():
                shared.folder.rename(tmp_path / "gone")
            return listing(path)

        return after_the_other

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, too_late(name))
    shared.remove()
    assert (tmp_path / "gone").exists() and not shared.folder.exists()


def test_what_takes_too_long_or_breaks_is_recorded_and_harms_nothing(suite, tmp_path):
    path = tmp_path / "unruly.db"
    go(suite(UNRULY), path, jobs=2)
    records = {r.method.partition(":")[2] or r.method: r for r in Store(path).records()}
    assert records["endless"].status == OUT_OF_TIME and records["endless"].cpu > 1.5
    assert records["asleep"].status == OUT_OF_TIME and records["asleep"].wall > 1.5
    assert records["asleep"].cpu < 1
    assert records["crashing"].status == "failed: the worker process ended unexpectedly"
    assert records["complaining"].status == "failed: ValueError: these views are not to my taste"
    assert records["honest"].ok and records["akkm"].ok
    assert records["akkm"].shared_cpu > 0 and records["honest"].shared_cpu == 0
    assert not survivors(tmp_path)


def test_what_takes_too_much_memory_is_stopped_and_harms_nothing(suite, tmp_path):
    path = tmp_path / "hungry.db"
    go(suite(HUNGRY), path)
    hungry, honest = Store(path).records()
    assert hungry.status == OUT_OF_MEMORY and 0.6 * 2**30 < hungry.peak < 4 * 2**30
    assert honest.ok
    assert not survivors(tmp_path)


def test_an_interrupted_run_leaves_no_claims_and_no_processes(suite, tmp_path):
    path = tmp_path / "small.db"
    process = start(suite(UNRULY.replace("time_limit = 2", "time_limit = 600")), path)
    wait_for(lambda: path.exists() and sum(Store(path).attempts().values()) > 0, 60.0)
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert not survivors(tmp_path)
    assert Store(path)._db.execute("SELECT count(owner) FROM units").fetchone() == (0,)


def test_a_run_needs_a_worker():
    with pytest.raises(InputError, match="jobs must be at least 1, got 0"):
        Options(jobs=0)


THREADED = """
import hashlib, threading, time
work = threading.Thread(target=lambda: hashlib.pbkdf2_hmac("sha1", b"", b"", 10**9), daemon=True)
work.start() if {busy} else None
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [True, False])
def test_a_process_is_awake_if_any_of_its_threads_is(busy):
    code = THREADED.format(busy=busy)
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        wait_for(lambda: process.pid in usages() and usages()[process.pid].cpu > 0)
        wait_for(lambda: usages()[process.pid].awake is busy)
        seen = [usages()[process.pid].awake for _ in range(10)]
        assert seen == [busy] * 10
    finally:
        process.kill()
        process.wait()


def test_usage_of_a_group_counts_time_and_memory():
    held = np.ones(10_000_000)
    usage = usages()[os.getpgrp()]
    assert usage.cpu > 0.1 and usage.memory > held.nbytes


def test_peak_memory_starts_anew():
    np.ones(40_000_000).sum()
    high = peak()
    reset_peak()
    assert peak() < high - 2e8
