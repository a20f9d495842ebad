"""Check the headers of a MATLAB v4 file before scipy allocates memory for it.

The format has neither cells nor compression, so no array can be larger than the file.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO

from ...exceptions import FileFormatError
from ..variables import Variable
from .limits import Limits

TYPES = {0: "d", 1: "f", 2: "i", 3: "h", 4: "H", 5: "B"}
KINDS = {0: "matrix", 1: "text", 2: "sparse"}
LONGEST = 4096  # bytes of a name
DAMAGED = "it may be damaged; save it again from MATLAB with -v7"


def scan(path: Path, limits: Limits) -> list[Variable]:
    """Describe every variable of the file."""
    size = os.path.getsize(path)
    found = []
    with path.open("rb") as file:
        # in the byte order of the file the first word is below 5000
        order = "<" if int.from_bytes(file.read(4), "little") <= 5000 else ">"
        file.seek(0)
        while file.tell() < size:
            found.append(_variable(file, order, size))
            limits.allow("views", len(found), "it")
            limits.allow("bytes", found[-1].bytes, found[-1].name)
    return found


def _variable(file: IO[bytes], order: str, size: int) -> Variable:
    raw = file.read(20)
    if len(raw) < 20:
        raise FileFormatError(f"it ends in the middle of a variable: {DAMAGED}")
    word, rows, columns, paired, length = struct.unpack(f"{order}5i", raw)
    code, kind = TYPES.get(word // 10 % 100), KINDS.get(word % 10)
    if code is None or kind is None or word // 1000 not in (0, 1) or min(rows, columns) < 0:
        raise FileFormatError(f"a variable is of the unknown kind {word}: {DAMAGED}")
    if not 0 < length <= LONGEST:
        raise FileFormatError(f"a name claims {length} bytes: {DAMAGED}")
    name = file.read(length).rstrip(b"\0").decode("latin1")
    start = file.tell()
    stored = rows * columns * struct.calcsize(code) * (2 if paired and kind != "sparse" else 1)
    if start + stored > size:
        raise FileFormatError(f"{name} claims shape {(rows, columns)}, more than the file has")
    shape = (rows, columns)
    if kind == "sparse":
        shape = _last_entry(file, f"{order}{code}", rows, columns)
    file.seek(start + stored)
    what = "complex" if paired or (kind == "sparse" and columns == 4) else kind
    bytes_ = 8 * (sum(shape) + 3 * rows) if kind == "sparse" else 8 * rows * columns
    return Variable(name, what, shape, "str" if kind == "text" else "float64", bytes_)


def _last_entry(file: IO[bytes], code: str, rows: int, columns: int) -> tuple[int, int]:
    """Return the shape of a sparse matrix: the last of its (row, column, value) entries."""
    if rows < 1 or columns not in (3, 4):
        raise FileFormatError(f"a sparse matrix is a list of {rows} x {columns}: {DAMAGED}")
    start, width = file.tell(), struct.calcsize(code)
    found = []
    for place in (rows - 1, 2 * rows - 1):
        file.seek(start + place * width)
        found.append(struct.unpack(code, file.read(width))[0])
    if not all(0 <= value < 2**31 and value == int(value) for value in found):
        raise FileFormatError(f"a sparse matrix has shape {tuple(found)}: {DAMAGED}")
    return int(found[0]), int(found[1])
