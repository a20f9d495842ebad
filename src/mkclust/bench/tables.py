"""Tables of results: the paper's Tables 2 and 3, the leaderboard, and the export of a store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..exceptions import InputError
from ..io.atomic import replacing, write_csv_atomic
from ..methods import METHODS
from . import leaderboard, published
from .leaderboard import NMI_NOTE, RANK_NOTE
from .registry import SORTED
from .scores import (
    METRIC_TITLES,
    METRICS,
    NOT_RUN,
    Point,
    Results,
    Score,
    absent,
    as_printed,
    free_of_parameters,
    has_grid,
    rank_line,
    reasons,
    reference,
    score_cell,
    seconds,
    title,
)
from .sheet import Cell, Line, Sheet, mark_extremes, written
from .store import Record, Store

TUNED, DEFAULT, PUBLISHED, DIFFERENCE = "tuned†", "default", "published", "difference"
TUNED_NOTE = (
    "tuned†: as published; where there is a grid, its best setting by the labels, for each metric "
    "separately. default: one setting, chosen without labels."
)
SORTED_NOTE = "Rows were sorted by class before every fit (--order sorted)."


def render(
    records: Iterable[Record], suite: str, fmt: str, spread: bool = False, brief: bool = False
) -> str:
    """Return the table of a suite as text.

    Parameters
    ----------
    records : iterable of Record
    suite : str
        ``paper-table2`` and ``paper-table3`` have the layout of the paper; every other suite is
        a leaderboard.
    fmt : {"terminal", "markdown", "csv", "latex"}
        CSV has one line per value, in full precision; LaTeX uses booktabs.
    spread : bool
        Whether the standard deviation is printed beside each mean.
    brief : bool
        Whether only the first table is written, which is the standing of a leaderboard.
    """
    results = Results(records)
    if not results.datasets:
        raise InputError(f"no results for {suite!r}; first: mkclust bench run {suite}")
    if suite == "paper-table2":
        tables = [table2(results, spread)]
    elif suite == "paper-table3":
        tables = [table3(results)]
    else:
        tables = leaderboard.sheets(results, spread)
    if SORTED in results.orders:
        tables[0] = replace(tables[0], notes=(SORTED_NOTE, *tables[0].notes))
    return written(tables[:1] if brief else tables, fmt)


def export(store: Store, out: Path) -> int:
    """Write a row for every finished unit of every suite as CSV or Parquet; return their number."""
    rows = list(store.rows())
    if not rows:
        raise InputError(f"{store.path} holds no finished unit yet")
    kind = out.suffix.lower()
    if kind == ".csv":
        write_csv_atomic(out, list(rows[0]), [list(row.values()) for row in rows])
    elif kind == ".parquet":
        _write_parquet(rows, out)
    else:
        raise InputError(f"results are written as .csv or .parquet, not {out.name!r}")
    return len(rows)


def _write_parquet(rows: list[dict[str, object]], out: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError('writing Parquet needs pyarrow: pip install "mkclust[parquet]"') from None
    table = pa.Table.from_pylist(rows)
    with replacing(out) as file:
        pq.write_table(table, file)


def table2(results: Results, spread: bool = False) -> Sheet:
    """Return Table 2: tuned, default and published scores, and tuned minus published."""
    lines = [line for metric in METRICS for line in _metric_lines(results, metric, spread)]
    notes = [TUNED_NOTE, f"difference: tuned minus published. {NMI_NOTE} {RANK_NOTE}"]
    return _sheet("Table 2: ACC, NMI, purity and ARI in percent", results, lines, notes)


def _sheet(name: str, results: Results, lines: Sequence[Line], notes: Sequence[str]) -> Sheet:
    """Return a table with a column per method, and what was not run as notes."""
    columns = tuple(title(method) for method in results.methods)
    notes = (*notes, *_settings_tried(results), *reasons(results))
    return Sheet(name, ("data set", ""), columns, tuple(lines), notes)


def _settings_tried(results: Results) -> list[str]:
    """Return how many settings of a grid were run, where it was not all of them."""
    parts = []
    for method in filter(has_grid, results.methods):
        whole = math.prod(len(values) for values in METHODS[method].grid.values())
        tried = {len(results.points(dataset, method, tuned=True)) for dataset in results.datasets}
        least = min(tried - {0}, default=0)
        if 0 < least < whole:
            parts.append(f"{title(method)} {least} of {whole}")
    return [f"Settings run, of the published grid: {', '.join(parts)}."] if parts else []


def _metric_lines(results: Results, metric: str, spread: bool) -> list[Line]:
    section = f"{METRIC_TITLES[metric]} (%)"
    lines, table = [], {TUNED: [], DEFAULT: [], PUBLISHED: []}  # type: ignore[var-annotated]
    for dataset in results.datasets:
        found = [results.score(dataset, method, metric, tuned=True) for method in results.methods]
        plain = [results.score(dataset, method, metric) for method in results.methods]
        keys = [reference(dataset, method, metric) for method in results.methods]
        printed = [Score(published.scores().get(key)) for key in keys]
        rows = {TUNED: found, DEFAULT: plain}
        if any(score.mean is not None for score in printed):
            rows[PUBLISHED] = printed
        for kind, row in rows.items():
            cells = mark_extremes(score_cell(score, spread) for score in row)
            lines.append(Line(section, dataset, kind, cells))
            table[kind].append(as_printed(row))
        if PUBLISHED in rows:
            cells = tuple(map(_difference, found, printed))
            lines.append(Line(section, dataset, DIFFERENCE, cells))
    for kind, rows_of_kind in table.items():
        if rows_of_kind:
            lines.append(rank_line(section, kind, np.array(rows_of_kind)))
    return lines


def table3(results: Results) -> Sheet:
    """Return Table 3: CPU and wall seconds of the whole grid and of one setting, and published."""
    lines = []
    for dataset in results.datasets:
        for kind, cells in _time_rows(results, dataset).items():
            if any(cell.value is not None or cell.note for cell in cells):
                lines.append(Line("", dataset, kind, tuple(cells)))
    notes = (
        "tune: all settings of the grid together; run: the default setting (without it, the mean "
        "over the grid); -: no grid. >: some settings were stopped at a limit.",
        "kernels: the kernels that all methods of a data set share; they are computed once and not "
        "contained in the other rows. Published: CPU seconds on the authors' machine.",
    )
    return _sheet("Table 3: time in seconds", results, lines, notes)


def _time_rows(results: Results, dataset: str) -> dict[str, list[Cell]]:
    rows: dict[str, list[Cell]] = {}
    for method in results.methods:
        grid = results.points(dataset, method, tuned=True)
        runs = results.points(dataset, method, tuned=False)[:1]
        for unit in ("CPU", "wall"):
            name = unit.lower()
            rows.setdefault(f"tune {unit}", []).append(_total(grid, name, method))
            rows.setdefault(f"run {unit}", []).append(_single(runs, grid, name))
        shared = max((point.shared_cpu for point in (*grid, *runs)), default=0.0)
        rows.setdefault("kernels CPU", []).append(seconds(shared) if shared else Cell("-"))
        for kind in ("tune", "run"):
            value = published.seconds().get(reference(dataset, method, kind))
            rows.setdefault(f"published {kind}", []).append(seconds(value))
    order = ("tune CPU", "tune wall", "published tune", "run CPU", "run wall", "published run",
             "kernels CPU")  # fmt: skip
    return {kind: rows[kind] for kind in order}


def _total(grid: Sequence[Point], name: str, method: str) -> Cell:
    if free_of_parameters(method) or not grid:
        return Cell("-", note=NOT_RUN if has_grid(method) else "")
    lost = [point for point in grid if not point.ok]
    total = sum(getattr(point, name) for point in grid)
    if len(lost) == len(grid):
        return absent(lost[0].reason)
    cell = seconds(total)
    return Cell(f">{cell.text}", total, note=lost[0].reason) if lost else cell


def _single(runs: Sequence[Point], grid: Sequence[Point], name: str) -> Cell:
    points = runs or grid
    done = [getattr(point, name) for point in points if point.ok]
    if not done:
        return absent(points[0].reason if points else NOT_RUN)
    return seconds(float(np.mean(done)))


def _difference(found: Score, printed: Score) -> Cell:
    if found.mean is None or printed.mean is None:
        return Cell("-")
    difference = found.mean - printed.mean
    return Cell(f"{100 * difference:+.2f}", difference)
