"""Affinity graphs of a view: kNN and self-tuning affinities under several metrics, averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..progress import step
from .metrics import Metric, SummedMetric
from .neighbors import Neighborhood, neighborhood

MOST, FEWEST = 10, 5  # neighbors by default; fewer than MOST where clusters are small
CANDIDATES = 6  # times n_neighbors: samples among which self-tuning affinities choose
SCALE_AT = 0.7  # times n_neighbors: the neighbor whose distance is a sample's local scale


def default_n_neighbors(n: int, k: int) -> int:
    """Return half the size of an average cluster, between 5 and 10, and below n.

    >>> default_n_neighbors(165, 15), default_n_neighbors(1600, 100), default_n_neighbors(2000, 10)
    (6, 8, 10)
    """
    return int(min(np.clip(round(n / k / 2 + 1e-9), FEWEST, MOST), n - 1))


class Edges(NamedTuple):
    """A directed graph: row i has an edge of ``weights[i, j]`` to sample ``places[i, j]``."""

    places: np.ndarray
    weights: np.ndarray


def knn_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$ with A the symmetrized graph of `count` neighbors."""
    return _mean_affinity([knn_edges(near, count)], [1.0])


def self_tuning_affinity(near: Neighborhood, count: int) -> sp.csr_array:
    r"""Return the same with $A_{ij} = \exp(-D_{ij}^2 / \sigma_i\sigma_j)$, 2 `count` per row.

    $\sigma_i$ is the distance of sample i to its neighbor number 0.7 `count`, so that crowded
    regions do not become hubs.

    References
    ----------
    L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
    """
    return _mean_affinity([self_tuning_edges(near, count)], [1.0])


def knn_edges(near: Neighborhood, count: int) -> Edges:
    """Return an edge of weight 1 to each of `count` neighbors."""
    return Edges(near.places[:, :count], np.isfinite(near.squared[:, :count]).astype(float))


def self_tuning_edges(near: Neighborhood, count: int) -> Edges:
    """Return the 2 `count` largest self-tuning affinities of every sample."""
    D2 = near.squared
    at = min(max(2, round(SCALE_AT * count)), D2.shape[1]) - 1
    last = np.maximum(np.isfinite(D2).sum(axis=1) - 1, 0)
    scale = np.take_along_axis(D2, np.minimum(at, last)[:, None], axis=1).ravel()
    sigma = np.sqrt(np.where(np.isfinite(scale), scale, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    # Duplicates have distance 0 to their neighbors: give them the smallest scale of all samples.
    sigma = np.maximum(sigma, floor if np.isfinite(floor) else 1.0)
    A = np.exp(-D2 / sigma[:, None] / sigma[near.places])
    largest = np.argsort(-A, axis=1, kind="stable")[:, : 2 * count]
    return Edges(
        np.take_along_axis(near.places, largest, axis=1), np.take_along_axis(A, largest, axis=1)
    )


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
    graphs, each = [], []
    for metric, share in zip(metrics, shares, strict=True):
        step(f"neighbors in {name}: {metric.name}")
        near = neighborhood(metric, CANDIDATES * count)
        graphs += [knn_edges(near, count), self_tuning_edges(near, count)]
        each += [share / 2] * 2
    return _mean_affinity(graphs, each)


def _mean_affinity(graphs: Sequence[Edges], shares: Sequence[float]) -> sp.csr_array:
    r"""Return $\sum_g s_g\Delta_g^{-1/2}\frac12(A_g + A_g^T)\Delta_g^{-1/2}$ of directed graphs.

    All edges are put into one matrix, which is added to its transpose once.
    """
    n = len(graphs[0].places)
    parts = [_scaled_edges(graph, share / 2) for graph, share in zip(graphs, shares, strict=True)]
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Built by columns and turned by rows, which sorts the columns of every row.
    turned = sp.coo_array((values, (columns, rows)), shape=(n, n))
    turned.has_canonical_format = True  # not yet: edges of several metrics are summed below
    half = sp.csr_array(turned.tocsr().T.tocsr())
    half.has_canonical_format = False
    half.sum_duplicates()
    return sp.csr_array(half + half.T)


def _scaled_edges(graph: Edges, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and degree-normalized weights of the edges of one graph."""
    n, count = graph.places.shape
    rows = np.repeat(np.arange(n, dtype=np.int32), count)
    columns, weights = graph.places.ravel().astype(np.int32), graph.weights.ravel()
    there = weights > 0
    if not there.all():
        rows, columns, weights = rows[there], columns[there], weights[there]
    degree = np.bincount(rows, weights, n) + np.bincount(columns, weights, n)
    scale = inverse_root(degree / 2)
    return rows, columns, scale[rows] * weights * scale[columns] * share


def degree_normalized(A: sp.csr_array) -> sp.csr_array:
    r"""Return $\Delta^{-1/2}A\Delta^{-1/2}$; a sample without edges keeps none."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    scale = inverse_root(degree)
    rows = np.repeat(scale, np.diff(A.indptr))
    return sp.csr_array((rows * A.data * scale[A.indices], A.indices, A.indptr), shape=A.shape)


def inverse_root(degree: np.ndarray) -> np.ndarray:
    """Return $1/\\sqrt d$, and 0 where d is 0.

    >>> inverse_root(np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
