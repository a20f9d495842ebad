r"""Geometries to one sparse graph: neighbours in several senses, pooled.

Each geometry gives two graphs, one that counts neighbours and one that weighs them; all are
degree-normalised and averaged. An edge that several of them see weighs most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..progress import step
from .approximate import nearest_in_cells
from .metrics import Geometry, Joint
from .neighbors import nearest

ALL_DISTANCES_UP_TO = 20_000  # samples; of more, neighbours are sought around each
MOST, FEWEST = 10, 5  # neighbours; fewer than MOST where clusters are small
CANDIDATES = 6  # times the neighbours counted, among which a local scale chooses
SCALE_AT = 0.7  # of the neighbours: the one whose distance is a sample's own scale


@dataclass(frozen=True)
class Neighbourhood:
    """Nearest other samples, the nearest first: `places` (n, q) and squared distances (n, q).

    A distance of infinity marks a place that is no neighbour at all.
    """

    places: np.ndarray
    squared: np.ndarray


def neighbours_for(n: int, k: int) -> int:
    """Half an average cluster, but from 5 to 10, and fewer than there are samples.

    >>> neighbours_for(165, 15), neighbours_for(1600, 100), neighbours_for(2000, 10)
    (6, 8, 10)
    """
    return int(min(np.clip(round(n / k / 2 + 1e-9), FEWEST, MOST), n - 1))


def neighbourhood(geometry: Geometry | Joint, count: int) -> Neighbourhood:
    """The `count` nearest other samples of each, from all distances: O(n^2 f).

    Of more than 20 000 samples those around each are searched (`cells`), unless all inner
    products are given. Angles of a right angle and more are no neighbours, and neither are rows
    of zeros. Memory n x count and a few tiles.
    """
    n = geometry.n_samples
    search = nearest if n <= ALL_DISTANCES_UP_TO or geometry.gram else nearest_in_cells
    places, squared = search(geometry, min(count, n - 1))
    if geometry.angular:
        empty = geometry.norms() < 0.5
        squared[(squared > 2 - 1e-9) | empty[:, None] | empty[places]] = np.inf
    return Neighbourhood(places, squared)


def counted_graph(near: Neighbourhood, count: int) -> sp.csr_array:
    r"""$\Delta^{-1/2}A\Delta^{-1/2}$, A the mean of who has whom among its `count` neighbours."""
    real = np.isfinite(near.squared[:, :count]).astype(float)
    return _symmetric(near.places[:, :count], real)


def weighed_graph(near: Neighbourhood, count: int) -> sp.csr_array:
    r"""The same with $A_{ij} = \exp(-D_{ij}^2 / \sigma_i\sigma_j)$, the 2 `count` largest per row.

    $\sigma_i$ is the distance of sample i to its neighbour 0.7 x `count`: crowded regions do not
    become hubs. L. Zelnik-Manor, P. Perona, Self-Tuning Spectral Clustering, NIPS 2004.
    """
    D2 = near.squared
    at = min(max(2, round(SCALE_AT * count)), D2.shape[1]) - 1
    last = np.maximum(np.isfinite(D2).sum(axis=1) - 1, 0)
    scale = np.take_along_axis(D2, np.minimum(at, last)[:, None], axis=1).ravel()
    sigma = np.sqrt(np.where(np.isfinite(scale), scale, 0.0))
    floor = sigma[sigma > 0].min(initial=np.inf)
    # Duplicates have distance 0 to their neighbours: give them the finest scale seen anywhere.
    sigma = np.maximum(sigma, floor if np.isfinite(floor) else 1.0)
    A = np.exp(-D2 / sigma[:, None] / sigma[near.places])
    largest = np.argsort(-A, axis=1, kind="stable")[:, : 2 * count]
    return _symmetric(
        np.take_along_axis(near.places, largest, axis=1), np.take_along_axis(A, largest, axis=1)
    )


def pooled_graph(parts: Sequence[Geometry], count: int, name: str = "rows") -> sp.csr_array:
    r"""Mean of both graphs of every geometry: symmetric, sparse, no eigenvalue above 1.

    A geometry that occurs twice counts twice and is searched once. At most about 6 x `count`
    entries per row and geometry.

    >>> points = Geometry("x", np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]))
    >>> graph = pooled_graph([points], 2).toarray()
    >>> bool(graph[:3, 3:].max() < 1e-9 < graph[0, 1])
    True
    """
    once = {id(part): part for part in parts}
    times = Counter(id(part) for part in parts)
    shares = [times[key] / len(parts) for key in once]
    return mean_graph(once.values(), shares, count, name)


def mean_graph(
    parts: Iterable[Geometry | Joint], shares: Sequence[float], count: int, name: str
) -> sp.csr_array:
    """The same of geometries that are made one at a time, each with its share of the whole."""
    total = None
    for geometry, share in zip(parts, shares, strict=True):
        step(f"neighbours of {name}: {geometry.name}")
        near = neighbourhood(geometry, CANDIDATES * count)
        both = (counted_graph(near, count) + weighed_graph(near, count)) * (share / 2)
        total = both if total is None else total + both
    return sp.csr_array(total)


def degree_normalised(A: sp.csr_array) -> sp.csr_array:
    r"""$\Delta^{-1/2}A\Delta^{-1/2}$; a sample without edges keeps none."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    D = sp.diags_array(scale)
    return sp.csr_array(D @ A @ D)


def _symmetric(places: np.ndarray, weights: np.ndarray) -> sp.csr_array:
    n, count = places.shape
    edges = np.arange(0, n * count + 1, count)
    A = sp.csr_array((weights.ravel(), places.ravel(), edges), shape=(n, n))
    A.eliminate_zeros()
    return degree_normalised(sp.csr_array((A + A.T) / 2))
