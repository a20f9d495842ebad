"""Read text tables (.csv, .tsv): detect delimiter and header, report errors by line number."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np

from ..data.keys import is_index_name
from ..exceptions import FileFormatError
from ._guards.limits import Limits, check_texts, parsing
from .assemble import as_labels
from .choose import Request
from .columns import check_unique, class_columns, special_columns
from .tables import Classes, Table, view_table, with_key
from .variables import Variable, is_label_name

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
DELIMITERS = "\t;,"  # in this order: commas also occur as decimal points and inside names
LINE, CELL = 1 << 20, 64  # longest line, and longest average cell, in characters
ASIDE = 64  # bytes to store one cell of text
ADVICE = "it should be UTF-8 text with one row per sample and , ; or tab between the cells"


@dataclass
class _Text:
    """A table being read: column names, and rows with their line numbers."""

    columns: tuple[str, ...]
    has_header: bool
    rows: Iterator[tuple[int, list[str]]]
    first: list[str]


def describe(path: Path, limits: Limits, classes: bool) -> Variable:
    """Return the shape of the table by counting its lines."""
    with parsing("table", ADVICE), _open(path, limits) as file:
        text = _text(file, limits, classes)
        shape = sum(1 for _ in text.rows), len(text.columns)
    return Variable(path.stem, "table", shape, "text", path.stat().st_size)


def read_table(path: Path, request: Request, limits: Limits) -> Table:
    """Read a view: numbers, with sample names and classes as separate columns."""
    return with_key(lambda tried: _table(path, request, limits, tried))


def _table(path: Path, request: Request, limits: Limits, tried: int) -> Table:
    with parsing("table", ADVICE), _open(path, limits) as file:
        text = _text(file, limits, classes=False)
        special = special_columns(
            text.columns, text.has_header, _is_text(text.first[0]), request, tried
        )
        kept = [p for p in range(len(text.columns)) if p not in special.positions]
        if not kept:
            raise FileFormatError("it has no columns of numbers")
        numbers, aside = _body(text, kept, special.positions, limits)
    values = np.frombuffer(numbers).reshape(-1, len(kept))
    index, labels = (None if p is None else aside[p] for p in special[:2])
    found = None if labels is None or request.labels is False else as_labels(_typed(labels))
    table = view_table(path, values, text.columns, special, index, found)
    return table if text.has_header else replace(table, columns=None)


def read_classes(path: Path, request: Request, limits: Limits) -> Classes:
    """Read a file of labels: one column, or two with the sample names."""
    with parsing("table", ADVICE), _open(path, limits) as file:
        text = _text(file, limits, classes=True)
        names, labels = class_columns(
            text.columns, text.has_header, _is_text(text.first[0]), request.index
        )
        _, aside = _body(text, [], list(range(len(text.columns))), limits)
    if names is not None:
        check_unique(aside[names], text.columns[names])
    index = None if names is None else tuple(aside[names])
    return Classes(path, as_labels(_typed(aside[labels])), index)


def _open(path: Path, limits: Limits) -> TextIO:
    limits.allow("bytes", path.stat().st_size, "it")
    return path.open(newline="", encoding="utf-8-sig")


def _text(file: TextIO, limits: Limits, classes: bool) -> _Text:
    delimiter = _delimiter(file.read(1 << 16).splitlines()[:20])
    file.seek(0)
    rows = _rows(file, delimiter, limits)
    start = list(islice(rows, 2))
    if not start:
        raise FileFormatError("it has no rows")
    first = start[0][1]
    limits.allow("columns", len(first), "its first line")
    second = start[1][1] if len(start) > 1 else []
    has_header = _is_class_header(first, second) if classes else _is_header(first, second)
    if has_header and not second:
        raise FileFormatError("it has a header but no rows")
    names = [cell.strip() for cell in first]
    columns = names if has_header else [str(p + 1) for p in range(len(first))]
    body = start[1:] if has_header else start
    return _Text(tuple(columns), has_header, chain(body, rows), second if has_header else first)


def _rows(file: TextIO, delimiter: str, limits: Limits) -> Iterator[tuple[int, list[str]]]:
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

    reader = csv.reader(lines(), delimiter=delimiter)
    for row in reader:
        cells = 1
        if row:
            yield reader.line_num, row


def _delimiter(lines: Sequence[str]) -> str:
    """Return the first delimiter that gives all lines equal widths, else the one of most cells.

    >>> _delimiter(["1,5;2,5", "1,0;3,5"])
    ';'
    """
    widths = {
        delimiter: [len(row) for row in csv.reader(lines, delimiter=delimiter) if row] or [0]
        for delimiter in DELIMITERS
    }
    for delimiter in DELIMITERS:
        if len(set(widths[delimiter])) == 1 and widths[delimiter][0] > 1:
            return delimiter
    return max(reversed(DELIMITERS), key=lambda delimiter: widths[delimiter][0])


def _is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first line holds names.

    It does if it has text above a number, no numbers at all, or the column numbers 0, 1, ...
    """
    names = [cell.strip() for cell in first]
    counts = [str(p) for p in range(len(names))]  # pandas writes these for unnamed columns
    return (
        any(_is_text(a) and not _is_text(b) for a, b in zip(first, second, strict=False))
        or (any(map(_is_text, names)) and all(_is_text(name) or not name for name in names))
        or (len(names) > 1 and bool(names[0]) and is_index_name(names[0]))
        or (len(names) > 2 and names == counts)
        or (len(names) > 1 and names == ["", *counts[:-1]])
    )


def _is_class_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first line of a label file holds names; labels may be text themselves."""
    over = any(_is_text(a) and not _is_text(b) for a, b in zip(first, second, strict=False))
    return over or is_label_name(first[-1]) or (len(first) > 1 and is_index_name(first[0]))


def _is_text(cell: str) -> bool:
    return math.isnan(_number(cell)) and cell.strip().lower() not in MISSING


def _number(cell: str) -> float:
    try:
        return float(cell) if "_" not in cell else math.nan
    except ValueError:
        return math.nan


def _body(
    text: _Text, kept: Sequence[int], aside: Sequence[int], limits: Limits
) -> tuple[array[float], dict[int, list[str]]]:
    """Return all numbers row by row, and the texts of the columns in `aside`."""
    numbers = array("d")
    apart: dict[int, list[str]] = {position: [] for position in aside}
    width = len(text.columns)
    for count, (line, row) in enumerate(text.rows, start=1):
        if len(row) != width:
            raise FileFormatError(f"line {line} has {len(row)} cells, but the first line {width}")
        for position, cells in apart.items():
            cells.append(row[position].strip())
        cells = [row[position] for position in kept]
        try:
            values = list(map(float, cells))
        except ValueError:
            values = _with_missing(cells, kept, text, line)
        if "_" in "".join(cells):  # Python parses 1_000 as a number; other programs do not
            values = _with_missing(cells, kept, text, line)
        numbers.extend(values)
        limits.allow("bytes", 8 * len(numbers) + ASIDE * len(apart) * count, "it")
    for column in apart.values():
        check_texts(column, limits)
    return numbers, apart


def _with_missing(cells: Sequence[str], kept: Sequence[int], text: _Text, line: int) -> list[float]:
    """Return a row with empty cells as NaN; report other texts with column and line."""
    for position, cell in zip(kept, cells, strict=True):
        if _is_text(cell):
            raise FileFormatError(
                f"column {text.columns[position]!r} is not numeric: {cell[:40]!r} in line {line}; "
                "drop or encode it, or name it with labels=... or index=... if it holds those"
            )
    return [_number(cell) for cell in cells]


def _typed(cells: Sequence[str]) -> np.ndarray:
    """Convert cells to numbers if all are numbers, else to text."""
    if "" in cells:
        raise FileFormatError(f"the label in row {cells.index('')} is missing")
    values = np.array([_number(cell) for cell in cells])
    return np.array(cells) if np.isnan(values).any() else values
