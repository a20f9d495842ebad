"""Check the tags of a MATLAB v5/v7 file before scipy allocates memory for it.

scipy.io does not check the tags: an unknown type code indexes past the end of a C table,
dimensions are allocated as claimed, and nested cells recurse on the C stack. This module checks
every tag of a variable that can become a view, in the order in which scipy reads them. Other
variables are only described. Cells are decompressed for this, large arrays are not.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import IO

from ...exceptions import FileFormatError
from ..variables import Variable
from .limits import ITEM_BYTES, Limits

INT8, INT32, UINT32, MATRIX, COMPRESSED, UTF8 = 1, 5, 6, 14, 15, 16
NUMBERS = {
    1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "int32", 6: "uint32",
    7: "float32", 9: "float64", 12: "int64", 13: "uint64",
}  # fmt: skip
ITEMSIZE = {code: int(name.lstrip("uintfloa")) // 8 for code, name in NUMBERS.items()}
CHARACTERS = {1, 2, 4, 16, 17, 18}
CELL, TEXT, SPARSE, OPAQUE = 1, 4, 5, 17
NUMERIC = range(6, 16)
OTHERS = {2: "struct", 3: "object", 16: "function handle"}
CHUNK = 1 << 16
DAMAGED = "it may be damaged; save it again from MATLAB with -v7"


def scan(path: Path, limits: Limits) -> list[Variable]:
    """Describe every variable of the file, and the contents of cells."""
    size = os.path.getsize(path)
    found = []
    walked = 0
    with path.open("rb") as file:
        order = _byte_order(file.read(128))
        while file.tell() < size:
            code, count = struct.unpack(f"{order}II", _Window(file.read, 8).take(8))
            end = file.tell() + count
            if not 0 < count <= size - file.tell():
                raise FileFormatError(f"it ends in the middle of a variable: {DAMAGED}")
            window = _opened(file, code, count, order)
            claimed = window.left
            found.append(_variable(window, order, limits))
            walked += claimed - window.left
            limits.allow("bytes", walked, "it")
            limits.allow("views", len(found), "it")
            file.seek(end)
    return found


class _Window:
    """The bytes that one element claims; reading past them or past the file is refused."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        self._read = read
        self.left = size

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        data = self._read(count) if count <= self.left else b""
        if len(data) < count:
            raise FileFormatError(f"an array claims more bytes than there are: {DAMAGED}")
        self.left -= count
        return data

    def skip(self, count: int) -> None:
        """Pass over the next `count` bytes."""
        while count > 0:
            count -= len(self.take(min(count, CHUNK)))


class _Inflated:
    """Decompress `size` bytes of a file, only as far as requested."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left, self._zlib = file, size, zlib.decompressobj()

    def read(self, count: int) -> bytes:
        """Return the next `count` decompressed bytes, or fewer at the end."""
        parts = bytearray()
        while len(parts) < count and not self._zlib.eof:
            data = self._zlib.unconsumed_tail
            if not data:
                data = self._file.read(min(CHUNK, self._left))
                self._left -= len(data)
            more = self._zlib.decompress(data, count - len(parts))
            if not data and not more:
                break
            parts += more
        return bytes(parts)


def _byte_order(header: bytes) -> str:
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None:
        raise FileFormatError("not a MATLAB file: its header is not one; save it with -v7 or -v7.3")
    return order


def _opened(file: IO[bytes], code: int, count: int, order: str) -> _Window:
    """Return the bytes of the matrix in a top-level element."""
    read: Callable[[int], bytes] = file.read
    if code == COMPRESSED:
        inflated = _Window(_Inflated(file, count).read, 8 + 2**32)
        code, count = struct.unpack(f"{order}II", inflated.take(8))
        read = inflated.take
    if code != MATRIX:
        raise FileFormatError(f"an element of type {code} where a matrix is expected: {DAMAGED}")
    return _Window(read, count)


def _tag(window: _Window, order: str, allowed: set[int]) -> tuple[int, int, bytes | None]:
    """Return type and size of the next element, and its bytes if the tag contains them."""
    raw = window.take(8)
    code, size = struct.unpack(f"{order}II", raw)
    packed = None
    if code >> 16:
        code, size = code & 0xFFFF, code >> 16
        packed = raw[4 : 4 + size]
    if code not in allowed or size > (window.left if packed is None else 4):
        raise FileFormatError(f"an element of type {code} with {size} bytes is wrong: {DAMAGED}")
    return code, size, packed


def _small(window: _Window, order: str, allowed: set[int], most: int) -> bytes:
    """Return the bytes of a short element."""
    _, size, packed = _tag(window, order, allowed)
    if size > most:
        raise FileFormatError(f"a header field of {size} bytes is too long: {DAMAGED}")
    if packed is not None:
        return packed
    return window.take(size + -size % 8)[:size]


def _passed(window: _Window, order: str, allowed: set[int]) -> tuple[int, int]:
    """Skip an element with its padding; return its type and size."""
    code, size, packed = _tag(window, order, allowed)
    if packed is None:
        window.skip(size + -size % 8)
    return code, size


def _variable(window: _Window, order: str, limits: Limits, inside: bool = False) -> Variable:
    """Describe the matrix in the window; inside a cell, read it to its end."""
    flags = _small(window, order, {UINT32}, 8)
    if len(flags) != 8:
        raise FileFormatError(f"the flags of an array are {len(flags)} bytes, not 8: {DAMAGED}")
    word = struct.unpack(f"{order}I", flags[:4])[0]
    code = word & 0xFF
    if code == OPAQUE:
        name = _small(window, order, {INT8, UTF8}, 4096).decode("latin1")
        return Variable(name, "object", (), bytes=window.left)
    shape = _shape(_small(window, order, {INT32, UINT32}, 128), order)
    name = _small(window, order, {INT8, UTF8}, 4096).decode("latin1")
    if code in NUMERIC:
        return _numbers(window, order, name, shape, bool(word >> 11 & 1), inside)
    if code == TEXT:
        return _text(window, order, name, shape, limits)
    if code == SPARSE:
        return _sparse(window, order, name, shape, bool(word >> 11 & 1), limits)
    if code == CELL and not inside:
        return _cell(window, order, name, shape, limits)
    kind = "cell" if code == CELL else OTHERS.get(code, f"class {code}")
    return Variable(name, kind, shape, bytes=window.left)


def _shape(raw: bytes, order: str) -> tuple[int, ...]:
    if len(raw) < 8 or len(raw) % 4:
        raise FileFormatError(f"the dimensions of an array are {len(raw)} bytes: {DAMAGED}")
    shape = struct.unpack(f"{order}{len(raw) // 4}i", raw)
    if min(shape) < 0:
        raise FileFormatError(f"an array has a negative dimension {shape}: {DAMAGED}")
    return shape


def _numbers(
    window: _Window, order: str, name: str, shape: tuple[int, ...], paired: bool, inside: bool
) -> Variable:
    code, size, packed = _tag(window, order, set(NUMBERS))
    if size != prod(shape) * ITEMSIZE[code]:
        raise FileFormatError(
            f"{name or 'an array'} claims shape {shape} but stores {size} bytes: {DAMAGED}"
        )
    if inside and packed is None:
        window.skip(size + -size % 8)
    kind = "complex" if paired else "matrix" if len(shape) == 2 else "stack"
    return Variable(name, kind if len(shape) < 4 else "tensor", shape, NUMBERS[code], size)


def _text(
    window: _Window, order: str, name: str, shape: tuple[int, ...], limits: Limits
) -> Variable:
    limits.allow("bytes", max(window.left, 4 * prod(shape)), name or "a text")
    _, size = _passed(window, order, CHARACTERS)
    if prod(shape) > size:  # scipy would allocate as many spaces as claimed
        raise FileFormatError(f"{name or 'a text'} claims more characters than it has: {DAMAGED}")
    return Variable(name, "text", shape, "str", 4 * prod(shape))


def _sparse(
    window: _Window, order: str, name: str, shape: tuple[int, ...], paired: bool, limits: Limits
) -> Variable:
    if len(shape) != 2:
        raise FileFormatError(f"{name or 'a sparse matrix'} has {len(shape)} dimensions: {DAMAGED}")
    pointers = 8 * (sum(shape) + 2)  # for both orders, because it is converted to csr
    limits.allow("bytes", window.left + pointers, name or "a sparse matrix")
    sizes = [_passed(window, order, set(NUMBERS))[1] for _ in range(4 if paired else 3)]
    kind = "complex" if paired else "sparse"
    return Variable(name, kind, shape, "float64", sum(sizes) + pointers)


def _cell(
    window: _Window, order: str, name: str, shape: tuple[int, ...], limits: Limits
) -> Variable:
    limits.allow("bytes", max(window.left, ITEM_BYTES * prod(shape)), f"the cell {name}")
    items = []
    for _ in range(prod(shape)):
        _, size, packed = _tag(window, order, {MATRIX})
        if packed is not None:
            raise FileFormatError(f"the cell {name} holds an item that is too small: {DAMAGED}")
        items.append(_item(_Window(window.take, size), order, limits))
    return Variable(name, "cell", shape, bytes=sum(i.bytes for i in items), items=tuple(items))


def _item(window: _Window, order: str, limits: Limits) -> Variable:
    if window.left == 0:
        return Variable("", "matrix", (0, 0), "float64")
    item = _variable(window, order, limits, inside=True)
    if item.kind in ("matrix", "stack", "tensor", "sparse", "text") and window.left:
        # scipy continues right after the numbers, so it would read other items than these
        raise FileFormatError(f"an item of a cell has {window.left} bytes too many: {DAMAGED}")
    window.skip(window.left)
    return item
