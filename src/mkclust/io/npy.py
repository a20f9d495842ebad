"""Read the header of a NumPy array without trusting the length it claims."""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

import numpy as np

from ..exceptions import FileFormatError

MAGIC = b"\x93NUMPY"
LENGTHS = {1: 2, 2: 4, 3: 4}  # bytes of the length field, by version
LONGEST = 10_000  # characters; NumPy refuses more, but only after reading them


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
