r"""Affinity graphs of a view: kNN and self-tuning affinities under several metrics, averaged.

Self-tuning affinities are $\exp(-D_{ij}^2 / \sigma_i\sigma_j)$ with $\sigma_i$ the distance of
sample i to its neighbor number 0.7 `count`, so that crowded regions do not become hubs.

References
----------
L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..linalg.scaling import JITTER, inverse_roots
from ..progress import step
from .metrics import Metric, SummedMetric
from .neighbors import Neighborhood, neighborhood, stable_order, take_in_rows

SCALE_AT = 0.7  # times n_neighbors: the neighbor whose distance is a sample's local scale
CANDIDATES = 6  # times n_neighbors: samples among which self-tuning affinities choose


def knn_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$ with A the symmetrized graph of `count` neighbors."""
    real = np.isfinite(near.squared[:, :count]).astype(float)
    return symmetric_affinity(near.places[:, :count], real)


def self_tuning_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return the graph of $A_{ij} = \exp(-D_{ij}^2 / \sigma_i\sigma_j)$, 2 `count` per row.

    Duplicates have distance 0 to their neighbors: they get the smallest scale of all samples.
    """
    D2 = near.squared
    last = np.maximum(np.isfinite(D2).sum(axis=1) - 1, 0)
    at = np.minimum(scale_number(count, D2.shape[1]) - 1, last)
    own = take_in_rows(D2, at[:, None]).ravel()
    sigma = np.sqrt(np.where(np.isfinite(own), own, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    sigma = np.maximum(sigma, floor if np.isfinite(floor) else 1.0)
    A = np.exp(-D2 / sigma[:, None] / sigma[near.places])
    largest = stable_order(-A, 0.0)[:, : 2 * count]
    return symmetric_affinity(take_in_rows(near.places, largest), take_in_rows(A, largest))


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
    return degree_normalized(total)


def degree_normalized(A: sp.csr_array) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$; a sample without edges keeps none."""
    scale = inverse_roots(np.asarray(A.sum(axis=1)).ravel())
    found = A.copy()
    found.data *= np.repeat(scale, np.diff(A.indptr))
    found.data *= scale[A.indices]
    return found


def pad_graph(graph: sp.csr_array, held: np.ndarray) -> sp.csr_array:
    """Extend a graph of some samples to all n: the others have no edges."""
    n = len(held)
    if graph.shape[0] == n:
        return graph
    at = np.flatnonzero(held)
    entries = graph.tocoo()
    place = (at[entries.coords[0]], at[entries.coords[1]])
    return sp.csr_array(sp.coo_array((entries.data, place), shape=(n, n)))


SELF = 0.5 + 1e-9  # similarity of a sample to itself; two samples alone would leave only this


class CenteredGraph:
    """The centered kernel of a graph S (n, n): O(nnz + n) to apply, nnz + n numbers in memory.

    Examples
    --------
    >>> K = CenteredGraph(sp.csr_array(np.kron(np.eye(2), 1 - np.eye(2))))
    >>> K.toarray().round(6)
    array([[ 1.,  1., -1., -1.],
           [ 1.,  1., -1., -1.],
           [-1., -1.,  1.,  1.],
           [-1., -1.,  1.,  1.]])
    """

    def __init__(self, graph: sp.csr_array) -> None:
        self.graph = graph

    def __len__(self) -> int:
        return int(self.graph.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self)

    @cached_property
    def _half_and_scale(self) -> tuple[np.ndarray, np.ndarray]:
        """h and s (n,) of the centered kernel $(K_{ij} - h_i - h_j)s_is_j$, of unit diagonal."""
        own = SELF + 0.5 * self.graph.diagonal()
        mean = (SELF + 0.5 * np.asarray(self.graph.sum(axis=0)).ravel()) / len(self)
        half = mean - mean.mean() / 2
        left = own - 2 * half
        jitter = JITTER * float(own.max())
        return half, np.where(left > 0, 1 / np.sqrt(np.maximum(left, 0) + jitter), 0.0)

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        scale = self._half_and_scale[1]
        scale = scale if X.ndim == 1 else scale[:, None]
        Y = X * scale
        Y -= np.add.reduce(Y, axis=0) / len(Y)
        image = self.graph @ Y
        image *= 0.5
        Y *= SELF
        Y += image
        Y -= np.add.reduce(Y, axis=0) / len(Y)
        Y *= scale
        return Y

    def toarray(self) -> np.ndarray:
        """Form the n x n matrix."""
        half, scale = self._half_and_scale
        K = self.graph.toarray()
        K /= 2
        K.flat[:: len(K) + 1] += SELF
        K -= half[:, None] + half
        K *= scale[:, None] * scale
        np.fill_diagonal(K, scale > 0)
        return np.asarray(K)
