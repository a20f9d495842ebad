r"""Exact nearest neighbors of every sample, from $D_{ij}^2 = \|x_i\|^2 + \|x_j\|^2 - 2x_i^Tx_j$.

Up to 4096 samples each is compared with all others, in double precision. Beyond that, distances are
computed in tiles of samples in random order. The first tile is a random draw: for each sample, the
distance to the r-th nearest drawn sample bounds its neighbors, and other tiles are only compared
with the bounds. A tile serves its rows and its columns, so half of all distances are computed.

Tiles of dense points, alone or with sparse ones, are in single precision, which halves time and
memory, where its rounding is small: at most 1e-5 of the bound for 99 of 100 samples. Neighbors
whose distances differ by less than the rounding may then change places.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import scipy.sparse as sp
from scipy.special import gammainc

from ..linalg.scaling import squared_norms
from ..linalg.threads import ALL, in_parallel
from .metrics import Metric, SummedMetric

EXACT_UP_TO = 20_000  # samples; beyond it graph fusion uses anchors (graph_fusion/view_graphs.py)
WHOLE = 1 << 12  # samples: up to this n each is compared with all others
TILE = 1 << 10  # samples per side, and samples of the draw that bounds are taken from
STRIP = 1 << 7  # rows at a time, so that elementwise steps stay in cache
AT_ONCE = 1 << 8  # rows at a time that are searched among all samples
BEYOND = 0.02  # probability that fewer samples than wanted stay below a bound
ROUNDING = 1e-5  # of a bound: rounding up to which single precision is used
UNUSUAL = 0.01  # share of samples that may have more
SINGLE = 8 * float(np.finfo(np.float32).eps)  # of two squared norms: a smaller distance is rounding
RIGHT = 2 - 1e-4  # squared distance of unit rows, in single precision, that may be a right angle
FOLDED = 4  # times the entries wanted: rows are folded to this width

Rows = slice | np.ndarray
Found = tuple[np.ndarray, np.ndarray]
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]  # distances, and both samples


@dataclass(frozen=True)
class Neighborhood:
    """Nearest other samples, nearest first: `places` (n, q) and squared distances (n, q).

    A distance of infinity marks a place that is no neighbor.
    """

    places: np.ndarray
    squared: np.ndarray


def neighborhood(metric: Metric | SummedMetric, count: int, first: int = 0) -> Neighborhood:
    """Return the `count` nearest other samples of each sample: O(n^2 f).

    Among equally distant samples the choice is arbitrary, also of the `first` ones of them.

    Under an angular metric, samples at a right angle or more and rows of zeros are no neighbors.

    >>> neighborhood(Metric("x", np.array([[0.0], [1.0], [3.0]])), 1).places.ravel()
    array([1, 0, 1])
    """
    n = metric.n_samples
    count = min(count, n - 1)
    ranks = (count, first) if 0 < first < count else (count,)
    search = _from_all if n <= WHOLE else _by_tiles
    places, squared = search(metric, count, ranks)
    if metric.angular:
        empty = metric.norms() < 0.5
        squared[(squared > 2 - 1e-9) | empty[:, None] | empty[places]] = np.inf
    return Neighborhood(places, squared)


def smallest(
    values: np.ndarray, count: int, most: np.ndarray | None = None, ranks: tuple[int, ...] = ()
) -> Found:
    """Return columns and values (b, count) of the smallest entries of every row, ascending.

    Rows with fewer finite entries, or fewer up to `most` (b,), are filled with infinity and
    column 0. Minima of columns taken together bound entry number `count`, so that few entries are
    sorted: less work than for `argpartition`. Where entries number `count` and the next are equal,
    or those of other `ranks`, `argpartition` chooses, which takes other columns in every row; the
    first of them would become neighbors of all samples.

    >>> smallest(np.array([[3.0, 1.0, 2.0]]), 2)
    (array([[1, 2]]), array([[1., 2.]]))
    """
    folds = max(1, values.shape[1] // (FOLDED * count))
    width = values.shape[1] // folds
    least = values[:, : folds * width].reshape(-1, folds, width).min(axis=1)
    limit = np.partition(least, count - 1, axis=1)[:, count - 1]
    if most is not None:
        limit = np.minimum(limit, most.astype(limit.dtype))
    limit = np.minimum(limit, np.finfo(limit.dtype).max)
    near = np.flatnonzero(values <= limit[:, None])
    starts = np.arange(len(values) + 1) * values.shape[1]
    many = np.diff(np.searchsorted(near, starts))
    found, places = _table(values.ravel()[near], near - np.repeat(starts[:-1], many), many)
    if found.shape[1] < count:
        fill = ((0, 0), (0, count - found.shape[1]))
        found, places = np.pad(found, fill, constant_values=np.inf), np.pad(places, fill)
    order = stable_order(found, np.inf)[:, : count + 1]
    places, found = take_in_rows(places, order), take_in_rows(found, order)
    last = [rank for rank in ranks or (count,) if rank < found.shape[1]]
    equal = (found[:, last] == found[:, np.array(last, dtype=int) - 1]) & (found[:, last] < np.inf)
    tied = np.flatnonzero(equal.any(axis=1))
    places, found = places[:, :count], found[:, :count]
    if len(tied):
        some = values[tied]
        chosen = np.argpartition(some, count - 1, axis=1)[:, :count]
        order = np.argsort(take_in_rows(some, chosen), axis=1, kind="stable")
        chosen = take_in_rows(chosen, order)
        places[tied] = np.where(np.isfinite(found[tied]), chosen, 0)
    return places, found


def stable_order(values: np.ndarray, limit: float) -> np.ndarray:
    """Return the stable ascending order of every row (b, q), where entries are below `limit`.

    A stable sort takes twice the time of another, so that only rows with equal entries get it.

    >>> stable_order(np.array([[3.0, 1.0, 1.0, 0.0]]), np.inf)
    array([[3, 1, 2, 0]])
    """
    order = np.argsort(values, axis=1)
    found = take_in_rows(values, order)
    equal = ((found[:, 1:] == found[:, :-1]) & (found[:, 1:] < limit)).any(axis=1)
    order[equal] = np.argsort(values[equal], axis=1, kind="stable")
    return order


def take_in_rows(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return ``np.take_along_axis(values, columns, axis=1)``, in half the time.

    >>> take_in_rows(np.array([[5, 6], [7, 8]]), np.array([[1], [0]])).ravel()
    array([6, 7])
    """
    starts = np.arange(len(values))[:, None] * values.shape[1]
    return np.asarray(values.ravel().take(columns + starts))


def _table(values: np.ndarray, columns: np.ndarray, many: np.ndarray) -> Found:
    """Return rows of `many` entries each as tables, filled with infinity and column 0."""
    there = np.arange(int(many.max(initial=0))) < many[:, None]
    found, places = np.full(there.shape, np.inf), np.zeros(there.shape, dtype=np.int64)
    found[there], places[there] = values, columns
    return found, places


def _from_all(metric: Metric | SummedMetric, count: int, ranks: tuple[int, ...]) -> Found:
    """Search by strips of rows, among halves of squared distances, all formed in one buffer.

    All products of few samples fit in the cache, and are symmetric to the last bit.
    """
    half = metric.norms() / 2
    n = len(half)
    X = metric.parts[0].rows if n > TILE else None
    across = metric.parts[0].inner() if X is None else np.ascontiguousarray(X.T)
    others = [part.inner() for part in metric.parts[1:]]
    places, squared = np.empty((n, count), dtype=np.int64), np.empty((n, count))
    buffer = np.empty((min(STRIP, n), n))
    for top in range(0, n, STRIP):
        rows = slice(top, min(n, top + STRIP))
        D2 = buffer[: rows.stop - top]
        products = across[rows] if X is None else np.matmul(X[rows], across, out=D2)
        for K in others:
            products = np.add(products, K[rows], out=D2)
        np.subtract(half[rows, None], products, out=D2)
        D2 += half
        np.fill_diagonal(D2[:, rows], np.inf)
        places[rows], squared[rows] = smallest(D2, count, ranks=ranks)
    squared *= 2.0
    return places, np.maximum(squared, 0.0, out=squared)


def _by_tiles(metric: Metric | SummedMetric, count: int, ranks: tuple[int, ...]) -> Found:
    """Search by tiles, in single precision where that is precise enough."""
    order = np.random.default_rng(0).permutation(metric.n_samples).astype(np.int32)
    first, *sparse = metric.parts
    if first.rows is not None:
        search = _TiledSearch(SinglePrecision(first.rows, sparse, order), order, ranks)
        if search.precise():
            places, squared = search.run()
            if not (metric.angular and squared.max() > RIGHT):
                return places, squared
    return _TiledSearch(DoublePrecision(metric, order), order, ranks).run()


class SinglePrecision:
    """Squared distances of dense points (n, f) in a given order, centered, in float32.

    Norms are columns of the product: $D^2 = [-2X, |x|^2, 1][X, 1, |x|^2]^T$. Where distances of
    `sparse` points are added, their norms are in the same columns.
    """

    def __init__(self, points: np.ndarray, sparse: list[Metric], order: np.ndarray) -> None:
        n, f = points.shape
        self._right = np.ones((n, f + 2), dtype=np.float32)
        mean = points.mean(axis=0)
        for start in range(0, n, AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            self._right[rows, :f] = points[order[rows]] - mean
        self._sparse = [part.points[order].astype(np.float32) for part in sparse]
        self._norms = squared_norms(self._right[:, :f]) + sum(map(squared_norms, self._sparse))
        self._right[:, f + 1] = self._norms
        self.rounding = SINGLE / 2 * (self._norms + self._norms.mean())  # 99 of 100 are smaller

    def __call__(self, rows: Rows, columns: Rows) -> np.ndarray:
        left = -2 * self._right[rows]
        left[:, -2], left[:, -1] = self._norms[rows], 1.0
        D2 = np.asarray(left @ self._right[columns].T)
        for S in self._sparse:
            D2 -= (2 * S[rows] @ S[columns].T).toarray()
        return D2

    def without_rounding(self, one: np.ndarray, two: np.ndarray, D2: np.ndarray) -> np.ndarray:
        """Set distances that are rounding to zero, so that duplicates are found."""
        return np.where(D2 <= SINGLE * (self._norms[one] + self._norms[two]), 0.0, D2)


class DoublePrecision:
    """Squared distances under any metric, the samples in a given order, in float64."""

    rounding = 0.0

    def __init__(self, metric: Metric | SummedMetric, order: np.ndarray) -> None:
        self._order = order if metric.gram else np.arange(len(order))
        self._metric = metric if metric.gram else metric.subset(order)
        self._norms = metric.norms()[order]

    def __call__(self, rows: Rows, columns: Rows) -> np.ndarray:
        D2 = self._metric.products(self._order[rows], self._order[columns])
        D2 *= -2.0
        D2 += self._norms[rows, None]
        D2 += self._norms[columns]
        return D2

    def without_rounding(self, one: np.ndarray, two: np.ndarray, D2: np.ndarray) -> np.ndarray:
        """Set distances that are below zero by rounding to zero."""
        return np.maximum(D2, 0.0)


Distances = SinglePrecision | DoublePrecision


class _TiledSearch:
    """One search: `order` (n,) are the samples as `distances` numbers them."""

    def __init__(self, distances: Distances, order: np.ndarray, ranks: tuple[int, ...]) -> None:
        self._distances, self._order, self._ranks = distances, order, ranks
        self._place = np.argsort(order)  # where every sample is in the order
        n = len(order)
        self._bounds = np.full(n, -np.inf)  # below them are the candidates of each sample
        self._found: list[Pairs] = []
        self._tiles = [slice(start, min(n, start + TILE)) for start in range(0, n, TILE)]
        self._draw, self._rank = self._tiles[0], bound_rank(ranks[0], TILE - 1, n)
        if self._rank >= TILE - 1:  # almost all samples are wanted: no bound excludes enough
            self._tiles = []
        for some in self._tiles[:1], self._tiles[1:]:  # the draw has bounds before the others
            self._search([(rows, self._draw) for rows in some])

    def precise(self) -> bool:
        """Return whether rounding is small against the bounds."""
        rough = self._distances.rounding > ROUNDING * self._bounds
        return bool(np.mean(rough & np.isfinite(self._bounds)) <= UNUSUAL)

    def run(self) -> Found:
        """Return places and squared distances of the nearest others, numbered as given."""
        self._search(list(combinations_with_replacement(self._tiles[1:], 2)))
        n, count, near = len(self._order), self._ranks[0], self._by_sample()
        places, squared = np.empty((n, count), dtype=np.int64), np.empty((n, count))
        for start in range(0, n, TILE):
            rows = slice(start, start + TILE)
            some = near[rows]
            values, candidates = _table(some.data, some.indices, np.diff(some.indptr))
            if values.shape[1] >= count:
                which, squared[rows] = smallest(values, count, ranks=self._ranks)
                places[rows] = take_in_rows(candidates, which)
        few = np.flatnonzero(np.diff(near.indptr) < count)

        def among_all(start: int) -> None:
            own = few[start : start + AT_ONCE]
            D2 = self._distances(self._place[own], slice(0, n))[:, self._place]
            D2[np.arange(len(own)), own] = np.inf
            places[own], squared[own] = smallest(D2, count, ranks=self._ranks)

        in_parallel(among_all, range(0, len(few), AT_ONCE), ALL)
        own = np.broadcast_to(self._place[:, None], places.shape)
        return places, self._distances.without_rounding(own, self._place[places], squared)

    def _search(self, tiles: list[tuple[slice, slice]]) -> None:
        """Keep the candidates in some tiles, given by their rows and columns."""
        for found in in_parallel(lambda tile: self._candidates(*tile), tiles, ALL):
            self._found += found

    def _candidates(self, rows: slice, columns: slice) -> list[Pairs]:
        """Return what is below the bound of its row, or of its column, in a tile of distances."""
        D2 = self._distances(rows, columns)
        if rows == columns:
            np.fill_diagonal(D2, np.inf)
        if columns == self._draw:
            self._bounds[rows] = np.partition(D2, self._rank, axis=1)[:, self._rank]
        if rows == columns:
            D2[np.tri(len(D2), dtype=bool)] = np.inf
        near = D2 < self._bounds[rows, None].astype(D2.dtype)
        near |= D2 < self._bounds[columns].astype(D2.dtype)
        flat = np.flatnonzero(near)
        values = D2.ravel()[flat]
        one, two = np.divmod(flat.astype(np.int32), D2.shape[1])
        one, two = one + rows.start, two + columns.start
        found = []
        for own, other in ((one, two), (two, one)):
            kept = values < self._bounds[own]
            found.append((values[kept], self._order[own[kept]], self._order[other[kept]]))
        return found

    def _by_sample(self) -> sp.csr_array:
        """Return the candidates of every sample (n, n), places ascending, and forget them."""
        n = len(self._order)
        if not self._found:
            return sp.csr_array((n, n))
        values, own, other = (np.concatenate(part) for part in zip(*self._found, strict=True))
        self._found = []
        pairs = sp.coo_array((values, (other, own)), shape=(n, n))
        pairs.has_canonical_format = True  # no pair occurs twice
        return sp.csr_array(pairs.tocsr().T.tocsr())  # turning sorts the places of every sample


def bound_rank(count: int, drawn: int, n: int) -> int:
    """Return which of the nearest of `drawn` samples has about `count` of all n nearer.

    Counted from 0, so large that it fails for one sample in fifty: the number of drawn samples
    nearer than neighbor number `count` is about Poisson.

    >>> bound_rank(60, 1023, 20_000), bound_rank(60, 1023, 5000)
    (7, 20)
    """
    expected = count * drawn / n
    ranks = np.arange(1, int(expected + 6 * np.sqrt(expected)) + 8)
    return int(np.searchsorted(-gammainc(ranks, expected), -BEYOND))
