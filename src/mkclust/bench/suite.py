"""Suites: which methods run on which data sets, how they are scored, and what each may take."""

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
from .registry import GROUPS, Dataset, dataset, registered


@dataclass(frozen=True)
class Protocol:
    """How one fit is scored: `runs` times k-means, each the best of `restarts` from `start`.

    >>> Protocol().name
    '5 x 10 k-means++'
    """

    runs: int = 5
    restarts: int = 10
    start: str = "k-means++"

    @property
    def name(self) -> str:
        return f"{self.runs} x {self.restarts} {self.start}"


@dataclass(frozen=True)
class Suite:
    """A named experiment, read from a small file in the package.

    `default` and `tuned` say whether methods run in their default setting, and over their published
    grid on data of up to `grid_samples` samples. `thin` takes every so-many-th value of each
    parameter in a method's grid, the middle one included; `as_published` are settings that hold for
    tuned runs. Limits are seconds, waiting for a processor not counted, and gigabytes per unit.
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

    def members(self, folder: Path | None) -> list[Dataset]:
        """The data sets meant, present or not; a group's name stands for all of the group."""
        known = registered().values()
        found: dict[str, Dataset] = {}
        for name in self.datasets:
            group = [entry for entry in known if entry.group == name]
            for entry in group or [dataset(name, folder)]:
                found[entry.name] = entry
        return list(found.values())


def suites() -> list[str]:
    """The names of all suites in the package."""
    folder = files(__package__).joinpath("suites")
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name[-5:] == ".toml")


def load_suite(name: str) -> Suite:
    """A suite of the package by name, or any .toml file by path."""
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
    """A suite from the text of its file.

    >>> parse_suite("mine", 'title = "T"\\ndatasets = ["Mfeat"]\\nmethods = ["akkm"]').methods
    ('akkm',)
    """
    try:
        given = tomllib.loads(text)
        given["protocol"] = Protocol(**given.get("protocol", {}))
        for key in ("datasets", "methods", "grid_groups"):
            if key in given:
                given[key] = tuple(given[key])
        suite = Suite(name=name, **given)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InputError(f"suite {name}: {error}") from None
    check_methods(suite.methods)
    return suite


def check_methods(names: tuple[str, ...]) -> None:
    """Refuse a method that is neither ours nor a peer."""
    known = [*METHODS, *PEERS]
    for name in names:
        if name not in known and ":" not in name:
            raise InputError(f"unknown method {name!r}: known are {', '.join(known)}")
