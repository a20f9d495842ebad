"""Records to what a table shows: one value for each data set and method, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance

from ..methods import METHODS
from .published import plain
from .record import DONE, Record

METRICS = ("acc", "nmi", "purity", "ari")
METRIC_TITLES = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "ari": "ARI"}
NOT_RUN = "not run"


@dataclass(frozen=True)
class Score:
    """Mean and spread of a metric; without a mean, `reason` says why, or what it leaves out."""

    mean: float | None
    std: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """One setting of one method on one data set, its seeds joined."""

    metrics: Mapping[str, tuple[float, float]]
    reason: str
    cpu: float
    wall: float
    shared_cpu: float

    @property
    def ok(self) -> bool:
        return not self.reason


class Results:
    """Records by data set and method, grid points apart from defaults.

    `datasets` and `methods` are in order of first appearance, the package's own methods before
    the others and in the order of the paper's tables.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        seeds: dict[tuple[str, str, bool], dict[str, list[Record]]] = {}
        for record in records:
            setting = json.dumps(dict(record.parameters), sort_keys=True, default=str)
            units = seeds.setdefault((record.dataset, record.method, record.tuned), {})
            units.setdefault(setting, []).append(record)
        self._points = {
            key: [_joined(units) for units in settings.values()]
            for key, settings in seeds.items()
        }  # fmt: skip
        self.datasets = list(dict.fromkeys(dataset for dataset, _, _ in self._points))
        found = dict.fromkeys(method for _, method, _ in self._points)
        own = [name for name in METHODS if name in found]
        self.methods = own + [name for name in found if name not in METHODS]

    def entries(self, all_of_them: bool = False) -> list[tuple[str, bool]]:
        """Methods without labels, then those that are chosen with them (grids, best view).

        A method without parameters has nothing to choose: beside its default, its other setting
        is left out unless `all_of_them` are asked for.
        """
        kinds = {(method, tuned) for _, method, tuned in self._points}
        listed = [(m, tuned) for tuned in (False, True) for m in self.methods]
        idle = {(m, True) for m, tuned in kinds if not tuned and free_of_parameters(m)}
        return [entry for entry in listed if entry in kinds and (all_of_them or entry not in idle)]

    def points(self, dataset: str, method: str, tuned: bool) -> list[Point]:
        return self._points.get((dataset, method, tuned), [])

    def default(self, dataset: str, method: str, metric: str) -> Score:
        """The method as it comes, without a look at the labels."""
        return _best(self.points(dataset, method, tuned=False)[:1], metric)

    def tuned(self, dataset: str, method: str, metric: str) -> Score:
        """The best over the grid by this metric; a method without a grid is as it comes."""
        grid = self.points(dataset, method, tuned=True)
        return _best(grid, metric) if grid or has_grid(method) else self.default(
            dataset, method, metric
        )  # fmt: skip

    def score(self, dataset: str, method: str, metric: str, tuned: bool) -> Score:
        return (self.tuned if tuned else self.default)(dataset, method, metric)


def has_grid(method: str) -> bool:
    """Whether the method's authors tuned it.

    >>> has_grid("hmkc"), has_grid("mkc-dnm")
    (True, False)
    """
    return bool(method in METHODS and METHODS[method].grid)


def free_of_parameters(method: str) -> bool:
    """Whether the method is one of the package's and has nothing to tune."""
    return method in METHODS and not METHODS[method].grid


def title(method: str) -> str:
    """What a method is called in print.

    >>> title("mkkm-mr"), title("sklearn-kmeans")
    ('MKKM-MR', 'sklearn-kmeans')
    """
    return METHODS[method].title if method in METHODS else method


def reference(dataset: str, method: str, what: str) -> tuple[str, str, str]:
    """The key of a published figure."""
    return plain(dataset), plain(title(method)), what


def _joined(units: Sequence[Record]) -> Point:
    """Seeds of one setting: the mean of their means, their spread and that between them."""
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
    return Score(*max(known), reason=left_out)
