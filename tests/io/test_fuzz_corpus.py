"""A short form of ``make fuzz``: every file of its corpus, and random damage to them.

The bytes are the same in every run. ``make fuzz`` runs longer and is guided by coverage.
"""

import random
import sys
import zlib

import pytest

from _support.paths import ROOT
from mkclust.exceptions import InputError

FUZZ = ROOT / "fuzz"
if not FUZZ.is_dir():
    pytest.skip("the seeds are in the repository and the sdist", allow_module_level=True)
FORMATS = sorted(folder.name for folder in (FUZZ / "corpus").iterdir())
# Number of damaged files that take a second or two; opening an HDF5 file takes milliseconds.
DAMAGED = {"h5mu": 60, "mat73": 120, "model": 150, "xlsx": 100}


@pytest.fixture(scope="module")
def fuzz():
    sys.path.insert(0, str(FUZZ))
    try:
        import mutations
        import targets
    finally:
        sys.path.remove(str(FUZZ))
    return targets, mutations


def seeds(name):
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow comes with mkclust[parquet]")
    if name == "xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl comes with mkclust[excel]")
    return {file.name: file.read_bytes() for file in sorted((FUZZ / "corpus" / name).iterdir())}


def test_every_reader_has_seeds_and_is_fuzzed(fuzz):
    targets, _ = fuzz
    assert sorted(targets.TARGETS) == FORMATS
    sizes = {file: file.stat().st_size for file in (FUZZ / "corpus").rglob("*") if file.is_file()}
    assert len(sizes) > 3 * len(FORMATS)
    assert max(sizes.values()) < 20_000


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_corpus_is_read_or_refused(fuzz, name, tmp_path):
    targets, _ = fuzz
    for data in seeds(name).values():
        targets.run(name, data, tmp_path, every=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FORMATS)
def test_seeds_are_good_files(fuzz, name, tmp_path):
    """Seeds must be readable: damage to an unreadable file tests only the first check."""
    target = fuzz[0].TARGETS[name]
    path, read = tmp_path / f"input{target.suffix}", 0
    for data in seeds(name).values():
        path.write_bytes(data)
        try:
            target.calls[0](path)
        except InputError:
            continue
        read += 1
    assert read >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_random_damage_is_read_or_refused(fuzz, name, tmp_path):
    targets, mutations = fuzz
    rng = random.Random(zlib.crc32(name.encode()))
    whole = list(seeds(name).values())
    seen = set()
    for _ in range(DAMAGED.get(name, 500)):
        data = rng.choice(whole)
        for _ in range(rng.choice((1, 1, 2, 4))):
            data = mutations.mutated(name, data, rng)
        targets.run(name, data, tmp_path)
        seen.add(data)
    assert len(seen) > 0.9 * DAMAGED.get(name, 500)


def test_a_finding_is_distinguished_from_an_input_error(fuzz, tmp_path, monkeypatch):
    """The tests above can fail."""
    targets, _ = fuzz

    def wrong(error):
        return lambda path: (_ for _ in ()).throw(error)

    memory = InputError("too much")
    memory.__cause__ = MemoryError()
    for error, expected in (
        (ValueError("not ours"), ValueError),
        (InputError(""), targets.FoundError),
        (memory, targets.FoundError),
        (InputError("ours"), None),
    ):
        call = targets.Target(".csv", (wrong(error),))
        monkeypatch.setitem(targets.TARGETS, "csv", call)
        if expected is None:
            targets.run("csv", b"1", tmp_path)
        else:
            with pytest.raises(expected):
                targets.run("csv", b"1", tmp_path)
    litter = targets.Target(".csv", (lambda path: path.with_name("more").touch(),))
    monkeypatch.setitem(targets.TARGETS, "csv", litter)
    with pytest.raises(targets.FoundError, match="left behind"):
        targets.run("csv", b"1", tmp_path)
