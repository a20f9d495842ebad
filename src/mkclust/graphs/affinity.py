"""Affinity graphs of a view: kNN and self-tuning affinities under several metrics, averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from ..progress import step
from .metrics import Metric, SummedMetric
from .neighbors import Neighborhood, neighborhood

MOST, FEWEST = 10, 5  # neighbors by default; fewer than MOST where clusters are small
CANDIDATES = 6  # times n_neighbors: samples among which self-tuning affinities choose
SCALE_AT = 0.7  # times n_neighbors: the neighbor whose distance is a sample's local scale

Edges = tuple[np.ndarray, np.ndarray]  # places and weights, both (n, edges of a sample)


def default_n_neighbors(n: int, k: int) -> int:
    """Return half the size of an average cluster, between 5 and 10, and below n.

    >>> default_n_neighbors(165, 15), default_n_neighbors(1600, 100), default_n_neighbors(2000, 10)
    (6, 8, 10)
    """
    return int(min(np.clip(round(n / k / 2 + 1e-9), FEWEST, MOST), n - 1))


def knn_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$ with A the symmetrized graph of `count` neighbors."""
    return _symmetric([_degree_scaled(*_knn_edges(near, count))])


def self_tuning_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return the same with $A_{ij} = \exp(-D_{ij}^2 / \sigma_i\sigma_j)$, 2 `count` per row.

    $\sigma_i$ is the distance of sample i to its neighbor number 0.7 `count`, so that crowded
    regions do not become hubs.

    References
    ----------
    L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
    """
    return _symmetric([_degree_scaled(*_self_tuning_edges(near, count))])


def _knn_edges(near: Neighborhood, count: int) -> Edges:
    return near.places[:, :count], np.isfinite(near.squared[:, :count]).astype(float)


def _self_tuning_edges(near: Neighborhood, count: int) -> Edges:
    D2 = near.squared
    at = min(max(2, round(SCALE_AT * count)), D2.shape[1]) - 1
    last = np.maximum(np.isfinite(D2).sum(axis=1) - 1, 0)
    scale = np.take_along_axis(D2, np.minimum(at, last)[:, None], axis=1).ravel()
    sigma = np.sqrt(np.where(np.isfinite(scale), scale, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    # Duplicates have distance 0 to their neighbors: give them the smallest scale of all samples.
    sigma = np.maximum(sigma, floor if np.isfinite(floor) else 1.0)
    A = np.exp(-D2 / sigma[:, None] / sigma[near.places])
    kept = _largest(A, min(2 * count, A.shape[1]))
    return near.places[kept].reshape(len(A), -1), A[kept].reshape(len(A), -1)


def _largest(A: np.ndarray, count: int) -> np.ndarray:
    """Return where the `count` largest entries of every row are, the first of equal ones.

    >>> _largest(np.array([[3.0, 1.0, 1.0, 2.0]]), 3)
    array([[ True,  True, False,  True]])
    """
    kept = A >= -np.partition(-A, count - 1, axis=1)[:, count - 1 : count]
    ties = np.flatnonzero(np.count_nonzero(kept, axis=1) > count)
    order = np.argsort(-A[ties], axis=1, kind="stable")
    kept[ties[:, None], order[:, count:]] = False
    return kept


def affinity_graph(metrics: Sequence[Metric], count: int, name: str = "rows") -> sp.csr_array:
    r"""Average both affinities over the metrics of a view: symmetric, no eigenvalue above 1.

    A metric that occurs twice counts twice and is searched once. At most about 6 `count` entries
    per row and metric.

    Examples
    --------
    >>> points = Metric("x", np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]))
    >>> graph = affinity_graph([points], 2).toarray()
    >>> bool(graph[:3, 3:].max() < 1e-9 < graph[0, 1])
    True
    """
    once = {id(metric): metric for metric in metrics}
    times = Counter(id(metric) for metric in metrics)
    shares = [times[key] / len(metrics) for key in once]
    return averaged_affinity(once.values(), shares, count, name)


def averaged_affinity(
    metrics: Iterable[Metric | SummedMetric], shares: Sequence[float], count: int, name: str
) -> sp.csr_array:
    """Average both affinities over metrics that are made one at a time, with given shares."""
    edges = []
    for metric, share in zip(metrics, shares, strict=True):
        step(f"neighbors in {name}: {metric.name}")
        near = neighborhood(metric, CANDIDATES * count, [count])
        for places, weights in (_knn_edges(near, count), _self_tuning_edges(near, count)):
            edges.append(_degree_scaled(places, weights, share / 2))
    return _symmetric(edges)


def _degree_scaled(places: np.ndarray, weights: np.ndarray, total: float = 1.0) -> Edges:
    """Divide edges by the root degrees of their ends in the mean of the graph and its transpose.

    Row i has an edge of weight ``weights[i, j]`` to sample ``places[i, j]``: both (n, count). An
    edge is then `total` times as heavy.
    """
    degree = (weights.sum(axis=1) + np.bincount(places.ravel(), weights.ravel(), len(places))) / 2
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return places, weights * (total * scale)[:, None] * scale[places]


def _symmetric(edges: Sequence[Edges]) -> sp.csr_array:
    """Return the mean of the sum of some directed graphs and its transpose."""
    places = np.hstack([places for places, _ in edges]).astype(np.int32, copy=False)
    weights = np.hstack([weights for _, weights in edges]) / 2
    n, count = places.shape
    starts = np.arange(0, n * count + 1, count, dtype=np.int32)
    A = sp.csr_array((weights.ravel(), places.ravel(), starts), shape=(n, n))
    A.sum_duplicates()
    A.eliminate_zeros()
    return sp.csr_array(A + A.T)


def degree_normalized(A: sp.csr_array) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$; a sample without edges keeps none."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    rows = np.repeat(scale, np.diff(A.indptr))
    return sp.csr_array((rows * A.data * scale[A.indices], A.indices, A.indptr), shape=A.shape)


def placed(graph: sp.csr_array, held: np.ndarray) -> sp.csr_array:
    """Extend a graph of some samples to all n: the others have no edges."""
    n = len(held)
    if graph.shape[0] == n:
        return graph
    at = np.flatnonzero(held)
    entries = graph.tocoo()
    place = (at[entries.coords[0]], at[entries.coords[1]])
    return sp.csr_array(sp.coo_array((entries.data, place), shape=(n, n)))
