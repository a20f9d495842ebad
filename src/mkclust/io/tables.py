"""Read tables with pandas: text (.csv, .tsv, .txt, gzipped too), Excel workbooks and Parquet.

pandas parses the cells. What it does not find out itself is decided from the first rows: the
separator, whether there is a header, decimal commas, names of rows as R writes them, and empty
margins. Names stay text: a column of different codes such as 001 keeps its zeros.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from ..data.alignment import is_key_name, may_be_key_name
from ..data.values import SHOWN, list_names
from ..exceptions import FileFormatError, InputError
from .files import (
    TABLES,
    TEXTS,
    WORKBOOKS,
    as_path,
    check_known,
    check_regular,
    file_of,
    is_sheet,
    kind_of,
    naming,
    parsing,
    require,
)
from .roles import is_label_name

SEPARATORS = "\t;,"  # in this order: commas also occur as decimal points and inside names
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "#n/a")
SAMPLED = 20  # rows by which the form of a table is found
LONGEST = 1 << 26  # characters of a line
UNPACKED, RATIO = 1 << 30, 200  # bytes that a gzipped text may always have, and times its size
TEXT_ADVICE = "it should be UTF-8 text with one row per sample and , ; or tab between the cells"
EXCEL_ADVICE = "save it again as .xlsx, or as .csv"
PARQUET_ADVICE = "write it again, with one column per feature"
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
Rows = list[list[str]]


@dataclass(frozen=True)
class Table:
    """A file, or a sheet of a workbook, as a frame.

    Attributes
    ----------
    path : Path
        The file; WORKBOOK/SHEET for a sheet.
    frame : DataFrame
        Its index holds names of rows, as text, where the file marks them as such. Columns without
        a header are numbered 0, 1, ...
    notes : tuple of str
        What was found in an unusual form.
    decimal : {".", ","}
    """

    path: Path
    frame: Any
    notes: tuple[str, ...] = ()
    decimal: str = "."


class Layout(NamedTuple):
    """The form of a table: names of its columns (None without a header), and more."""

    names: list[str] | None
    has_row_names: bool
    decimal: str
    notes: list[str]


def read_table(
    path: Any, *, sep: str | None = None, decimal: str | None = None, sheet: str | None = None
) -> Any:
    """Read one table, with all its columns, as a frame.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .txt (or .gz of them), .xlsx or .parquet file.
    sep, decimal : str, optional
        Character between cells and decimal sign of a text table; found by default.
    sheet : str, optional
        Sheet of a workbook, which is needed where several hold something.

    Returns
    -------
    frame : DataFrame
        Columns of codes with leading zeros are text.

    Raises
    ------
    FileFormatError
        The file cannot be read; the message says why.
    """
    file = as_path(path)
    with naming(file):
        check_table(file)
        if kind_of(file) in WORKBOOKS and not is_sheet(file):
            sheets, _ = find_sheets(file)
            if sheet is None and len(sheets) > 1:
                names = ", ".join(found.name for found in sheets)
                raise InputError(f"it has several sheets: name one of {names}, as {file}/SHEET")
            file = sheets[0] if sheet is None else file / sheet
        return load_table(file, sep, decimal).frame


def check_table(path: Path) -> None:
    """Refuse what is no file, or no table."""
    check_regular(file_of(path))
    check_known(path)
    if kind_of(path) not in TABLES:
        raise FileFormatError(f"not a table: {kind_of(path)}; tables are {', '.join(TABLES)}")


def load_table(
    path: Path, sep: str | None = None, decimal: str | None = None, classes: bool = False
) -> Table:
    """Read one table; `classes` for a file of labels, whose cells stay text."""
    if kind_of(path) in TEXTS:
        with parsing("table", TEXT_ADVICE):
            return _load_text(path, sep, decimal, classes)
    if kind_of(path) in WORKBOOKS:
        with parsing("workbook", EXCEL_ADVICE):
            return _load_sheet(path, decimal, classes)
    require("pyarrow", "parquet", ".parquet")
    with parsing("Parquet file", PARQUET_ADVICE):
        return _load_parquet(path, classes)


def find_sheets(path: Path) -> tuple[list[Path], list[str]]:
    """Return the sheets that hold something, as paths WORKBOOK/SHEET, and notes on the others."""
    found, notes = [], []
    with parsing("workbook", EXCEL_ADVICE), _workbook(path) as book:
        for sheet in book.book.worksheets:
            if {*"/\\\0"} & {*sheet.title} or sheet.title in ("", ".", ".."):
                raise FileFormatError(f"it has a sheet with the name {sheet.title[:80]!r}")
            if sheet.sheet_state != "visible":
                notes.append(f"Ignored the hidden sheet {sheet.title!r} of {path.name}.")
            elif book.parse(sheet.title, header=None, nrows=SAMPLED).dropna(how="all").empty:
                notes.append(f"Ignored the empty sheet {sheet.title!r} of {path.name}.")
            else:
                found.append(path / sheet.title)
    if not found:
        raise FileFormatError("no sheet of it holds anything")
    return found, notes


def match_samples(frame: Any, samples: Sequence[Any], id: str | None = None) -> Any:
    """Index a table by the column that holds the sample names.

    Parameters
    ----------
    frame : DataFrame
        As `read_table` returns it.
    samples : sequence
        Names of the samples.
    id : str, optional
        The column of names. By default the names of rows, or the first column if it holds text or
        is named like an id; otherwise the one such column that holds the names.

    Returns
    -------
    frame : DataFrame
        Indexed by names, all different, as text; copies of the column are dropped.

    Raises
    ------
    InputError
        No column holds the names, several could, or a name is repeated.
    """
    import pandas as pd

    names = {str(name) for name in samples}
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_axis(frame.index.astype(str)).rename_axis("row names").reset_index()
    frame = frame.set_axis(frame.columns.astype(str), axis=1)
    key = id if id in frame.columns else _find_names(frame, names)
    column = frame[key]
    if column.isna().any():
        raise InputError(f"{int(column.isna().sum())} rows have no name in column {key!r}")
    text = _as_text(column)
    if text.duplicated().any():
        twice = text[text.duplicated()].unique().tolist()
        raise InputError(f"several rows are of one sample, by column {key!r}: {list_names(twice)}")
    copies = [c for c in frame.columns if c != key and _as_text(frame[c]).equals(text)]
    return frame.drop(columns=[key, *copies]).set_axis(pd.Index(text, name=key))


def _find_names(frame: Any, names: set[str]) -> str:
    """Return the column with the names: the first, else the only one that can be."""
    columns = [str(c) for c in frame.columns]
    held = {c: len(names & {*_as_text(frame[c].dropna())}) for c in columns}
    likely = [
        c for c in columns
        if frame[c].dtype == object or c == "row names" or is_key_name(c) or may_be_key_name(c)
    ]  # fmt: skip
    if columns[0] in likely and held[columns[0]]:
        return columns[0]
    able = [c for c in likely if held[c] == len(names)] or [c for c in likely if held[c]]
    different = [c for c in able if not _as_text(frame[c]).equals(_as_text(frame[able[0]]))]
    if able and not different:
        return able[0]
    if able:
        raise InputError(
            f"columns {list_names([able[0], *different])} could name the samples: choose one with "
            "id=..."
        )
    others = [c for c in columns if held[c] == len(names)]
    hint = f"; {list_names(others)} has such numbers: choose with id=..." if others else ""
    raise InputError(
        f"no column holds names of the samples, such as {min(names, default='')!r}; its columns "
        f"are {list_names(columns)}{hint}"
    )


def _as_text(column: Any) -> Any:
    """Return a column as text; whole numbers without a decimal point."""
    if column.dtype.kind == "f" and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype(str)


def not_numeric(frame: Any, decimal: str = ".") -> str:
    """Return what is wrong with columns that are not numbers, and the ways out; empty if none.

    >>> import pandas as pd
    >>> not_numeric(pd.DataFrame({"a": [1, 2], "town": ["rome", "oslo"]}))[:41]
    "column 'town' is not numeric: 'rome' in r"
    """
    bad = [p for p, kind in enumerate(frame.dtypes) if getattr(kind, "kind", "O") not in "iufb"]
    if not bad:
        return ""
    numbered = list(frame.columns) == list(range(frame.shape[1]))
    names = [str(frame.columns[p] + 1 if numbered else frame.columns[p]) for p in bad]
    cells = frame.iloc[:, bad[0]]
    wrong = cells[cells.notna()]
    if cells.dtype == object:
        number = _numbers(wrong.map(str), decimal)
        wrong = wrong[number.isna().to_numpy()]
    shown = str(wrong.iloc[0])[:40] if len(wrong) else str(cells.dtype)
    at = 0 if not len(wrong) else frame.index[int((cells == wrong.iloc[0]).argmax())]
    where = f"row {at}" if isinstance(at, (int, np.integer)) else f"the row of {at!r}"
    other = (WITH_POINT, ".") if decimal == "," else (WITH_COMMA, ",")
    hint = f"; pass decimal={other[1]!r} if numbers are written so"
    drop = names[:SHOWN] if len(names) > 1 else repr(names[0])
    return (
        (f"columns {list_names(names)} are" if len(names) > 1 else f"column {names[0]!r} is")
        + f" not numeric: {shown!r} in {where}{hint if other[0].fullmatch(shown) else ''}; leave "
        f"out with drop_columns={drop}, encode as numbers, or name with labels=... or id=... a "
        "column that holds those"
    )


def _load_text(path: Path, sep: str | None, decimal: str | None, classes: bool) -> Table:
    import pandas as pd

    if _packing(path):
        _check_unpacked(path)
    encoding = _encoding(path)
    lines, skipped = _first_lines(path, encoding)
    sep = sep or _find_separator(lines, decimal, classes)
    rows, ends = _split(lines, sep)
    if not rows:
        raise FileFormatError("it has no rows")
    layout = _layout(rows, decimal, classes)
    commented = skipped[-1].lstrip("#! ") if skipped else ""
    if layout.names is None and len(_split([commented], sep)[0][:1] or [[]]) and commented:
        over = _split([commented], sep)[0][0]
        if len(over) == len(rows[0]):
            layout = layout._replace(names=[name.strip() for name in over])
            ends, rows = [0, *ends], [over, *rows]
    header = 0 if layout.names is None else ends[0]
    body = rows if layout.names is None else rows[1:]
    width = max(map(len, body), default=0)
    settings: dict[str, Any] = {
        "sep": r"\s+" if sep == " " else sep, "header": None, "encoding": encoding,
        "skiprows": len(skipped) + header, "compression": _packing(path), "low_memory": False,
        "skipinitialspace": True, "decimal": layout.decimal, "index_col": False,
        "comment": "!" if any(line.startswith("!") for line in skipped) else None,
    }  # fmt: skip
    if classes:
        settings |= {"dtype": str, "na_filter": False}
    else:
        settings |= {"dtype": dict.fromkeys(_codes(body, width), str)}
        settings |= {"na_values": [*MISSING, "None", "Null"]}
    try:
        frame = pd.read_csv(path, **settings)
    except pd.errors.ParserError as error:
        _check_widths(path, encoding, sep, len(skipped), layout)
        raise FileFormatError(str(error)) from None
    except pd.errors.EmptyDataError:
        raise FileFormatError("it has a header but no rows") from None
    if (
        frame.iloc[:, -1].isna().any()
        or len(layout.names or range(frame.shape[1])) != frame.shape[1]
    ):
        _check_widths(path, encoding, sep, len(skipped), layout)
    first = frame.iloc[:, 0]
    if not classes and first.dtype == object and first.isna().any():  # NA may be a name
        raw = pd.read_csv(path, **settings | {"usecols": [0], "dtype": str, "na_filter": False})
        if raw[0].ne("").equals(first.notna()) is False:
            frame[0] = raw[0].where(raw[0] != "", np.nan)
    return _finish(path, frame, layout, classes)


def _load_sheet(path: Path, decimal: str | None, classes: bool) -> Table:
    with _workbook(file_of(path)) as book:
        if path.name not in book.sheet_names:
            raise FileFormatError(f"no sheet {path.name!r}; it has {', '.join(book.sheet_names)}")
        grid = book.parse(path.name, header=None, dtype=object, na_values=[*MISSING, " "])
    grid = grid.dropna(how="all").reset_index(drop=True)
    full = grid.notna().any().to_numpy()
    grid = grid.iloc[:, : int(np.flatnonzero(full)[-1]) + 1] if full.any() else grid
    rows = [[_cell(value) for value in row] for row in grid.head(SAMPLED).itertuples(index=False)]
    if not rows:
        raise FileFormatError("it has no rows")
    layout = _layout(rows, decimal, classes)
    frame = grid.iloc[0 if layout.names is None else 1 :].reset_index(drop=True)
    if classes:
        frame = frame.map(_cell)
    return _finish(path, frame, layout, classes)


def _load_parquet(path: Path, classes: bool) -> Table:
    import pandas as pd

    frame = pd.read_parquet(path)
    frame = frame.set_axis(frame.columns.astype(str), axis=1)
    if not frame.columns.is_unique or not frame.shape[1]:
        raise FileFormatError(
            f"its columns must have names, all different: {[*frame.columns][:20]}"
        )
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_axis(frame.index.astype(str))
        if classes:
            frame = frame.rename_axis("id").reset_index()
    for p, kind in enumerate(frame.dtypes):
        if getattr(kind, "kind", "O") not in "iufbmM":
            frame.isetitem(p, _typed(frame.iloc[:, p].astype(object), "."))
    if not len(frame):
        raise FileFormatError("it has no rows")
    return Table(path, frame)


def _finish(path: Path, frame: Any, layout: Layout, classes: bool) -> Table:
    """Name rows and columns, leave out empty margins, and convert columns to numbers."""
    notes, count = list(layout.notes), frame.shape[1]
    if layout.names is not None:
        width = len(layout.names)
        if width > count:
            raise FileFormatError(f"its rows have {count} cells, but the header {width}")
        if count > width:
            frame = frame.iloc[:, :width].copy()  # what is left out is empty: _check_widths
            notes.append(f"Columns after {width}, which are empty, were left out.")
        frame.columns = layout.names
    else:
        frame = _without_margin(frame, notes)
    for p, kind in enumerate(frame.dtypes):
        if kind.kind == "O" and not classes:
            frame.isetitem(p, _typed(frame.iloc[:, p], layout.decimal))
    if classes:
        return Table(path, frame, tuple(notes))
    frame = _without_empty_rows(frame, layout, notes)
    if layout.has_row_names or (layout.names is None and frame.dtypes.iloc[0].kind == "O"):
        names, frame = _as_text(frame.iloc[:, 0]), frame.iloc[:, 1:]
        frame.index = names.rename(None).to_numpy()
        if layout.names is None:
            frame.columns = range(frame.shape[1])
    if not frame.shape[1] or not len(frame):
        what = "rows" if not len(frame) else "columns of numbers; name the separator with sep=..."
        raise FileFormatError(f"it has no {what}")
    return Table(path, frame, tuple(notes), layout.decimal)


def _without_margin(frame: Any, notes: list[str]) -> Any:
    full = np.flatnonzero(frame.notna().any().to_numpy())
    width = int(full[-1]) + 1 if len(full) else 0
    if width == frame.shape[1]:
        return frame
    notes.append(f"Columns after {width}, which are empty, were left out.")
    return frame.iloc[:, :width].copy()


def _without_empty_rows(frame: Any, layout: Layout, notes: list[str]) -> Any:
    """Leave out empty rows of a table with names of rows.

    In a table without names, an empty row is a sample that the view lacks.
    """
    if not frame.iloc[:, 0].isna().any():
        return frame
    empty = frame.isna().all(axis=1).to_numpy()
    named = layout.has_row_names or any(
        frame.iloc[:, p].dtype == object or (p == 0 and is_key_name(str(frame.columns[0])))
        or (layout.names is not None and may_be_key_name(str(frame.columns[p])))
        for p in range(min(frame.shape[1], 1000))
    )  # fmt: skip
    if not empty.any() or not named:
        return frame
    notes.append(f"{int(empty.sum())} empty rows were left out.")
    kept = frame.loc[~empty].reset_index(drop=True)
    for p, kind in enumerate(kept.dtypes):  # whole numbers, where only empty cells made fractions
        if kind.kind == "f" and kept.iloc[:, p].notna().all() and (kept.iloc[:, p] % 1 == 0).all():
            kept.isetitem(p, kept.iloc[:, p].astype(np.int64))
    return kept


def _typed(column: Any, decimal: str) -> Any:
    """Return a column of objects as numbers where every cell is one, otherwise as it is.

    Different codes of which some begin with 0 stay text.
    """
    cells = column.dropna()
    if cells.map(lambda cell: isinstance(cell, (Number, np.bool_))).all():
        cells = cells.map(lambda cell: int(cell) if isinstance(cell, (bool, np.bool_)) else cell)
        if not cells.map(lambda cell: isinstance(cell, int)).all():
            cells = cells.astype(np.float64)
        return cells.infer_objects().reindex(column.index)
    if not cells.map(lambda cell: isinstance(cell, (str, Number))).all():
        return column
    text = cells.map(str).str.strip()
    numbers = _numbers(text, decimal)
    codes = text.str.match(r"0\d").any() and text.is_unique
    return column.where(column.isna(), text) if numbers.isna().any() or codes else (
        numbers.reindex(column.index))  # fmt: skip


def _numbers(text: Any, decimal: str) -> Any:
    """Return texts as numbers, NaN where they are none."""
    import pandas as pd

    if decimal == ",":
        text = text.where(~text.str.contains(".", regex=False), "x").str.replace(",", ".")
    return pd.to_numeric(text, errors="coerce")


def _layout(rows: Rows, decimal: str | None, classes: bool) -> Layout:
    """Find out how a table is written, from its first rows."""
    first, second = rows[0], rows[1] if len(rows) > 1 else []
    notes: list[str] = []
    row_names = not classes and _has_row_names(first, rows[1:])
    names: list[str] | None = None
    if row_names:
        notes.append("The header has no name for the first column, as R writes row names.")
        names = ["", *(name.strip() for name in first)]
    elif _is_class_header(first, second) if classes else _is_header(first, rows[1:]):
        names = [name.strip() for name in _strip(first)]
        row_names = not classes and not names[0]
    if names is not None and not second:
        raise FileFormatError("it has a header but no rows")
    body = rows if names is None else rows[1:]
    sign = "." if classes else decimal or _find_decimal(body, notes)
    return Layout(names, row_names, sign, notes)


def _is_header(first: Sequence[str], body: Rows) -> bool:
    """Return whether the first row holds names of columns.

    It does if it has text above a number, no numbers at all, the column numbers 0, 1, ..., a
    first cell named like an id, or numbers that name columns.
    """
    names = [cell.strip() for cell in first]
    second = body[0] if body else []
    counts = [str(p) for p in range(len(names))]  # pandas writes these for unnamed columns
    return (
        any(is_text(a) and not is_text(b) for a, b in zip(first, second, strict=False))
        or (any(map(is_text, names)) and all(is_text(name) or not name for name in names))
        or (len(names) > 1 and bool(names[0]) and is_key_name(names[0]))
        or (len(names) > 2 and names == counts)
        or (len(names) > 1 and names == ["", *counts[:-1]])
        or _are_numbers_names(names, body)
    )


def _are_numbers_names(first: Sequence[str], body: Rows) -> bool:
    """Return whether numbers in the first row are names, such as gene ids or wavelengths.

    They are if all differ and either they are whole numbers above fractions, or they ascend or
    descend as no other row does, or all are larger than any number below.
    """
    if len(body) < 2 or any(len(row) != len(first) for row in body):
        return False
    at = [p for p, cell in enumerate(first) if not is_text(cell) and cell]
    names = [_number(first[p], ".") for p in at]
    below = [[_number(row[p], ".") for p in at] for row in body]
    values = [value for row in below for value in row if not math.isnan(value)]
    if len(at) < 3 or len({*names}) < len(names) or any(map(math.isnan, names)) or not values:
        return False
    if all(name.is_integer() for name in names) and not all(v.is_integer() for v in values):
        return True
    if len(at) > 3 and _is_monotonic(names) and not any(map(_is_monotonic, below)):
        return True
    return all(name.is_integer() for name in names) and min(names) > 2 * max(map(abs, values))


def _is_monotonic(values: Sequence[float]) -> bool:
    pairs = list(pairwise(values))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def _is_class_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first line of a label file holds names; labels may be text themselves."""
    over = any(is_text(a) and not is_text(b) for a, b in zip(first, second, strict=False))
    return over or is_label_name(first[-1]) or (len(first) > 1 and is_key_name(first[0]))


def _has_row_names(header: Sequence[str], rows: Rows) -> bool:
    """Return whether rows begin with names that the header has no cell for.

    The names are texts, or ascending numbers: otherwise a comma may be a decimal sign.
    """
    width = len(header) + 1
    if not rows or any(len(row) < width or any(map(str.strip, row[width:])) for row in rows):
        return False
    if all(not row[width - 1].strip() for row in rows):  # a separator at the end of each line
        return False
    numbers = [_number(row[0], ".") for row in rows]
    ascending = all(a < b for a, b in pairwise(numbers))
    return all(map(math.isnan, numbers)) or (ascending and len(header) > 1)


def _find_decimal(rows: Rows, notes: list[str]) -> str:
    """Return the decimal sign: a comma where no number has a point."""
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


def _find_separator(lines: Sequence[str], decimal: str | None, classes: bool) -> str:
    """Return the first separator that gives all lines equal widths, else the one of most cells.

    A header may have one cell fewer. Spaces separate numbers if nothing else does.

    >>> _find_separator(["1,5;2,5", "1,0;3,5"], None, False)
    ';'
    >>> _find_separator(['"a" "b"', '"r1" 1 2.5'], None, False)
    ' '
    """
    allowed = [sep for sep in SEPARATORS if sep != decimal]
    split = {sep: _split(lines, sep)[0] for sep in [*allowed, " "]}
    widths = {sep: [len(row) for row in rows] or [0] for sep, rows in split.items()}
    for sep in allowed:
        if len(set(widths[sep])) == 1 and widths[sep][0] > 1:
            return sep
    best = max(reversed(allowed), key=lambda sep: widths[sep][0])
    if max(widths[best]) > 1 or classes or max(widths[" "]) < 2:
        return best
    body = split[" "][1:]
    numeric = not any(is_text(cell, decimal or ".") for row in body for cell in row[1:])
    return " " if body and numeric and len({*widths[" "][1:]}) == 1 else best


def _split(lines: Sequence[str], sep: str) -> tuple[Rows, list[int]]:
    """Return the rows that hold something, and for each the number of lines up to its end."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=sep == " ")
    rows, ends = [], []
    for row in reader:
        cells = list(filter(None, row)) if sep == " " else row
        if cells:
            rows.append(cells)
            ends.append(reader.line_num)
    return rows, ends


def _check_widths(path: Path, encoding: str, sep: str, skipped: int, layout: Layout) -> None:
    """Refuse rows that are shorter or longer than the first, which pandas fills or cuts."""
    with _open_text(path, encoding) as file:
        for _ in range(skipped):
            file.readline()
        reader = csv.reader(file, delimiter=sep, skipinitialspace=sep == " ")
        width = len(layout.names) if layout.names else None
        for row in reader:
            cells = list(filter(None, row)) if sep == " " else row
            if not cells or cells[0].startswith("!"):
                continue
            if width is None:
                width = len(_strip(cells)) or len(cells)
            short = len(cells) < width and not (layout.has_row_names and len(cells) == width - 1)
            if short or any(cell.strip() for cell in cells[width:]):
                hint = "; if a comma is the decimal sign, pass decimal=',' and another sep=..."
                count = max(len(_strip(cells)), min(len(cells), width))
                raise FileFormatError(
                    f"line {skipped + reader.line_num} has {count} cells, but the first line "
                    f"{width}{hint if count > width else ''}"
                )


def _codes(rows: Rows, width: int) -> list[int]:
    """Return the columns that may hold codes with leading zeros: to be read as text first."""
    found = []
    for p in range(width):
        cells = [row[p].strip() for row in rows if p < len(row)]
        digits = all(cell.isdecimal() for cell in cells if cell)
        if digits and (p in (0, width - 1) or any(len(c) > 1 and c[0] == "0" for c in cells)):
            found.append(p)
    return found


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


def _strip(row: Sequence[str]) -> list[str]:
    """Return a row without the empty cells at its end."""
    width = len(row)
    while width and not row[width - 1].strip():
        width -= 1
    return list(row[:width])


def _cell(value: Any) -> str:
    """Return a cell of a workbook as a .csv file would have it."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value)


def _packing(path: Path) -> str | None:
    return "gzip" if path.suffix.lower() == ".gz" else None


def _encoding(path: Path) -> str:
    """Return the encoding: UTF-8, or UTF-16 where the file begins with its mark, as of Excel."""
    with gzip.open(path) if _packing(path) else path.open("rb") as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[TextIO]:
    if _packing(path) is None:
        with path.open(encoding=encoding, newline="") as file:
            yield file
    else:
        with gzip.open(path, "rt", encoding=encoding, newline="") as file:
            yield file


def _check_unpacked(path: Path) -> None:
    """Refuse a small file that unpacks to gigabytes."""
    most = max(UNPACKED, RATIO * path.stat().st_size)
    with gzip.open(path) as file:
        count = 0
        while block := file.read(1 << 20):
            count += len(block)
            if count > most:
                raise FileFormatError(
                    f"it unpacks to more than {RATIO} times its size ({count:,} bytes and more); "
                    "if that is right, unpack it first"
                )


def _first_lines(path: Path, encoding: str) -> tuple[list[str], list[str]]:
    """Return the lines that show how a table is written, and the comments above them."""
    lines: list[str] = []
    skipped: list[str] = []
    with _open_text(path, encoding) as file:
        while len(lines) <= SAMPLED and (line := file.readline(LONGEST)):
            if len(line) >= LONGEST:
                raise FileFormatError(f"a line of it is longer than {LONGEST:,} characters")
            if not lines and (line.startswith(("#", "!")) or (skipped and not line.strip())):
                skipped.append(line)
            else:
                lines.append(line)
    return lines, skipped


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    require("openpyxl", "excel", ".xlsx")
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that hold no cells, such as validation rules
        with pd.ExcelFile(path, engine="openpyxl") as book:
            yield book
