"""Parts of an HDF5 file, taken only once they are known to be inside it and of a bearable size.

Nothing is followed out of the file: links other than hard ones, external storage and virtual
datasets are refused, and so are filters that would load a plugin.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import h5py
from h5py import h5t

from ..exceptions import FileFormatError
from ._guards.limits import Limits

ADVICE = "it may be damaged; write it again"
DEFLATE, SHUFFLE, CHECKSUM, LZF = 1, 2, 3, 32000
GROWTH = {DEFLATE: 1032, LZF: 88}  # the most that a byte may unpack to
PLAIN = {h5t.INTEGER, h5t.FLOAT, h5t.STRING, h5t.REFERENCE, h5t.ENUM}
CHECKSUM_BYTES = 4
TEXT_BYTES = 16  # of a text of any length: how long it is, and where in which heap
STEP = 1 << 16
COPIES = 3  # times the bytes that limits allow: arrays, while they are turned and checked
BESIDE = 512 << 20  # bytes: HDF5's own, and threads that start meanwhile
SEARCHED = 1 << 30  # bytes: larger files are not searched for heaps, which takes a second for each
HEAP = b"GCOL\x01"  # how a heap starts
ENTRY, SMALLEST_HEAP = 16, 4096  # bytes; HDF5 refuses smaller heaps itself
_alone = threading.RLock()  # the limit is the whole process's: one thread sets and restores it


@contextmanager
def bounded(limits: Limits) -> Iterator[None]:
    """Inside the block this process may take no more memory than `limits` make sense of.

    HDF5 takes what a text's length asks for before it looks whether the text is there; a length
    lies in places that h5py does not show. The system says no in its stead, where it can (Linux).
    Threads take turns: HDF5 itself lets one in at a time.
    """
    with _alone:
        yield from _bounded(limits)


def _bounded(limits: Limits) -> Iterator[None]:
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        yield
        return
    most = pages * resource.getpagesize() + COPIES * limits.max_bytes + BESIDE
    if soft != resource.RLIM_INFINITY and soft <= most:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    except MemoryError:
        raise FileFormatError(f"it asks for more memory than the limits allow: {ADVICE}") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[Any]:
    """The file, once its heaps are known to have an end."""
    with bounded(limits), h5py.File(path, "r") as file:
        if file.id.get_create_plist().get_sizes() != (8, 8):
            raise FileFormatError(f"it has addresses of an unusual size: {ADVICE}")
        if path.stat().st_size <= SEARCHED:
            with path.open("rb") as raw:
                _check_heaps(raw)
        yield file


def _check_heaps(file: IO[bytes]) -> None:
    """Texts lie in heaps, as entries that follow each other; HDF5 waits forever at an empty one."""
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
    """The same bytes in the middle of numbers have no size that makes sense, and are passed by."""
    file.seek(start + 8)
    size = int.from_bytes(file.read(8), "little")
    if not SMALLEST_HEAP <= size <= file.seek(0, 2) - start:
        return
    file.seek(start + 16)
    heap, place = file.read(size - 16), 0
    while place + ENTRY <= len(heap):
        number = int.from_bytes(heap[place : place + 2], "little")
        length = int.from_bytes(heap[place + 8 : place + 16], "little")
        # the free space at the end has no number, and its length includes its own entry
        step = ENTRY + length + -length % 8 if number else length
        if step < ENTRY or place + step > len(heap):
            raise FileFormatError(f"a heap of texts is broken: {ADVICE}")
        place += step


def group(thing: Any, what: str) -> Any:
    """A group; a dataset can be asked for its members too, and would be read to its end."""
    if not isinstance(thing, h5py.Group):
        raise FileFormatError(f"{what} is not a group but a {type(thing).__name__}: {ADVICE}")
    return thing


def member(inside: Any, name: str) -> Any:
    link = group(inside, f"what should hold {name}").get(name, getlink=True)
    if not isinstance(link, h5py.HardLink):
        raise FileFormatError(f"{name} is a {type(link).__name__}, which is not followed")
    return inside[name]


def attribute(thing: Any, name: str) -> Any:
    if name not in thing.attrs:
        return None
    stored = thing.attrs.get_id(name)
    if stored.get_storage_size() > 4096:
        raise FileFormatError(f"the attribute {name} is too long: {ADVICE}")
    _check_type(stored, f"the attribute {name}")
    value = thing.attrs[name]
    return value.decode("latin1") if isinstance(value, bytes) else value


def sound(dataset: Any, limits: Limits) -> Any:
    """A dataset whose values are stored in this file, in chunks that may be read."""
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise FileFormatError(f"an array is missing where one is expected: {ADVICE}")
    if dataset.external or dataset.is_virtual:
        raise FileFormatError(f"{dataset.name} is stored in other files, which are not followed")
    _check_type(dataset.id, str(dataset.name))
    kind = dataset.id.get_type()
    long = kind.get_class() == h5t.STRING and kind.is_variable_str()
    item = TEXT_BYTES if long else kind.get_size()
    chunk, whole = prod(dataset.chunks or (0,)) * item, prod(dataset.shape) * item
    limits.allow("bytes", max(whole, chunk), str(dataset.name))
    if dataset.chunks:
        _check_chunks(dataset, chunk, limits)
    elif dataset.id.get_storage_size() not in (0, whole):  # 0: nothing was written to it yet
        raise FileFormatError(f"{dataset.name} is not as large as it says: {ADVICE}")
    return dataset


def _check_type(stored: Any, what: str) -> None:
    """Numbers, texts and references: lists inside of items crash h5py where they are damaged."""
    if stored.get_type().get_class() not in PLAIN:
        raise FileFormatError(f"{what} holds neither numbers nor texts: {ADVICE}")


def _check_chunks(dataset: Any, size: int, limits: Limits) -> None:
    """HDF5 reads a chunk to its end wherever that is: in the memory behind one that is too short,
    or far beyond what was asked for. So each is unpacked once before, without being kept."""
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
    """What was done to every chunk as step number `place`, but to those that mask it out."""

    place: int
    code: int
    options: tuple[int, ...]


def _filters(dataset: Any) -> list[_Filter]:
    creation = dataset.id.get_create_plist()
    found = (creation.get_filter(place) for place in range(creation.get_nfilters()))
    return [_Filter(place, code, options) for place, (code, _, options, _) in enumerate(found)]


def _check_chunk(dataset: Any, chunk: Any, size: int, applied: list[int]) -> None:
    """Undo what was `applied`, last first, and see that all of the chunk is there."""
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
    """How many bytes they unpack to, or more than `most`; a step at a time, none of it kept."""
    stream, unpacked = zlib.decompressobj(), 0
    while data and not stream.eof and unpacked <= most:
        unpacked += len(stream.decompress(data, STEP))
        data = stream.unconsumed_tail
    return unpacked
