"""The leaderboard: scores and average ranks of methods over data sets, with significance tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from statistics import median

import numpy as np

from .ranks import against, average_ranks, critical_difference, friedman, rank_rows, with_results
from .scores import (
    METRIC_TITLES,
    Results,
    as_printed,
    entry_title,
    rank_line,
    reasons,
    score_cell,
    seconds,
    title,
)
from .sheet import Cell, Line, Sheet, mark_extremes
from .truth import LOG_RANK

METRICS = ("acc", "nmi", "ari", LOG_RANK)
NMI_NOTE = "NMI is mutual information divided by the larger entropy."
LOG_RANK_NOTE = (
    "log-rank: -log10 of the p-value of the log-rank test that all clusters survive alike; larger "
    "is better. Data sets without known classes are ranked by it in place of ACC."
)
RANK_NOTE = "Ranks are of the printed values; equal values share a rank, a missing one is last."
TITLES = {metric: f"{METRIC_TITLES[metric]} in percent" for metric in METRICS} | {
    LOG_RANK: "-log10 p of the log-rank test"
}
Entry = tuple[str, bool]  # a method, and whether it is tuned with labels


def sheets(results: Results, spread: bool = False) -> list[Sheet]:
    """Return the standing, and one table per metric that was measured."""
    metrics = [metric for metric in METRICS if results.measured(metric)]
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
        TITLES[metric], ("data set", ""), tuple(entry_title(entry) for entry in order),
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
    metrics = [metric for metric in METRICS if results.measured(metric)] or ["acc"]
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
        f"Standing over {n} data set{'s' * (n != 1)}", ("method", ""), tuple(columns), lines,
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
