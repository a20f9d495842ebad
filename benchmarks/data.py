"""Data sets by name: where they are, their kernels, values removed at random, what scores them."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from mkclust import MultiView, datasets, read
from mkclust.inspection.annotations import survival, survival_columns
from mkclust.metrics import accuracy, ari, nmi, purity

HERE = Path(__file__).parent
GAPS = re.compile(r"(?P<name>.+) (?P<kind>rows|cells) (?P<percent>\d+) %")
BUNDLED = {  # name: samples, classes
    "Mfeat-200": (200, 10),
    "Mfeat-500": (500, 10),
    "planted": (150, 3),
    "planted-30000": (30_000, 10),
}
WIDTHS = (0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0)
POLYNOMIALS = ((0.0, 2), (0.0, 4), (1.0, 2), (1.0, 4))
METRICS = {"acc": accuracy, "nmi": nmi, "purity": purity, "ari": ari}
LOG_RANK = "logrank"


@dataclass(frozen=True)
class Dataset:
    """One data set of sets.toml, or a bundled one.

    `group` is ``paper``, ``views``, ``kernels`` (the file holds kernels), ``single`` (one view),
    ``omics`` (a folder of tables), ``large`` or ``bundled``. `kernel` is the kernel of a view,
    ``"twelve"`` for twelve kernels of a single view, or empty where the file holds kernels.
    `truth` names the table of classes or survival times where the views have none. `gaps` are
    kind and share of removed values.
    """

    name: str
    files: tuple[str, ...]
    n: int
    k: int
    group: str
    kernel: str = "gaussian"
    source: str = ""
    truth: str = ""
    gaps: tuple[str, float] | None = None

    @property
    def path(self) -> Path | None:
        """The file in the folder of MKCLUST_DATA, or None."""
        folder = os.environ.get("MKCLUST_DATA")
        there = {path.name.lower(): path for path in Path(folder).iterdir()} if folder else {}
        return next((there[f.lower()] for f in self.files if f.lower() in there), None)

    @property
    def present(self) -> bool:
        """Whether the data set is bundled or its file is there."""
        return self.group == "bundled" or self.name.startswith("Mfeat") or self.path is not None

    def load(self, seed: int = 0) -> tuple[MultiView, Any]:
        """Return the views, with gaps drawn by the seed, and what scores labels."""
        base = self.name if self.gaps is None else GAPS.fullmatch(self.name)["name"]
        path = self.path
        if path is None:
            views = bundled_views(base)
        else:
            views = read(path, labels=False) if self.truth else read(path)
        if self.truth:
            score = truth_in(path.with_name(self.truth), views.index)
        else:
            score = ClassScores(np.unique(views.labels, return_inverse=True)[1])
        if len(views) != self.n:
            raise ValueError(f"{self.name} should have {self.n} samples, {path} has {len(views)}")
        return (views if self.gaps is None else remove_values(views, *self.gaps, seed)), score


@cache
def registry() -> dict[str, Dataset]:
    """Return all data sets by name."""
    kept = ("n", "k", "group", "kernel", "source", "truth")
    given = tomllib.loads((HERE / "sets.toml").read_text("utf-8"))
    public = {
        name: Dataset(
            name, tuple(entry["files"]), **{key: entry[key] for key in kept if key in entry}
        )
        for name, entry in given.items()
    }
    return public | {name: Dataset(name, (), n, k, "bundled") for name, (n, k) in BUNDLED.items()}


def dataset(name: str) -> Dataset:
    """Return a data set by name; ``"MSRC-v1 rows 30 %"`` is the set with gaps.

    >>> dataset("MSRC-v1 rows 30 %").gaps
    ('rows', 0.3)
    """
    found = GAPS.fullmatch(name)
    if found is None:
        return registry()[name]
    gaps = found["kind"], int(found["percent"]) / 100
    return replace(registry()[found["name"]], name=name, gaps=gaps)


def bundled_views(name: str) -> MultiView:
    """Return the handwritten digits, or planted clusters in three views beside one of noise."""
    if name.startswith("planted"):
        return datasets.make_views(*BUNDLED[name], 3, noise=2.0, n_noise_views=1, random_state=0)
    return datasets.load_mfeat()[:: {"Mfeat": 1, "Mfeat-500": 4, "Mfeat-200": 10}[name]]


def remove_values(views: MultiView, kind: str, share: float, seed: int) -> MultiView:
    """Remove a share of all (sample, view) pairs, or of the cells of every table.

    A sample keeps at least one view, and at least one cell of every view.
    """
    rng = np.random.default_rng(seed)
    n, m = len(views), views.n_views
    if kind == "rows":
        present = np.ones((n, m), dtype=bool)
        left = min(round(share * n * m), n * (m - 1))
        for i, p in (divmod(pair, m) for pair in rng.permutation(n * m)):
            if left and present[i].sum() > 1:
                present[i, p] = False
                left -= 1
        return MultiView(views, present=present)
    tables = []
    for view in views.views:
        removed = rng.random(view.shape) < share
        removed[np.arange(n), rng.integers(view.shape[1], size=n)] = False
        tables.append(np.where(removed, np.nan, view))
    return MultiView(tables, names=views.names, labels=views.labels, index=views.index)


def twelve_kernels(views: MultiView) -> MultiView:
    r"""Make seven Gaussian kernels, four polynomial ones and a linear one of a single view.

    $\exp(-D^2 / 2(tD_{max})^2)$ with $t$ from 0.01 to 100, $(a + XX^T)^b$ with a of 0 or 1 and b of
    2 or 4, and $XX^T$; the rows are scaled to unit length for the last five. The set of L. Du et
    al., Robust Multiple Kernel K-means Using l2,1-Norm, IJCAI 2015.
    """
    (X,) = views.views
    squared = euclidean_distances(X, squared=True)
    built = {f"gaussian {t:g}": np.exp(-squared / (2 * t**2 * squared.max())) for t in WIDTHS}
    cosine = np.asarray(cosine_similarity(X))
    built |= {f"polynomial {a:g}, {b}": (a + cosine) ** b for a, b in POLYNOMIALS}
    return MultiView(built | {"linear": cosine}, kernels=True, labels=views.labels)


@dataclass(frozen=True)
class ClassScores:
    """Scores against known classes (n,), numbered from 0, by which rows can be sorted."""

    values: np.ndarray

    def __call__(self, labels: np.ndarray) -> dict[str, float]:
        return {name: metric(self.values, labels) for name, metric in METRICS.items()}


@dataclass(frozen=True)
class SurvivalScores:
    """-log10 of the p-value of the log-rank test that all clusters survive alike."""

    times: Any
    events: Any

    @property
    def values(self) -> np.ndarray:
        """The times, by which rows can be sorted."""
        return np.asarray(self.times, dtype=float)

    def __call__(self, labels: np.ndarray) -> dict[str, float]:
        if len(np.unique(labels)) < 2:
            return {LOG_RANK: 0.0}
        p = survival(labels, self.times, self.events).p
        return {LOG_RANK: float(-np.log10(max(p, np.finfo(float).tiny)))}


def truth_in(folder: Path, index: Any) -> ClassScores | SurvivalScores:
    """Read a folder with one table of samples by name: classes, or times and events."""
    (path,) = sorted(folder.glob("*.csv"))
    table = pd.read_csv(path, index_col=0).loc[list(index)]
    columns = survival_columns(table, None, None)[0]
    if columns is not None:
        return SurvivalScores(*(table[name] for name in columns))
    return ClassScores(np.unique(table.iloc[:, 0].astype(str), return_inverse=True)[1])


def row_order(values: np.ndarray, order: str, seed: int) -> np.ndarray:
    """Return the positions (n,) in which rows are given to a method.

    Sorting by class favors methods that depend on the order of samples.

    >>> row_order(np.array([1, 0, 1, 0]), "sorted", 0).tolist()
    [1, 3, 0, 2]
    """
    if order == "sorted":
        return np.argsort(values, kind="stable")
    return np.random.default_rng(seed).permutation(len(values))


def dense(view: Any) -> np.ndarray:
    """Return a view as a dense float64 array."""
    return np.asarray(view.toarray() if sp.issparse(view) else view, dtype=np.float64)
