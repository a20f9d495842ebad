"""MATLAB files with false claims: refused with InputError, without a crash or the memory."""

import random
import struct
import tracemalloc
import zlib

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read

INT8, INT32, UINT32, DOUBLE, MATRIX, COMPRESSED = 1, 5, 6, 9, 14, 15
CELL, CHAR, SPARSE, FULL = 1, 4, 5, 6
HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
INDEX = "ind(ex|ices)"  # how scipy puts it depends on its version
SMALL = Limits(max_bytes=1 << 20)


def element(code, data, size=None):
    size = len(data) if size is None else size
    return struct.pack("<II", code, size) + data + bytes(-len(data) % 8)


def matrix(kind, shape, *parts, name="X", size=None):
    body = (
        element(UINT32, struct.pack("<II", kind, 0))
        + element(INT32, struct.pack(f"<{len(shape)}i", *shape))
        + element(INT8, name.encode())
        + b"".join(parts)
    )
    return struct.pack("<II", MATRIX, len(body) if size is None else size) + body


def doubles(*values):
    return element(DOUBLE, struct.pack(f"<{len(values)}d", *values))


@pytest.fixture
def write(tmp_path):
    def written(*variables, compressed=False, name="bad.mat"):
        if compressed:
            variables = [
                struct.pack("<II", COMPRESSED, len(packed)) + packed
                for packed in map(zlib.compress, variables)
            ]
        path = tmp_path / name
        path.write_bytes(HEADER + b"".join(variables))
        return path

    return written


def test_files_of_the_writer_above_are_read(write):
    item = matrix(FULL, (3, 2), doubles(*range(6)), name="")
    for compressed in (False, True):
        path = write(matrix(CELL, (1, 2), item, item), compressed=compressed)
        assert read(path)["X2"].tolist() == [[0, 3], [1, 4], [2, 5]]


LIES = {
    "claims shape": matrix(FULL, (1 << 30, 1 << 30), doubles(1, 2)),
    "negative dimension": matrix(FULL, (-2, -1), doubles(1, 2)),
    "type 250": matrix(FULL, (2, 1), element(250, bytes(16))),  # past the end of scipy's table
    "type 8": matrix(FULL, (2, 1), element(8, bytes(16))),  # a hole in scipy's table
    "dimensions of an array are 4 bytes": matrix(FULL, (2,), doubles(1, 2)),
    "a header field of 160 bytes": matrix(FULL, (1,) * 40, doubles(1)),
    "type 9 with 2147483648 bytes": matrix(FULL, (1, 1), element(DOUBLE, bytes(8), 1 << 31)),
    "the cell X claims": matrix(CELL, (1 << 15, 1 << 15)),
    "an array claims": matrix(CELL, (1, 1), matrix(FULL, (9, 9), doubles(1), name="an array")),
    "8 bytes too many": matrix(CELL, (1, 1), matrix(FULL, (1, 1), doubles(1), bytes(8))),
    "a text claims": matrix(
        CELL, (1, 1), matrix(CHAR, (1, 1 << 30), element(1, b""), name="a text")
    ),
    "more characters than it has": matrix(CELL, (1, 1), matrix(CHAR, (1, 9), element(1, b"few"))),
    "X has 3 dimensions": matrix(SPARSE, (2, 2, 2), doubles(1), doubles(1), doubles(1)),
    "X claims 8,589,9": matrix(
        SPARSE, (1 << 30, 1), element(INT32, bytes(4)), element(INT32, bytes(8)), doubles(1)
    ),
    "where a matrix is expected": element(DOUBLE, bytes(16)),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_false_claims_are_refused_before_memory_is_allocated(write, lie, compressed):
    path = write(LIES[lie], compressed=compressed)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=rf"bad\.mat: .*{lie}"):
            read(path, limits=SMALL)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_variable_larger_than_the_file(write):
    path = write(matrix(FULL, (1, 1), doubles(1), size=1 << 31))
    with pytest.raises(FileFormatError, match="ends in the middle of a variable"):
        read(path)


@pytest.mark.parametrize(
    ("rows", "pointers", "what"),
    [([0, 99], [0, 2], INDEX), ([0, 1], [0, 5], "pointer"), ([0, -1], [0, 2], INDEX),
     ([], [0, 9, 0], "pointer")],
)  # fmt: skip
def test_sparse_indices_are_checked(write, rows, pointers, what):
    parts = (
        element(INT32, struct.pack(f"<{len(rows)}i", *rows)),
        element(INT32, struct.pack(f"<{len(pointers)}i", *pointers)),
        doubles(*[1.0] * len(rows)),
    )
    with pytest.raises(FileFormatError, match=what):
        read(write(matrix(SPARSE, (3, len(pointers) - 1), *parts)), views="X")


def test_cells_in_cells_do_not_recurse(write):
    nest = matrix(FULL, (1, 1), doubles(1), name="")
    for _ in range(5_000):
        nest = matrix(CELL, (1, 1), nest, name="")
    with pytest.raises(InputError, match="its item 1 is a cell"):
        read(write(matrix(CELL, (1, 1), nest)), views="X")


def test_compressed_bomb_is_refused_by_the_limit(write):
    empty = struct.pack("<II", MATRIX, 0)
    bomb = matrix(CELL, (1 << 20, 1), empty * (1 << 20))
    path = write(bomb, compressed=True)
    assert path.stat().st_size < 20_000
    with pytest.raises(FileFormatError, match="the cell X claims"):
        inspect(path, limits=SMALL)


def test_a_large_array_is_described_without_decompression(write):
    path = write(matrix(FULL, (1000, 1000), element(DOUBLE, bytes(8_000_000))), compressed=True)
    tracemalloc.start()
    try:
        assert inspect(path)[0].shape == (1000, 1000)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(FileFormatError, match="over the limit"):
        read(path, limits=SMALL)


def test_objects_and_empty_items_are_described(write):
    flags = element(UINT32, struct.pack("<II", 17, 0))
    opaque = element(MATRIX, flags + element(INT8, b"t") + element(INT8, b"MCOS") + bytes(32))
    nothing = struct.pack("<II", MATRIX, 0)
    item = matrix(FULL, (3, 2), doubles(*range(6)), name="")
    path = write(opaque, matrix(CELL, (1, 2), item, nothing))
    first, second = inspect(path)
    assert (first.name, first.kind) == ("t", "object")
    assert [item.shape for item in second.items] == [(3, 2), (0, 0)]
    with pytest.raises(InputError, match="its item 2 is empty"):
        read(path, views="X")


def test_two_variables_of_the_same_name(write):
    one = matrix(FULL, (1, 2), doubles(1, 2))
    with pytest.raises(FileFormatError, match="several variables named X"):
        read(write(one, one))


def test_not_a_matlab_file(tmp_path):
    path = tmp_path / "page.mat"
    path.write_text("<html>Not Found</html>" * 20)
    with pytest.raises(FileFormatError, match=r"page\.mat: not a MATLAB file"):
        read(path)


# --- v7.3 ----------------------------------------------------------------------------------------


@pytest.fixture
def hdf(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.ones((4, 2))
    (tmp_path / "raw.bin").write_bytes(bytes(64))
    return h5py.File(tmp_path / "bad.mat", "w")


def external_link(file):
    file["X"] = h5py.ExternalLink("other.h5", "/secret")


def soft_link(file):
    file["there"] = np.ones((4, 2))
    file["X"] = h5py.SoftLink("/there")


def external_storage(file):
    file.create_dataset("X", (4, 2), "f8", external=[("raw.bin", 0, 64)])


def virtual(file):
    layout = h5py.VirtualLayout((4, 2), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "secret", (4, 2))
    file.create_virtual_dataset("X", layout)


def linked_values(file):
    group = file.create_group("X")
    group.attrs["MATLAB_sparse"] = np.uint64(4)
    group["jc"] = np.array([0, 1], dtype="u8")
    group["ir"] = np.array([0], dtype="u8")
    group["data"] = h5py.ExternalLink("other.h5", "/secret")


@pytest.mark.parametrize(
    "way", [external_link, soft_link, external_storage, virtual, linked_values]
)
def test_nothing_outside_the_file_is_read(hdf, way):
    way(hdf)
    path = hdf.filename
    hdf.close()
    with pytest.raises(FileFormatError, match=r"bad\.mat: .*not followed"):
        read(path)


def test_v73_claims_are_checked_before_memory_is_allocated(hdf):
    hdf.create_dataset("X", (1 << 20, 1 << 20), "f8", chunks=(1024, 1024))
    path = hdf.filename
    hdf.close()
    with pytest.raises(FileFormatError, match=r"claims 8,796,093,022,208 bytes"):
        read(path)
    assert inspect(path)[0].shape == (1 << 20, 1 << 20)


@pytest.mark.parametrize(
    ("rows", "ir", "jc", "what"),
    [(4, [0, 9], [0, 2], INDEX), (4, [0, 1], [0, 7], "pointer"), (4, [0, 1], [3, 2], "pointer"),
     (2**60, [0, 1], [0, 2], "over the limit"), (4, [0, 2**63], [0, 2], INDEX)],
)  # fmt: skip
def test_v73_sparse_indices_are_checked(hdf, rows, ir, jc, what):
    group = hdf.create_group("X")
    group.attrs["MATLAB_sparse"] = np.uint64(rows)
    group["jc"], group["ir"] = np.array(jc, dtype="u8"), np.array(ir, dtype="u8")
    group["data"] = np.ones(2)
    path = hdf.filename
    hdf.close()
    with pytest.raises(FileFormatError, match=what):
        read(path, views="X")


def test_v73_cell_that_holds_itself_or_nothing(hdf):
    cell = hdf.create_dataset("X", (2, 1), h5py.ref_dtype)
    cell.attrs["MATLAB_class"] = np.bytes_("cell")
    cell[0, 0] = cell.ref
    cell[1, 0] = cell.ref
    path = hdf.filename
    hdf.close()
    with pytest.raises(FileFormatError, match="no views found"):
        read(path)
    with h5py.File(path, "a") as file:
        file["X"][1, 0] = h5py.Reference()
    with pytest.raises(FileFormatError, match="has missing items"):
        read(path)


def not_references(file):
    file["X"] = np.ones((2, 1))
    file["X"].attrs["MATLAB_class"] = np.bytes_("cell")


def no_columns(file):
    group = file.create_group("X")
    group.attrs["MATLAB_sparse"] = np.uint64(4)
    group["jc"] = np.zeros(0, dtype="u8")


def values_are_a_group(file):
    linked_values(file)
    del file["X/data"]
    file["X"].create_group("data")


def endless_attribute(file):
    file["X"] = np.ones((4, 2))
    file["X"].attrs["MATLAB_class"] = np.zeros(4000)


def unknown_filter(file):
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((4, 2))
    creation.set_filter(31_999, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple((4, 2))
    h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, creation)


@pytest.mark.parametrize(
    ("way", "what"),
    [(not_references, "does not hold references"), (no_columns, "negative size"),
     (values_are_a_group, "an array is missing"), (endless_attribute, "attribute MATLAB_class"),
     (unknown_filter, "compressed in a way")],
)  # fmt: skip
def test_v73_files_that_matlab_does_not_write(hdf, way, what):
    way(hdf)
    path = hdf.filename
    hdf.close()
    with pytest.raises(FileFormatError, match=what):
        read(path, views="X")


# --- random damage -------------------------------------------------------------------------------


def damaged(data, rng):
    """Return the bytes truncated, or with a few replaced by extreme values."""
    if rng.random() < 0.1:
        return data[: rng.randrange(len(data))]
    hurt = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(hurt))
        word = rng.choice((b"\xff", b"\0", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x08"))
        hurt[at : at + len(word)] = word
    return bytes(hurt)


@pytest.mark.parametrize("form", ["v5", "v7", "v4", "npz", "csv"])
def test_damage_raises_input_errors_only(tmp_path, form):
    rng = random.Random(0)
    A = np.arange(24.0).reshape(8, 3)
    whole = tmp_path / {"npz": "a.npz", "csv": "a.csv"}.get(form, "a.mat")
    if form == "npz":
        np.savez(whole, X1=A, X2=A, y=np.arange(8) % 2)
    elif form == "csv":
        whole.write_text("id,a,b,label\n" + "".join(f"s{i},{i},0.5,c{i % 2}\n" for i in range(8)))
    else:
        cell = np.empty((2, 1), dtype=object)
        cell[0, 0], cell[1, 0] = A, sp.csc_array(A)
        variables = {"X": A, "y": np.arange(8.0)} if form == "v4" else {"X": cell, "names": "abc"}
        version = "4" if form == "v4" else "5"
        scipy.io.savemat(whole, variables, format=version, do_compression=form == "v7")
    data = whole.read_bytes()
    outcomes = {"read": 0, "refused": 0}
    for _ in range(100):
        whole.write_bytes(damaged(data, rng))
        try:
            read(whole, limits=SMALL)
            outcomes["read"] += 1
        except InputError as error:
            assert str(whole) in str(error) or form == "csv"
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0
