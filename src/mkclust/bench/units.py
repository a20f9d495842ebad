"""Units of work: one method in one setting on one data set, identified by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from .._version import __version__
from ..base import MultiViewClusterer
from ..baselines.base import ComparedMethod
from ..methods import METHODS
from .peers import uses_kernels
from .registry import SHUFFLED, Dataset
from .suite import Protocol, Suite

PROTOCOL_VERSION = 3  # increased when the same unit would be computed or scored differently
DEFAULT = Protocol()
MOST_SHARED = 12_000  # samples up to which MKC-DNM gets the shared kernels, not the views
KERNELS = "kernels"  # method of the unit that computes the shared kernels of a data set


@dataclass(frozen=True)
class Unit:
    """One fit and its scores. Units of equal content have the same `id`, in every suite.

    With `from_views` a method that works on kernels builds its own from the views, because these
    have gaps or are too large; otherwise it is given the shared kernels.

    >>> a = Unit("Mfeat", "mkclust:Mfeat", "hmkc", {"c1": 40, "c2": 30})
    >>> a.id == Unit("Mfeat", "mkclust:Mfeat", "hmkc", {"c2": 30, "c1": 40}).id
    True
    """

    dataset: str
    content: str
    method: str
    parameters: Mapping[str, Any]
    seed: int = 0
    order: str = SHUFFLED
    from_views: bool = False
    protocol: Protocol = DEFAULT
    protocol_version: int = PROTOCOL_VERSION
    version: str = __version__

    @cached_property
    def id(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:24]

    def text(self) -> str:
        """Return the unit as JSON with sorted keys."""
        return json.dumps({**asdict(self), "parameters": dict(self.parameters)}, sort_keys=True)

    @staticmethod
    def parsed(text: str) -> Unit:
        """Read a unit from its `text`."""
        content = json.loads(text)
        return Unit(**{**content, "protocol": Protocol(**content["protocol"])})

    @property
    def needs_kernels(self) -> bool:
        """Whether it is given the shared kernels of the data set."""
        return uses_kernels(self.method) and not self.from_views

    def shared(self) -> Unit:
        """Return the unit that computes the kernels this one uses."""
        return Unit(self.dataset, self.content, KERNELS, {}, seed=self.seed, order=self.order)


@dataclass(frozen=True)
class Planned:
    """A unit in a suite; `tuned` marks a grid point, of which the best is chosen with labels."""

    unit: Unit
    tuned: bool


def expand(suite: Suite, members: list[Dataset], folder: Path | None) -> list[Planned]:
    """Return all units of a suite on the given data sets.

    Default settings come before grids, small data sets before large ones.
    """
    planned = []
    for entry in sorted(members, key=lambda entry: entry.n):
        content = entry.key(folder)
        for method in suite.methods:
            alone = entry.incomplete or (entry.n > MOST_SHARED and method == "mkc-dnm")
            for seed in range(suite.seeds):
                for setting, tuned in settings(suite, method, entry):
                    unit = Unit(
                        entry.name, content, method, setting, seed, suite.order, alone,
                        suite.protocol,
                    )  # fmt: skip
                    planned.append(Planned(unit, tuned))
    return sorted(planned, key=lambda item: item.tuned and item.unit.method != "best-view")


def settings(suite: Suite, method: str, entry: Dataset) -> list[tuple[dict[str, Any], bool]]:
    """Return the settings of one method on one data set, each with whether it is a tuned one."""
    if method == "best-view":
        return [({"view": p}, True) for p in range(entry.n_kernels)]
    chosen: list[tuple[dict[str, Any], bool]] = [({}, False)] if suite.default else []
    wanted = suite.tuned and entry.n <= suite.grid_samples and entry.group in suite.grid_groups
    if wanted and method in METHODS:
        base = dict(suite.as_published.get(method, {}))
        points = grid(METHODS[method], entry.k, suite.thin.get(method, 1))
        chosen += [(base | point, True) for point in points]
    return chosen


def grid(kind: type[MultiViewClusterer], k: int, thin: int = 1) -> list[dict[str, Any]]:
    """Return the published grid of a method for k clusters.

    Only every `thin`-th value of each parameter is kept, the middle value among them.

    >>> from mkclust.baselines import MKKMMR
    >>> [point["lam"] for point in grid(MKKMMR, 5, 15)]
    [3.0517578125e-05, 1.0, 32768.0]
    """
    if not issubclass(kind, ComparedMethod):
        return [{}]
    points = kind.published_grid(k)
    if thin == 1 or points == [{}]:
        return points
    values = {name: sorted({point[name] for point in points}) for name in points[0]}
    kept = [v[len(v) // 2 % thin :: thin] for v in values.values()]
    return [dict(zip(values, point, strict=True)) for point in product(*kept)]
