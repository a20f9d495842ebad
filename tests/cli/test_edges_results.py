"""Values as JSON holds them, and the memory that the system reports."""

import json

import numpy as np
import pytest

from mkclust.cli.results import plain
from mkclust.data import memory
from mkclust.data.memory import physical_memory
from mkclust.dual_noise.dimensions import Certificate


def test_every_value_has_a_plain_form():
    value = {
        1: np.array([[1.5, np.nan], [np.inf, -2.0]]),
        "number": np.float32(0.5),
        "proof": Certificate(5, 5, 9, True, 0.25),
        "way": (np.int64(3), None, True, "x"),
        "function": np.linalg.norm,
        "kind": Certificate,
    }
    found = plain(value)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["1"] == [[1.5, None], [None, -2.0]]
    assert found["number"] == 0.5
    assert found["proof"]["lower_bound"] == 5
    assert found["way"] == [3, None, True, "x"]
    assert (found["function"], found["kind"]) == ("norm", "Certificate")
    assert plain(object()).startswith("<object object")


@pytest.fixture(name="reported")
def _system(monkeypatch):
    """Physical memory for a number of pages and the content of a container's limit file."""

    def report(pages, limit):
        def sysconf(name):
            if pages is None:
                raise ValueError("unrecognized configuration name")
            return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}[name]

        monkeypatch.setattr(memory.os, "sysconf", sysconf)

        def read_text(self, **_):
            if limit is None:
                raise OSError("no such file")
            return limit

        monkeypatch.setattr(memory.Path, "read_text", read_text)
        return physical_memory()

    return report


@pytest.mark.parametrize(
    ("pages", "limit", "bytes_"),
    [
        (2_000_000, None, 8.192e9),
        (2_000_000, "max\n", 8.192e9),
        (2_000_000, "1000000000\n", 1e9),
        (2_000_000, "100000000000\n", 8.192e9),
        (2_000_000, "words\n", 8.192e9),
        (None, "1000000000\n", 1e9),
        (None, None, np.inf),
    ],
)
def test_memory_is_the_least_that_the_system_reports(reported, pages, limit, bytes_):
    assert reported(pages, limit) == bytes_
