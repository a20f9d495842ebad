"""Tables of text cells: find header, decimal sign and empty margins, then read the numbers."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np

from ..data.alignment import is_key_name
from ..exceptions import FileFormatError
from ._guards.limits import Limits, check_texts, parsing
from .choose import Request
from .columns import Special, class_columns, not_numeric, special_columns
from .formats import file_of, view_name
from .tables import Classes, Table, class_table, view_table
from .variables import Variable, as_labels, is_label_name

MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "#n/a"}
SAMPLED = 20  # rows by which the header and the decimal sign are found
ASIDE = 64  # bytes to store one cell of text
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
Cells = Iterator[tuple[int, list[str]]]  # rows with the number of their line


@dataclass(frozen=True)
class TextTable:
    """A table being read.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns; their numbers from 1 on where there is no header.
    has_header : bool
    rows : iterator of (int, list of str)
        Lines that remain, with their numbers.
    first_is_text : bool
        Whether the first column holds texts, or has no name in the header, as R writes row names.
    decimal : {".", ","}
        Decimal sign.
    notes : tuple of str
        What was found in an unusual form.
    """

    columns: tuple[str, ...]
    has_header: bool
    rows: Cells
    first_is_text: bool
    decimal: str = "."
    notes: tuple[str, ...] = ()


def text_table(rows: Cells, limits: Limits, request: Request, classes: bool = False) -> TextTable:
    """Find out how a table is written, from its first lines."""
    start = list(islice(rows, SAMPLED))
    if not start:
        raise FileFormatError("it has no rows")
    first, second = start[0][1], start[1][1] if len(start) > 1 else []
    names_first = _has_row_names(first, [row for _, row in start[1:]])
    most = max(len(_stripped(row)) for _, row in start)
    width = len(first) + 1 if names_first else min(most, len(first)) or len(first)
    limits.allow("columns", width, "it")
    notes = []
    if max(len(row) for _, row in start) > width:
        notes.append(f"Columns after {width}, which are empty, were left out.")
    if names_first:
        notes.append("The header has no name for the first column, as R writes row names.")
        columns, has_header = ["", *first], True
    else:
        columns = first[:width]
        has_header = _is_class_header(first, second) if classes else _is_header(first, second)
    if has_header and not second:
        raise FileFormatError("it has a header but no rows")
    if not has_header:
        columns = [str(p + 1) for p in range(width)]
    body = start[1:] if has_header else start
    decimal = "." if classes else _decimal([row for _, row in body], request, notes)
    first_is_text = names_first or is_text(body[0][1][0], "." if classes else None)
    names = tuple(name.strip() for name in columns)
    return TextTable(names, has_header, chain(body, rows), first_is_text, decimal, tuple(notes))


@dataclass(frozen=True)
class TextReader:
    """Read tables whose cells are texts.

    Attributes
    ----------
    what, advice : str
        Name of such a file, and how to write one, for messages.
    stored : str
        What the file holds, for `inspect`.
    cells : callable
        Context manager that opens a table and yields its rows.
    """

    what: str
    advice: str
    stored: str
    cells: Callable[[Path, Request, Limits, bool], AbstractContextManager[Cells]]

    @contextmanager
    def _opened(
        self, path: Path, request: Request, limits: Limits, classes: bool = False
    ) -> Iterator[TextTable]:
        with parsing(self.what, self.advice), self.cells(path, request, limits, classes) as rows:
            yield text_table(rows, limits, request, classes)

    def describe(self, path: Path, request: Request, limits: Limits, classes: bool) -> Variable:
        """Return the shape of the table by counting its rows."""
        with self._opened(path, replace(request, decimal="."), limits, classes) as text:
            shape = sum(1 for _ in text.rows), len(text.columns)
        return Variable(view_name(path), "table", shape, self.stored, file_of(path).stat().st_size)

    def read_table(self, path: Path, request: Request, limits: Limits, tried: int) -> Table:
        """Read a view: numbers, with sample names and classes as separate columns."""
        with self._opened(path, request, limits) as text:
            hints = text.columns, text.has_header, text.first_is_text
            special = special_columns(*hints, request, tried)
            kept = [p for p in range(len(text.columns)) if p not in special.apart]
            if not kept:
                raise FileFormatError(
                    "it has no columns of numbers; name the separator with sep=..."
                )
            numbers, aside, empty = _body(text, kept, special, limits)
            if not numbers:
                raise FileFormatError("it has no rows")
            values = np.frombuffer(numbers).reshape(-1, len(kept))
            index, labels = (None if p is None else aside[p] for p in special[:2])
            found = None if labels is None or request.labels is False else as_labels(_typed(labels))
            table = view_table(path, values, text.columns, special, index, found)
            notes = [f"{path.name}: {note}" for note in text.notes]
            notes += [f"{path.name}: {empty} empty rows were left out."] if empty else []
            columns = table.columns if text.has_header else None
            return replace(table, columns=columns, notes=(*table.notes, *notes))

    def read_classes(self, path: Path, request: Request, limits: Limits) -> Classes:
        """Read a file of labels: one column, or two with the sample names."""
        with self._opened(path, request, limits, True) as text:
            hints = text.columns, text.has_header, text.first_is_text
            names, labels = class_columns(*hints, request.index)
            _, aside, _ = _body(text, [], Special(names, labels), limits)
            index = None if names is None else aside[names]
            return class_table(path, as_labels(_typed(aside[labels])), text.columns, names, index)


def _stripped(row: Sequence[str]) -> list[str]:
    """Return a row without the empty cells at its end."""
    width = len(row)
    while width and not row[width - 1].strip():
        width -= 1
    return list(row[:width])


def _has_row_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows begin with names that the header has no cell for.

    The names are texts, or ascending numbers: otherwise a comma may be a decimal sign.
    """
    width = len(header) + 1
    if not rows or any(len(row) < width or any(map(str.strip, row[width:])) for row in rows):
        return False
    if all(not row[width - 1].strip() for row in rows):  # a delimiter at the end of each line
        return False
    numbers = [_number(row[0], ".") for row in rows]
    ascending = all(a < b for a, b in pairwise(numbers))
    return all(map(math.isnan, numbers)) or (ascending and len(header) > 1)


def _decimal(rows: Sequence[Sequence[str]], request: Request, notes: list[str]) -> str:
    """Return the decimal sign: the one asked for, else a comma where no number has a point."""
    if request.decimal is not None:
        return request.decimal
    commas = [cell for row in rows for cell in row if WITH_COMMA.fullmatch(cell)]
    if not commas or any(WITH_POINT.fullmatch(cell) for row in rows for cell in row):
        return "."
    if all(THOUSANDS.fullmatch(cell) for cell in commas):
        raise FileFormatError(
            f"{commas[0].strip()!r} has a comma before three digits, a decimal sign or a separator "
            "of thousands: pass decimal=',' if it is a decimal sign, otherwise remove it"
        )
    notes.append("Numbers have decimal commas.")
    return ","


def _is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first line holds names.

    It does if it has text above a number, no numbers at all, or the column numbers 0, 1, ...
    """
    names = [cell.strip() for cell in first]
    counts = [str(p) for p in range(len(names))]  # pandas writes these for unnamed columns
    return (
        any(is_text(a) and not is_text(b) for a, b in zip(first, second, strict=False))
        or (any(map(is_text, names)) and all(is_text(name) or not name for name in names))
        or (len(names) > 1 and bool(names[0]) and is_key_name(names[0]))
        or (len(names) > 2 and names == counts)
        or (len(names) > 1 and names == ["", *counts[:-1]])
    )


def _is_class_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first line of a label file holds names; labels may be text themselves."""
    over = any(is_text(a) and not is_text(b) for a, b in zip(first, second, strict=False))
    return over or is_label_name(first[-1]) or (len(first) > 1 and is_key_name(first[0]))


def is_text(cell: str, decimal: str | None = None) -> bool:
    """Return whether a cell is neither a number nor missing, in either notation by default."""
    signs = (decimal,) if decimal else (".", ",")
    return (
        all(math.isnan(_number(cell, sign)) for sign in signs)
        and cell.strip().lower() not in MISSING
    )


def _number(cell: str, decimal: str) -> float:
    """Return the number in a cell, NaN where there is none.

    >>> _number("1,5", ","), _number("1.5", ","), _number("1_000", ".")
    (1.5, nan, nan)
    """
    if "_" in cell or (decimal == "," and "." in cell):  # Python parses 1_000; others do not
        return math.nan
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return math.nan


def _body(
    text: TextTable, kept: Sequence[int], special: Special, limits: Limits
) -> tuple[array[float], dict[int, list[str]], int]:
    """Return all numbers row by row, the texts of the columns aside, and the number of empty rows.

    An empty row is none of the samples where there are sample names; otherwise it is a sample
    that the view lacks.
    """
    numbers, empty, width = array("d"), 0, len(text.columns)
    apart: dict[int, list[str]] = {position: [] for position in special.aside}
    for count, (line, row) in enumerate(text.rows, start=1):
        if special.names is not None and not any(cell.strip() for cell in row):
            empty += 1
            continue
        _check_width(row, width, line)
        for position, cells in apart.items():
            cells.append(row[position].strip())
        numbers.extend(_numbers([row[position] for position in kept], kept, text, line))
        limits.allow("bytes", 8 * len(numbers) + ASIDE * len(apart) * count, "it")
    for column in apart.values():
        check_texts(column, limits)
    return numbers, apart, empty


def _check_width(row: Sequence[str], width: int, line: int) -> None:
    if len(row) == width or (len(row) > width and not any(c.strip() for c in row[width:])):
        return
    hint = ""
    if len(row) > width:
        hint = "; if a comma is the decimal sign, pass decimal=',' and another sep=..."
    cells = max(len(_stripped(row)), min(len(row), width))
    raise FileFormatError(f"line {line} has {cells} cells, but the first line {width}{hint}")


def _numbers(cells: Sequence[str], kept: Sequence[int], text: TextTable, line: int) -> list[float]:
    """Return a row with empty cells as NaN; report other texts with column and line."""
    joined = "".join(cells)
    if "_" not in joined and text.decimal == ".":
        with suppress(ValueError):  # some cell is empty or a text
            return list(map(float, cells))
    bad = [p for p, cell in zip(kept, cells, strict=True) if is_text(cell, text.decimal)]
    if bad:
        cell = cells[list(kept).index(bad[0])].strip()[:40]
        other = WITH_POINT if text.decimal == "," else WITH_COMMA
        sign = "." if text.decimal == "," else ","
        hint = f"; pass decimal={sign!r} if numbers are written so" if other.fullmatch(cell) else ""
        raise not_numeric([text.columns[p] for p in bad], f": {cell!r} in line {line}{hint}")
    return [_number(cell, text.decimal) for cell in cells]


def _typed(cells: Sequence[str]) -> np.ndarray:
    """Convert cells to numbers if all are numbers, else to text."""
    if "" in cells:
        raise FileFormatError(f"the label in row {cells.index('')} is missing")
    values = np.array([_number(cell, ".") for cell in cells])
    return np.array(cells) if np.isnan(values).any() else values
