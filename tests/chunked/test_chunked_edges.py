"""Rows that come from unusual places, and places that turn out not to hold rows."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import _version
from mkclust.chunked import distributed
from mkclust.chunked.distributed import engine_for
from mkclust.chunked.sources import ArraySource, PartsSource, source_of
from mkclust.chunked.work import Work, save_part
from mkclust.exceptions import FileFormatError, InputError

X = np.random.default_rng(0).normal(size=(50, 3))


def test_sparse_rows_are_read_dense():
    source = source_of(sp.csr_array(np.where(np.abs(X) < 1, 0.0, X)))
    assert not source.dense
    np.testing.assert_array_equal(source.read(10, 20), np.where(np.abs(X) < 1, 0.0, X)[10:20])
    assert source.place(3) == "row 3"


def test_parts_are_an_array_to_whoever_asks(tmp_path):
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", X[20 * number : 20 * number + 20])
    source = source_of(tmp_path)
    assert isinstance(source, PartsSource)
    assert source_of(source) is source
    assert len(source) == 50 == source.shape[0]
    np.testing.assert_array_equal(np.asarray(source), X)
    assert np.asarray(source, dtype=np.float32).dtype == np.float32
    assert source.place(45).endswith(f"row 5 of {tmp_path / '2.npy'}")
    assert source.portion(10, 30) is source


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (np.zeros(5), r"rows x columns are needed, got \(5,\)"),
        (np.zeros((2, 2, 2)), r"rows x columns are needed, got \(2, 2, 2\)"),
        (7, "rows x columns are needed, got 7"),
        (np.array([["a", "b"]]), "numbers are needed, got <U1"),
        (np.zeros((2, 2), dtype=complex), "numbers are needed, got complex128"),
    ],
)
def test_what_holds_no_rows_of_numbers_is_refused(rows, problem):
    with pytest.raises(InputError, match=problem):
        source_of(rows)


def test_a_map_of_anything_but_a_whole_npy_file_is_taken_as_it_is(tmp_path):
    np.save(tmp_path / "x.npy", X)
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(source_of(whole), PartsSource)
    raw = np.memmap(tmp_path / "x.raw", dtype=float, mode="w+", shape=X.shape)
    raw[:] = X
    other = np.memmap(tmp_path / "not.npy", dtype=float, mode="w+", shape=X.shape)
    other[:] = X
    for part, rows in ((whole[10:], X[10:]), (whole[:, :2], X[:, :2]), (raw, X), (other, X)):
        source = source_of(part)
        assert isinstance(source, ArraySource)
        np.testing.assert_array_equal(source.read(0, len(rows)), rows)


def test_a_dask_array_must_know_its_length():
    da = pytest.importorskip("dask.array")
    array = da.from_array(X, chunks=(20, 3))
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        source_of(array[array[:, 0] > 0])
    source = source_of(array)
    np.testing.assert_array_equal(source.portion(0, 50).read(15, 30), X[15:30])
    assert source.place(3) == "row 3"


def test_a_zarr_array_by_its_path(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "z", data=X, chunks=(20, 3))
    source = source_of(tmp_path / "z")
    np.testing.assert_array_equal(source.portion(0, 50).read(15, 30), X[15:30])
    assert "row 7 of" in source.place(7)


def test_a_broken_zarr_array_is_named(tmp_path):
    pytest.importorskip("zarr")
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "zarr.json").write_text("{not json")
    with pytest.raises(FileFormatError, match="cannot be read as a zarr array"):
        source_of(tmp_path / "z")


def test_a_zarr_chunk_that_cannot_be_read_is_a_fault_of_the_file(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "z", data=X, chunks=(20, 3))
    chunks = [path for path in (tmp_path / "z" / "c").rglob("*") if path.is_file()]
    for chunk in chunks:
        chunk.write_bytes(b"\x00\x01\x02")
    with pytest.raises(FileFormatError, match="zarr array"):
        source_of(array).read(0, 50)


def test_zarr_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / ".zarray").write_text("{}")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InputError, match=r"pip install 'mkclust\[zarr\]'"):
        source_of(tmp_path / "z")


# ---------------------------------------------------------------- parts in a folder


def save_parts(folder, *names, rows=X):
    folder.mkdir()
    for name in names:
        np.save(folder / f"{name}.npy", rows)
    return folder


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("part-0", "part-2", "part-3"), "lacks part 1 of 0 to 3"),
        (("part-1", "part-01"), "two parts of the same number"),
        ((), "holds no .npy or .parquet parts"),
    ],
)
def test_a_folder_with_parts_lost_or_twice_is_refused(tmp_path, names, problem):
    with pytest.raises(FileFormatError, match=problem):
        source_of(save_parts(tmp_path / "view", *names))


def test_names_without_numbers_are_taken_in_their_order(tmp_path):
    folder = save_parts(tmp_path / "view", "b")
    np.save(folder / "a.npy", X + 1)
    np.testing.assert_array_equal(np.asarray(source_of(folder)), np.concatenate([X + 1, X]))


def test_parts_of_another_width_or_kind_are_named(tmp_path):
    folder = save_parts(tmp_path / "view", "part-0")
    np.save(folder / "part-1.npy", X[:, :2])
    with pytest.raises(FileFormatError, match=r"part-1.npy has 2 columns of float64, but part-0"):
        source_of(folder)
    (folder / "part-1.npy").rename(folder / "part-1.parquet")
    with pytest.raises(FileFormatError, match=r"both .npy and .parquet parts"):
        source_of(folder)


@pytest.mark.parametrize(
    "rows", [np.zeros(4), np.zeros((3, 0)), np.zeros((2, 2), dtype=complex), np.zeros((1, 2, 2))]
)
def test_a_file_must_hold_rows_of_numbers(tmp_path, rows):
    np.save(tmp_path / "x.npy", rows)
    with pytest.raises(FileFormatError, match="must hold rows x columns of numbers"):
        source_of(tmp_path / "x.npy")


def test_paths_that_lead_nowhere_or_elsewhere(tmp_path):
    (tmp_path / "x.txt").write_text("1 2")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    for name, problem in (
        ("nothing.npy", "does not exist"),
        ("x.txt", "neither .npy nor .parquet"),
        ("x.parquet", "truncated or no Parquet file"),
    ):
        with pytest.raises(FileFormatError, match=problem):
            source_of(tmp_path / name)


def test_parquet_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match=r"pip install 'mkclust\[parquet\]'"):
        source_of(tmp_path / "x.parquet")


def test_words_in_a_parquet_part_are_named(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), tmp_path / "x.parquet")
    with pytest.raises(FileFormatError, match=r"number columns only, not b \(string\)"):
        source_of(tmp_path / "x.parquet")


def test_no_rows_of_a_parquet_part_are_no_rows(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}), tmp_path / "x.parquet")
    source = source_of(tmp_path / "x.parquet")
    np.testing.assert_array_equal(source.read(0, 2), [[1, 3], [2, 4]])
    assert source.parts[0].read(0, 0).shape == (0, 2)


# ---------------------------------------------------------------- a work folder


@pytest.mark.parametrize("kept", ["no json at all", "[1, 2]", '{"run": {"k": 3}, "sha256": ""}'])
def test_a_work_folder_of_somebody_else_is_refused(tmp_path, kept):
    (tmp_path / "run.json").write_text(kept)
    with pytest.raises(InputError, match=r"run\.json is damaged, or not a file of mkclust"):
        Work(tmp_path, {"k": 3})


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for write in (
        lambda: Work(tmp_path / "file", {"k": 3}),
        lambda: save_part(tmp_path / "file" / "part-0.npy", X),
    ):
        with pytest.raises(OSError, match="results cannot be written there") as problem:
            write()
        assert str(tmp_path / "file") in str(problem.value.filename)


# ---------------------------------------------------------------- workers of dask


class Future:
    def __init__(self, error):
        self._error = error

    def result(self):
        raise self._error


class Client:
    """A dask client whose workers say `versions`."""

    def __init__(self, versions=(), waits=True):
        self._versions = {f"tcp://{n}": version for n, version in enumerate(versions)}
        self._waits = waits

    def wait_for_workers(self, n, timeout):
        if not self._waits:
            raise TimeoutError

    def run(self, *_, **__):
        return self._versions


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        (Client(waits=False), "no workers after"),
        (Client([ModuleNotFoundError("no", name="h5py")]), "tcp://0 lacks h5py: every worker"),
        (Client([_version.__version__, OSError("disk")]), "tcp://1 cannot import mkclust: disk"),
        (Client(["0.0.1"]), "tcp://0 has mkclust 0.0.1, not"),
    ],
)
def test_workers_that_cannot_do_the_work_are_named_before_it(client, problem):
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=problem), engine_for(client):
        pass


def test_what_fails_on_a_worker_is_said_here():
    pytest.importorskip("distributed")
    with engine_for(Client([_version.__version__])) as engine:
        with pytest.raises(InputError, match="a worker lacks zarr: every worker needs the same"):
            engine._result(Future(ModuleNotFoundError("no", name="zarr")))
        killed = type("KilledWorker", (Exception,), {})("piece 3")
        with pytest.raises(InputError, match="ended several dask workers: piece 3"):
            engine._result(Future(killed))
        with pytest.raises(ZeroDivisionError):
            engine._result(Future(ZeroDivisionError()))


def test_dask_must_be_installed_and_answer(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "PATIENCE", "1s")
    with pytest.raises(InputError, match="no dask scheduler answers"), engine_for("not an address"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(InputError, match=r"pip install 'mkclust\[dask\]'"),
        engine_for("tcp://127.0.0.1:1"),
    ):
        pass
