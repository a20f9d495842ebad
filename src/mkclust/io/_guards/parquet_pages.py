"""Check the footer and page headers of a Parquet file before pyarrow allocates memory for it.

pyarrow does not check the sizes in the footer: a page of a kilobyte may decompress to two
gigabytes, one text may represent a million rows, and some contradictions abort the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from ...exceptions import FileFormatError
from .limits import Limits
from .thrift import DAMAGED, Compact, Fields

MAGIC = b"PAR1"
LONGEST = 1 << 16  # bytes of a page header
FIELD_BYTES = 64  # memory per byte of the footer once it is parsed
ROWS, GROUPS = 3, 4  # fields of the footer
COLUMNS, GROUP_ROWS = 1, 3  # of a row group
ELSEWHERE, COLUMN = 1, 3  # of a column chunk
TYPE, VALUES, PACKED, PAGES, DICTIONARY = 1, 5, 7, 9, 11  # of the metadata of a column chunk
PAGE_UNPACKED, PAGE_PACKED, PAGE, PAGE_2 = 2, 3, 5, 8  # of a page header
ENCODING = {PAGE: 2, PAGE_2: 4}  # field of the encoding in these two
BYTES = 6  # physical type of texts
FRONT_CODED = 7  # DELTA_BYTE_ARRAY: shares prefixes between texts, so the size has no bound


def check_pages(path: Path, limits: Limits, *, each: bool = False) -> list[int]:
    """Return the number of rows of every row group, once their sizes are checked.

    The limit applies to all row groups together, or with `each` to one at a time.
    """
    with path.open("rb") as file:
        footer = _footer(file, limits)
        total, counts = 0, []
        for group in _structs(footer, GROUPS):
            columns, rows = _structs(group, COLUMNS), _number(group, GROUP_ROWS)
            total = (0 if each else total) + 8 * rows * len(columns)
            limits.allow("bytes", total, "it")
            for column in columns:
                total += _column(file, column, rows)
                limits.allow("bytes", total, "it")
            counts.append(rows)
    if sum(counts) != _number(footer, ROWS):
        raise FileFormatError(f"it claims {_number(footer, ROWS)} rows, but has {sum(counts)}")
    return counts


def _footer(file: IO[bytes], limits: Limits) -> Fields:
    size = file.seek(0, 2)
    file.seek(max(size - 8, 0))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if size < 12 or end[4:] != MAGIC or length > size - 12:
        raise FileFormatError(f"not a Parquet file, or not all of it: {DAMAGED}")
    limits.allow("bytes", FIELD_BYTES * length, "its footer")
    file.seek(size - 8 - length)
    return Compact(file.read(length)).struct()


def _column(file: IO[bytes], part: Fields, rows: int) -> int:
    """Return the decompressed bytes of one column in one row group."""
    column = part.get(COLUMN)
    if part.get(ELSEWHERE) or not isinstance(column, dict):
        raise FileFormatError("a column is stored in another file, which is not followed")
    if _number(column, VALUES) != rows:
        raise FileFormatError(
            f"a column has {_number(column, VALUES)} values in {rows} rows; every column should "
            "have one number or text in each row"
        )
    start, first = _number(column, PAGES), column.get(DICTIONARY)
    place = first if isinstance(first, int) and 0 < first < start else start
    end, total = place + _number(column, PACKED), 0
    while place < end:
        file.seek(place)
        header = Compact(file.read(LONGEST))
        page = header.struct()
        if column.get(TYPE) == BYTES and FRONT_CODED in (_encoding(page, p) for p in ENCODING):
            raise FileFormatError(
                "a column is encoded as DELTA_BYTE_ARRAY, which is not read: write it with "
                "another encoding"
            )
        total += _number(page, PAGE_UNPACKED)
        place += header.place + _number(page, PAGE_PACKED)
    return total


def _encoding(page: Fields, kind: int) -> Any:
    inside = page.get(kind)
    return inside.get(ENCODING[kind]) if isinstance(inside, dict) else None


def _number(fields: Fields, name: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or value < 0:
        raise FileFormatError(f"a size is missing, or negative: {DAMAGED}")
    return value


def _structs(fields: Fields, name: int) -> list[Fields]:
    value = fields.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FileFormatError(f"its footer lacks a part: {DAMAGED}")
    return value
