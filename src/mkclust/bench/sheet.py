"""Tables as data, and their text for a terminal, as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..exceptions import InputError

BEST, SECOND = "best", "second"
CSV_COLUMNS = ("table", "section", "row", "kind", "column", "value", "std", "mark", "text", "note")


@dataclass(frozen=True)
class Cell:
    """A printed `text` and its `value`; `mark` is "best", "second" or empty; `note` is a reason."""

    text: str
    value: float | None = None
    std: float | None = None
    mark: str = ""
    note: str = ""


@dataclass(frozen=True)
class Line:
    """One row: cells in the order of the columns, with section, name and kind of the row."""

    section: str
    name: str
    kind: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Sheet:
    """A table: title, column heads, lines in order of their sections, and notes below."""

    title: str
    head: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_kinds(self) -> bool:
        """Whether any line has a kind, which is then a column."""
        return any(line.kind for line in self.lines)

    def heads(self) -> list[str]:
        """Return the heads of all columns, labels included."""
        return [self.head, *[""] * self.has_kinds, *self.columns]

    def sections(self) -> Iterator[tuple[str, list[tuple[list[str], tuple[Cell, ...]]]]]:
        """Yield every section with labels and cells of its rows; repeated names are left blank."""
        for section, lines in groupby(self.lines, key=lambda line: line.section):
            rows, previous = [], None
            for line in lines:
                name = "" if line.name == previous else line.name
                rows.append(([name, line.kind] if self.has_kinds else [line.name], line.cells))
                previous = line.name
            yield section, rows

    def marked(self) -> bool:
        """Return whether any cell is marked."""
        return any(cell.mark for line in self.lines for cell in line.cells)


def written(sheets: Sequence[Sheet], fmt: str) -> str:
    """Return the sheets as text in one of `FORMATS`.

    >>> cells = Cell("0.91", 0.91, mark=BEST), Cell("0.85", 0.85, mark=SECOND)
    >>> sheet = Sheet("Scores", "data", ("A", "B"), (Line("", "Mfeat", "", cells),))
    >>> print(written([sheet], "markdown"))
    **Scores**
    <BLANKLINE>
    | data | A | B |
    |:---|---:|---:|
    | Mfeat | **0.91** | _0.85_ |
    <BLANKLINE>
    **Bold**: best; _italic_: second.
    <BLANKLINE>
    """
    if fmt not in FORMATS:
        raise InputError(f"tables are written as {', '.join(FORMATS)}, not as {fmt!r}")
    return FORMATS[fmt](sheets)


def mark_extremes(cells: Iterable[Cell], largest: bool = True) -> tuple[Cell, ...]:
    """Mark the best and the second best cell; cells that print the same mean share a mark.

    >>> [c.mark for c in mark_extremes([Cell("2.0", 2.01), Cell("2.0", 1.99), Cell("1.0", 1.0)])]
    ['best', 'best', 'second']
    """
    given = [(cell, cell.text.partition("±")[0]) for cell in cells]
    known = [(cell.value, mean) for cell, mean in given if cell.value is not None]
    means = list(dict.fromkeys(mean for _, mean in sorted(known, reverse=largest)))
    marks = dict(zip(means, (BEST, SECOND), strict=False)) if len(means) > 1 else {}
    return tuple(
        cell if cell.value is None else replace(cell, mark=marks.get(mean, ""))
        for cell, mean in given
    )


def _terminal(sheets: Sequence[Sheet]) -> str:
    """Write text as wide as the widest table, so that no column is cut."""
    parts = [part for sheet in sheets for part in (*_rich_parts(sheet), Text())]
    out = io.StringIO()
    console = Console(file=out, force_terminal=sys.stdout.isatty(), width=1000, highlight=False)
    widths = [console.measure(part).maximum for part in parts if isinstance(part, Table)]
    console.width = max(80, *widths)
    console.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines()) + "\n"


def _rich_parts(sheet: Sheet) -> list[Table | Text]:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    n_labels = len(sheet.heads()) - len(sheet.columns)
    for place, name in enumerate(sheet.heads()):
        table.add_column(Text(name), justify="left" if place < n_labels else "right", no_wrap=True)
    for section, rows in sheet.sections():
        if section:
            table.add_row(Text(section, style="bold"))
        for labels, cells in rows:
            table.add_row(*map(Text, labels), *map(_rich_cell, cells))
        table.add_section()
    notes = ["* best, ° second."] if sheet.marked() else []
    under = [Text(note, style="dim") for note in (*notes, *sheet.notes)]
    return [Text(sheet.title, style="bold"), table, *under]


def _rich_cell(cell: Cell) -> Text:
    sign, style = {BEST: ("*", "bold"), SECOND: ("°", "underline")}.get(cell.mark, (" ", ""))
    return Text.assemble((cell.text, style), sign)


def _markdown(sheet: Sheet) -> str:
    heads = sheet.heads()
    n_labels = len(heads) - len(sheet.columns)
    lines = [f"**{sheet.title}**", "", _piped(heads)]
    lines.append(f"|{':---|' * n_labels}{'---:|' * len(sheet.columns)}")
    for section, rows in sheet.sections():
        if section:
            lines.append(_piped([f"**{section}**", *[""] * (len(heads) - 1)]))
        lines += [_piped([*labels, *map(_markdown_cell, cells)]) for labels, cells in rows]
    legend = ["**Bold**: best; _italic_: second."] if sheet.marked() else []
    for note in (*legend, *sheet.notes):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _piped(fields: Iterable[str]) -> str:
    return "| " + " | ".join(field.replace("|", r"\|") for field in fields) + " |"


def _markdown_cell(cell: Cell) -> str:
    sign = {BEST: "**", SECOND: "_"}.get(cell.mark, "")
    return f"{sign}{cell.text}{sign}"


def _csv(sheets: Sequence[Sheet]) -> str:
    """Write one line for each cell, with numbers in full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for sheet in sheets:
        for line in sheet.lines:
            for column, cell in zip(sheet.columns, line.cells, strict=True):
                where = (sheet.title, line.section, line.name, line.kind, column)
                numbers = ("" if x is None else repr(float(x)) for x in (cell.value, cell.std))
                writer.writerow([*where, *numbers, cell.mark, cell.text, cell.note])
    return out.getvalue()


LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "†": r"$\dagger$", "≥": r"$\geq$", "−": "$-$", "–": "--", "°": r"$^\circ$",
    ">": "$>$", "<": "$<$", "|": "$|$", "…": r"\ldots{}",
}  # fmt: skip


def latex_escaped(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> print(latex_escaped("50 % of a_b & c"))
    50 \% of a\_b \& c
    """
    return "".join(LATEX.get(letter, letter) for letter in text)


def _latex(sheet: Sheet) -> str:
    heads = sheet.heads()
    n_labels = len(heads) - len(sheet.columns)
    legend = "The best is bold, the second underlined. " if sheet.marked() else ""
    caption = latex_escaped(f"{sheet.title}. {legend}{' '.join(sheet.notes)}".strip())
    lines = [
        r"\begin{table*}[t]", rf"\caption{{{caption}}}", r"\centering",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * n_labels}{'r' * len(sheet.columns)}}}", r"\toprule",
        _ampersands(map(latex_escaped, heads)),
    ]  # fmt: skip
    for section, rows in sheet.sections():
        lines.append(r"\midrule")
        if section:
            lines.append(rf"\multicolumn{{{len(heads)}}}{{c}}{{{latex_escaped(section)}}} \\")
            lines.append(r"\midrule")
        for labels, cells in rows:
            lines.append(_ampersands([*map(latex_escaped, labels), *map(_latex_cell, cells)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table*}", ""])


def _ampersands(fields: Iterable[str]) -> str:
    return " & ".join(fields) + r" \\"


def _latex_cell(cell: Cell) -> str:
    minus = len(cell.text) > 1 and cell.text[0] == "-"
    text = latex_escaped("−" + cell.text[1:] if minus else cell.text)
    if cell.mark == BEST:
        return rf"\textbf{{{text}}}"
    return rf"\underline{{\textit{{{text}}}}}" if cell.mark == SECOND else text


FORMATS: dict[str, Callable[[Sequence[Sheet]], str]] = {
    "terminal": _terminal,
    "markdown": lambda sheets: "\n".join(map(_markdown, sheets)),
    "csv": _csv,
    "latex": lambda sheets: "\n".join(["% \\usepackage{booktabs,graphicx}", *map(_latex, sheets)]),
}
