r"""Exact nearest neighbors of many samples, by tiles of the distance matrix.

Samples are shuffled, so that the first tiles compare every sample with a random draw of the
others. Its distance to one of the nearest of the draw is a limit that a few more than the
neighbors wanted stay below; all other tiles are only compared with the limits. A tile serves its
rows and its columns, so half of all distances are computed.

Dense points are compared in single precision, which halves time and memory, where its rounding
is small against the distances of neighbors: at most 1e-5 of the limit for 99 of 100 samples.
Neighbors whose distances differ by less than the rounding may then change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammainc

from .metrics import Metric, SummedMetric

TILE = 1 << 10  # samples per side, and samples of the draw that limits are taken from
BEYOND = 0.02  # probability that fewer samples than wanted stay below a limit
ROUNDING = 1e-5  # of a limit: rounding up to which single precision is used
UNUSUAL = 0.01  # share of samples that may have more
AT_ONCE = 1 << 8  # rows at a time that are searched among all samples
SINGLE = 8 * float(np.finfo(np.float32).eps)  # of two squared norms: a smaller distance is rounding
RIGHT = (
    2 - 1e-4
)  # squared distance of unit rows that single precision cannot tell from a right angle

Rows = slice | np.ndarray
Found = tuple[np.ndarray, np.ndarray]


def neighbors_by_tiles(metric: Metric | SummedMetric, count: int) -> Found:
    """Return places and squared distances (n, count) of the nearest others, nearest first.

    Of equally distant samples the first is taken. O(n^2 f) products; memory is a copy of dense
    points in single precision, a tile and about 3 n count numbers.

    >>> points = np.random.default_rng(0).standard_normal((3000, 2))
    >>> places, squared = neighbors_by_tiles(Metric("x", points), 5)
    >>> bool(np.isclose(np.sum((points[0] - points[places[0, 0]]) ** 2), squared[0, 0]))
    True
    """
    order = np.random.default_rng(0).permutation(metric.n_samples).astype(np.int32)
    points = dense_rows(metric)
    if points is not None:
        single = _Search(SinglePrecision(points, order), order, count)
        if single.precise():
            places, squared = single.run()
            if not (metric.angular and squared.max() > RIGHT):
                return places, squared
    return _Search(DoublePrecision(metric, order), order, count).run()


def dense_rows(metric: Metric | SummedMetric) -> np.ndarray | None:
    """Return the points where they are one dense table."""
    parts = metric.parts if isinstance(metric, SummedMetric) else (metric,)
    return parts[0].rows if len(parts) == 1 else None


class SinglePrecision:
    """Squared distances of dense points (n, f) in a given order, centered, in float32.

    Norms are columns of the product: $D^2 = [-2X, |x|^2, 1][X, 1, |x|^2]^T$.
    """

    dtype = np.float32

    def __init__(self, points: np.ndarray, order: np.ndarray) -> None:
        n, f = points.shape
        self._right = np.ones((n, f + 2), dtype=np.float32)
        mean = points.mean(axis=0)
        for start in range(0, n, AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            self._right[rows, :f] = points[order[rows]] - mean
        X = self._right[:, :f]
        self.norms = self._right[:, f + 1] = np.einsum("ij,ij->i", X, X)
        self.rounding = SINGLE / 2 * (self.norms + self.norms.mean())  # 99 of 100 are smaller

    def __call__(self, rows: Rows, columns: Rows) -> np.ndarray:
        left = -2 * self._right[rows]
        left[:, -2], left[:, -1] = self.norms[rows], 1.0
        return np.asarray(left @ self._right[columns].T)

    def cleaned(self, rows: np.ndarray, others: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Set distances that are rounding to zero, so that duplicates are found."""
        small = squared <= SINGLE * (self.norms[rows] + self.norms[others])
        return np.where(small, 0.0, squared)


class DoublePrecision:
    """Squared distances under any metric, the samples in a given order, in float64."""

    dtype, rounding = np.float64, 0.0

    def __init__(self, metric: Metric | SummedMetric, order: np.ndarray) -> None:
        self._order = order if metric.gram else np.arange(len(order))
        self._metric = metric if metric.gram else metric.in_order(order, np.float64)
        self._norms = metric.norms()[order]

    def __call__(self, rows: Rows, columns: Rows) -> np.ndarray:
        D2 = self._metric.products(self._order[rows], self._order[columns])
        D2 *= -2.0
        D2 += self._norms[rows, None]
        D2 += self._norms[columns]
        return D2

    def cleaned(self, rows: np.ndarray, others: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Set distances that are below zero by rounding to zero."""
        return np.maximum(squared, 0.0)


class Candidates:
    """Pairs of samples and their squared distances, in arrays that grow."""

    def __init__(self, room: int, dtype: Any) -> None:
        self._pairs = np.empty((2, room), dtype=np.int32)
        self._squared = np.empty(room, dtype=dtype)
        self._size = 0

    def add(self, rows: np.ndarray, columns: np.ndarray, squared: np.ndarray) -> None:
        end = self._size + len(squared)
        if end > len(self._squared):
            more = (0, end)  # at least twice as many
            self._pairs = np.pad(self._pairs, ((0, 0), more))
            self._squared = np.pad(self._squared, more)
        at = slice(self._size, end)
        self._pairs[0, at], self._pairs[1, at], self._squared[at] = rows, columns, squared
        self._size = end

    def by_row(self, n: int) -> sp.csr_array:
        """Return the distances as (n, n), the columns of every row ascending, and forget them."""
        (rows, columns), squared = self._pairs[:, : self._size], self._squared[: self._size]
        pairs = sp.coo_array((squared, (columns, rows)), shape=(n, n))
        pairs.has_canonical_format = True  # no pair occurs twice
        by_column = pairs.tocsr()
        del pairs, rows, columns, squared, self._pairs, self._squared
        return sp.csr_array(by_column.T.tocsr())  # turning sorts the columns of every row


class _Search:
    """One search: `order` (n,) are the samples as `distances` numbers them."""

    def __init__(
        self, distances: SinglePrecision | DoublePrecision, order: np.ndarray, count: int
    ) -> None:
        self._distances, self._order, self._count = distances, order, count
        n = len(order)
        self._limits = np.full(n, -np.inf)  # below them are the candidates of each sample
        tiles = [slice(start, min(n, start + TILE)) for start in range(0, n, TILE)]
        self._others = [(rows, cols) for i, rows in enumerate(tiles[1:]) for cols in tiles[1 + i :]]
        self._compare_with_draw(tiles)

    def _compare_with_draw(self, tiles: Sequence[slice]) -> None:
        """Set the limits of all samples by their distances to the first tile, a random draw."""
        draw = tiles[0]
        rank = limit_rank(self._count, draw.stop - 1, len(self._order))
        if rank >= draw.stop - 1:  # almost all samples are wanted: no limit excludes enough
            self._others = []
        expected = (rank + 1) * len(self._order) ** 2 // draw.stop
        self._found = Candidates(expected if self._others else 0, self._distances.dtype)
        for rows in tiles if self._others else ():
            D2 = self._distances(rows, draw)
            if rows == draw:
                np.fill_diagonal(D2, np.inf)
            self._limits[rows] = np.partition(D2, rank, axis=1)[:, rank]
            self._offer(rows, draw, D2)

    def precise(self) -> bool:
        """Whether rounding is small against the limits."""
        rough = self._distances.rounding > ROUNDING * self._limits
        return bool(np.mean(rough & np.isfinite(self._limits)) <= UNUSUAL)

    def run(self) -> Found:
        """Return places and squared distances of the nearest others, numbered as given."""
        n, count = len(self._order), self._count
        near = self._candidates()
        places, squared = np.empty((n, count), dtype=np.int64), np.empty((n, count))
        back = np.argsort(self._order)

        def store(at: np.ndarray, found: Found) -> None:
            places[at] = found[0]
            squared[at] = self._distances.cleaned(back[at, None], back[found[0]], found[1])

        for start in range(0, n, TILE):
            rows = np.arange(start, min(n, start + TILE))
            store(rows, _smallest(near[start : start + TILE], count))
        few = np.flatnonzero(np.diff(near.indptr)[self._order] < count)
        del near
        for start in range(0, len(few), AT_ONCE):
            some = few[start : start + AT_ONCE]
            store(self._order[some], self._among_all(some))
        return places, squared

    def _candidates(self) -> sp.csr_array:
        """Return the distances below the limit of their row: (n, n), columns ascending."""
        for rows, columns in self._others:
            self._offer(rows, columns, self._distances(rows, columns))
        return self._found.by_row(len(self._order))

    def _offer(self, rows: slice, columns: slice, D2: np.ndarray) -> None:
        """Keep what is below the limit of its row, and of its column, in a tile of distances."""
        if rows == columns:
            D2[np.tri(len(D2), dtype=bool)] = np.inf
        near = D2 < self._limits[rows, None].astype(D2.dtype)
        near |= D2 < self._limits[columns].astype(D2.dtype)
        flat = np.flatnonzero(near)
        values = D2.ravel()[flat]
        one, two = np.divmod(flat.astype(np.int32), D2.shape[1])
        one, two = one + rows.start, two + columns.start
        for own, other in ((one, two), (two, one)):
            kept = values < self._limits[own]
            self._found.add(self._order[own[kept]], self._order[other[kept]], values[kept])

    def _among_all(self, some: np.ndarray) -> Found:
        """Return the nearest of all samples for a few rows."""
        D2 = self._distances(some, slice(0, len(self._order)))
        D2[np.arange(len(some)), some] = np.inf
        chosen = np.argpartition(D2, self._count - 1, axis=1)[:, : self._count]
        values = np.take_along_axis(D2, chosen, axis=1)
        order = np.lexsort((self._order[chosen], values), axis=1)
        chosen = self._order[np.take_along_axis(chosen, order, axis=1)]
        return chosen, np.take_along_axis(values, order, axis=1)


def limit_rank(count: int, drawn: int, n: int) -> int:
    """Return which of the nearest of `drawn` samples has about `count` of all n nearer.

    Counted from 0, so large that it fails for one sample in fifty: the number of drawn samples
    nearer than neighbor number `count` is about Poisson.

    >>> limit_rank(60, 1023, 20_000), limit_rank(60, 1023, 5000)
    (7, 20)
    """
    expected = count * drawn / n
    ranks = np.arange(1, int(expected + 6 * np.sqrt(expected)) + 8)
    return int(np.searchsorted(-gammainc(ranks, expected), -BEYOND))


def _smallest(near: sp.csr_array, count: int) -> Found:
    """Return columns and values (b, count) of the smallest entries of every row, ascending.

    Rows that have fewer are filled with infinity. Most entries are sorted out by value first.
    """
    values, columns = padded(near.data, near.indices, np.diff(near.indptr), count)
    last = np.partition(values, count - 1, axis=1)[:, count - 1]
    kept = (values <= last[:, None]) & np.isfinite(values)
    values, columns = padded(values[kept], columns[kept], kept.sum(axis=1), count)
    order = np.argsort(values, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)


def padded(values: np.ndarray, columns: np.ndarray, many: np.ndarray, least: int) -> Found:
    """Return rows of `many` entries each as tables, at least so wide, filled with infinity."""
    there = np.arange(max(int(many.max(initial=0)), least)) < many[:, None]
    far, who = np.full(there.shape, np.inf, values.dtype), np.zeros(there.shape, columns.dtype)
    far[there], who[there] = values, columns
    return far, who
