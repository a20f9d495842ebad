"""Suites: which methods run on which data sets, how they are scored, and under which limits."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..methods import METHODS
from .peers import PEERS
from .registry import GROUPS, ORDERS, SHUFFLED, Dataset, cohort_names, dataset, registered


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
        given["methods"] = _expanded(given.get("methods", ()))
        suite = Suite(name=name, **given)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InputError(f"suite {name}: {error}") from None
    check_methods(suite.methods)
    check_order(suite.order)
    return suite


def _expanded(names: tuple[str, ...]) -> tuple[str, ...]:
    """Replace "all" by the names of all methods of the package."""
    found = (each for name in names for each in (METHODS if name == "all" else (name,)))
    return tuple(dict.fromkeys(found))


def check_methods(names: tuple[str, ...]) -> None:
    """Raise an InputError for a method that is neither in METHODS nor a peer."""
    known = [*METHODS, *PEERS]
    for name in names:
        if name not in known and ":" not in name:
            raise InputError(f"unknown method {name!r}: known are {', '.join(known)}")


def check_order(order: str) -> None:
    """Raise an InputError for an unknown order of rows."""
    if order not in ORDERS:
        raise InputError(f"rows are {' or '.join(ORDERS)}, not {order!r}")
