"""Read Excel workbooks (.xlsx) with openpyxl: every sheet is a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError, InputError
from ._guards.limits import Limits, parsing
from ._guards.workbook import check_workbook
from .choose import Request
from .formats import file_of
from .text_table import Cells, TextReader

ADVICE = "save it again as .xlsx, or as .csv"
ROWS = 1_048_576  # of a sheet, at most


def sheets(path: Path, limits: Limits) -> tuple[list[Path], list[str]]:
    """Return the sheets that hold something, as paths WORKBOOK/SHEET, and notes on the others."""
    found, notes = [], []
    with parsing("workbook", ADVICE), _opened(path, limits) as book:
        limits.allow("views", len(book.sheetnames), "it")
        for sheet in book.worksheets:
            if sheet.title in ("", ".", "..") or {*"/\\\0"} & {*sheet.title}:
                raise FileFormatError(f"it has a sheet with the name {sheet.title[:80]!r}")
            if sheet.sheet_state != "visible":
                notes.append(f"Ignored the hidden sheet {sheet.title!r} of {path.name}.")
            elif next(_rows(sheet, limits), None) is None:
                notes.append(f"Ignored the empty sheet {sheet.title!r} of {path.name}.")
            else:
                found.append(path / sheet.title)
    if not found:
        raise FileFormatError("no sheet of it holds anything")
    return found, notes


@contextmanager
def _cells(path: Path, request: Request, limits: Limits, classes: bool) -> Iterator[Cells]:
    """Open a workbook and yield the rows of a sheet."""
    with _opened(file_of(path), limits) as book:
        if path.name not in book.sheetnames:
            raise FileFormatError(f"no sheet {path.name!r}; it has {', '.join(book.sheetnames)}")
        yield _rows(book[path.name], limits)


READER = TextReader("workbook", ADVICE, "cells", _cells)


@contextmanager
def _opened(path: Path, limits: Limits) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise InputError("reading .xlsx needs openpyxl: pip install mkclust[excel]") from None
    check_workbook(path, limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that hold no cells, such as validation rules
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()


def _rows(sheet: Any, limits: Limits) -> Cells:
    """Yield the rows of a sheet that hold something, as texts, with their numbers."""
    sheet.reset_dimensions()  # the stored ones may be wrong
    cells, width = 0, 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > ROWS:
            raise FileFormatError(f"a sheet has at most {ROWS:,} rows, this one has more")
        cells += len(row)
        limits.allow("bytes", 8 * cells, "it")
        texts = [_text(value) for value in row]
        if any(texts):
            width = width or len(texts)
            yield number, texts + [""] * (width - len(texts))  # cells at the end are not stored


def _text(value: Any) -> str:
    """Return a cell as a .csv file would have it; numbers to the last digit."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
