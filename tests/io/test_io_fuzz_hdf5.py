"""HDF5 and MATLAB files that fuzzing and code review found to break a reader."""

import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.io

from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read
from mkclust.io._guards.hdf5 import STEP

SMALL = Limits(max_bytes=1 << 20)


# --- HDF5 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [bytes(16), struct.pack("<HHIQ", 1, 1, 0, 2**64 - 8)])
def test_a_heap_that_does_not_end_is_refused(h5ad, entry):
    """HDF5 2.0 loops there forever and cannot be interrupted."""
    path = h5ad()
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL")
    data[heap + 16 : heap + 32] = entry
    path.write_bytes(data)
    for reader in (read, inspect):
        with pytest.raises(FileFormatError, match=r"cells\.h5ad: a heap of texts is broken"):
            reader(path)


def test_a_heap_is_found_at_any_offset(h5ad):
    """The file is searched in blocks, and a signature may span two of them."""
    path = h5ad()
    data = path.read_bytes()
    heap = data.index(b"GCOL")
    broken = data[heap : heap + 16] + bytes(16) + data[heap + 32 : heap + 4096]
    for before in range(STEP - len(data) - 20, STEP - len(data) + 4):
        path.write_bytes(data + bytes(before) + broken)
        with pytest.raises(FileFormatError, match="a heap of texts is broken"):
            read(path)
    path.write_bytes(data + b"GCOL\x01" * 9)  # these bytes may occur by chance
    assert read(path).names == ("X",)


def test_a_chunk_that_decompresses_to_too_much_is_refused(tmp_path):
    path = tmp_path / "bomb.mat"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("X", (4, 2), "f8", chunks=(4, 2), compression="gzip")
        made.id.write_direct_chunk((0, 0), zlib.compress(bytes(16 << 20)))
    with pytest.raises(FileFormatError, match="unpacks to more than the 64 bytes it should hold"):
        read(path, limits=SMALL)


@pytest.mark.parametrize("packing", [{}, {"compression": "gzip"}, {"fletcher32": True},
                                     {"compression": "gzip", "fletcher32": True}])  # fmt: skip
@pytest.mark.parametrize("held", [3, 80])
def test_a_chunk_that_holds_too_little_is_refused(tmp_path, packing, held):
    """HDF5 reads past its end into other memory of the process."""
    path = tmp_path / "short.mat"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("X", (1000, 1000), "f8", chunks=(1000, 1000), **packing)
        data = bytes(held)
        made.id.write_direct_chunk(
            (0, 0), zlib.compress(data) if "compression" in packing else data
        )
    with pytest.raises(FileFormatError, match="less than the 8,000,000 bytes it should hold"):
        read(path)


def test_an_lzf_chunk_must_declare_its_true_size(tmp_path):
    path = tmp_path / "short.mat"
    with h5py.File(path, "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((100, 100))
        creation.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL, (4, 261, 800))
        space = h5py.h5s.create_simple((100, 100))
        made = h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, creation)
        made.write_direct_chunk((0, 0), b"\x01ab")
    data = path.read_bytes()
    sizes = struct.pack("<3I", 4, 261, 80_000)
    assert sizes in data  # the library writes the true one in
    path.write_bytes(data.replace(sizes, struct.pack("<3I", 4, 261, 800)))
    with pytest.raises(FileFormatError, match="a chunk of /X cannot be checked"):
        read(path)


@pytest.mark.parametrize(
    "packing",
    [{"compression": "gzip", "shuffle": True, "fletcher32": True}, {"compression": "lzf"},
     {"fletcher32": True}, {"shuffle": True}, {}],
)  # fmt: skip
def test_chunks_of_any_compression_are_read(tmp_path, packing):
    path = tmp_path / "whole.mat"
    numbers = np.random.default_rng(0).integers(0, 9, (30, 70)).astype(float)
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=numbers, chunks=(16, 16), **packing)
    np.testing.assert_array_equal(read(path)["X"], numbers.T)


def test_a_checksum_may_come_before_the_compression(tmp_path):
    path = tmp_path / "before.mat"
    numbers = np.arange(12.0).reshape(4, 3)
    with h5py.File(path, "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((4, 3))
        creation.set_fletcher32()
        creation.set_deflate(1)
        space = h5py.h5s.create_simple((4, 3))
        h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, creation)
        file["X"][...] = numbers
    np.testing.assert_array_equal(read(path)["X"], numbers.T)


def test_large_valid_chunks_are_read(tmp_path):
    path = tmp_path / "large.mat"
    noise = np.random.default_rng(0).random((200, 200))
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=noise, chunks=(200, 200), compression="gzip")
    np.testing.assert_array_equal(read(path, limits=SMALL)["X"], noise.T)


def test_data_compressed_twice_are_refused(tmp_path):
    path = tmp_path / "twice.mat"
    with h5py.File(path, "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((4, 2))
        creation.set_deflate(1)
        creation.set_deflate(1)
        space = h5py.h5s.create_simple((4, 2))
        h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, creation)
    with pytest.raises(FileFormatError, match="compressed several times"):
        read(path)


def test_nested_types_are_not_read(h5ad):
    """h5py crashes on damaged nested types."""
    lists = h5py.vlen_dtype(np.int32)
    one = np.empty(1, dtype=object)
    one[0] = np.arange(2, dtype=np.int32)

    def order(file):
        file.create_group("mod").attrs.create("mod-order", one, dtype=lists)

    with pytest.raises(FileFormatError, match="attribute mod-order holds neither numbers nor text"):
        read(h5ad(order))

    def names(file):
        del file["obs/_index"]
        file["obs"].create_dataset("_index", (3,), lists)

    with pytest.raises(FileFormatError, match="obs/_index holds neither numbers nor texts"):
        read(h5ad(names))


def endless(file, name):
    """Put a dataset that would take years to search where a group is expected."""
    if name in file:
        del file[name]
    file.create_dataset(name, (10**12,), "f8", chunks=(1000,))


@pytest.mark.parametrize("name", ["mod", "obs", "layers", "obsm", "mod/rna"])
def test_a_dataset_in_place_of_a_group_is_not_searched(h5ad, name):
    with pytest.raises(FileFormatError, match="is not a group but a Dataset"):
        read(h5ad(lambda file: endless(file, name)))


def test_one_category_cannot_expand_to_gigabytes(h5ad):
    def column(file):
        kind = file["obs"].create_group("kind")
        kind["categories"] = np.array(["x" * 10_000], dtype=object)
        kind.create_dataset("codes", (10**5,), "i1", chunks=(10**5,), compression="gzip")

    with pytest.raises(FileFormatError, match=r"the column kind claims 4,000,000,000 bytes"):
        read(h5ad(column), labels="kind", limits=Limits(max_bytes=64 << 20))


def test_ten_million_columns_of_a_dense_matrix(h5ad):
    def wide(file):
        del file["X"]
        file.create_dataset("X", (3, 10**7 + 1), "i1", chunks=(3, 1000))

    with pytest.raises(FileFormatError, match="X claims 10,000,001 columns, over the limit"):
        read(h5ad(wide))


def test_a_cell_cannot_hold_one_item_a_million_times(tmp_path):
    path = tmp_path / "cell.mat"
    with h5py.File(path, "w") as file:
        item = file.create_dataset("#refs#/a", data=np.ones((2, 2)))
        shape, packed = (10**6, 1), {"chunks": (10**6, 1), "compression": "gzip"}
        cell = file.create_dataset("X", shape, h5py.ref_dtype, **packed)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        address = struct.pack("<Q", h5py.h5o.get_info(item.id).addr)
        cell.id.write_direct_chunk((0, 0), zlib.compress(address * 10**6))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(FileFormatError, match="the cell X claims more items than the file has"):
        inspect(path)


def test_characters_that_do_not_exist(tmp_path):
    path = tmp_path / "text.mat"
    with h5py.File(path, "w") as file:
        file["X"] = np.ones((2, 3))
        file["y"] = np.full((1, 3), 0x110000, dtype="u4")
        file["y"].attrs["MATLAB_class"] = np.bytes_("char")
    with pytest.raises(FileFormatError, match="the text y has characters that do not exist"):
        read(path)


def test_rows_of_text_are_labels(tmp_path):
    path = tmp_path / "text.mat"
    with h5py.File(path, "w") as file:
        file["X"] = np.ones((2, 3))
        file["y"] = np.array([[ord(c) for c in "acb"], [ord(c) for c in "a d"]], dtype="u2")
        file["y"].attrs["MATLAB_class"] = np.bytes_("char")
    assert read(path).labels.tolist() == ["aa", "c", "bd"]


# --- MATLAB --------------------------------------------------------------------------------------


def version4(name=b"X\0", kind=0, shape=(3, 2), length=None, order="<"):
    word = kind + (1000 if order == ">" else 0)
    length = len(name) if length is None else length
    values = np.arange(shape[0] * shape[1], dtype=f"{order}f8") if np.prod(shape) < 99 else []
    return struct.pack(f"{order}5i", word, *shape, 0, length) + name + bytes(np.array(values).data)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (version4(length=2**31 - 1), "a name claims 2147483647 bytes"),
        (version4(length=-1), "a name claims -1 bytes"),
        (version4(shape=(10**6, 10**6)), "more than the file has"),
        (version4(shape=(-1, 2)), "unknown kind"),
        (version4(kind=4999), "unknown kind"),
        (version4(kind=2), "a list of 3 x 2"),
        (version4(kind=2, shape=(0, 3)), "a list of 0 x 3"),
        (version4() + b"rest", "ends in the middle"),
    ],
)
def test_version_4_is_checked_before_scipy_reads_it(tmp_path, data, what):
    path = tmp_path / "old.mat"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=rf"old\.mat: .*{what}"):
        read(path)


@pytest.mark.parametrize("shape", [(np.nan, 3.0), (-1.0, 3.0), (2.5, 3.0), (1e300, 3.0)])
def test_version_4_sparse_shapes(tmp_path, shape):
    entries = np.array([[1, 1, 5], [*shape, 0]], dtype="<f8")
    path = tmp_path / "old.mat"
    head = struct.pack("<5i", 2, 2, 3, 0, 2)
    path.write_bytes(head + b"X\0" + entries.tobytes(order="F"))
    with pytest.raises(FileFormatError, match="a sparse matrix has shape"):
        read(path)


def test_version_4_of_another_byte_order(tmp_path):
    path = tmp_path / "old.mat"
    path.write_bytes(version4(order=">"))
    assert read(path)["X"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def big_endian(code, data):
    return struct.pack(">II", code, len(data)) + data + bytes(-len(data) % 8)


def version5(mark):
    """A 3 x 2 matrix written with big-endian numbers."""
    parts = (
        big_endian(6, struct.pack(">II", 6, 0)),
        big_endian(5, struct.pack(">ii", 3, 2)),
        big_endian(1, b"X"),
        big_endian(9, struct.pack(">6d", *range(6))),
    )
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00" + mark
    return head + big_endian(14, b"".join(parts))


def test_version_5_of_another_byte_order_or_with_a_false_mark(tmp_path):
    path = tmp_path / "big.mat"
    path.write_bytes(version5(b"MI"))
    view = read(path)["X"]
    assert view.dtype.isnative and view.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    path.write_bytes(version5(b"IM"))
    with pytest.raises(FileFormatError, match=r"big\.mat"):
        read(path)


def test_one_long_text_in_a_cell_does_not_widen_all_others(tmp_path):
    labels = np.array(["x" * 10_000, *["y"] * 999], dtype=object)
    path = tmp_path / "labels.mat"
    scipy.io.savemat(path, {"X": np.ones((1000, 2)), "y": labels})
    with pytest.raises(InputError, match=r"claims 40,01\d,\d+ bytes, over the limit"):
        read(path, limits=SMALL)
    assert len(read(path).labels[0]) == 10_000
