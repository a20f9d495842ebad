"""Tables of results: the paper's Tables 2 and 3, the leaderboard, and the export of a store.

The leaderboard has scores and average ranks of methods over data sets, with significance tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import median

import numpy as np

from ..exceptions import InputError
from ..io.atomic import replacing, write_csv_atomic
from ..methods import METHODS
from . import published
from .ranks import against, average_ranks, critical_difference, friedman, rank_rows, with_results
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
    entry_title,
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
from .truth import LOG_RANK

RANKED = ("acc", "nmi", "ari", LOG_RANK)
NMI_NOTE = "NMI is mutual information divided by the larger entropy."
LOG_RANK_NOTE = (
    "log-rank: -log10 of the p-value of the log-rank test that all clusters survive alike; larger "
    "is better. Data sets without known classes are ranked by it in place of ACC."
)
RANK_NOTE = "Ranks are of the printed values; equal values share a rank, a missing one is last."
TITLES = {metric: f"{METRIC_TITLES[metric]} in percent" for metric in RANKED} | {
    LOG_RANK: "-log10 p of the log-rank test"
}
Entry = tuple[str, bool]  # a method, and whether it is tuned with labels
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
        tables = leaderboard(results, spread)
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
    return Sheet(name, "data set", columns, tuple(lines), notes)


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


def leaderboard(results: Results, spread: bool = False) -> list[Sheet]:
    """Return the standing, and one table per metric that was measured."""
    metrics = [metric for metric in RANKED if results.measured(metric)]
    return [standing(results), *(scoreboard(results, metric, spread) for metric in metrics)]


def scoreboard(results: Results, metric: str, spread: bool = False) -> Sheet:
    """Return data sets by methods in order of average rank, with tuned methods at the end."""
    order = _ordered(results)
    free = sum(not tuned for _, tuned in order)
    lines = []
    for dataset in results.measured(metric) or results.datasets:
        scores = [results.score(dataset, method, metric, tuned) for method, tuned in order]
        cells = [score_cell(score, spread) for score in scores]
        lines.append(Line("", dataset, "", (*mark_extremes(cells[:free]), *cells[free:])))
    notes = ["Best and second are among the methods that use no labels."]
    notes += [NMI_NOTE] if metric == "nmi" else []
    missing = reasons(results)
    if metric == "acc":
        notes += missing
    elif missing:
        notes.append("The table of ACC gives the reasons of missing results.")
    return Sheet(
        TITLES[metric], "data set", tuple(entry_title(entry) for entry in order),
        tuple(lines), tuple(notes),
    )  # fmt: skip


def standing(results: Results) -> Sheet:
    """Return methods in order of average rank by ACC, with means, times and p-values.

    Where a data set has no classes, its rank is by the log-rank test.
    """
    order = _ordered(results)
    free = [entry for entry in order if not entry[1]]
    first = _scores(results, order)
    ranked = first[:, : len(free)]
    metrics = [metric for metric in RANKED if results.measured(metric)] or ["acc"]
    tables = {metric: _scores(results, order, metric) for metric in metrics}
    comparable = LOG_RANK not in tables
    by_metric = {m: table[:, : len(free)] for m, table in tables.items() if m != LOG_RANK}
    columns: dict[str, Sequence[Cell]] = {"rank": _rank_column(ranked)}
    if comparable:
        columns = {f"rank {METRIC_TITLES[m]}": _rank_column(t) for m, t in by_metric.items()}
    columns["wins"] = [Cell(str(n), float(n)) for n in _wins(ranked)]
    for metric, table in tables.items():
        columns[f"mean {METRIC_TITLES[metric]}"] = _mean_column(table, len(free))
    done = (~np.isnan(first)).sum(axis=0)
    columns["results"] = [Cell(str(n), float(n)) for n in done]
    columns["CPU s"] = [_cpu_cell(results, entry) for entry in order]
    if comparable:
        columns["p"] = [
            Cell("") if np.isnan(p) else Cell(f"{p:.2g}", p) for p in against(ranked, 0)
        ]
    rows = zip_longest(*columns.values(), fillvalue=Cell(""))  # tuned methods have no ranks
    lines = tuple(
        Line("", entry_title(entry), "", row) for entry, row in zip(order, rows, strict=True)
    )
    n = len(results.datasets)
    return Sheet(
        f"Standing over {n} data set{'s' * (n != 1)}", "method", tuple(columns), lines,
        _standing_notes(ranked, comparable, any(tuned for _, tuned in order)),
    )  # fmt: skip


def _standing_notes(scores: np.ndarray, comparable: bool, with_labels: bool) -> tuple[str, ...]:
    common, scores = _common(scores), scores[:, with_results(scores)]
    n, m = scores.shape
    notes = [
        f"rank: average over data sets. {RANK_NOTE} wins: data sets where no score is higher. "
        "mean: over the data sets on which every method with any result has one "
        f"({int(common.sum())} of {n}), ACC, NMI and ARI in percent. results: data sets "
        "finished. CPU s: median of one run, without the shared kernels.",
    ]
    if not comparable:
        notes.append(LOG_RANK_NOTE)
    if with_labels:
        notes.append("†: tuned with the labels, and therefore neither ranked nor marked.")
    if n >= 2 and m >= 3:
        notes.append(
            f"Friedman's test of equal ranks of the {m} methods with results: p = "
            f"{friedman(scores):.2g}. Average ranks differ "
            f"at 5 % if they are more than {critical_difference(m, n):.2f} apart (Nemenyi)."
        )
        if comparable:
            notes[-1] += (
                " p: the first method against each other one, Wilcoxon's signed-rank test over "
                "the data sets that both finished, corrected by Holm."
            )
    return tuple(notes)


def leaderboard_scores(results: Results) -> tuple[list[str], np.ndarray]:
    """Return names and scores (data sets, methods) of the untuned methods, best rank first.

    Methods without any result are left out.
    """
    free = [entry for entry in _ordered(results) if not entry[1]]
    scores = _scores(results, free)
    kept = with_results(scores)
    names = [title(method) for (method, _), known in zip(free, kept, strict=True) if known]
    return names, scores[:, kept]


def _ordered(results: Results) -> list[Entry]:
    """Order methods by average rank, followed by the tuned ones."""
    entries = results.entries()
    free = [entry for entry in entries if not entry[1]]
    if not free:
        return entries
    ranks = average_ranks(_scores(results, free))
    return [free[j] for j in np.argsort(ranks, kind="stable")] + entries[len(free) :]


def _scores(results: Results, entries: Sequence[Entry], metric: str = "") -> np.ndarray:
    """Return (data sets, methods) scores as printed, on the data sets that have the metric.

    Without a `metric`, those that methods are ranked by: ACC, or log-rank where it was measured.
    """
    by_test = results.measured(LOG_RANK)
    pairs = [(dataset, LOG_RANK if dataset in by_test else "acc") for dataset in results.datasets]
    if metric:
        pairs = [(dataset, metric) for dataset in results.measured(metric) or results.datasets]
    return np.array([
        as_printed([results.score(dataset, method, name, tuned) for method, tuned in entries])
        for dataset, name in pairs
    ])  # fmt: skip


def _common(scores: np.ndarray) -> np.ndarray:
    """Select the data sets on which every method with any result has one."""
    known = ~np.isnan(scores)
    return np.asarray(known[:, known.any(axis=0)].all(axis=1))


def _wins(scores: np.ndarray) -> list[int]:
    ranks = rank_rows(scores)
    first = (ranks == ranks.min(axis=1, keepdims=True)) & ~np.isnan(scores)
    return [int(count) for count in first.sum(axis=0)]


def _rank_column(scores: np.ndarray) -> Sequence[Cell]:
    return rank_line("", "", scores).cells if scores.shape[1] else ()


def _mean_column(scores: np.ndarray, free: int) -> list[Cell]:
    cells = []
    for column in scores[_common(scores[:, :free])].T:
        known = len(column) > 0 and not np.isnan(column).any()
        mean = float(column.mean()) if known else None
        cells.append(Cell("-") if mean is None else Cell(f"{mean:.2f}", mean))
    return [*mark_extremes(cells[:free]), *cells[free:]]


def _cpu_cell(results: Results, entry: tuple[str, bool]) -> Cell:
    method, tuned = entry
    points = [p for dataset in results.datasets for p in results.points(dataset, method, tuned)]
    done = [point.cpu for point in points if point.ok]
    return seconds(median(done) if done else None)
