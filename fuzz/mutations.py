"""Bytes changed where it hurts: inside what is compressed, with sums and lengths put right again.

Plain changes of a zip member or a compressed element are caught by its checksum and go no deeper.
So a file is taken apart, one part is changed, and the file is put together again.
"""

from __future__ import annotations

import gzip
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO

Change = Callable[[bytes, random.Random], bytes]
MOST = 1 << 20  # bytes that a part may grow to
SIZES = (0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 10**6, 2**31 - 1, 2**31,
         2**32 - 1, 10**12, 2**62, 2**63 - 1, 2**64 - 1)  # fmt: skip


def overwritten(data: bytes, rng: random.Random) -> bytes:
    """A few words replaced by sizes that hurt, by noise, or by words from elsewhere in the data."""
    if not data:
        return data
    hurt = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(hurt))
        width = rng.choice((1, 1, 2, 4, 8))
        way = rng.randrange(5)
        if way == 0:
            hurt[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            word = rng.choice(SIZES) & (256**width - 1)
            hurt[at : at + width] = word.to_bytes(width, rng.choice(("little", "big")))
        elif way == 2:
            hurt[at : at + width] = rng.randbytes(width)
        elif way == 3:
            hurt[at] = (hurt[at] + rng.choice((-1, 1))) % 256
        else:
            start = rng.randrange(len(data))
            hurt[at : at + width] = data[start : start + width]
    return bytes(hurt[: len(data)])


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Overwritten, or cut off, or with a piece removed, repeated or moved."""
    way = rng.randrange(8)
    if way < 5 or len(data) < 2:
        return overwritten(data, rng)
    start, stop = sorted(rng.randrange(len(data)) for _ in range(2))
    if way == 5:
        return data[:stop]
    if way == 6:
        return data[:start] + data[stop:]
    return (data[:stop] + data[start:])[:MOST]


def in_zip(data: bytes, change: Change, rng: random.Random) -> bytes:
    """One member of an archive changed, and the archive written anew."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = {m.filename: archive.read(m) for m in archive.infolist() if m.file_size < MOST}
    chosen = rng.choice(sorted(members))
    members[chosen] = change(members[chosen], rng)
    made = BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((0, 8))) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def in_matlab(data: bytes, change: Change, rng: random.Random) -> bytes:
    """One element of a MATLAB file changed, decompressed before and compressed after it."""
    order = "<" if data[126:128] == b"IM" else ">"
    head, elements = data[:128], []
    while len(data) - 128 >= 8 and len(elements) < 100:
        code, size = struct.unpack(f"{order}II", data[128:136])
        body = data[136 : 136 + size]
        elements.append((code, zlib.decompressobj().decompress(body, MOST) if code == 15 else body))
        data = head + data[136 + size :]
    chosen = rng.randrange(len(elements))
    code, body = elements[chosen]
    elements[chosen] = code, change(body, rng)
    packed = [zlib.compress(body, 1) if code == 15 else body for code, body in elements]
    tags = [struct.pack(f"{order}II", code, len(body)) for (code, _), body in
            zip(elements, packed, strict=True)]  # fmt: skip
    return head + b"".join(tag + body for tag, body in zip(tags, packed, strict=True))


def in_parquet(data: bytes, change: Change, rng: random.Random) -> bytes:
    """The pages or the footer changed, with the footer's length put right."""
    size = int.from_bytes(data[-8:-4], "little")
    pages, footer = data[4 : -8 - size], data[-8 - size : -8]
    if rng.random() < 0.3:
        pages = overwritten(pages, rng)  # of the same length, as the footer says where they are
    else:
        footer = change(footer, rng)
    return b"PAR1" + pages + footer + struct.pack("<I", len(footer)) + b"PAR1"


def in_gzip(data: bytes, change: Change, rng: random.Random) -> bytes:
    """The unpacked text changed, and packed again."""
    return gzip.compress(change(zlib.decompressobj(31).decompress(data, MOST), rng), 1, mtime=0)


def in_place(data: bytes, change: Change, rng: random.Random) -> bytes:
    """Nothing moved: HDF5 is full of addresses."""
    return overwritten(data, rng)


INSIDE: dict[str, Sequence[Callable[[bytes, Change, random.Random], bytes]]] = {
    "mat": (in_matlab,),
    "mat73": (in_place,),
    "npz": (in_zip,),
    "csvgz": (in_gzip,),
    "xlsx": (in_zip,),
    "parquet": (in_parquet,),
    "h5mu": (in_place,),
    "model": (in_zip,),
}


def mutated(name: str, data: bytes, rng: random.Random, change: Change = damaged) -> bytes:
    """The bytes of a file of this format, changed by `change` inside or outside of its wrapping."""
    ways = INSIDE.get(name, ())
    if ways and rng.random() < 0.8:
        try:
            return rng.choice(ways)(data, change, rng)
        except (ValueError, IndexError, struct.error, zlib.error, zipfile.BadZipFile,
                NotImplementedError, RuntimeError, OSError, EOFError):  # fmt: skip
            return change(data, rng)  # already damaged too much to be taken apart
    return change(data, rng)
