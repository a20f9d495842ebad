"""Hostile files: with ``untrusted=True`` a result or a `FileFormatError`, and the parent lives."""

import gzip
import random
import resource
import sys
import warnings
import zipfile

import numpy as np
import pytest

from _support.paths import ROOT
from mkclust import inspect, read
from mkclust.exceptions import FileFormatError, InputError, KeyColumnWarning

FUZZ = ROOT / "fuzz"
BOUND = 512 << 20  # bytes by which the parent may grow while it reads hostile files


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.arange(12.0).reshape(4, 3), y=np.array(["u", "v"] * 2))
    return path


def test_results_are_the_same_as_without(npz, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # those of libraries do not leak
        here = read(npz)
    there = read(npz, untrusted=True)
    assert repr(here) == repr(there) and here.notes == there.notes
    np.testing.assert_array_equal(here["X"], there["X"])
    assert there.labels.tolist() == ["u", "v"] * 2
    assert inspect(npz, untrusted=True) == inspect(npz)
    table = tmp_path / "unit.csv"
    table.write_text("unit,x,when\n" + "".join(f"{i},{i / 7},a{i}\n" for i in range(20)))
    with pytest.warns(KeyColumnWarning, match="unit"):
        read(table, untrusted=True, drop_columns="when")
    with pytest.raises(InputError, match=r"unit\.csv: no column 'z'"):
        read(table, untrusted=True, drop_columns="z")


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        ("import ctypes; ctypes.string_at(0)", {}, "ended by SIGSEGV"),
        ("import time; time.sleep(60)", {"time_limit": 3}, "longer than 3 seconds and was stopped"),
        ("bytearray(1 << 32)", {"memory_limit": 1 << 28}, "memory"),
        ("import sys; sys.exit(7)", {}, "exit code 7"),
    ],
)
def test_what_ends_the_child_is_a_file_format_error(npz, code, options, message, monkeypatch):
    """The child runs the code instead of reading."""
    npz.with_name("sitecustomize.py").write_text(
        "import scipy.sparse, numpy.lib.format as format\n"
        "def broken(*args, **kwargs):\n"
        f"    {code}\n"
        "format.read_array = broken\n"
    )
    monkeypatch.syspath_prepend(str(npz.parent))
    with pytest.raises(FileFormatError, match=rf"a\.npz.*{message}"):
        read(npz, untrusted=True, **options)


def test_bombs_are_stopped_by_the_memory_limit(tmp_path):
    packed = tmp_path / "a.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 5000), }\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(start)
        for _ in range(64):
            member.write(bytes(1 << 20))
    text = tmp_path / "b.csv.gz"
    text.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * (24 << 20), compresslevel=1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in (packed, text):
        with pytest.raises(FileFormatError, match="memory"):
            read(path, untrusted=True, memory_limit=256 << 20)
    assert 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < BOUND


@pytest.fixture(scope="module")
def fuzz():
    if not FUZZ.is_dir():
        pytest.skip("the corpus is in the repository and the sdist")
    sys.path.insert(0, str(FUZZ))
    try:
        import mutations
        import targets
    finally:
        sys.path.remove(str(FUZZ))
    return targets, mutations


HERE = ("csv", "tsv", "csvgz", "npz", "xlsx", "model")  # their libraries do not crash


@pytest.mark.parametrize("damaged", [0, 30])
def test_corpus_is_read_or_refused_in_this_process(fuzz, damaged, tmp_path):
    """Without a child: errors become ours."""
    targets, mutations = fuzz
    rng = random.Random(0)
    for name in HERE:
        files = [file.read_bytes() for file in sorted((FUZZ / "corpus" / name).iterdir())]
        for _ in range(damaged):
            files.append(mutations.mutated(name, rng.choice(files), rng))
        for data in files if not damaged else files[-damaged:]:
            targets.run(name, data, tmp_path, every=not damaged)


@pytest.mark.slow
def test_corpus_is_read_or_refused_in_a_child(fuzz, tmp_path):
    targets, _ = fuzz
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name in sorted(targets.TARGETS):
        files = sorted((FUZZ / "corpus" / name).iterdir())
        for file in files[:1] if name in HERE else files:
            targets.run(name, file.read_bytes(), tmp_path, untrusted=True)
    assert 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < BOUND
    assert not list(tmp_path.iterdir())
