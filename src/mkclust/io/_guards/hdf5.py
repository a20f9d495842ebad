"""Access the parts of an HDF5 file only after checking their place, type and size.

Nothing outside the file is read: links other than hard links, external storage and virtual
datasets are refused. Filters that need a plugin are refused too.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import h5py
from h5py import h5t

from ...exceptions import FileFormatError
from .limits import Limits
from .memory import bounded_memory

ADVICE = "it may be damaged; write it again"
DEFLATE, SHUFFLE, CHECKSUM, LZF = 1, 2, 3, 32000
GROWTH = {DEFLATE: 1032, LZF: 88}  # largest ratio of decompressed to compressed size
PLAIN = {h5t.INTEGER, h5t.FLOAT, h5t.STRING, h5t.REFERENCE, h5t.ENUM}
CHECKSUM_BYTES = 4
TEXT_BYTES = 16  # bytes of a variable-length text in a dataset: its length and heap address
STEP = 1 << 16
SEARCHED = 1 << 30  # bytes; larger files are not searched for heaps, at about a second per GiB
HEAP = b"GCOL\x01"  # signature and version of a global heap
ENTRY, SMALLEST_HEAP = 16, 4096  # bytes; HDF5 itself refuses smaller heaps


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[Any]:
    """Open a file for reading once its global heaps are checked."""
    with bounded_memory(limits), h5py.File(path, "r") as file:
        if file.id.get_create_plist().get_sizes() != (8, 8):
            raise FileFormatError(f"it has addresses of an unusual size: {ADVICE}")
        if path.stat().st_size <= SEARCHED:
            with path.open("rb") as raw:
                _check_heaps(raw)
        yield file


def _check_heaps(file: IO[bytes]) -> None:
    """Check all global heaps, which store texts; HDF5 loops forever at an entry of no length."""
    start, rest = 0, b""
    while block := file.read(STEP):
        text = rest + block
        place = text.find(HEAP)
        while place >= 0:
            _check_heap(file, start - len(rest) + place)
            place = text.find(HEAP, place + 1)
        start, rest = start + len(block), text[1 - len(HEAP) :]
        file.seek(start)


def _check_heap(file: IO[bytes], start: int) -> None:
    """Check the entries of one heap.

    The signature may also occur by chance inside an array; a heap of impossible size is ignored.
    """
    file.seek(start + 8)
    size = int.from_bytes(file.read(8), "little")
    if not SMALLEST_HEAP <= size <= file.seek(0, 2) - start:
        return
    file.seek(start + 16)
    heap, place = file.read(size - 16), 0
    while place + ENTRY <= len(heap):
        number = int.from_bytes(heap[place : place + 2], "little")
        length = int.from_bytes(heap[place + 8 : place + 16], "little")
        # free space at the end has number 0, and its length includes its own entry
        step = ENTRY + length + -length % 8 if number else length
        if step < ENTRY or place + step > len(heap):
            raise FileFormatError(f"a heap of texts is broken: {ADVICE}")
        place += step


def group(thing: Any, what: str) -> Any:
    """Return `thing` if it is a group; a dataset would be searched by reading all of it."""
    if not isinstance(thing, h5py.Group):
        raise FileFormatError(f"{what} is not a group but a {type(thing).__name__}: {ADVICE}")
    return thing


def member(inside: Any, name: str) -> Any:
    """Return a member of a group; links other than hard links are refused."""
    link = group(inside, f"the parent of {name}").get(name, getlink=True)
    if not isinstance(link, h5py.HardLink):
        raise FileFormatError(f"{name} is a {type(link).__name__}, which is not followed")
    return inside[name]


def attribute(thing: Any, name: str) -> Any:
    """Return an attribute, or None if there is none; bytes are decoded."""
    if name not in thing.attrs:
        return None
    stored = thing.attrs.get_id(name)
    if stored.get_storage_size() > 4096:
        raise FileFormatError(f"the attribute {name} is too long: {ADVICE}")
    _check_type(stored, f"the attribute {name}")
    value = thing.attrs[name]
    return value.decode("latin1") if isinstance(value, bytes) else value


def sound(dataset: Any, limits: Limits) -> Any:
    """Return the dataset once its type, size and chunks are checked."""
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise FileFormatError(f"an array is missing where one is expected: {ADVICE}")
    if dataset.external or dataset.is_virtual:
        raise FileFormatError(f"{dataset.name} is stored in other files, which are not followed")
    _check_type(dataset.id, str(dataset.name))
    kind = dataset.id.get_type()
    variable_length = kind.get_class() == h5t.STRING and kind.is_variable_str()
    item = TEXT_BYTES if variable_length else kind.get_size()
    chunk, whole = prod(dataset.chunks or (0,)) * item, prod(dataset.shape) * item
    limits.allow("bytes", max(whole, chunk), str(dataset.name))
    if dataset.chunks:
        _check_chunks(dataset, chunk, limits)
    elif dataset.id.get_storage_size() not in (0, whole):  # 0: never written
        raise FileFormatError(f"{dataset.name} is not as large as its header claims: {ADVICE}")
    return dataset


def _check_type(stored: Any, what: str) -> None:
    """Accept numbers, texts and references; damaged nested types crash h5py."""
    if stored.get_type().get_class() not in PLAIN:
        raise FileFormatError(f"{what} holds neither numbers nor texts: {ADVICE}")


def _check_chunks(dataset: Any, size: int, limits: Limits) -> None:
    """Decompress every chunk once without keeping it, to check its size.

    HDF5 does not check it: it reads past the end of a short chunk and allocates for a long one.
    """
    filters = _filters(dataset)
    packing = [filter_ for filter_ in filters if filter_.code in GROWTH]
    if not {filter_.code for filter_ in filters} <= {DEFLATE, SHUFFLE, CHECKSUM, LZF}:
        raise FileFormatError(f"{dataset.name} is compressed in a way that needs a plugin")
    if len(packing) > 1:
        raise FileFormatError(f"{dataset.name} is compressed several times: {ADVICE}")
    stored: list[Any] = []
    dataset.id.chunk_iter(stored.append)
    for chunk in stored:
        applied = [filter_ for filter_ in filters if not chunk.filter_mask >> filter_.place & 1]
        growth = max((GROWTH.get(filter_.code, 1) for filter_ in applied), default=1)
        lzf = [filter_ for filter_ in applied if filter_.code == LZF]
        if lzf and (lzf[0].options[2:3] != (size,) or chunk.size * growth > limits.max_bytes):
            raise FileFormatError(f"a chunk of {dataset.name} cannot be checked: {ADVICE}")
        if not lzf:
            _check_chunk(dataset, chunk, size, [filter_.code for filter_ in applied])


@dataclass(frozen=True)
class _Filter:
    """Step number `place` of the filter pipeline; a chunk's mask may exclude it."""

    place: int
    code: int
    options: tuple[int, ...]


def _filters(dataset: Any) -> list[_Filter]:
    creation = dataset.id.get_create_plist()
    found = (creation.get_filter(place) for place in range(creation.get_nfilters()))
    return [_Filter(place, code, options) for place, (code, _, options, _) in enumerate(found)]


def _check_chunk(dataset: Any, chunk: Any, size: int, applied: list[int]) -> None:
    """Undo the `applied` filters in reverse order and compare the result with `size`."""
    within = chunk.byte_offset + chunk.size <= dataset.file.id.get_filesize()
    left = chunk.size if within else -1
    for code in reversed(applied):
        if code == CHECKSUM:
            left -= CHECKSUM_BYTES
        elif code == DEFLATE and left >= 0:
            _, data = dataset.id.read_direct_chunk(chunk.chunk_offset)
            left = _unpacked(data[:left], size + CHECKSUM_BYTES)
    if left != size:
        word = "more" if left > size else "less"
        raise FileFormatError(
            f"a chunk of {dataset.name} unpacks to {word} than the {size:,} bytes it should hold: "
            f"{ADVICE}"
        )


def _unpacked(data: bytes, most: int) -> int:
    """Count the bytes that `data` decompresses to, in steps; stop after `most`."""
    stream, unpacked = zlib.decompressobj(), 0
    while data and not stream.eof and unpacked <= most:
        unpacked += len(stream.decompress(data, STEP))
        data = stream.unconsumed_tail
    return unpacked
