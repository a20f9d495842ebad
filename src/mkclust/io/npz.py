"""Read NumPy archives without pickle, checking every header before its array is allocated.

The length that a header claims is not trusted either.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import FileFormatError
from ._guards.limits import Limits, native, parsing
from .variables import Variable, kind_of_array

ADVICE = "write it with np.savez(path, X1=..., X2=..., y=...)"
STORED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # the methods NumPy writes
MAGIC = b"\x93NUMPY"
LENGTHS = {1: 2, 2: 4, 3: 4}  # bytes of the length field of a header, by version
LONGEST = 10_000  # characters; NumPy refuses more, but only after reading them


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the arrays of the archive from the headers of its members."""
    with parsing(".npz file", ADVICE), zipfile.ZipFile(path) as archive:
        limits.allow("views", len(archive.infolist()), "it")
        names = [member.filename for member in archive.infolist()]
        if len(set(names)) < len(names):
            raise FileFormatError(f"it has several members of one name: {ADVICE}")
        return [_described(archive, member) for member in archive.infolist()]


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    """Load the wanted arrays."""
    with parsing(".npz file", ADVICE), zipfile.ZipFile(path) as archive:
        return {variable.name: _value(archive, variable) for variable in wanted}


def _described(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Variable:
    name = member.filename.removesuffix(".npy")
    if name == member.filename or member.compress_type not in STORED or member.flag_bits & 1:
        return Variable(member.filename, "object", (), bytes=member.file_size)
    with archive.open(member) as file:
        shape, _, dtype = read_header(file)
        header = file.tell()
    if dtype.hasobject or dtype.names or not dtype.itemsize:
        return Variable(name, "object", shape, str(dtype), member.file_size)
    size = prod(shape) * dtype.itemsize
    if size != member.file_size - header:
        raise FileFormatError(
            f"{name} claims shape {shape} of {dtype}, {size} bytes, but the archive has "
            f"{member.file_size - header}: {ADVICE}"
        )
    other = {"U": "text", "S": "text", "c": "complex"}.get(dtype.kind, "object")
    kind = kind_of_array(shape) if dtype.kind in "biuf" else other
    return Variable(name, kind, shape, dtype.name, size)


def _value(archive: zipfile.ZipFile, variable: Variable) -> Any:
    with archive.open(f"{variable.name}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.shape != variable.shape or array.dtype.name != variable.dtype:
        raise FileFormatError(f"{variable.name} changed while it was read")
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return native(array)


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether the order is Fortran, and dtype; the file is then at the array.

    >>> file = BytesIO()
    >>> np.save(file, np.zeros((3, 2)))
    >>> read_header(BytesIO(file.getvalue()))
    ((3, 2), False, dtype('float64'))
    """
    start = file.read(8)
    width = LENGTHS.get(start[6]) if start[:6] == MAGIC and len(start) == 8 else None
    if width is None or start[7]:
        raise FileFormatError("not a NumPy array, or one of an unknown version")
    size = file.read(width)
    length = int.from_bytes(size, "little")
    if length > LONGEST:
        raise FileFormatError(f"the header of an array claims {length:,} characters")
    # versions 2 and 3 differ only in the encoding of field names
    first = start[6] == 1
    parse = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = parse(BytesIO(size + file.read(length)))
    if any(size < 0 for size in shape):
        raise FileFormatError(f"an array has a negative dimension {shape}")
    return tuple(int(size) for size in shape), fortran, dtype
