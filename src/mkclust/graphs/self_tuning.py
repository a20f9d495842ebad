r"""Self-tuning affinities $\exp(-D_{ij}^2 / \sigma_i\sigma_j)$ of the neighbors of some samples.

$\sigma_i$ is the distance of sample i to its neighbor number 0.7 `count`, so that crowded regions
do not become hubs.

References
----------
L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
"""

from __future__ import annotations

import numpy as np

SCALE_AT = 0.7  # times n_neighbors: the neighbor whose distance is a sample's local scale

Edges = tuple[np.ndarray, np.ndarray]  # places (n, count) of neighbors, and weights


def scale_number(count: int, most: int) -> int:
    """Return which neighbor's distance is the local scale, counted from 1.

    >>> scale_number(10, 60), scale_number(5, 3)
    (7, 3)
    """
    return min(max(2, round(SCALE_AT * count)), most)


def local_scales(squared: np.ndarray) -> np.ndarray:
    """Return the local scales (n,) from squared distances (n,), infinity for no neighbor.

    Duplicates have distance 0 to their neighbors: they get the smallest scale of all samples.
    """
    sigma = np.sqrt(np.where(np.isfinite(squared), squared, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    return np.asarray(np.maximum(sigma, floor if np.isfinite(floor) else 1.0))


def largest_affinities(
    places: np.ndarray, squared: np.ndarray, own: np.ndarray, sigma: np.ndarray, count: int
) -> Edges:
    """Return the `count` largest affinities per row, the nearest first if equal.

    `places` and `squared` distances are (b, q), nearest first, of samples with scales `own` (b,);
    `sigma` (n,) are the scales of all samples.
    """
    A = np.exp(-squared / own[:, None] / sigma[places])
    largest = np.argsort(-A, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(places, largest, axis=1), np.take_along_axis(A, largest, axis=1)
