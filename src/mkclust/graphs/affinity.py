r"""Affinity graphs of a view: kNN and self-tuning affinities under several metrics, averaged.

Self-tuning affinities are $\exp(-D_{ij}^2 / \sigma_i\sigma_j)$ with $\sigma_i$ the distance of
sample i to its neighbor number 0.7 `count`, so that crowded regions do not become hubs.

References
----------
L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from ..progress import step
from .metrics import Metric, SummedMetric
from .neighbors import Neighborhood, neighborhood

MOST, FEWEST = 10, 5  # neighbors by default; fewer than MOST where clusters are small
SCALE_AT = 0.7  # times n_neighbors: the neighbor whose distance is a sample's local scale
CANDIDATES = 6  # times n_neighbors: samples among which self-tuning affinities choose


def default_n_neighbors(n: int, k: int) -> int:
    """Return half the size of an average cluster, between 5 and 10, and below n.

    >>> default_n_neighbors(165, 15), default_n_neighbors(1600, 100), default_n_neighbors(2000, 10)
    (6, 8, 10)
    """
    return int(min(np.clip(round(n / k / 2 + 1e-9), FEWEST, MOST), n - 1))


def knn_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$ with A the symmetrized graph of `count` neighbors."""
    real = np.isfinite(near.squared[:, :count]).astype(float)
    return symmetric_affinity(near.places[:, :count], real)


def self_tuning_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return the same with $A_{ij} = \exp(-D_{ij}^2 / \sigma_i\sigma_j)$, 2 `count` per row.

    Duplicates have distance 0 to their neighbors: they get the smallest scale of all samples.
    """
    D2 = near.squared
    last = np.maximum(np.isfinite(D2).sum(axis=1) - 1, 0)
    at = np.minimum(scale_number(count, D2.shape[1]) - 1, last)
    own = np.take_along_axis(D2, at[:, None], axis=1).ravel()
    sigma = np.sqrt(np.where(np.isfinite(own), own, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    sigma = np.maximum(sigma, floor if np.isfinite(floor) else 1.0)
    A = np.exp(-D2 / sigma[:, None] / sigma[near.places])
    largest = np.argsort(-A, axis=1, kind="stable")[:, : 2 * count]
    places = np.take_along_axis(near.places, largest, axis=1)
    return symmetric_affinity(places, np.take_along_axis(A, largest, axis=1))


def scale_number(count: int, most: int) -> int:
    """Return which neighbor's distance is the local scale, counted from 1.

    >>> scale_number(10, 60), scale_number(5, 3)
    (7, 3)
    """
    return min(max(2, round(SCALE_AT * count)), most)


def affinity_graph(
    metrics: Iterable[tuple[Metric | SummedMetric, float]], count: int, name: str = "rows"
) -> sp.csr_array:
    r"""Average both affinities over metrics, each with its share: no eigenvalue is above 1.

    At most about 6 `count` entries per row and metric. Metrics may be made one at a time.

    Examples
    --------
    >>> points = Metric("x", np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]))
    >>> graph = affinity_graph([(points, 1.0)], 2).toarray()
    >>> bool(graph[:3, 3:].max() < 1e-9 < graph[0, 1])
    True
    """
    total = None
    for metric, share in metrics:
        step(f"neighbors in {name}: {metric.name}")
        near = neighborhood(metric, CANDIDATES * count, first=count)
        both = (knn_affinity(near, count) + self_tuning_affinity(near, count)) * (share / 2)
        total = both if total is None else total + both
    return sp.csr_array(total)


def symmetric_affinity(places: np.ndarray, weights: np.ndarray) -> sp.csr_array:
    """Return the degree-normalized mean of a directed graph and its transpose.

    Row i has an edge of weight ``weights[i, j]`` to sample ``places[i, j]``: both (n, count).
    """
    n, count = places.shape
    edges = np.arange(0, n * count + 1, count, dtype=np.int32)
    A = sp.csr_array((weights.ravel(), places.ravel().astype(np.int32), edges), shape=(n, n))
    A.eliminate_zeros()
    total = A + A.T
    total.data *= 0.5
    return _normalize(total)


def degree_normalized(A: sp.csr_array) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$; a sample without edges keeps none."""
    return _normalize(A.copy())


def _normalize(A: sp.csr_array) -> sp.csr_array:
    """Do the same in place."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    A.data *= np.repeat(scale, np.diff(A.indptr))
    A.data *= scale[A.indices]
    return A


def placed(graph: sp.csr_array, held: np.ndarray) -> sp.csr_array:
    """Extend a graph of some samples to all n: the others have no edges."""
    n = len(held)
    if graph.shape[0] == n:
        return graph
    at = np.flatnonzero(held)
    entries = graph.tocoo()
    place = (at[entries.coords[0]], at[entries.coords[1]])
    return sp.csr_array(sp.coo_array((entries.data, place), shape=(n, n)))
