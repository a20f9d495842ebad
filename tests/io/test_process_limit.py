"""The memory limit of the process: only the command line sets it, never a library call."""

import resource
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from mkclust.cli import app
from mkclust.exceptions import FileFormatError
from mkclust.io import Limits, read
from mkclust.io._guards import memory
from mkclust.io._guards.memory import allow_process_limit, bounded_memory

needs_limit = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="only Linux has this limit"
)


@pytest.fixture
def process_limit():
    """Allow the limit, as the command line does."""
    allow_process_limit()
    yield
    allow_process_limit(False)


@pytest.fixture
def limits_set(monkeypatch):
    """Every call of setrlimit, in order."""
    calls, real = [], resource.setrlimit

    def recorded(which, limit):
        calls.append((which, limit))
        real(which, limit)

    monkeypatch.setattr(resource, "setrlimit", recorded)
    return calls


def test_no_limit_is_set_unless_it_is_allowed(limits_set):
    with bounded_memory(Limits(max_bytes=1 << 20)):
        pass
    assert not limits_set


def test_the_command_line_allows_the_limit(monkeypatch, process_limit):
    allow_process_limit(False)
    seen = []
    monkeypatch.setattr(app, "supervised", lambda work: seen.append((work, memory._allowed)))
    app.command()
    assert seen == [(app.main, True)]


@needs_limit
def test_an_allowed_limit_is_set_and_restored(h5ad, limits_set, process_limit):
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert read(h5ad(), limits=Limits(max_bytes=1 << 20)).shape == (3, 2)
    (_, (lowered, _)), restored = limits_set
    assert 0 < lowered < 1 << 40
    assert restored == (resource.RLIMIT_AS, before)


@needs_limit
def test_allocations_over_the_allowed_limit_are_refused(process_limit):
    """HDF5 allocates what the length of a text claims, and h5py does not show that length."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    refused = pytest.raises(FileFormatError, match="more memory than the limits allow")
    with refused, bounded_memory(Limits(max_bytes=1 << 20)):
        np.ones(1 << 28)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    with bounded_memory(Limits()):
        assert np.ones(1 << 20).all()


def test_threads_set_the_limit_in_turn(process_limit):
    before, order, inside = resource.getrlimit(resource.RLIMIT_AS), [], threading.Event()

    def second():
        inside.wait()
        with bounded_memory(Limits(max_bytes=1 << 20)):
            order.append("second")

    other = threading.Thread(target=second)
    other.start()
    with bounded_memory(Limits(max_bytes=1 << 30)):
        inside.set()
        time.sleep(0.05)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    assert resource.getrlimit(resource.RLIMIT_AS) == before
