"""Checks of an Excel workbook before a parser sees it: a zip archive of XML files."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...exceptions import FileFormatError
from .limits import Limits

SHEETS = "xl/worksheets/"  # read row by row; all other parts are read as a whole
GROWTH = 20  # bytes in memory per byte of XML, about
MEMBERS = 100_000
HEAD = 1 << 16
STORED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def check_workbook(path: Path, limits: Limits) -> None:
    """Refuse an archive whose unpacked parts exceed the limits, or whose XML declares entities."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MEMBERS:
            raise FileFormatError(f"it has {len(members):,} parts, more than {MEMBERS:,}")
        for member in members:
            if member.flag_bits & 1:
                raise FileFormatError("it is encrypted: save it without a password")
            if member.compress_type not in STORED:
                raise FileFormatError(f"its part {member.filename[:80]!r} is packed unusually")
        limits.allow("bytes", sum(member.file_size for member in members), "its unpacked text")
        xml = [m for m in members if m.filename.lower().endswith((".xml", ".rels"))]
        whole = sum(m.file_size for m in xml if not m.filename.startswith(SHEETS))
        limits.allow("bytes", GROWTH * whole, "its text beside the sheets")
        for member in xml:
            with archive.open(member) as part:
                head = part.read(HEAD)
            if b"\0" in head or b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                raise FileFormatError(f"its part {member.filename[:80]!r} is no plain UTF-8 XML")
