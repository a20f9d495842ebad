"""Modularity of partitions of one half of the samples on the other half: cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..base import MultiViewClusterer
from ..data.views import MultiView
from ..progress import step
from .fitting import unfitted
from .structure import modularity, subset


def held_out_modularity(
    estimator: MultiViewClusterer,
    views: MultiView,
    graph: sp.csr_array,
    ks: Sequence[int],
    random_state: int,
) -> np.ndarray:
    """Return the modularity of every number of clusters on samples that were not clustered.

    The samples are divided into two halves at random. The estimator clusters one half alone. Every
    sample of the other half joins the cluster to which it has most edge weight in `graph`, and the
    modularity is that of the graph among the other half. Then the halves change places.

    Parameters
    ----------
    graph : (n, n) sparse array
        Graph of all samples, as in `Partitions`.

    Returns
    -------
    (2, t) array
        One row for every half; 0 for numbers with fewer than two samples a cluster in a half.

    References
    ----------
    K. Chen, J. Lei. Network cross-validation for determining the number of communities in network
    data. Journal of the American Statistical Association 113, 2018.
    """
    n = len(views)
    order = np.random.default_rng(random_state).permutation(n)
    halves = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    found = np.zeros((2, len(ks)))
    for fold, (own, other) in enumerate((halves, halves[::-1])):
        possible = [k for k in ks if k <= len(own) // 2]
        if not possible:
            break
        step(f"half {fold + 1} of the samples")
        model = unfitted(estimator, n_clusters=2)
        labels = model.partitions(subset(views, own), possible, random_state, n_init=1).labels
        edges, among = graph[other][:, own], graph[other][:, other]
        for i, k in enumerate(possible):
            found[fold, i] = modularity(among, extended(edges, labels[k]))
    return found


def extended(edges: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """Return the cluster to which every row of `edges` (m, n) has most weight.

    Rows without edges join the largest cluster.

    >>> extended(sp.csr_array([[0.2, 0.5, 0.1], [0, 0, 0]]), np.array([1, 0, 1]))
    array([0, 1])
    """
    n, sizes = len(labels), np.bincount(labels)
    clusters = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, len(sizes)))
    weights = (edges @ clusters).toarray()
    found = np.argmax(weights, axis=1)
    return np.asarray(np.where(weights.max(axis=1) > 0, found, np.argmax(sizes)))
