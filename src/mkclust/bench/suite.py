"""Suites and their units: which methods run on which data sets, how, and under which limits.

A unit is one method in one setting on one data set, identified by its content.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from .._version import __version__
from ..base import MultiViewClusterer
from ..baselines.base import ComparedMethod
from ..exceptions import InputError
from ..methods import METHODS
from .peers import PEERS, uses_kernels
from .registry import GROUPS, ORDERS, SHUFFLED, Dataset, cohort_names, dataset, registered

PROTOCOL_VERSION = 3  # increased when the same unit would be computed or scored differently
MOST_SHARED = 12_000  # samples up to which MKC-DNM gets the shared kernels, not the views
KERNELS = "kernels"  # method of the unit that computes the shared kernels of a data set


@dataclass(frozen=True)
class Protocol:
    """How one fit is scored: `runs` runs of k-means, each the best of `restarts` from `start`.

    >>> Protocol().name
    '5 x 10 k-means++'
    """

    runs: int = 5
    restarts: int = 10
    start: str = "k-means++"

    @property
    def name(self) -> str:
        """The protocol in one phrase."""
        return f"{self.runs} x {self.restarts} {self.start}"


@dataclass(frozen=True)
class Suite:
    """A named experiment, read from a .toml file.

    Among `methods`, "all" stands for every method of `METHODS`. `default` runs every method in
    its default setting. `tuned` runs the methods over their
    published grids, on data sets of up to `grid_samples` samples in `grid_groups`. `thin` keeps
    every t-th value of each parameter of a method's grid, the middle one included. `as_published`
    holds further settings of tuned runs. `order` is the order of rows, see `registry.row_order`.
    `seeds` is the number of complete repetitions; each has its own order of rows, its own gaps,
    and the runs of `protocol`.
    `time_limit` is in seconds per unit, without the time spent waiting for a processor;
    `memory_limit` is in gigabytes per unit.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    protocol: Protocol
    default: bool = True
    tuned: bool = False
    grid_samples: int = 700
    grid_groups: tuple[str, ...] = GROUPS
    thin: Mapping[str, int] = field(default_factory=dict)
    as_published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    time_limit: float = 600.0
    memory_limit: float = 8.0
    order: str = SHUFFLED
    seeds: int = 1

    def __post_init__(self) -> None:
        known = [*METHODS, *PEERS]
        for name in self.methods:
            if name not in known and ":" not in name:
                raise InputError(f"unknown method {name!r}: known are {', '.join(known)}")
        check_order(self.order)
        if min(self.time_limit, self.memory_limit) <= 0:
            raise InputError("time_limit and memory_limit must be above 0")

    @property
    def stored_as(self) -> str:
        """The name of its results in a store."""
        return stored_name(self.name, self.order)

    def members(self, folder: Path | None) -> list[Dataset]:
        """Return the data sets, present or absent; the name of a group stands for its members."""
        known = registered().values()
        found: dict[str, Dataset] = {}
        for name in self.datasets:
            group = [entry for entry in known if entry.group == name]
            if name == "omics":
                group += [dataset(cohort, folder) for cohort in cohort_names(folder)]
            for entry in group or [dataset(name, folder)]:
                found[entry.name] = entry
        return list(found.values())


def stored_name(suite: str, order: str = SHUFFLED) -> str:
    """Return the name under which a store keeps a suite, so that both row orders fit in one store.

    >>> stored_name("quick"), stored_name("quick", "sorted")
    ('quick', 'quick-sorted')
    """
    return suite if order == SHUFFLED else f"{suite}-{order}"


def suites() -> list[str]:
    """List the suites of the package."""
    folder = files(__package__).joinpath("suites")
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name[-5:] == ".toml")


def load_suite(name: str) -> Suite:
    """Read a suite of the package by name, or any .toml file by path."""
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return parse_suite(path.stem, path.read_text("utf-8"))
    if name not in suites():
        raise InputError(
            f"unknown suite {name!r}: known are {', '.join(suites())}, or a .toml file"
        )
    source = files(__package__).joinpath("suites", f"{name}.toml")
    return parse_suite(name, source.read_text("utf-8"))


def parse_suite(name: str, text: str) -> Suite:
    """Parse the text of a suite's file.

    >>> parse_suite("mine", 'title = "T"\\ndatasets = ["Mfeat"]\\nmethods = ["akkm"]').methods
    ('akkm',)
    """
    try:
        given = tomllib.loads(text)
        given["protocol"] = Protocol(**given.get("protocol", {}))
        for key in ("datasets", "methods", "grid_groups"):
            if key in given:
                given[key] = tuple(given[key])
        asked = (METHODS if name == "all" else (name,) for name in given.get("methods", ()))
        given["methods"] = tuple(dict.fromkeys(method for names in asked for method in names))
        return Suite(name=name, **given)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InputError(f"suite {name}: {error}") from None


def check_order(order: str) -> None:
    """Raise an InputError for an unknown order of rows."""
    if order not in ORDERS:
        raise InputError(f"rows are {' or '.join(ORDERS)}, not {order!r}")


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
    protocol: Protocol = Protocol()
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
