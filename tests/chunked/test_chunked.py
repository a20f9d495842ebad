"""Rows wherever they lie: the same rows from every storage, and faults named by file and row."""

from itertools import pairwise

import numpy as np
import pytest

from mkclust.chunked.engine import LocalEngine, Tree
from mkclust.chunked.passes import total
from mkclust.chunked.rows import Rows, stored_rows, views_in_parts
from mkclust.chunked.sources import PartsSource, source_of
from mkclust.chunked.work import Work, part_is_sound, save_part
from mkclust.exceptions import FileFormatError, InputError, MkclustWarning

N, F = 1000, 3


@pytest.fixture(name="X")
def _table():
    return np.random.default_rng(0).normal(size=(N, F))


def parts(folder, X, sizes, kind="npy"):
    folder.mkdir()
    start = 0
    for number, size in enumerate(sizes):
        rows = X[start : start + size]
        path = folder / f"part-{number}.{kind}"
        if kind == "npy":
            np.save(path, rows)
        else:
            pa = pytest.importorskip("pyarrow")
            pq = pytest.importorskip("pyarrow.parquet")
            columns = {f"c{j}": rows[:, j] for j in range(rows.shape[1])}
            pq.write_table(pa.table(columns), path, row_group_size=97)
        start += size
    return folder


def stored(kind, X, tmp_path):
    if kind == "array":
        return X
    if kind in ("npy", "parquet"):
        return parts(tmp_path / kind, X, [N // 12] * 11 + [N - 11 * (N // 12)], kind)
    if kind == "file":
        np.save(tmp_path / "x.npy", X)
        return tmp_path / "x.npy"
    if kind == "fortran":
        np.save(tmp_path / "f.npy", np.asfortranarray(X))
        return tmp_path / "f.npy"
    if kind == "memmap":
        np.save(tmp_path / "m.npy", X)
        return np.load(tmp_path / "m.npy", mmap_mode="r")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        return zarr.create_array(tmp_path / "z", data=X, chunks=(128, F))
    return pytest.importorskip("dask.array").from_array(X, chunks=(300, 2))


KINDS = ["array", "npy", "parquet", "file", "fortran", "memmap", "zarr", "dask"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_storage_reads_the_same_rows(kind, X, tmp_path):
    source = source_of(stored(kind, X, tmp_path))
    assert (source.n_rows, source.width) == X.shape
    for start, stop in [(0, N), (0, 1), (N - 1, N), (80, 90), (83, 500)]:
        np.testing.assert_array_equal(source.read(start, stop), X[start:stop])
        np.testing.assert_array_equal(source.portion(start, stop).read(start, stop), X[start:stop])


def test_ten_parts_and_more_are_in_the_order_of_their_numbers(X, tmp_path):
    source = source_of(parts(tmp_path / "p", X, [80] * 12 + [40]))
    np.testing.assert_array_equal(source.read(0, N), X)


def test_sparse_views_are_read_as_dense_blocks(X):
    sp = pytest.importorskip("scipy.sparse")
    thin = np.where(X > 1, X, 0)
    np.testing.assert_array_equal(source_of(sp.csr_array(thin)).read(10, 50), thin[10:50])


def test_views_of_different_storages_are_one_set_of_rows(X, tmp_path):
    rows = stored_rows({kind: stored(kind, X, tmp_path) for kind in ("npy", "zarr", "array")})
    assert len(rows) == N and rows.widths == (F, F, F)
    for view in rows.take(np.array([3, 500, 999])):
        np.testing.assert_array_equal(view, X[[3, 500, 999]])
    for view in rows.in_memory().views:
        np.testing.assert_array_equal(view, X)
    pieces = rows.pieces()
    assert pieces[0].start == 0 and pieces[-1].stop == N
    assert all(a.stop == b.start for a, b in pairwise(pieces))


def test_plain_arrays_are_not_stored_rows(X):
    assert stored_rows([X, X]) is None
    assert stored_rows(X) is None


def test_names_must_differ(X, tmp_path):
    for side in "ab":
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "same.npy", X)
    with pytest.raises(InputError, match="names must differ, got same, same"):
        stored_rows([tmp_path / "a" / "same.npy", tmp_path / "b" / "same.npy"])


def test_lengths_must_agree(X):
    with pytest.raises(InputError, match="same rows, got a 1000, b 999"):
        Rows({"a": X, "b": X[:-1]})


def test_a_missing_part_is_named(X, tmp_path):
    folder = parts(tmp_path / "p", X, [100] * 10)
    (folder / "part-4.npy").unlink()
    with pytest.raises(FileFormatError, match=r"view 'p'.*lacks part 4 of 0 to 9"):
        Rows([folder])
    with pytest.raises(FileFormatError, match="does not exist"):
        Rows([tmp_path / "nowhere"])


def test_numbers_that_are_no_count_are_no_gap(X, tmp_path):
    folder = tmp_path / "years"
    folder.mkdir()
    for year in (1999, 2004, 2021):
        np.save(folder / f"{year}.npy", X)
    assert len(Rows([folder])) == 3 * N


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_truncated_part_is_named(kind, X, tmp_path):
    folder = parts(tmp_path / "p", X, [500, 500], kind)
    path = folder / f"part-1.{kind}"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=rf"part-1\.{kind} is truncated"):
        Rows([folder])


def test_a_part_cut_off_during_the_run_is_found(X, tmp_path):
    source = source_of(parts(tmp_path / "p", X, [500, 500]))
    path = tmp_path / "p" / "part-1.npy"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"part-1\.npy is truncated"):
        source.read(0, N)
    path.unlink()
    with pytest.raises(FileFormatError, match=r"part-1\.npy cannot be read"):
        source.read(0, N)


def test_parts_of_another_width_or_type_are_refused(X, tmp_path):
    folder = parts(tmp_path / "p", X, [500, 500])
    np.save(folder / "part-1.npy", X[:500, :2])
    with pytest.raises(FileFormatError, match=r"part-1\.npy has 2 columns of float64, but"):
        Rows([folder])
    np.save(folder / "part-1.npy", X[:500].astype(np.float32))
    with pytest.raises(FileFormatError, match=r"part-1\.npy has 3 columns of float32, but"):
        Rows([folder])
    np.save(folder / "part-1.npy", np.array([["a"]]))
    with pytest.raises(FileFormatError, match="rows x columns of numbers"):
        Rows([folder])


def test_no_part_is_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match="numbers"):
        Rows([tmp_path / "x.npy"])


@pytest.mark.parametrize("kind", ["npy", "parquet", "dask"])
def test_nan_is_named_by_view_column_and_row(kind, X, tmp_path):
    X[734, 1] = np.nan
    rows = Rows({"speed": stored(kind, X, tmp_path)})
    file = rf", which is row 70 of .*part-8\.{kind}" if kind != "dask" else ""
    with pytest.raises(InputError, match=f"'speed'.*column 1 of row 734{file}"):
        for piece in rows.pieces():
            piece.check_finite(piece.load())


class Add:
    def __call__(self, piece):
        return {"sum": piece.load()[0].sum(axis=0), "rows": np.array(piece.stop - piece.start)}

    def combine(self, left, right):
        return {key: left[key] + right[key] for key in left}


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_equal_to_the_last_bit_wherever_rows_lie(kind, X, tmp_path):
    reference = total("sums", Add(), Rows([X]).pieces(), LocalEngine(1), None)
    rows = Rows([stored(kind, X, tmp_path)])
    found = total("sums", Add(), rows.pieces(), LocalEngine(3), None)
    np.testing.assert_array_equal(found["sum"], reference["sum"])
    assert found["rows"] == N


def test_a_tree_adds_everything_once():
    for count in range(1, 40):
        tree = Tree(lambda a, b: a + b)
        for value in range(count):
            tree.add(value)
        assert tree.total() == count * (count - 1) // 2


def test_work_refuses_another_run_and_mends_damage(tmp_path):
    work = Work(tmp_path, {"k": 3, "data": "a"})
    work.save("means", {"x": np.arange(3)})
    np.testing.assert_array_equal(
        Work(tmp_path, {"k": 3, "data": "a"}).load("means")["x"], [0, 1, 2]
    )
    with pytest.raises(InputError, match=r"another run \(different: data\)"):
        Work(tmp_path, {"k": 3, "data": "b"})
    path = tmp_path / "results" / "means.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(MkclustWarning, match=r"means\.npz is damaged.*computed again"):
        assert work.load("means") is None
    assert work.load("nothing") is None


def test_a_damaged_part_is_not_sound(tmp_path):
    save_part(tmp_path / "part-0.npy", np.arange(4.0)[:, None])
    assert part_is_sound(tmp_path / "part-0.npy")
    (tmp_path / "part-0.npy").write_bytes(b"else")
    with pytest.warns(MkclustWarning, match=r"part-0\.npy is damaged"):
        assert not part_is_sound(tmp_path / "part-0.npy")


def test_a_full_disk_is_a_clear_error_and_leaves_no_half_file(tmp_path, monkeypatch):
    work = Work(tmp_path, {})

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match=r"No space left on device.*continues.*means\.npz"):
        work.save("means", {"x": np.arange(3)})
    assert [*(tmp_path / "results").iterdir()] == []


def test_paths_that_hold_views_in_parts(X, tmp_path):
    parts(tmp_path / "a", X, [500, 500])
    parts(tmp_path / "b", X, [500, 500], "parquet")
    both = [tmp_path / "a", tmp_path / "b"]
    assert views_in_parts(both) == {"a": both[0], "b": both[1]}
    assert views_in_parts([tmp_path]) == {"a": both[0], "b": both[1]}
    assert views_in_parts([both[0]]) == {"a": both[0]}
    assert views_in_parts([both[1]]) is None  # alone, a folder of tables: one view per file


def test_a_source_of_parts_becomes_an_array_when_asked(X, tmp_path):
    source = source_of(parts(tmp_path / "a", X, [500, 500]))
    assert isinstance(source, PartsSource) and len(source) == N
    np.testing.assert_array_equal(np.asarray(source), X)
