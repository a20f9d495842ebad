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
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from itertools import islice, takewhile, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.alignment import as_text, is_key_name, may_be_key_name, names_each_row
from ..data.values import SHOWN, list_names
from ..exceptions import FileFormatError, InputError
from .files import TABLES, TEXTS, as_path, check_regular, kind_of, naming, parsing, view_name

SEPARATORS = "\t;,"  # in this order: commas also occur as decimal points and inside names
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "#n/a")
SPELLED = [*MISSING, *(word.upper() for word in MISSING), "NaN", "None", "Null", "<NA>"]
SAMPLED = 20  # rows by which the form of a table is found
TEXT_ADVICE = "it should be UTF-8 text with one row per sample and , ; or tab between the cells"
EXCEL_ADVICE = "save it again as .xlsx, or as .csv"
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
Rows = list[list[str]]
Sign = str | None


@dataclass(eq=False)
class Table:
    """A file, or a sheet of a workbook, and what was read from it.

    Attributes
    ----------
    name : str
        Name of the view.
    path : Path
    text : str, optional
        The sheet, as a .csv file would have it.
    frame : DataFrame
        Its index holds names of rows, as text, where the file marks them as such. Columns without
        a header are numbered 0, 1, ...
    notes : list of str
        What was found in an unusual form.
    decimal : {".", ","}
    labels : Series, optional
        A column of classes, set aside.
    turned : bool
        Whether it was transposed because of its names.
    id : str or False, optional
        The column with the sample names, if it is given; False for none.
    written : dict of Series
        Columns of numbers that may name the samples, as text, where that differs: 1E02, 2.10.
    """

    name: str
    path: Path
    text: str | None = None
    frame: Any = None
    notes: list[str] = field(default_factory=list)
    decimal: str = "."
    labels: Any = None
    turned: bool = False
    id: str | bool | None = None
    written: dict[Any, Any] = field(default_factory=dict)

    @property
    def named(self) -> bool:
        """Whether the rows have names, as texts."""
        return self.frame.index.dtype.kind not in "iu"

    @property
    def filled(self) -> Any:
        """The frame without the empty rows that have no name."""
        gaps = not self.named and self.frame.iloc[:, :1].isna().to_numpy().any()
        return self.frame.dropna(how="all", ignore_index=True) if gaps else self.frame

    @property
    def columns(self) -> list[str]:
        return [str(column) for column in self.frame.columns]

    @property
    def feature_names(self) -> list[str] | None:
        """The columns; None where they are only numbered."""
        return None if self.columns == [str(p) for p in range(len(self.columns))] else self.columns


def read_table(path: Any, *, sep: Sign = None, decimal: Sign = None, id: str | None = None) -> Any:
    """Read one table, with all its columns, as a frame.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .txt (or .gz of them), .xlsx or .parquet file. Of a workbook, only one sheet
        may hold something.
    sep, decimal : str, optional
        Character between cells and decimal sign of a text table; found by default.
    id : str, optional
        The column with the sample names.

    Returns
    -------
    frame : DataFrame
        Columns of codes with leading zeros, and of sample names that are written so, are text.

    Raises
    ------
    FileFormatError
        The file cannot be read; the message says why.
    """
    file = as_path(path)
    with naming(file):
        check_regular(file)
        if kind_of(file) not in TABLES:
            raise FileFormatError(f"not a table: {kind_of(file)}; tables are {', '.join(TABLES)}")
        table = Table(view_name(file), file, id=id)
        load_table(table, sep, decimal)
        texts = {name: text for name, text in table.written.items() if is_key_name(str(name))}
        frame = table.frame.assign(**texts)
        return frame if table.named else frame.dropna(how="all")


def load_table(table: Table, sep: Sign = None, decimal: Sign = None) -> None:
    """Read the frame of a table."""
    kind = kind_of(table.path)
    if kind in TEXTS:
        with parsing("table", TEXT_ADVICE), warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # `_typed` makes it one type
            _load_text(table, sep, decimal)
    elif kind == ".parquet":
        with parsing("Parquet file", "write it again, with one column per feature"):
            _load_parquet(table)
    else:
        sheets, _ = read_sheets(table.path) if table.text is None else ([table], [])
        if len(sheets) > 1:
            names = ", ".join(sheet.name for sheet in sheets)
            raise InputError(f"it has several sheets ({names}): save the one that is meant alone")
        text = str(sheets[0].text)
        with parsing("workbook", EXCEL_ADVICE):
            _parse(table, partial(StringIO, text), StringIO(text), ",", decimal)


def read_sheets(path: Path) -> tuple[list[Table], list[str]]:
    """Return the sheets of a workbook that hold something, and notes on the others.

    A sheet alone has the name of the file.
    """
    found, notes = [], []
    with parsing("workbook", EXCEL_ADVICE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that hold no cells, such as validation rules
        with pd.ExcelFile(path, engine="openpyxl") as book:
            for sheet in book.book.worksheets:
                text = _sheet_as_text(book, sheet.title)
                if sheet.sheet_state == "visible" and text:
                    found.append(Table(sheet.title, path, text))
                else:
                    kind = "hidden" if text else "empty"
                    notes.append(f"Ignored the {kind} sheet {sheet.title!r} of {path.name}.")
    if not found:
        raise FileFormatError("no sheet of it holds anything")
    if len(found) == 1:
        found[0].name = view_name(path)
    return found, notes


def not_numeric(table: Table) -> str:
    """Return what is wrong with columns that are not numbers, and the ways out; empty if none.

    >>> import pandas as pd
    >>> town = pd.DataFrame({"a": [1, 2], "town": ["rome", "oslo"]})
    >>> not_numeric(Table("people", Path("people.csv"), frame=town))[:41]
    "column 'town' is not numeric: 'rome' in r"
    """
    bad = [getattr(kind, "kind", "O") not in "iufb" for kind in table.frame.dtypes]
    if not any(bad):
        return ""
    names = [str(name) for name in table.frame.columns[bad]]
    cells = table.frame.iloc[:, bad.index(True)].dropna().map(str)
    wrong = cells[_numbers(cells, table.decimal).isna().to_numpy()]
    first = (wrong if len(wrong) else cells).head(1)
    shown = ", ".join(f"{cell[:40]!r} in row {at!r}" for at, cell in first.items())
    other, sign = (WITH_POINT, ".") if table.decimal == "," else (WITH_COMMA, ",")
    hint = f"; pass decimal={sign!r} if numbers are written so"
    what = f"column {names[0]!r} is" if len(names) == 1 else f"columns {list_names(names)} are"
    return (
        f"{what} not numeric: {shown}{hint * any(map(other.fullmatch, first))}; leave out with "
        f"drop_columns={names[:SHOWN]}, encode as numbers, or name with labels=... or id=... a "
        "column that holds those"
    )


# ---------------------------------------------------------------- the formats


def _load_text(table: Table, sep: Sign, decimal: Sign) -> None:
    opened: Any = gzip.open if table.path.suffix.lower() == ".gz" else open
    with opened(table.path, "rb") as file:
        marks = (b"\xff\xfe", b"\xfe\xff")  # of Excel's Unicode text
        encoding = "utf-16" if file.read(2) in marks else "utf-8-sig"
    opener = partial(opened, table.path, "rt", encoding=encoding, newline="")
    _parse(table, opener, table.path, sep, decimal, encoding)


def _parse(
    table: Table, opener: Any, source: Any, sep: Sign, decimal: Sign, encoding: str | None = None
) -> None:
    """Find the form of a text from its first lines, and parse it with pandas.

    Parameters
    ----------
    table : Table
        Its frame, notes and decimal sign are set.
    opener : callable
        Opens the text, to read lines of it.
    source : Path or StringIO
        The text, for pandas; it reads a path faster than an open file.
    sep, decimal
        As in `read_table`.
    encoding : str, optional
    """
    with opener() as file:
        comments, lines = _first_lines(file)
    sep = sep or _find_separator(lines, decimal)
    rows, ends = _split(lines, sep)
    commented = _split([line.lstrip("#! ") for line in comments[-1:]], sep)[0]
    names, body, start = _find_header(rows, table.notes), rows, 0
    if names is not None:
        body, start = rows[1:], ends[0]
    elif commented and len(commented[0]) == len(rows[0]):  # as numpy.savetxt writes the header
        names = [name.strip() for name in commented[0]]
    table.decimal = decimal or _find_decimal(body, table.notes)
    texts = any(is_text(row[0]) for row in body)
    titles = ["", *names] if names and len(names) < len(body[0]) else names or []
    keys = [p for p, n in enumerate(titles) if n in ("", table.id) or may_be_key_name(n)]
    kinds = {p: str for p in (*_codes(body), *keys) if p or not texts}
    empty = _count_blank(lines[start:])  # pandas needs a row that shows how many cells there are
    skipped = len(comments) + start + empty
    frame = pd.read_csv(
        source, sep=r"\s+" if sep == " " else sep, header=None, index_col=False, skiprows=skipped,
        encoding=encoding, decimal=table.decimal, skipinitialspace=True,
        float_precision=None if encoding else "round_trip",  # cells of a workbook are exact
        comment="!" if any(line.startswith("!") for line in comments) else None,
        dtype=kinds or None, na_values=SPELLED, keep_default_na=False,
        converters={0: lambda cell: cell or np.nan} if texts else None,  # a sample named NA
        skip_blank_lines=False,
    )  # fmt: skip
    if empty or frame.iloc[-1].isna().all():
        with opener() as file:
            frame = frame.reindex(range(-empty, len(frame) - _count_blank([*file][::-1])))
        frame = frame.reset_index(drop=True)
    table.frame = _finish(frame, names, table, sep)
    width = table.frame.shape[1] + table.named
    if frame.iloc[:, width - 1].isna().any():
        with opener() as file:
            _refuse_short_rows(islice(file, skipped, None), sep, width, skipped)


def _count_blank(lines: Sequence[str]) -> int:
    """Return how many lines are blank before the first that is not."""
    return len(list(takewhile(lambda line: not line.strip("\r\n "), lines)))


def _refuse_short_rows(lines: Iterator[str], sep: str, width: int, skipped: int) -> None:
    """Refuse rows that have fewer cells than the table columns, which pandas fills."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=sep == " ")
    for row in reader:
        if "".join(row).strip() and len(row) < width and not row[0].startswith("!"):
            line = skipped + reader.line_num
            raise FileFormatError(f"line {line} has {len(row)} cells, but others have {width}")


def _sheet_as_text(book: Any, sheet: str) -> str:
    """Return a sheet as a .csv file would have it, without empty rows around it."""
    grid = book.parse(sheet, header=None, dtype=object, keep_default_na=False, na_values=[""])
    held = grid.notna().any(axis=1)
    cells = grid[held.cummax() & held[::-1].cummax()]
    cells = cells.map(lambda cell: int(cell) if isinstance(cell, bool) else cell)
    return str(cells.to_csv(header=False, index=False)) if cells.size else ""


def _load_parquet(table: Table) -> None:
    frame = pd.read_parquet(table.path)
    frame = frame.set_axis(frame.columns.astype(str), axis=1)
    if not frame.columns.is_unique or not frame.size:
        raise FileFormatError("it needs rows, and columns with different names")
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.set_axis(pd.Index(as_text(frame.index), name=frame.index.name))
    table.frame = frame
    _convert(table, False)


def _finish(frame: Any, names: list[str] | None, table: Table, sep: str) -> Any:
    """Name rows and columns, leave out empty margins, and convert columns to numbers."""
    notes, row_names = table.notes, names is not None and not names[0]
    if names is not None and _has_row_names(frame, len(names), sep):
        notes.append("The header has no name for the first column, as R writes row names.")
        names, row_names = ["", *names], True
    filled = np.flatnonzero(frame.notna().any()) if names is None else np.arange(len(names))
    width = max(filled, default=-1) + 1
    cells = frame.shape[1]
    if cells < width or frame.iloc[:, width:].notna().to_numpy().any():
        hint = "if a comma is the decimal sign, pass decimal=',' and another sep=..."
        raise FileFormatError(f"its rows have {cells} cells, but the header {width}; {hint}")
    if cells > width:
        notes.append(f"Columns after {width}, which are empty, were left out.")
        frame = frame.iloc[:, :width].copy()
    if names is not None:
        frame.columns = names
    if not frame.size:
        raise FileFormatError("it has no rows, or no columns")
    first = frame.iloc[:, 0]
    texts = first.dtype.kind == "O" and _typed(first, table.decimal).dtype == object
    has_names = row_names or texts or is_key_name(str(frame.columns[0]))
    if has_names and first.isna().any():  # without names, an empty row is a sample that is missing
        empty = len(frame) - len(frame := frame.dropna(how="all", ignore_index=True))
        notes += [f"{empty} empty rows were left out."] if empty else []
    table.frame = frame
    _convert(table, row_names)
    if row_names or (names is None and texts):
        rows, frame = as_text(frame.iloc[:, 0]), frame.iloc[:, 1:]
        frame.index = rows  # set_axis would copy all cells
        frame.columns = range(frame.shape[1]) if names is None else frame.columns
    if not frame.size:
        raise FileFormatError("it has no columns of numbers; name the separator with sep=...")
    return frame


def _has_row_names(frame: Any, width: int, sep: str) -> bool:
    """Return whether rows begin with names that the header of this width has no cell for.

    The names are texts, or distinct numbers; where commas separate, these must ascend, because a
    comma may be a decimal sign.
    """
    filled = frame.iloc[:, width:].notna().any().tolist()
    if filled[:1] != [True] or any(filled[1:]):
        return False
    numbers = pd.to_numeric(frame.iloc[:, 0], errors="coerce")
    ordered = sep != "," or numbers.is_monotonic_increasing
    return bool(numbers.isna().all() or (numbers.is_unique and ordered and width > 1))


def _convert(table: Table, row_names: bool) -> None:
    """Convert columns of objects to numbers where every cell is one, but sample names to text."""
    frame = table.frame
    for p, (name, kind) in enumerate(frame.dtypes.items()):
        if getattr(kind, "kind", "O") in "iufbmM":
            continue
        column = frame.iloc[:, p].astype(object)
        typed = text = _typed(column, table.decimal)
        if typed.dtype != object:
            text = _typed(column, table.decimal, True)
        first = p == 0 and frame.shape[1] > 1 and table.id is not False and is_key_name(str(name))
        if first or name == table.id or (p == 0 and row_names):
            typed = text
        elif text.dtype != typed.dtype and names_each_row(typed.dropna()):
            table.written[name] = text
        frame.isetitem(p, typed)


def _typed(column: Any, decimal: str, written: bool = False) -> Any:
    """Return a column of objects as numbers where every cell is one, otherwise as text.

    Different codes of which some begin with 0 stay text, and with `written` all numbers that are
    not written as `as_text` writes them.
    """
    cells = column.dropna()
    if pd.api.types.infer_dtype(cells) == "boolean":
        cells = cells.astype(int)
    text = pd.Series([str(cell).strip() for cell in cells], index=cells.index, dtype=object)
    if not _numbers(text[:1], decimal).isna().any():  # most texts show it in the first cell
        numbers = _numbers(text, decimal)
        codes = text.str.match(r"0\d").any() and text.is_unique
        if written and text.str.removesuffix(".0").tolist() != as_text(numbers):
            codes = True
        text = text if codes or numbers.isna().any() else numbers
    return text.reindex(column.index)


def _numbers(text: Any, decimal: str) -> Any:
    """Return texts as numbers, NaN where they are none."""
    if decimal == ",":
        text = text.where(~text.str.contains(".", regex=False), "x").str.replace(",", ".")
    return pd.to_numeric(text, errors="coerce")


# ---------------------------------------------------------------- the form of a table


def _find_header(rows: Rows, notes: list[str]) -> list[str] | None:
    """Return the names of the columns; None without a header. A header of numbers is noted."""
    header = bool(rows) and _is_header(rows)
    if len(rows) <= header:
        raise FileFormatError("it has a header but no rows" if header else "it has no rows")
    if not header:
        return None
    names = [name.strip() for name in rows[0]]
    while len(names) > 1 and not names[-1]:
        names.pop()
    if not any(map(is_text, names)):
        notes.append(f"first row taken as column names: {', '.join(names[:SHOWN])}")
    return names


def _is_header(rows: Rows) -> bool:
    """Return whether the first row holds names of columns.

    It does if it has text above a number, one cell less than the others, no numbers at all, the
    column numbers 0, 1, ..., a first cell named like an id, or numbers that name columns.
    """
    first = [cell.strip() for cell in rows[0]]
    second = rows[1] if len(rows) > 1 else []
    counts = [str(p) for p in range(len(first))]  # pandas writes these for unnamed columns
    return (
        (len(first) > 1 and bool(first[0]) and is_key_name(first[0]))
        or any(is_text(a) and not is_text(b) for a, b in zip(first, second, strict=False))
        or len(second) == len(first) + 1
        or (any(map(is_text, first)) and all(is_text(name) or not name for name in first))
        or (len(first) > 2 and first == counts)
        or (len(first) > 1 and first == ["", *counts[:-1]])
        or _are_numbers_names(first, rows[1:])
    )


def _are_numbers_names(first: Sequence[str], body: Rows) -> bool:
    """Return whether numbers in the first row are names, such as gene ids or wavelengths.

    They are if all differ and either they are whole numbers above fractions, or they ascend or
    descend as no other row does, or all are larger than any number below.
    """
    if len(body) < 2 or any(len(row) != len(first) for row in body):
        return False
    grid = np.array([[_number(cell, ".") for cell in row] for row in (first, *body)])
    grid = grid[:, np.isfinite(grid[0])]
    names, values = grid[0], grid[1:][np.isfinite(grid[1:])]
    if len({*names}) < max(3, len(names)) or not len(values):
        return False
    monotonic = abs(np.sign(np.diff(grid)).sum(axis=1)) == len(names) - 1
    if len(names) > 3 and monotonic[0] and not monotonic[1:].any():
        return True
    larger = names.min() > 2 * np.abs(values).max()
    return bool((names % 1 == 0).all() and (larger or (values % 1 != 0).any()))


def _find_decimal(rows: Rows, notes: list[str]) -> str:
    """Return the decimal sign: a comma where no number has a point."""
    commas = [cell for row in rows for cell in row if WITH_COMMA.fullmatch(cell)]
    if not commas or any(WITH_POINT.fullmatch(cell) for row in rows for cell in row):
        return "."
    if all(THOUSANDS.fullmatch(cell) for cell in commas):
        why = "may have a separator of thousands: remove it, or pass decimal=',' if it is none"
        raise FileFormatError(f"{commas[0].strip()!r} {why}")
    notes.append("Numbers have decimal commas.")
    return ","


def _find_separator(lines: Sequence[str], decimal: Sign) -> str:
    """Return the first separator that gives all lines equal widths, else the one of most cells.

    A header may have one cell fewer. Spaces separate numbers if nothing else does.

    >>> _find_separator(["1,5;2,5", "1,0;3,5"], None)
    ';'
    >>> _find_separator(['"a" "b"', '"r1" 1 2.5'], None)
    ' '
    """
    allowed = [sep for sep in SEPARATORS if sep != decimal]
    widths = {sep: [len(row) for row in _split(lines, sep)[0]] or [0] for sep in allowed}
    for sep in allowed:
        if len({*widths[sep]}) == 1 and widths[sep][0] > 1:
            return sep
    best = max(reversed(allowed), key=lambda sep: widths[sep][0])
    body = _split(lines, " ")[0][1:]
    if max(widths[best]) > 1 or len({len(row) for row in body}) != 1:
        return best
    cells = [cell for row in body for cell in row[1:]]
    return " " if cells and not any(is_text(cell, decimal or ".") for cell in cells) else best


def _split(lines: Sequence[str], sep: str) -> tuple[Rows, list[int]]:
    """Return the rows that hold something, and for each the number of lines up to its end."""
    limit = csv.field_size_limit(1 << 30)  # by a wrong separator, a long line is one cell
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=sep == " ")
    rows, ends = [], []
    for row in reader:
        cells = list(filter(None, row)) if sep == " " else row
        if cells:
            rows.append(cells)
            ends.append(reader.line_num)
    csv.field_size_limit(limit)
    return rows, ends


def _first_lines(file: Iterator[str]) -> tuple[list[str], list[str]]:
    """Return the comments at the top, and the lines that show how a table is written."""
    comments: list[str] = []
    lines: list[str] = []
    for line in file:
        top = not lines and (line.startswith(("#", "!")) or (comments and not line.strip()))
        (comments if top else lines).append(line)
        if len(lines) > SAMPLED:
            break
    return comments, lines


def _codes(rows: Rows) -> list[int]:
    """Return the columns that may hold codes with leading zeros: to be read as text first."""
    columns = list(zip_longest(*rows, fillvalue=""))
    digits = [p for p, cells in enumerate(columns) if not re.search(r"[^\d\s]", "".join(cells))]
    return [p for p in digits if p == 0 or any(re.match(r"\s*0\d", c) for c in columns[p])]


def is_text(cell: str, decimal: str | None = None) -> bool:
    """Return whether a cell is neither a number nor missing, in either notation by default."""
    number = any(not math.isnan(_number(cell, sign)) for sign in decimal or ".,")
    return not number and cell.strip().lower() not in MISSING


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
