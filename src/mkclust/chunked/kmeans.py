"""k-means over the blocks of an embedding: exact Lloyd steps from sums and counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from ..exceptions import DegenerateWarning, warn
from ..linalg.kmeans import kmeans_clusters, unit_rows
from ..linalg.threads import one_thread
from ..progress import step
from .engine import Engine, Task
from .passes import each, total
from .work import Arrays, Work

SAMPLE = 25_000  # rows on which the starts are computed
TOLERANCE = 1e-4  # of the variance: largest squared move of the centers at convergence
STEPS = 300
ROWS = 16_384  # at a time


@dataclass(frozen=True)
class Clustering:
    """Labels (n,), centers (k, r) of the unit rows, inertia, and the number of Lloyd steps.

    `sampled` is the number of rows on which the starts were tried.
    """

    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    steps: int
    sampled: int


@dataclass(frozen=True)
class LloydTask(Task):
    """Sums and counts of the unit rows nearest to each center."""

    centers: np.ndarray

    def __call__(self, block: Any) -> Arrays:
        k, r = self.centers.shape
        sums, counts, inertia = np.zeros((k, r)), np.zeros(k), 0.0
        for X in _unit_blocks(block):
            labels, squared = _nearest(X, self.centers)
            belongs = np.zeros((len(X), k), dtype=X.dtype)
            belongs[np.arange(len(X)), labels] = 1
            sums += belongs.T @ X
            counts += np.bincount(labels, minlength=k)
            inertia += squared.sum(dtype=np.float64)
        return {"sums": sums, "counts": counts, "inertia": np.array(inertia)}


@dataclass(frozen=True)
class AssignTask(Task):
    """The nearest center of every row of a block; labels are taken block by block."""

    centers: np.ndarray

    def __call__(self, block: Any) -> Arrays:
        found = [_nearest(X, self.centers) for X in _unit_blocks(block)]
        return {
            "labels": np.concatenate([labels for labels, _ in found]).astype(np.int32),
            "inertia": np.array(sum(squared.sum(dtype=np.float64) for _, squared in found)),
        }


@dataclass(frozen=True)
class FarthestTask:
    """The rows farthest from their center, farthest first: new centers for empty clusters."""

    centers: np.ndarray
    count: int

    def __call__(self, block: Any) -> Arrays:
        found: Arrays | None = None
        for X in _unit_blocks(block):
            squared = _nearest(X, self.centers)[1]
            most = np.argsort(-squared, kind="stable")[: self.count]
            here = {"rows": X[most], "squared": squared[most]}
            found = here if found is None else self.combine(found, here)
        return found or {"rows": self.centers[:0], "squared": np.empty(0)}

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        both = {key: np.concatenate([left[key], right[key]]) for key in left}
        most = np.argsort(-both["squared"], kind="stable")[: self.count]
        return {key: values[most] for key, values in both.items()}


@dataclass(frozen=True)
class TakeTask:
    """Some rows of the embedding, by ascending position."""

    rows: np.ndarray

    def __call__(self, block: Any) -> Arrays:
        here = self.rows[(self.rows >= block.start) & (self.rows < block.stop)]
        return {"rows": unit_rows(block.load()[here - block.start])}

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        return {"rows": np.concatenate([left["rows"], right["rows"]])}


def kmeans(
    blocks: Sequence[Any],
    k: int,
    n_init: int,
    seed: int,
    engine: Engine,
    work: Work | None = None,
    name: str = "kmeans",
    sample: int | None = None,
) -> Clustering:
    r"""Minimize $\sum_i \|h_i/|h_i| - c_{y_i}\|^2$ over the rows of an embedding in blocks.

    The best of `n_init` k-means++ starts on a seeded sample of the rows is continued with exact
    Lloyd steps on all rows, with the convergence criterion of scikit-learn. `work` stores the
    state of each step under `name`. Where all rows fit into the sample this is scikit-learn's
    k-means. O(n k r) per step; the labels are the only array of n rows.
    """
    n = int(blocks[-1].stop)
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.choice(n, min(n, max(sample or SAMPLE, 500 * k)), replace=False))
    rows = total("rows to start k-means", TakeTask(chosen), blocks, engine, None)["rows"]
    if len(rows) == n:
        found = kmeans_clusters(rows, k, n_init=n_init, random_state=np.random.RandomState(seed))
        inertia = float(((rows - found.centers[found.labels]) ** 2).sum())
        return Clustering(found.labels, found.centers, inertia, 0, n)
    still = TOLERANCE * float(rows.astype(np.float64).var(axis=0).mean())
    start = _start(rows, k, n_init, seed)
    centers, steps = _lloyd(blocks, start, still, engine, work, name)
    parts = list(each("labels", AssignTask(centers), blocks, engine))
    labels = np.concatenate([part["labels"] for part in parts])
    if (distinct := np.count_nonzero(np.bincount(labels, minlength=k))) < k:
        warn(f"only {distinct} clusters found where {k} were requested", DegenerateWarning)
    return Clustering(
        labels=labels,
        centers=centers,
        inertia=float(sum(part["inertia"] for part in parts)),
        steps=steps,
        sampled=len(rows),
    )


def _start(rows: np.ndarray, k: int, n_init: int, seed: int) -> np.ndarray:
    step(f"{n_init} starts of k-means on {len(rows)} rows")
    model = KMeans(n_clusters=k, n_init=n_init, random_state=np.random.RandomState(seed))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        return np.asarray(model.fit(rows).cluster_centers_)


def _lloyd(
    blocks: Sequence[Any],
    centers: np.ndarray,
    still: float,
    engine: Engine,
    work: Work | None,
    name: str,
) -> tuple[np.ndarray, int]:
    state = work.load(name) if work is not None else None
    if state is None:
        state = {"centers": centers, "step": np.array(0), "rest": np.array(False)}
    while state["step"] < STEPS and not state["rest"]:
        number = int(state["step"]) + 1
        found = total(f"k-means step {number}", LloydTask(state["centers"]), blocks, engine, None)
        moved = _moved(found, state["centers"], blocks, engine)
        shift = float(((moved - state["centers"]) ** 2).sum())
        state = {
            "centers": moved, "step": np.array(number), "rest": np.array(shift <= still),
        }  # fmt: skip
        if work is not None:
            work.save(name, state)
    return state["centers"], int(state["step"])


def _moved(found: Arrays, centers: np.ndarray, blocks: Sequence[Any], engine: Engine) -> np.ndarray:
    """Return the means of the rows of each center; an empty cluster moves to the farthest row."""
    counts = found["counts"][:, None]
    moved = np.where(counts > 0, found["sums"] / np.maximum(counts, 1), centers)
    empty = np.flatnonzero(counts.ravel() == 0)
    if len(empty):
        task = FarthestTask(centers, len(empty))
        far = total("new centers for empty clusters", task, blocks, engine, None)["rows"]
        moved[empty[: len(far)]] = far
    return moved.astype(centers.dtype)


def _unit_blocks(block: Any) -> Any:
    rows = block.load()
    return (unit_rows(rows[start : start + ROWS]) for start in range(0, len(rows), ROWS))


def _nearest(X: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest center of each row and the squared distance to it."""
    scores = X @ (-2 * centers.T).astype(X.dtype)
    scores += np.einsum("ij,ij->i", centers, centers).astype(X.dtype)
    labels = scores.argmin(axis=1)
    squared = scores[np.arange(len(X)), labels] + np.einsum("ij,ij->i", X, X)
    return labels, np.maximum(squared, 0)
