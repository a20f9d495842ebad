"""Tables of an experiment: the paper's Tables 2 and 3 with published values, a leaderboard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..exceptions import InputError
from ..methods import METHODS
from . import leaderboard, published
from .cells import absent, as_printed, rank_line, reasons, score_line, seconds
from .leaderboard import NMI_NOTE, RANK_NOTE
from .record import Record
from .scores import (
    METRIC_TITLES,
    METRICS,
    NOT_RUN,
    Point,
    Results,
    Score,
    free_of_parameters,
    has_grid,
    reference,
    title,
)
from .sheet import Cell, Line, Sheet, written

TUNED, DEFAULT, PUBLISHED, DIFFERENCE = "tuned†", "default", "published", "difference"
TUNED_NOTE = (
    "tuned†: as published, where there is a grid the best over it, chosen with the labels for each "
    "metric apart; default: one setting, chosen without labels."
)


def render(records: Iterable[Record], suite: str, fmt: str, spread: bool = False) -> str:
    """The table of a suite's records as text.

    `fmt` is ``"terminal"``, ``"markdown"``, ``"csv"`` (a line for each value, in full) or
    ``"latex"`` (booktabs). ``paper-table2`` and ``paper-table3`` are laid out as in the paper,
    every other suite as a leaderboard. `spread` prints the standard deviation beside each mean.
    """
    results = Results(records)
    if not results.datasets:
        raise InputError(f"no results for {suite!r}; first: mkclust bench run {suite}")
    return written(sheets(results, suite, spread), fmt)


def sheets(results: Results, suite: str, spread: bool = False) -> list[Sheet]:
    """The tables of a suite before they are written."""
    if suite == "paper-table2":
        return [table2(results, spread)]
    if suite == "paper-table3":
        return [table3(results)]
    return leaderboard.sheets(results, spread)


def table2(results: Results, spread: bool = False) -> Sheet:
    """Metric by data set by method: tuned, default, published, and tuned minus published."""
    lines = [line for metric in METRICS for line in _metric_lines(results, metric, spread)]
    notes = [TUNED_NOTE, f"difference: tuned minus published. {NMI_NOTE} {RANK_NOTE}"]
    columns = tuple(title(method) for method in results.methods)
    return Sheet(
        "Table 2: ACC, NMI, purity and ARI in percent", ("data set", ""), columns, tuple(lines),
        (*notes, *_settings_tried(results), *reasons(results)),
    )  # fmt: skip


def _settings_tried(results: Results) -> list[str]:
    """How much of each grid was gone through, where it was not all of it."""
    parts = []
    for method in filter(has_grid, results.methods):
        whole = math.prod(len(values) for values in METHODS[method].grid.values())
        tried = {len(results.points(dataset, method, tuned=True)) for dataset in results.datasets}
        least = min(tried - {0}, default=0)
        if 0 < least < whole:
            parts.append(f"{title(method)} {least} of {whole}")
    return [f"Settings tried, of the published grid: {', '.join(parts)}."] if parts else []


def _metric_lines(results: Results, metric: str, spread: bool) -> list[Line]:
    section = f"{METRIC_TITLES[metric]} (%)"
    lines, table = [], {TUNED: [], DEFAULT: [], PUBLISHED: []}  # type: ignore[var-annotated]
    for dataset in results.datasets:
        found = [results.tuned(dataset, method, metric) for method in results.methods]
        plain = [results.default(dataset, method, metric) for method in results.methods]
        keys = [reference(dataset, method, metric) for method in results.methods]
        printed = [Score(published.scores().get(key)) for key in keys]
        rows = {TUNED: found, DEFAULT: plain}
        if any(score.mean is not None for score in printed):
            rows[PUBLISHED] = printed
        for kind, row in rows.items():
            lines.append(score_line(section, dataset, kind, row, spread))
            table[kind].append(as_printed(row))
        if PUBLISHED in rows:
            cells = map(_difference, found, printed)
            lines.append(Line(section, dataset, DIFFERENCE, tuple(cells)))
    for kind, rows_of_kind in table.items():
        if rows_of_kind:
            lines.append(rank_line(section, kind, np.array(rows_of_kind)))
    return lines


def table3(results: Results) -> Sheet:
    """Seconds for the whole grid and for one setting, CPU and wall, beside the published ones."""
    lines = []
    for dataset in results.datasets:
        for kind, cells in _time_rows(results, dataset).items():
            if any(cell.value is not None or cell.note for cell in cells):
                lines.append(Line("", dataset, kind, tuple(cells)))
    notes = (
        "tune: all settings of the grid together; run: the default setting (without it, the mean "
        "over the grid); -: nothing to tune. >: some settings were stopped at a limit.",
        "kernels: building what all methods of a data set share, computed once and in none of "
        "the other rows. Published: CPU seconds on the authors' machine.",
    )
    columns = tuple(title(method) for method in results.methods)
    return Sheet(
        "Table 3: time in seconds", ("data set", ""), columns, tuple(lines),
        (*notes, *_settings_tried(results), *reasons(results)),
    )  # fmt: skip


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
