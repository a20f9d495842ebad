r"""Exact nearest neighbors from all inner products.

$D_{ij}^2 = \|x_i\|^2 + \|x_j\|^2 - 2x_i^Tx_j$. One search serves dense and sparse points, inner
products and sums of several metrics, which scikit-learn's brute force does not take.

Dense points are compared in single precision where its rounding is small against the distances
of neighbors (`tiles.small_rounding`). Neighbors are those of double precision all the same: a
sample for which rounding may decide who its neighbors are is compared again in double precision.
For the others, squared distances have an error of at most about 1e-5 of that of the last neighbor
for 99 of 100 samples (on Mfeat: 1e-6 for half of them, 1.4e-5 at most).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .metrics import Metric, SummedMetric
from .tiles import RIGHT, SINGLE, Found, dense_rows, limit_rank, neighbors_by_tiles, small_rounding

WHOLE = 1 << 12  # samples: all inner products are in memory up to this n, 128 MB in double
STRIP = 1 << 8  # rows at a time, so that elementwise steps stay in cache
DRAW = 1 << 8  # samples of the draw that limits are taken from
DOUBLE = 8 * float(np.finfo(np.float64).eps)  # of two squared norms, as SINGLE
TIES = 0.7  # share of samples with ties from which all are compared in double precision
PLACE = np.int64(WHOLE - 1)  # the last bits of a distance, where a key holds its place
NONE = np.float64(np.inf).view(np.int64)  # the key of no sample


def nearest_neighbors(metric: Metric | SummedMetric, count: int, sets: Sequence[int] = ()) -> Found:
    """Return places and squared distances (n, count) of the nearest others, nearest first.

    O(n^2 f) products. Up to 4096 samples all inner products are in memory, beyond it a tile of
    them. `sets` are smaller numbers of nearest others that the caller takes: up to 4096 samples,
    single precision changes none of these sets, nor that of all `count`.

    >>> nearest_neighbors(Metric("x", np.array([[0.0], [1.0], [3.0]])), 1)[0].ravel()
    array([1, 0, 1])
    """
    n = metric.n_samples
    if n > WHOLE:
        return neighbors_by_tiles(metric, count)
    points = dense_rows(metric)
    if points is not None:
        X = np.asarray(points - points.mean(axis=0), dtype=np.float32)
        search = _Search(X @ X.T, SINGLE, count)
        if search.run([*sets, count], metric.angular):
            search.decide(metric.norms(), lambda rows: metric.products(rows, slice(0, n)))
            return search.places, search.squared
    K = metric.inner()
    search = _Search(K, DOUBLE, count)
    search.run([*sets, count], False)
    search.decide(metric.norms(), K.__getitem__)
    return search.places, search.squared


class _Search:
    """A search among inner products K (n, n), rounded to `unit` times two squared norms.

    `places` and `squared` (n, count) are the neighbors found, nearest first.
    """

    def __init__(self, K: np.ndarray, unit: float, count: int) -> None:
        n = len(K)
        self._K, self._unit, self._count = K, unit, count
        self._norms = K.diagonal().copy()
        self.places = np.empty((n, count), dtype=np.int32)
        self.squared = np.empty((n, count))
        self._doubt = np.ones(n, dtype=bool)  # samples whose neighbors rounding may decide
        self._step = max(n // DRAW, 1)
        drawn = len(range(0, n, self._step))
        self._rank = limit_rank(count + 1, drawn, n) if self._step > 1 else drawn

    def run(self, sets: Sequence[int], angular: bool) -> bool:
        """Find the neighbors; False where rounding to single precision is too coarse."""
        n, single, norms, last = len(self._K), self._unit == SINGLE, self._norms, np.asarray(sets)
        limits, coarse = np.full(n, np.inf), np.zeros(n)
        strips = -(-n // STRIP)
        for start in range(strips):  # evenly spaced rows: the first strip is a sample of all
            rows = slice(start, n, strips)
            places, D2 = self._nearest(rows)
            rounding = self._unit * (norms[rows, None] + norms[places])
            if single:
                D2[D2 <= rounding] = 0.0  # duplicates
            limits[rows], coarse[rows] = D2[:, -1], rounding[:, -1] / 2
            close = D2[:, 1:] <= D2[:, :-1] + 2 * rounding[:, 1:]
            often = close.any(axis=1).mean() > TIES
            doubt = close[:, last - 1].any(axis=1) if single else close.any(axis=1)
            if single and angular:
                doubt |= D2[:, -2] > RIGHT
            if single and (often or not small_rounding(coarse, limits)):
                return False
            self.places[rows], self.squared[rows] = places[:, :-1], D2[:, :-1]
            self._doubt[rows] = doubt
            if often:  # the other samples are left in doubt
                break
        return True

    def _nearest(self, rows: slice) -> Found:
        """Return the nearest others of some rows, one more than wanted."""
        n = len(self._K)
        half = self._norms / 2 - self._K[rows]  # of the squared distances, without the own norm
        own = np.arange(n)[rows]
        half[np.arange(len(own)), own] = np.inf
        if self._rank < len(range(0, n, self._step)):
            limits = np.partition(half[:, :: self._step], self._rank, axis=1)[:, self._rank]
        else:
            limits = np.full(len(half), np.inf, dtype=half.dtype)
        keys = self._keys(half, limits, self._norms[rows] / 2)
        few = np.flatnonzero((keys[:, self._count] == NONE) & (limits < np.inf))
        if len(few):
            limits[few] = np.inf
            keys[few] = self._keys(half[few], limits[few], self._norms[rows][few] / 2)
        return (keys & PLACE).astype(np.int32), (keys & ~PLACE).view(np.float64)

    def _keys(self, half: np.ndarray, limits: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return the smallest entries below the limit of their row as sorted keys (b, count + 1).

        A key is a squared distance whose last bits are replaced by the place: to sort keys is
        quicker than to sort places by distance. Equal distances come in the order of places.
        """
        b, n = half.shape
        near = np.flatnonzero(half < limits[:, None])
        many = np.diff(np.searchsorted(near, np.arange(b + 1) * n))
        row = np.repeat(np.arange(b), many)
        D2 = 2.0 * np.maximum(half.ravel()[near] + own[row], 0.0).astype(np.float64)
        keys = np.full((b, max(int(many.max(initial=0)), self._count + 1)), NONE)
        keys[np.arange(keys.shape[1]) < many[:, None]] = (D2.view(np.int64) & ~PLACE) | (
            near - row * n
        )
        keys.sort(axis=1)
        return keys[:, : self._count + 1]

    def decide(self, norms: np.ndarray, inner: Callable[[np.ndarray], np.ndarray]) -> None:
        """Compare samples in doubt again, by inner products (b, n) in double precision.

        `argpartition` chooses among equal distances.
        """
        doubt = np.flatnonzero(self._doubt)
        for start in range(0, len(doubt), STRIP):
            rows = doubt[start : start + STRIP]
            D2 = -2.0 * inner(rows)
            D2 += norms[rows, None]
            D2 += norms
            D2[np.arange(len(rows)), rows] = np.inf
            places = np.argpartition(D2, self._count - 1, axis=1)[:, : self._count]
            D2 = np.take_along_axis(D2, places, axis=1)
            order = np.argsort(D2, axis=1, kind="stable")
            self.places[rows] = np.take_along_axis(places, order, axis=1)
            self.squared[rows] = np.maximum(np.take_along_axis(D2, order, axis=1), 0.0)
