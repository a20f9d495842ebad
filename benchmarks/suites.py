"""Suites: which methods run on which data sets, in which settings, under which limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from mkclust import METHODS

from .data import Dataset, dataset, registry
from .peers import PEERS

PAPER = (
    "akkm",
    "mkkm",
    "mkkm-mr",
    "swmc",
    "onkc",
    "lfmkc",
    "spmkc",
    "cagl",
    "oplf",
    "hmkc",
    "mkc-dnm",
)
EVERY = (*METHODS, *PEERS)
GAPPED = ("MSRC-v1", "yaleA", "Mfeat-500", "ORL-4views")
REMOVED = ("rows 10", "rows 30", "cells 5", "cells 20")
PUBLISHED_SETTINGS = {  # of the paper's comparison, where they differ from the defaults of mkclust
    "swmc": {"graph": "kernel"},
    "lfmkc": {"init": "identity", "accumulate": True},
}


@dataclass(frozen=True)
class Suite:
    """A named experiment.

    `datasets` are names or groups. `tuned` also runs the published grids, on sets of up to
    `grid_samples` samples; `thin` keeps every t-th value of each parameter of a method's grid, the
    middle one included. `seeds` is the number of complete repetitions, each with its own order of
    rows and its own gaps. Every fit is labeled `runs` times by k-means, the best of ten starts of
    kind `start`. `cpu` seconds and `memory` in GB limit a unit.
    """

    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    tuned: bool = False
    grid_samples: int = 700
    thin: Mapping[str, int] = field(default_factory=dict)
    seeds: int = 1
    runs: int = 5
    start: str = "k-means++"
    cpu: float = 300.0
    memory: float = 12.0

    def members(self) -> list[Dataset]:
        """Return the data sets that are present, small ones first."""
        names = [
            name
            for asked in self.datasets
            for name in ([e.name for e in registry().values() if e.group == asked] or [asked])
        ]
        return sorted((e for e in map(dataset, names) if e.present), key=lambda e: e.n)

    def units(self) -> Iterator[tuple[Dataset, str, dict[str, Any], bool, int]]:
        """Yield data set, method, setting, whether it is tuned with labels, and seed."""
        for entry, method, seed in product(self.members(), self.methods, range(self.seeds)):
            if method == "best-view":
                count = 12 if entry.kernel == "twelve" else entry.load()[0].n_views
                yield from ((entry, method, {"view": p}, True, seed) for p in range(count))
                continue
            yield entry, method, {}, False, seed
            if self.tuned and entry.n <= self.grid_samples and METHODS[method].grid:
                base = PUBLISHED_SETTINGS.get(method, {})
                for point in grid(method, entry.k, self.thin.get(method, 1)):
                    yield entry, method, base | point, True, seed


def grid(method: str, k: int, thin: int = 1) -> list[dict[str, Any]]:
    """Return the published grid of a method for k clusters; every `thin`-th value is kept.

    >>> [point["lam"] for point in grid("mkkm-mr", 5, 15)]
    [3.0517578125e-05, 1.0, 32768.0]
    """
    points: list[dict[str, Any]] = METHODS[method].published_grid(k)
    if thin == 1:
        return points
    values = {name: sorted({point[name] for point in points}) for name in points[0]}
    kept = [v[len(v) // 2 % thin :: thin] for v in values.values()]
    return [dict(zip(values, point, strict=True)) for point in product(*kept)]


_PAPER = {"datasets": ("paper",), "methods": PAPER, "tuned": True, "runs": 20, "start": "random"}
SUITES = {
    "multiview": Suite(
        "All methods and peers on data sets of several views",
        ("paper", "views"), (*EVERY, "best-view"),
    ),
    "omics": Suite(
        "All methods and peers on cohorts of patients, by subtype or survival",
        ("omics",), (*EVERY, "best-view"), seeds=5, runs=1,
    ),
    "kernels": Suite(
        "All methods on twelve kernels of one view; peers on the view itself",
        ("single", "kernels"), (*EVERY, "best-view"),
    ),
    "missing": Suite(
        "All methods and peers on views without some samples or cells",
        tuple(f"{name} {gap} %" for name in GAPPED for gap in REMOVED),
        EVERY, seeds=5, runs=1,
    ),
    "large": Suite(
        "All methods and peers on 17 000 to 35 000 samples", ("large", "planted-30000"), EVERY
    ),
    "quick": Suite(
        "All methods on two small bundled sets", ("planted", "Mfeat-200"),
        (*METHODS, "concat-kmeans", "best-view"), runs=3, cpu=60, memory=4,
    ),
    # Every third power of two for both parameters of ONKC in Table 2, 121 of its 961 settings: the
    # whole grid takes longer than all other methods together. Table 3 measures the whole grid.
    "paper-table2": Suite("Table 2: four metrics", **_PAPER, thin={"onkc": 3}, cpu=600),
    "paper-table3": Suite("Table 3: tune time and run time", **_PAPER, cpu=600),
}  # fmt: skip
FAMILIES = ("multiview", "omics", "large", "kernels", "missing")
