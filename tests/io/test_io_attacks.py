"""Each attack on every format that allows it: names, byte orders, NaN, columns, objects."""

import os
import zipfile

import h5py
import numpy as np
import pytest
import scipy.io

import mkclust
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, read
from mkclust.large.views import LargeViews

N = 6
A = np.random.default_rng(0).normal(size=(N, 3))


def write(path, **arrays):
    """Write arrays in the format of the file name; a table holds only one array."""
    kind, (first, *_) = path.suffix, arrays.values()
    if kind == ".mat":
        scipy.io.savemat(path, arrays)
    elif kind == ".npz":
        np.savez(path, **arrays)
    elif kind == ".h5ad":
        with h5py.File(path, "w") as file:
            file["X"] = first
            file["obs/_index"] = np.array([f"s{i}" for i in range(len(first))], dtype="S4")
    elif kind == ".v73":
        path = path.with_suffix(".mat")
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array.T
    elif kind == ".parquet":
        pa = pytest.importorskip("pyarrow", reason="pyarrow comes with mkclust[parquet]")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({f"c{i}": column for i, column in enumerate(first.T)}), path)
    else:
        np.savetxt(path, first, delimiter="," if kind == ".csv" else "\t")
    return path


KINDS = [".mat", ".v73", ".npz", ".h5ad", ".csv", ".tsv", ".parquet"]


# --- NaN with a payload --------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0x7FF0000000000001, 0xFFF8DEADBEEF0001, 0x7FF8000000000000])
@pytest.mark.parametrize("kind", KINDS)
def test_nan_of_any_bits_is_reported_with_its_place(tmp_path, kind, bits):
    X = A.copy()
    X.view(np.uint64)[4, 1] = bits
    path = write(tmp_path / f"a{kind}", X=X)
    found = read(path)
    assert np.isnan(found.views[0][4, 1]) and np.isnan(found.views[0]).sum() == 1
    with pytest.raises(InputError, match=r"row (4|'4').*column ('c)?1"):
        mkclust.GraphFusion(2).fit(found)


@pytest.mark.parametrize("word", ["nan(0x123)", "snan", "1e", "0x10", "--1"])
def test_words_that_resemble_numbers_are_reported(tmp_path, word):
    path = tmp_path / "a.csv"
    path.write_text(f"a,b\n1,2\n3,{word}\n")
    with pytest.raises(FileFormatError, match=r"column 'b' is not numeric: .* in line 3"):
        read(path)


# --- ten million columns -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [".npz", ".mat"])
def test_more_than_ten_million_columns_are_refused_from_the_header(tmp_path, kind):
    path = write(tmp_path / f"wide{kind}", X=np.zeros((2, 10**7 + 1), dtype="i1"))
    with pytest.raises(FileFormatError, match="X claims 10,000,001 columns, over the limit"):
        read(path)


def test_more_than_ten_million_columns_of_text_are_refused_before_splitting(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes(b"," * 10**7 + b"\n")
    with pytest.raises(FileFormatError, match="a line of it claims 10,000,001 columns, over"):
        read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_on_columns_can_be_chosen(tmp_path, kind):
    path = write(tmp_path / f"a{kind}", X=A)
    with pytest.raises(FileFormatError, match="3 columns, over the limit of 2"):
        read(path, limits=Limits(max_columns=2))
    assert read(path, limits=Limits(max_columns=3)).widths == (3,)


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_on_bytes_can_be_chosen(tmp_path, kind):
    path = write(tmp_path / f"a{kind}", X=A)
    with pytest.raises(FileFormatError, match=r"bytes, over the limit of 100; .*Limits\(max_bytes"):
        read(path, limits=Limits(max_bytes=100))


# --- byte order ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i2", "<f8"])
@pytest.mark.parametrize("kind", [".npz", ".v73", ".h5ad"])
def test_any_byte_order_is_read_as_declared(tmp_path, kind, dtype):
    X = (10 * A).round().astype(dtype)
    view = read(write(tmp_path / f"a{kind}", X=X)).views[0]
    assert view.dtype.isnative
    np.testing.assert_array_equal(view, X.astype(float))


# --- names that are paths ------------------------------------------------------------------------

EVIL = ["../../evil", "/tmp/evil-of-mkclust", "a/b", "..", "con:", "x" * 300]


def test_names_from_a_file_never_become_paths(run, tmp_path):
    (tmp_path / "inside").mkdir()
    os.chdir(tmp_path / "inside")
    rng = np.random.default_rng(0)
    views = {name: rng.normal(size=(20, 3)) for name in EVIL[:-1]}
    with zipfile.ZipFile("views.npz", "w") as archive:
        for name, view in views.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, view)
    assert mkclust.read("views.npz").names == tuple(views)
    code, _, err = run("cluster", "views.npz", "-k", "2", "-o", "out", "--save", "model.npz")
    assert (code, err) == (0, "")
    assert sorted(os.listdir(tmp_path)) == ["inside"]
    assert sorted(os.listdir()) == ["model.npz", "out", "views.npz"]
    assert all(os.path.isfile(os.path.join("out", name)) for name in os.listdir("out"))
    assert "labels.csv" in os.listdir("out")
    assert not os.path.exists(EVIL[1])
    assert set(mkclust.load("model.npz").view_names_in_) == set(views)


@pytest.mark.parametrize("name", EVIL)
def test_sample_names_and_columns_may_be_anything(tmp_path, name):
    path = tmp_path / "a.csv"
    path.write_text(f"id,{name},b\n{name},1,2\nother,3,4\n")
    assert read(path).index.tolist() == [name, "other"]
    assert os.listdir(tmp_path) == ["a.csv"]


# --- objects -------------------------------------------------------------------------------------


class Trap:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_objects_in_parts_and_models_are_not_unpickled(tmp_path):
    trap = np.array([[Trap(tmp_path / "sprung")] * 2] * 2, dtype=object)
    np.save(tmp_path / "part-0.npy", trap, allow_pickle=True)
    with pytest.raises(FileFormatError):
        LargeViews([tmp_path / "part-0.npy"])
    np.savez(tmp_path / "model.npz", document=trap)
    with pytest.raises(FileFormatError, match="Python objects"):
        mkclust.load(tmp_path / "model.npz")
    assert not (tmp_path / "sprung").exists()


def test_function_handles_and_structs_of_matlab_are_only_described(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"X": A, "code": {"eval": "system('true')"}})
    assert read(path).names == ("X",)
    with pytest.raises(InputError, match="cannot be read as numbers"):
        read(path, views="code")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 0.99])
def test_truncated_files_are_refused_or_lack_rows(tmp_path, kind, share):
    path = write(tmp_path / f"a{kind}", X=A)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    if kind in (".csv", ".tsv"):  # text has no end that could be missing
        try:
            assert len(read(path)) <= N
        except InputError as error:
            assert "line" in str(error) or "row" in str(error)
    else:
        with pytest.raises(FileFormatError, match=rf"{path.name}: "):
            read(path)
