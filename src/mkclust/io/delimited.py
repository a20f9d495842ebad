"""Read text tables (.csv, .tsv, gzipped too): detect the delimiter, report errors by line."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from ..exceptions import FileFormatError
from ._guards.limits import Limits
from .choose import Request
from .text_table import Cells, TextReader, is_text

DELIMITERS = "\t;,"  # in this order: commas also occur as decimal points and inside names
LINE, CELL = 1 << 20, 64  # longest line, and longest average cell, in characters
HEAD = 1 << 16  # characters by which the delimiter is found
ADVICE = "it should be UTF-8 text with one row per sample and , ; or tab between the cells"


@contextmanager
def _cells(path: Path, request: Request, limits: Limits, classes: bool) -> Iterator[Cells]:
    """Open a table and yield its rows."""
    delimiter = request.sep
    if delimiter is None:
        with _open(path, limits) as file:
            lines = file.read(HEAD).splitlines()[:20]
        delimiter = _delimiter(lines, request.decimal, classes)
    with _open(path, limits) as file:
        yield _rows(file, delimiter, limits)


READER = TextReader("table", ADVICE, "text", _cells)


@contextmanager
def _open(path: Path, limits: Limits) -> Iterator[TextIO]:
    limits.allow("bytes", path.stat().st_size, "it")
    with path.open("rb") as file:
        packed = path.suffix.lower() == ".gz"
        raw: IO[bytes] = io.BufferedReader(_Unpacked(file, limits)) if packed else file
        with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield text


class _Unpacked(io.RawIOBase):
    """The contents of a gzipped file, refused where they exceed the limit."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file = gzip.GzipFile(fileobj=file)
        self._limits = limits
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._file.read(len(buffer))
        self._count += len(block)
        self._limits.allow("bytes", self._count, "its unpacked text")
        buffer[: len(block)] = block
        return len(block)


def _rows(file: TextIO, delimiter: str, limits: Limits) -> Cells:
    """Yield rows with the number of their last line.

    The number of cells is checked before a line is split.
    """
    longest = max(LINE, CELL * limits.max_columns)
    cells = 1  # of the current row, which may span several lines

    def lines() -> Iterator[str]:
        nonlocal cells
        while line := file.readline(longest):
            cells += line.count(delimiter)
            limits.allow("columns", cells, "a line of it")
            if len(line) == longest:
                raise FileFormatError(f"a line of it is longer than {longest:,} characters")
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=delimiter == " ")
    for row in reader:
        cells = 1
        if row:
            yield reader.line_num, row


def _delimiter(lines: Sequence[str], decimal: str | None = None, classes: bool = False) -> str:
    """Return the first delimiter that gives all lines equal widths, else the one of most cells.

    A header may have one cell fewer. Spaces delimit numbers if nothing else does.

    >>> _delimiter(["1,5;2,5", "1,0;3,5"])
    ';'
    >>> _delimiter(['"a" "b"', '"r1" 1 2.5'])
    ' '
    """
    allowed = [delimiter for delimiter in DELIMITERS if delimiter != decimal]
    split = {delimiter: _split(lines, delimiter) for delimiter in [*allowed, " "]}
    widths = {delimiter: [len(row) for row in rows] or [0] for delimiter, rows in split.items()}
    for delimiter in allowed:
        if len(set(widths[delimiter])) == 1 and widths[delimiter][0] > 1:
            return delimiter
    best = max(reversed(allowed), key=lambda delimiter: widths[delimiter][0])
    if max(widths[best]) > 1 or classes or max(widths[" "]) < 2:
        return best
    body = split[" "][1:]
    numeric = not any(is_text(cell, decimal or ".") for row in body for cell in row[1:])
    return " " if body and numeric and len({*widths[" "][1:]}) == 1 else best


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    if delimiter == " ":
        return [list(filter(None, row)) for row in rows if any(row)]
    return [row for row in rows if row]
