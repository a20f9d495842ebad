"""Files that fuzzing and code review found to break a reader."""

import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from mkclust.exceptions import FileFormatError
from mkclust.io import Limits, inspect, read
from mkclust.large.views import LargeViews

SMALL = Limits(max_bytes=1 << 20)


@contextmanager
def refused(what):
    """Check that the file is refused with this message and that Python allocates little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=what):
            yield
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def npy_header(text, version=1, length=None):
    width = 2 if version == 1 else 4
    length = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(width, "little") + text


# --- .npy and .npz -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2",  # not even a token's end
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2), }",
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }",
        b"[" * 5000,
        b"",
    ],
)
def test_broken_npy_headers_are_refused(tmp_path, text):
    path = tmp_path / "part-0.npy"
    path.write_bytes(npy_header(text) + bytes(48))
    with pytest.raises(FileFormatError, match=r"part-0\.npy"):
        LargeViews([path])


def test_a_compressed_header_cannot_claim_gigabytes(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header(b" " * (16 << 20), version=2))
    assert path.stat().st_size < 50_000
    with refused("claims 16,777,216 characters"):
        inspect(path)


# --- tables --------------------------------------------------------------------------------------


def test_one_long_text_does_not_widen_all_others(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n" + "1,x\n" * 5_000 + f"1,{'x' * 100_000}\n")
    with refused("5001 texts, one of 100000 characters, claims 2,000"):
        read(path, limits=Limits(max_bytes=100 << 20))
    path.write_text("id,a\n" + f"{'x' * 100_000},1\n" + "".join(f"{i},1\n" for i in range(5_000)))
    with refused("5001 texts, one of 100000 characters, claims 2,000"):
        read(path, limits=Limits(max_bytes=100 << 20))


@pytest.mark.parametrize(("cell", "count"), [("1,", "500,001"), ('"\n",', "1,001")])
def test_cells_are_counted_before_they_are_split(tmp_path, cell, count):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n" + cell * 500_000 + "\n")
    with refused(f"a line of it claims {count} columns, over"):
        read(path, limits=Limits(max_columns=1_000))


def test_a_line_that_does_not_end(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n" + "1" * (3 << 20))
    with refused("a line of it is longer than 1,048,576 characters"):
        read(path, limits=Limits(max_columns=1_000))


# --- Parquet -------------------------------------------------------------------------------------


def parquet(path, columns, **settings):
    pa = pytest.importorskip("pyarrow", reason="pyarrow comes with mkclust[parquet]")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, **settings)
    return path


def test_a_text_in_many_rows_is_stored_once(tmp_path):
    labels = ["x" * 100_000] * 200 + ["y"] * 1_800
    path = parquet(tmp_path / "a.parquet", {"a": np.arange(2_000.0), "label": labels})
    assert path.stat().st_size < 200_000
    with pytest.raises(FileFormatError, match="2000 texts, one of 100000 characters, claims 800,0"):
        read(path, limits=Limits(max_bytes=100 << 20))
    assert read(path, labels=False).widths == (1,)


def test_pages_are_counted_before_they_are_decompressed(tmp_path):
    path = tmp_path / "a.parquet"
    parquet(path, {"a": [1.0], "label": ["x" * (16 << 20)]}, compression="zstd",
            write_statistics=False)  # fmt: skip
    assert path.stat().st_size < 50_000
    with refused(r"it claims 16,777,\d+ bytes, over the limit"):
        read(path, limits=SMALL)


def test_a_repeated_value_counts_with_all_its_rows(tmp_path):
    path = parquet(tmp_path / "a.parquet", {"a": np.zeros(200_000)})
    assert path.stat().st_size < 10_000
    with refused(r"it claims 1,600,\d+ bytes, over the limit"):
        read(path, limits=SMALL)


def test_texts_with_shared_prefixes_are_refused(tmp_path):
    path = parquet(tmp_path / "a.parquet", {"a": [1.0, 2.0], "label": ["aa", "ab"]},
                   use_dictionary=False, column_encoding={"label": "DELTA_BYTE_ARRAY"})  # fmt: skip
    with pytest.raises(FileFormatError, match="DELTA_BYTE_ARRAY"):
        read(path)


def test_lists_in_a_column_are_refused(tmp_path):
    path = parquet(tmp_path / "a.parquet", {"a": [1.0, 2.0], "label": [[1], [2, 3]]})
    with pytest.raises(FileFormatError, match="should have one number or text in each row"):
        read(path)
    path = parquet(tmp_path / "a.parquet", {"a": [1.0, 2.0], "label": [[1], [2]]})
    with pytest.raises(FileFormatError, match="column 'label' is not numeric but list"):
        read(path)


def varint(value):
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def struct_of(**fields):
    """Encode a Thrift struct: f3=10 sets field 3; bytes are already encoded."""
    found, last = b"", 0
    for name, value in fields.items():
        number = int(name[1:])
        kind = {int: 6, bytes: 12, list: 9, str: 8}[type(value)]
        found += bytes([number - last << 4 | kind])
        last = number
        if isinstance(value, int):
            found += varint(value << 1)
        elif isinstance(value, list):
            found += bytes([len(value) << 4 | 12]) + b"".join(value)
        else:
            found += value if isinstance(value, bytes) else varint(len(value)) + value.encode()
    return found + b"\0"


@pytest.mark.parametrize(
    ("rows", "part", "what"),
    [
        (10**12, {"f3": struct_of(f1=5, f5=10**12, f7=0, f9=4)}, "claims 8,000,000,000,000 bytes"),
        (3, {"f3": struct_of(f1=5, f5=10**12, f7=0, f9=4)}, "1000000000000 values in 3 rows"),
        (3, {"f1": "/etc/passwd", "f3": struct_of(f1=5, f5=3, f7=0, f9=4)}, "not followed"),
        (3, {"f3": struct_of(f1=5, f5=3, f7=9, f9=10**9)}, "a header does not end"),
        (3, {"f3": struct_of(f1=5, f5=3)}, "a size is missing"),
    ],
)
def test_parquet_footers_with_false_claims(tmp_path, rows, part, what):
    pytest.importorskip("pyarrow")
    group = struct_of(f1=[struct_of(**part)], f2=1, f3=rows)
    footer = struct_of(f1=1, f3=rows, f4=[group])
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(FileFormatError, match=rf"a\.parquet: .*{what}"):
        read(path)


@pytest.mark.parametrize("footer", [b"\x1c" * 5000, b"\x19\xfc\xff\xff\xff\x7f", b"\xff" * 99, b""])
def test_parquet_footers_that_do_not_end(tmp_path, footer):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(FileFormatError, match=r"a\.parquet: "):
        read(path)


@pytest.mark.parametrize("name", ["who{", "who}", "{who}", "{0.__class__}"])
def test_braces_in_a_name_are_ordinary_characters(tmp_path, name):
    np.savez(tmp_path / "x.npz", X=np.eye(5), **{name: np.arange(5)})
    notes = read(tmp_path / "x.npz").notes
    assert any(f'choose it with labels="{name}"' in note for note in notes)
