"""k-means over blocks of an embedding: exact Lloyd steps from sums and counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.utils import check_random_state

from ..exceptions import DegenerateWarning, warn
from ..linalg.kmeans import Clusters, kmeans_clusters, unit_rows
from ..linalg.threads import one_thread
from ..progress import step
from .arrays import as_dask_array
from .blocks import Sums, map_blocks, sum_blocks

SAMPLE = 25_000  # rows on which the starts are computed
TOLERANCE = 1e-4  # of the variance: largest squared move of the centers at convergence
STEPS = 300
ROWS = 16_384  # at a time


def seed_of(random_state: Any) -> int:
    """Return a seed that every pass and worker shares: the given number, or one drawn from it."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def kmeans(H: Any, height: int, k: int, n_init: int, seed: int) -> Clusters:
    r"""Minimize $\sum_i \|h_i/|h_i| - c_{y_i}\|^2$ over the rows of an embedding H (n, r).

    H is an array, a memory map or a dask array, taken in blocks of `height` rows. The best of
    `n_init` k-means++ starts on a seeded sample of the rows is continued with exact Lloyd steps on
    all rows, with the convergence criterion of scikit-learn. Where all rows fit into the sample
    this is scikit-learn's k-means. O(n k r) per step; the labels are the only array of n rows.
    """
    n = int(H.shape[0])
    H = as_dask_array(H)[0] if isinstance(H, np.memmap) else H
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.choice(n, min(n, max(SAMPLE, 500 * k)), replace=False))
    take = partial(_take, chosen, height)
    rows = np.concatenate(list(map_blocks("rows to start k-means", take, [H], height)))
    if len(rows) == n:
        found = kmeans_clusters(rows, k, n_init=n_init, random_state=np.random.RandomState(seed))
        inertia = float(((rows - found.centers[found.labels]) ** 2).sum())
        return Clusters(found.labels, found.centers, inertia)
    still = TOLERANCE * float(rows.astype(np.float64).var(axis=0).mean())
    centers = _start(rows, k, n_init, seed)
    for number in range(1, STEPS + 1):
        name = f"k-means step {number}"
        sums = sum_blocks(name, partial(lloyd_sums, centers), [H], height)
        moved = _move(sums, centers, H, height)
        shift = float(((moved - centers) ** 2).sum())
        centers = moved
        if shift <= still:
            break
    parts = list(map_blocks("labels", partial(_assign, centers), [H], height))
    labels = np.concatenate([labels for labels, _ in parts])
    if (distinct := np.count_nonzero(np.bincount(labels, minlength=k))) < k:
        warn(f"only {distinct} clusters found where {k} were requested", DegenerateWarning)
    return Clusters(labels, centers, float(sum(inertia for _, inertia in parts)))


def lloyd_sums(centers: np.ndarray, start: int, H: np.ndarray) -> Sums:
    """Return sums (k, r) and counts (k,) of the unit rows nearest to each center."""
    k, r = centers.shape
    sums, counts = np.zeros((k, r)), np.zeros(k)
    for X in _unit_parts(H):
        labels = _nearest(X, centers)[0]
        belongs = np.zeros((len(X), k), dtype=X.dtype)
        belongs[np.arange(len(X)), labels] = 1
        sums += belongs.T @ X
        counts += np.bincount(labels, minlength=k)
    return {"sums": sums, "counts": counts}


def _take(rows: np.ndarray, height: int, start: int, H: np.ndarray) -> np.ndarray:
    here = rows[(rows >= start) & (rows < start + height)]
    return unit_rows(H[here - start])


def _assign(centers: np.ndarray, start: int, H: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the nearest center of every row, and the sum of the squared distances."""
    found = [_nearest(X, centers) for X in _unit_parts(H)]
    labels = np.concatenate([labels for labels, _ in found]).astype(np.int32)
    return labels, sum(float(squared.sum(dtype=np.float64)) for _, squared in found)


def _farthest(
    centers: np.ndarray, count: int, start: int, H: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit rows farthest from their center, farthest first, and their distances."""
    found = [(X, _nearest(X, centers)[1]) for X in _unit_parts(H)]
    return _most_distant(found, count)


def _most_distant(
    found: list[tuple[np.ndarray, np.ndarray]], count: int
) -> tuple[np.ndarray, np.ndarray]:
    rows, squared = (np.concatenate(parts) for parts in zip(*found, strict=True))
    most = np.argsort(-squared, kind="stable")[:count]
    return rows[most], squared[most]


def _move(sums: Sums, centers: np.ndarray, H: Any, height: int) -> np.ndarray:
    """Return the means of the rows of each center; an empty cluster moves to the farthest row."""
    counts = sums["counts"][:, None]
    moved = np.where(counts > 0, sums["sums"] / np.maximum(counts, 1), centers)
    empty = np.flatnonzero(counts.ravel() == 0)
    if len(empty):
        find = partial(_farthest, centers, len(empty))
        found = list(map_blocks("new centers for empty clusters", find, [H], height))
        far = _most_distant(found, len(empty))[0]
        moved[empty[: len(far)]] = far
    return np.asarray(moved.astype(centers.dtype))


def _start(rows: np.ndarray, k: int, n_init: int, seed: int) -> np.ndarray:
    step(f"{n_init} starts of k-means on {len(rows)} rows")
    model = KMeans(n_clusters=k, n_init=n_init, random_state=np.random.RandomState(seed))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        return np.asarray(model.fit(rows).cluster_centers_)


def _unit_parts(H: np.ndarray) -> Iterator[np.ndarray]:
    return (unit_rows(H[start : start + ROWS]) for start in range(0, len(H), ROWS))


def _nearest(X: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest center of each row and the squared distance to it."""
    scores = X @ (-2 * centers.T).astype(X.dtype)
    scores += np.einsum("ij,ij->i", centers, centers).astype(X.dtype)
    labels = scores.argmin(axis=1)
    squared = scores[np.arange(len(X)), labels] + np.einsum("ij,ij->i", X, X)
    return labels, np.maximum(squared, 0)
