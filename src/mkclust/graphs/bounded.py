r"""Edges of affinity graphs of dense points, from distances with a bounded error.

Products and comparisons in single precision take half the time, and their error is bounded: with
$u = 2^{-24}$, an inner product of f columns is off by at most $(f + 2)u|x_i||x_j|$, in any order of
summation. The edges of a row depend on a few comparisons: which samples are nearest, which are
candidates of the self-tuning affinity, whose distance is the local scale, and which affinities are
largest. Rows in which one of them is closer than the bound are searched again in double precision,
so that the edges are the same. Their weights are accurate to about 1e-7.

References
----------
N. Higham. Accuracy and Stability of Numerical Algorithms. SIAM 2002, section 3.1.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..linalg.scaling import squared_norms
from .exact import WHOLE, Nearest, to_distances
from .metrics import Metric, SummedMetric
from .self_tuning import Edges, largest_affinities, local_scales, scale_number
from .tiles import RIGHT, dense_rows, padded

FEWEST = 500  # samples: for fewer ones double precision takes no longer
STRIP = 1 << 6  # rows at a time, so that elementwise steps stay in cache
FOLDS = 8  # parts of a row of which the elementwise minimum is taken, at most
NARROW = 64  # columns: with fewer ones single precision saves no time
ROUGH = 1e-2  # bound of the error of a squared distance, relative to the local scale
AGAIN = 0.3  # share of rows that may be searched again; beyond it double precision is quicker
JUDGED = 64  # rows from which it is judged beforehand how many comparisons are close
EQUAL = 1e-14  # of the largest squared norm: a smaller gap in double precision is rounding


def bounded_edges(
    metric: Metric | SummedMetric, count: int, candidates: int
) -> tuple[Edges, Edges] | None:
    """Return the edges to `count` neighbors, and those of self-tuning affinities.

    The 2 `count` largest affinities among the nearest `candidates` are edges; places are
    ascending. None where double precision is needed or takes no longer: for points that are not
    dense or have few columns, for angular metrics with right angles or rows of zeros, where too
    many comparisons are close, and where different samples are equally near.

    >>> points = np.random.default_rng(0).standard_normal((600, 70))
    >>> nearest, self_tuning = bounded_edges(Metric("x", points), 5, 30)
    >>> nearest[0].shape, self_tuning[0].shape
    ((600, 5), (600, 10))
    """
    n, points = metric.n_samples, dense_rows(metric)
    if points is None or points.shape[1] < NARROW or not max(FEWEST, 4 * candidates) < n <= WHOLE:
        return None
    if metric.angular and metric.norms().min() < 0.5:
        return None
    search = BoundedSearch(points, candidates)
    if not search.promising(count):
        return None
    search.run()
    if metric.angular and search.ordered[:, candidates].max() > RIGHT:
        return None
    return search.edges(count)


class BoundedSearch:
    """Nearest samples of dense points (n, f), with a bound of the error of their distances.

    Attributes
    ----------
    columns, distances : (n, w) arrays
        At least the `candidates` + 1 nearest others, places ascending, and squared distances;
        infinity where a row has fewer than w.
    error : (n,) array
        Bound of the error of these distances.
    """

    def __init__(self, points: np.ndarray, candidates: int) -> None:
        self.points, self.candidates = points, candidates
        self._centered = points - points.mean(axis=0)
        self._norms = squared_norms(self._centered)
        length = np.sqrt(self._norms)
        largest, f = float(length.max()), points.shape[1]
        self.error = float(np.finfo(np.float32).eps) * largest * ((f + 4) * length + largest)
        self.error += EQUAL * self._own_norms.max()  # rounding in double precision

    def promising(self, count: int) -> bool:
        """Return whether few comparisons are close, judged from some rows in double precision."""
        rows = np.linspace(0, len(self.points) - 1, JUDGED).astype(int)
        places, squared = self._again(rows)
        gap = squared[:, count] - squared[:, count - 1]
        often = np.mean(gap <= 2 * self.error[rows]) > AGAIN
        return not often and not self._tied(places, squared, count)

    def run(self) -> None:
        """Compute all products, and find the samples that may be among the nearest."""
        X = self._centered.astype(np.float32)
        self._find(X @ X.T, self.candidates + 1)

    def _find(self, K: np.ndarray, count: int) -> None:
        """Find all samples that may be among the `count` nearest."""
        n, half = len(K), (self._norms / 2).astype(K.dtype)
        folds = int(np.clip(n // (4 * count), 1, FOLDS))
        width = n // folds
        room, places, scores = np.empty((STRIP, n), dtype=K.dtype), [], []
        for top in range(0, n, STRIP):
            strip = np.subtract(half, K[top : top + STRIP], out=room[: min(STRIP, n - top)])
            strip.ravel()[top :: n + 1] = np.inf  # of a sample to itself
            # Number `count` of the minima is not below number `count` of the row, and near it.
            least = strip[:, : width * folds].reshape(len(strip), folds, width).min(axis=1)
            limit = np.partition(least, count - 1, axis=1)[:, count - 1]
            limit += self.error[top : top + STRIP]
            near = np.flatnonzero(strip <= limit[:, None])
            places.append(near + top * n)
            scores.append(strip.ravel()[near])
        rows, columns = np.divmod(np.concatenate(places).astype(np.int32), np.int32(n))
        squared = 2.0 * np.concatenate(scores).astype(np.float64) + self._norms[rows]
        many = np.bincount(rows, minlength=n)
        self.distances, self.columns = padded(squared, columns, many, count)

    @cached_property
    def ordered(self) -> np.ndarray:
        """Return the distances (n, w), ascending in every row."""
        return np.sort(self.distances, axis=1)

    def close(self, number: int) -> np.ndarray:
        """Return in which rows (n,) neighbor `number` and the next one may change places."""
        gap = self.ordered[:, number] - self.ordered[:, number - 1]
        return np.asarray(gap <= 2 * self.error)

    def edges(self, count: int) -> tuple[Edges, Edges] | None:
        """Return the edges of both affinities; None where too many rows are in doubt."""
        at = scale_number(count, self.candidates)
        scales, doubtful = self._scales(at)
        doubtful |= self.close(count) | (self.error > ROUGH * self.ordered[:, at - 1])
        if np.mean(doubtful) > AGAIN:
            return None
        first = np.flatnonzero(doubtful)
        places, squared = self._again(first)
        scales[first] = squared[:, at - 1]
        sigma = local_scales(scales)
        exponents = self.distances / sigma[:, None] / sigma[self.columns]
        largest, unclear = self._smallest(exponents, sigma, 2 * count)
        more = np.flatnonzero(unclear & ~doubtful)
        if len(first) + len(more) > AGAIN * len(sigma):
            return None
        rows, found = np.concatenate([first, more]), self._again(more)
        places, squared = np.vstack([places, found[0]]), np.vstack([squared, found[1]])
        if self._tied(places, squared, count):
            return None
        nearest = self.distances <= self.ordered[:, count - 1, None]
        own = largest_affinities(places, squared, sigma[rows], sigma, 2 * count)
        return (
            self._merged(nearest, None, rows, (places[:, :count], np.ones((len(rows), count)))),
            self._merged(largest, exponents, rows, own),
        )

    def _merged(
        self, chosen: np.ndarray, exponents: np.ndarray | None, rows: np.ndarray, own: Edges
    ) -> Edges:
        """Return the edges `own` of some rows and those `chosen` (n, w) of the others."""
        shape = len(chosen), own[0].shape[1]
        chosen[rows] = np.arange(chosen.shape[1]) < shape[1]  # as many, replaced below
        places = self.columns[chosen].reshape(shape)
        A = np.ones(shape) if exponents is None else np.exp(-exponents[chosen]).reshape(shape)
        order = np.argsort(own[0], axis=1)
        places[rows] = np.take_along_axis(own[0], order, axis=1)
        A[rows] = np.take_along_axis(own[1], order, axis=1)
        return places, A

    def _scales(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distance (n,) of one neighbor in double precision, and doubtful rows.

        Where only the ones beside it are close, it is the second of three exact distances.
        """
        at = np.argmax(self.distances == self.ordered[:, number - 1, None], axis=1)
        found = self._exact(np.arange(len(at)), at[:, None]).ravel()
        close = self.close(number - 1) | self.close(number)
        beyond = self.close(number + 1) | (self.close(number - 2) if number > 2 else False)
        some = np.flatnonzero(close & ~beyond)
        three = np.argsort(self.distances[some], axis=1)[:, number - 2 : number + 1]
        found[some] = np.sort(self._exact(some, three), axis=1)[:, 1]
        return found, close & beyond

    def _exact(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return squared distances (b, c) in double precision, at positions `at` (b, c) of rows."""
        own = self._centered if len(rows) == len(self.points) else self._centered[rows]
        found = np.empty(at.shape)
        for column, which in enumerate(self.columns[rows[:, None], at].T):
            inner = np.einsum("ij,ij->i", own, self._centered[which])
            found[:, column] = self._norms[rows] + self._norms[which] - 2 * inner
        return np.maximum(found, 0.0)

    def _smallest(
        self, exponents: np.ndarray, sigma: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mark the `count` smallest exponents (n, w) of the candidates, and rows (n,) in doubt."""
        D2, last = self.distances, self.ordered[:, self.candidates - 1]
        inside = np.where(D2 <= last[:, None], exponents, np.inf)
        least, after = np.sort(inside, axis=1)[:, count - 1 : count + 1].T
        error = 2 * self.error / sigma / sigma[self.columns].min(axis=1)
        doubtful = after - least <= error
        some = np.flatnonzero(self.close(self.candidates))  # is the last candidate one?
        border = np.abs(D2[some] - last[some, None]) <= 4 * self.error[some, None]
        doubtful[some] |= (border & (exponents[some] <= (least + error)[some, None])).any(axis=1)
        return inside <= least[:, None], doubtful

    @cached_property
    def _own_norms(self) -> np.ndarray:
        return squared_norms(self.points)

    def _again(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Search some rows in double precision: places and squared distances, nearest first."""
        found = Nearest(len(rows), self.candidates)
        if len(rows):
            D2 = self.points[rows] @ self.points.T
            to_distances(D2, self._own_norms[rows], self._own_norms)
            D2[np.arange(len(rows)), rows] = np.inf
            found.offer(slice(0, len(rows)), slice(0, len(self.points)), D2)
        return found.in_order()

    def _tied(self, places: np.ndarray, squared: np.ndarray, count: int) -> bool:
        """Return whether rounding decides between different neighbors of a sample."""
        gap = squared[:, count] - squared[:, count - 1]
        some = gap <= EQUAL * self._own_norms.max()
        one, two = self.points[places[some, count]], self.points[places[some, count - 1]]
        return bool((one != two).any())
