r"""Exact nearest neighbors from all distances.

$D_{ij}^2 = \|x_i\|^2 + \|x_j\|^2 - 2x_i^Tx_j$ in square
tiles on and above the diagonal. A tile serves its rows and, transposed, its columns, so half of
the products of a search row by row are needed. One search serves dense and sparse points, inner
products and sums of several metrics, which scikit-learn's brute force does not take.
"""

from __future__ import annotations

import numpy as np

from .metrics import Metric, SummedMetric
from .tiles import neighbors_by_tiles

WHOLE = 1 << 12  # samples: one tile holds all distances up to this n, 128 MB
WIDE = 3000  # columns from which values are partitioned instead of positions
STRIP = 1 << 6  # rows at a time, so that elementwise steps stay in cache


def nearest_neighbors(metric: Metric | SummedMetric, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return places and squared distances (n, count) of the nearest others, nearest first.

    O(n^2 f) products. Up to 4096 samples all distances are in memory, beyond it a tile of them.

    >>> nearest_neighbors(Metric("x", np.array([[0.0], [1.0], [3.0]])), 1)[0].ravel()
    array([1, 0, 1])
    """
    n, norms = metric.n_samples, metric.norms()
    if n > WHOLE:
        return neighbors_by_tiles(metric, count)
    K, found = metric.inner(), Nearest(n, count)
    for top in range(0, n, STRIP):
        rows = slice(top, min(n, top + STRIP))
        D2 = K[rows].copy()
        to_distances(D2, norms[rows], norms)
        np.fill_diagonal(D2[:, rows], np.inf)
        found.offer(rows, slice(0, n), D2)
    return found.in_order()


def to_distances(inner: np.ndarray, own: np.ndarray, others: np.ndarray) -> None:
    """Turn inner products into squared distances, in place, from the squared norms."""
    for top in range(0, len(inner), STRIP):
        strip = inner[top : top + STRIP]
        strip *= -2.0
        strip += own[top : top + STRIP, None]
        strip += others


def _smallest(strip: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values (b, count) of the smallest entries of every row (b, w).

    In wide rows, partitioning values and comparing takes a third of the time of `argpartition`.
    Where values are equal, `argpartition` decides, so that the choice does not depend on the route.
    """
    if strip.shape[1] > WIDE:
        last = np.partition(strip, count - 1, axis=1)[:, count - 1]
        near = np.flatnonzero(strip <= last[:, None])
        if len(near) == count * len(strip):
            places = near.reshape(len(strip), count)
            values = strip.ravel()[places]
            if np.diff(np.sort(values, axis=1), axis=1).all():
                return places % strip.shape[1], values
    chosen = np.argpartition(strip, count - 1, axis=1)[:, :count]
    return chosen, np.take_along_axis(strip, chosen, axis=1)


class Nearest:
    """The nearest others seen so far: `places` and `squared` distances (n, count), unordered."""

    def __init__(self, n: int, count: int) -> None:
        self.places = np.empty((n, count), dtype=np.int64)
        self.squared = np.empty((n, count))
        self.bound = np.full(n, np.inf)  # a sample farther than this is not among the nearest

    def offer(self, rows: slice, columns: slice, D2: np.ndarray, across: bool = False) -> None:
        """Take in distances of the samples `rows` to others, `columns`; transposed if `across`."""
        if np.isinf(self.bound[rows.start]):
            return self._first(rows, columns.start, D2.T if across else D2)
        bound = self.bound[rows]
        near = np.flatnonzero(bound > D2 if across else bound[:, None] > D2)
        of, other = np.divmod(near, D2.shape[1])
        squared = D2.ravel()[near]
        if across:
            order = np.argsort(other, kind="stable")
            of, other, squared = other[order], of[order], squared[order]
        self._merge(rows.start, of, other + columns.start, squared)

    def _first(self, rows: slice, start: int, D2: np.ndarray) -> None:
        """Select the nearest of the first tile of a row."""
        count = self.places.shape[1]
        for top in range(0, len(D2), STRIP):
            strip = D2[top : top + STRIP]
            at = slice(rows.start + top, rows.start + top + len(strip))
            chosen, self.squared[at] = _smallest(strip, count)
            self.places[at] = chosen + start
        self.bound[rows] = self.squared[rows].max(axis=1)

    def _merge(self, start: int, of: np.ndarray, places: np.ndarray, squared: np.ndarray) -> None:
        """Merge samples within the bound, sorted by row, into those known."""
        rows, begins, many = np.unique(of, return_index=True, return_counts=True)
        if not len(rows):
            return
        row = np.repeat(np.arange(len(rows)), many)
        slot = np.arange(len(of)) - begins[row]
        at, count = rows + start, self.places.shape[1]
        far = np.pad(self.squared[at], ((0, 0), (0, many.max())), constant_values=np.inf)
        who = np.pad(self.places[at], ((0, 0), (0, many.max())))
        far[row, count + slot], who[row, count + slot] = squared, places
        chosen = np.argpartition(far, count - 1, axis=1)[:, :count]
        self.squared[at] = np.take_along_axis(far, chosen, axis=1)
        self.places[at] = np.take_along_axis(who, chosen, axis=1)
        self.bound[at] = self.squared[at].max(axis=1)

    def in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Return places and distances, nearest first; distances below 0 by rounding are 0."""
        order = np.argsort(self.squared, axis=1, kind="stable")
        squared = np.take_along_axis(self.squared, order, axis=1)
        return np.take_along_axis(self.places, order, axis=1), np.maximum(squared, 0.0)
