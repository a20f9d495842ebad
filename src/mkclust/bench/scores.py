"""Scores of methods on data sets, from the records of a store, and the table cells of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance

import numpy as np

from ..methods import METHODS
from .published import methods as published_methods
from .published import plain
from .ranks import average_ranks
from .sheet import Cell, Line, mark_extremes
from .store import DONE, Record
from .truth import LOG_RANK

METRICS = ("acc", "nmi", "purity", "ari")
METRIC_TITLES = {
    "acc": "ACC", "nmi": "NMI", "purity": "purity", "ari": "ARI", LOG_RANK: "log-rank"
}  # fmt: skip
NOT_RUN = "not run"
LONGEST = 160  # characters of a reason


@dataclass(frozen=True)
class Score:
    """Mean and spread of a metric; `reason` says why there is none, or which settings failed.

    Fractions are printed as percent, that is, times `scale`.
    """

    mean: float | None
    std: float | None = None
    reason: str = ""
    scale: float = 100.0

    def printed(self, value: float) -> str:
        """Return a value of this metric as in tables."""
        return f"{self.scale * value:.2f}"


@dataclass(frozen=True)
class Point:
    """One setting of one method on one data set, over all its seeds."""

    metrics: Mapping[str, tuple[float, float]]
    reason: str
    cpu: float
    wall: float
    shared_cpu: float

    @property
    def ok(self) -> bool:
        """Whether it has metrics."""
        return not self.reason


class Results:
    """Records by data set and method, with grid points separate from defaults.

    `datasets` is in order of first appearance. `methods` has the methods of METHODS first, those of
    the paper in the order of its tables, then the others. `orders` are the orders of rows.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.orders: set[str] = set()
        seeds: dict[tuple[str, str, bool], dict[str, list[Record]]] = {}
        for record in records:
            self.orders.add(record.order)
            setting = json.dumps(dict(record.parameters), sort_keys=True, default=str)
            units = seeds.setdefault((record.dataset, record.method, record.tuned), {})
            units.setdefault(setting, []).append(record)
        self._points = {
            key: [_joined(units) for units in settings.values()]
            for key, settings in seeds.items()
        }  # fmt: skip
        self.datasets = list(dict.fromkeys(dataset for dataset, _, _ in self._points))
        found = dict.fromkeys(method for _, method, _ in self._points)
        own = sorted((name for name in METHODS if name in found), key=_published_position)
        self.methods = own + [name for name in found if name not in METHODS]

    def entries(self, all_of_them: bool = False) -> list[tuple[str, bool]]:
        """List methods in their default setting, then those tuned with labels (grids, best view).

        The tuned entry of a method without parameters is left out beside its default, unless
        `all_of_them` is True.
        """
        kinds = {(method, tuned) for _, method, tuned in self._points}
        listed = [(m, tuned) for tuned in (False, True) for m in self.methods]
        idle = {(m, True) for m, tuned in kinds if not tuned and free_of_parameters(m)}
        return [entry for entry in listed if entry in kinds and (all_of_them or entry not in idle)]

    def points(self, dataset: str, method: str, tuned: bool) -> list[Point]:
        """Return the settings of a method on a data set that were run."""
        return self._points.get((dataset, method, tuned), [])

    def measured(self, metric: str) -> list[str]:
        """Return the data sets on which any method has this metric."""
        having = {
            key[0] for key, points in self._points.items() for p in points if metric in p.metrics
        }
        return [dataset for dataset in self.datasets if dataset in having]

    def score(self, dataset: str, method: str, metric: str, tuned: bool = False) -> Score:
        """Return the score of the default setting, or the best over the grid, if there is one."""
        grid = self.points(dataset, method, tuned=True) if tuned else []
        if not (grid or (tuned and has_grid(method))):
            grid = self.points(dataset, method, tuned=False)[:1]
        return _best(grid, metric)


def _published_position(method: str) -> int:
    """Return the place of a method in the paper's tables; -1 for one that is not in them."""
    listed, name = published_methods(), plain(title(method))
    return listed.index(name) if name in listed else -1


def has_grid(method: str) -> bool:
    """Return whether the method has a published grid of parameters.

    >>> has_grid("hmkc"), has_grid("mkc-dnm")
    (True, False)
    """
    return bool(method in METHODS and METHODS[method].grid)


def free_of_parameters(method: str) -> bool:
    """Return whether the method is in METHODS and has no grid."""
    return method in METHODS and not METHODS[method].grid


def title(method: str) -> str:
    """Return the name of a method in tables.

    >>> title("graph-fusion"), title("concat-kmeans")
    ('Graph fusion', 'concat-kmeans')
    """
    return METHODS[method].title if method in METHODS else method


def reference(dataset: str, method: str, what: str) -> tuple[str, str, str]:
    """Return the key of a published value."""
    return plain(dataset), plain(title(method)), what


def score_cell(score: Score, spread: bool) -> Cell:
    """Return a score as printed, or why there is none."""
    if score.mean is None:
        return absent(score.reason)
    beside = f"±{score.printed(score.std)}" if spread and score.std is not None else ""
    return Cell(score.printed(score.mean) + beside, score.mean, score.std, note=score.reason)


def absent(reason: str) -> Cell:
    """Return the cell of a missing value: the reason in a word, and in full as a note."""
    if reason in ("", NOT_RUN):
        return Cell("-", note=reason)
    return Cell(f"N/A ({reason.removeprefix('out of ').partition(':')[0]})", note=reason)


def seconds(value: float | None) -> Cell:
    """Return the cell of a time in seconds."""
    return Cell("-") if value is None else Cell(f"{value:.2f}", value)


def rank_line(section: str, kind: str, scores: np.ndarray) -> Line:
    """Return a line of average ranks; a method without any result has none."""
    ranks = average_ranks(scores)
    cells = [
        Cell("-") if np.isnan(column).all() else Cell(f"{rank:.2f}", float(rank))
        for rank, column in zip(ranks, scores.T, strict=True)
    ]
    return Line(section, "average rank", kind, mark_extremes(cells, largest=False))


def as_printed(scores: Sequence[Score]) -> list[float]:
    """Return scores as rounded in tables; NaN where there is none."""
    return [np.nan if s.mean is None else float(s.printed(s.mean)) for s in scores]


def reasons(results: Results) -> list[str]:
    """Return one sentence for each reason of missing results, with methods and data sets."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for method, tuned in results.entries(all_of_them=True):
        name = entry_title((method, tuned and not free_of_parameters(method)))
        for dataset in results.datasets:
            points = results.points(dataset, method, tuned)
            lost = [point for point in points if not point.ok]
            if lost:
                whom = name if len(lost) == len(points) else f"{name} ({len(lost)} settings)"
                where = found.setdefault(_brief(lost[0].reason), {})
                where.setdefault(whom, {})[dataset] = None
    return [
        f"{reason}: " + "; ".join(f"{whom} on {', '.join(on)}" for whom, on in where.items()) + "."
        for reason, where in found.items()
    ]


def _brief(reason: str) -> str:
    """Return the first line of an error, shortened to `LONGEST` characters."""
    line = reason.strip().splitlines()[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def entry_title(entry: tuple[str, bool]) -> str:
    """Return the name of a method in tables, with a dagger if it is tuned with labels."""
    return title(entry[0]) + ("†" if entry[1] else "")


def _joined(units: Sequence[Record]) -> Point:
    """Average the seeds of one setting; the spread is that within and between seeds."""
    done = [unit for unit in units if unit.status == DONE]
    metrics = {}
    for name in done[0].metrics if done else ():
        means = [unit.metrics[name][0] for unit in done]
        within = fmean(unit.metrics[name][1] ** 2 for unit in done)
        metrics[name] = (fmean(means), (within + pvariance(means)) ** 0.5)
    reason = "" if done else units[0].status.removeprefix("N/A: ")
    counted = done or units
    return Point(
        metrics,
        reason,
        cpu=fmean(unit.cpu for unit in counted),
        wall=fmean(unit.wall for unit in counted),
        shared_cpu=max(unit.shared_cpu for unit in counted),
    )


def _best(points: Sequence[Point], metric: str) -> Score:
    known = [point.metrics[metric] for point in points if metric in point.metrics]
    if not known:
        return Score(None, reason=points[0].reason or NOT_RUN if points else NOT_RUN)
    lost = [point for point in points if not point.ok]
    left_out = f"{len(lost)} of {len(points)} settings: {lost[0].reason}" if lost else ""
    return Score(*max(known), reason=left_out, scale=1.0 if metric == LOG_RANK else 100.0)
