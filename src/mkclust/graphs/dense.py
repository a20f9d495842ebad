"""Neighbour graphs of one view, as kernels."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from ..exceptions import InputError
from ..linalg.scaling import (
    mean_squared_distance,
    rescaled,
    squared_distances,
    standardised,
    varies,
)


def neighbour_graph(view: Any, n_neighbors: int = 10, metric: str = "cosine") -> np.ndarray:
    r"""$K = \frac12(I + \Delta^{-1/2}A\Delta^{-1/2})$, A the symmetric k-nearest-neighbour graph.

    Adding I makes the degree-normalised graph positive semi-definite and changes no
    eigenvector. Brute-force neighbours: n x n distances in blocks, then a dense n x n result.

    >>> K = neighbour_graph(np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]]), n_neighbors=1)
    >>> (2 * K).round(6)
    array([[1., 1., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [0., 0., 1., 1.]])
    """
    X = rescaled(view.astype(np.float64))
    if metric == "cosine":
        X = normalize(X)  # only directions matter: rows of equal direction are the same sample
    if not varies(X).any():
        raise InputError("it is constant: all its samples are the same to the neighbour search")
    neighbours = checked_neighbours(n_neighbors, X.shape[0])
    graph = kneighbors_graph(X, neighbours, metric=metric, include_self=False)
    return _normalised(((graph + graph.T) / 2).toarray())


def self_tuning_graph(view: Any, n_neighbors: int | None = 20, scale_at: int = 7) -> np.ndarray:
    r"""Affinity with a scale per sample: $A_{ij} = \exp(-D^2_{ij} / \sigma_i\sigma_j)$.

    $\sigma_i$ is the distance of sample i to its `scale_at`-th neighbour, on z-scored columns;
    the `n_neighbors` largest entries of each row are kept (None: all). Then as in
    `neighbour_graph`. n x n memory.

    References: L. Zelnik-Manor, P. Perona, Self-Tuning Spectral Clustering, NIPS 2004.
    """
    X = standardised(view)
    mean_squared_distance(X)  # refuses a constant view
    D2 = squared_distances(X)
    n = len(D2)
    at = checked_neighbours(scale_at, n)
    sigma = local_scales(D2, at)
    A = np.exp(-D2 / sigma[:, None] / sigma)
    np.fill_diagonal(A, 0.0)
    keep = n - 1 if n_neighbors is None else checked_neighbours(n_neighbors, n)
    if keep < n - 1:
        cut = np.partition(A, n - keep, axis=1)[:, n - keep]
        A[A < cut[:, None]] = 0.0
        A = (A + A.T) / 2
    return _normalised(A)


def local_scales(D2: np.ndarray, at: int) -> np.ndarray:
    """Distance of each sample to its `at`-th neighbour, from all squared distances (n, n): (n,)."""
    sigma = np.sqrt(np.partition(D2, at, axis=1)[:, at])
    floor = sigma[sigma > 0].min(initial=np.inf)
    # Duplicates have distance 0 to their neighbours: give them the finest scale seen anywhere.
    return np.maximum(sigma, floor if np.isfinite(floor) else np.sqrt(D2[D2 > 0].min()))


def _normalised(A: np.ndarray) -> np.ndarray:
    degree = A.sum(axis=1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    A *= scale[:, None] * scale / 2
    A.flat[:: len(A) + 1] += 0.5
    return A


def checked_neighbours(n_neighbors: int, n: int) -> int:
    if not isinstance(n_neighbors, Integral) or n_neighbors < 1:
        raise InputError(f"neighbours must be a whole number from 1 on, got {n_neighbors!r}")
    return int(min(n_neighbors, n - 1))


__all__ = ["checked_neighbours", "local_scales", "neighbour_graph", "self_tuning_graph"]
