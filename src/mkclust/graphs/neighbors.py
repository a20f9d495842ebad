"""Exact nearest neighbors of every sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .exact import nearest_neighbors
from .metrics import Metric, SummedMetric

EXACT_UP_TO = 20_000  # samples; beyond it graph fusion uses anchors (graph_fusion/search.py)


@dataclass(frozen=True)
class Neighborhood:
    """Nearest other samples, nearest first: `places` (n, q) and squared distances (n, q).

    A distance of infinity marks a place that is no neighbor.
    """

    places: np.ndarray
    squared: np.ndarray


def neighborhood(metric: Metric | SummedMetric, count: int) -> Neighborhood:
    """Return the `count` nearest other samples of each sample: O(n^2 f).

    Under an angular metric, samples at a right angle or more and rows of zeros are no neighbors.
    Memory is n x count and a few tiles.
    """
    places, squared = nearest_neighbors(metric, min(count, metric.n_samples - 1))
    if metric.angular:
        empty = metric.norms() < 0.5
        squared[(squared > 2 - 1e-9) | empty[:, None] | empty[places]] = np.inf
    return Neighborhood(places, squared)
