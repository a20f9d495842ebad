r"""Metrics on the samples of a view.

No single metric suits pixels, word counts and measurements alike, so a view gets several, each
with its share in the view's graph: z-scored Euclidean (2/3) and cosine (1/3); or, where it looks
like counts, z-scored Euclidean, Hellinger (the angle between square roots) and the same with
tf-idf weights (1/3 each). Components are in one unit: they are not z-scored. A given kernel gets
its distance (2/3) and its angle (1/3). A metric under which all samples are equally far apart has
no information and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.values import COMPONENTS, COUNTS, KERNEL, MEASUREMENTS, kind_of
from ..exceptions import InputError
from ..linalg.scaling import (
    dense,
    divide,
    inverse_roots,
    squared_norms,
    standardize,
    unit_of,
    varies,
)

SPARSE_UP_TO = 0.1  # share of nonzero entries above which dense products are quicker
ROUNDING = 1e-14  # of the largest squared norm: the error of a squared distance
PARALLEL = 0.05  # mean squared distance of unit rows below which their angles are no metric
EQUAL = 1e-3  # relative difference of squared distances up to which they are equal
SOME, MANY = 100, 500  # samples whose distances or inner products are compared
STRIP = 1 << 5  # rows at a time in sums of matrices, so that they stay in cache
EUCLIDEAN, UNSCALED, COSINE = "z-scored Euclidean", "Euclidean", "cosine"
HELLINGER, TF_IDF = "Hellinger", "tf-idf Hellinger"
KERNEL_DISTANCE, KERNEL_ANGLE = "kernel distance", "kernel angle"


@dataclass(frozen=True)
class Metric:
    """Samples as points whose Euclidean distances are the metric.

    `points` are rows (n, f), or inner products (n, n) if `gram`. Under an `angular` metric, two
    samples at a right angle are no neighbors. `map_new` maps rows of other samples to points.
    """

    name: str
    points: Any
    gram: bool = False
    angular: bool = False
    map_new: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def n_samples(self) -> int:
        return int(self.points.shape[0])

    @property
    def nbytes(self) -> int:
        """Return the memory of the points."""
        X = self.points
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def rows(self) -> np.ndarray | None:
        """Return the points where they are dense."""
        return None if self.gram or sp.issparse(self.points) else np.asarray(self.points)

    def norms(self) -> np.ndarray:
        """Return the squared norm of every sample: (n,)."""
        return np.diagonal(self.points).copy() if self.gram else squared_norms(self.points)

    def products(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Return inner products of some samples with others, in C order."""
        X = self.points
        if self.gram:
            return np.array(X[rows][:, columns], order="C")
        same = isinstance(rows, slice) and isinstance(columns, slice) and rows == columns
        left = X[rows]
        right = left if same else X[columns]
        return dense(left @ right.T)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """Return the metrics whose squared distances are added: this one."""
        return (self,)

    def inner(self) -> np.ndarray:
        """Return all inner products (n, n), which the caller must not change."""
        every = slice(0, self.n_samples)
        return np.asarray(self.points) if self.gram else self.products(every, every)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Return squared distances between some samples, each pair once: (b (b - 1) / 2,)."""
        few = self.subset(rows)
        norms = few.norms()
        D2 = norms[:, None] + norms - 2 * few.inner()
        return np.maximum(D2[~np.tri(len(rows), dtype=bool)], 0.0)

    @cached_property
    def spread(self) -> float:
        """The mean squared distance over all n^2 pairs of samples: O(n f), once."""
        n = self.n_samples
        total = self.points.sum() if self.gram else np.sum(self.points.sum(axis=0) ** 2)
        return float(max(2 * (self.norms().sum() / n - total / n**2), 0.0))

    def subset(self, rows: np.ndarray) -> Metric:
        """Return the same metric on some of the samples, by a mask or by positions."""
        if rows.dtype == bool and rows.all():
            return self
        some = self.points[np.ix_(rows, rows)] if self.gram else self.points[rows]
        return Metric(self.name, some, self.gram, self.angular, self.map_new)


Metrics = tuple[tuple[Metric, float], ...]
"""The metrics of a view, each with its share in the view's graph; shares sum to 1."""


def view_metrics(view: Any, name: str, kernel: bool = False, kind: str | None = None) -> Metrics:
    """Return the metrics of a view (n, f), or of a kernel (n, n), with their shares. O(n f).

    `kind` is what the columns are (`MultiView.kinds`); by default this view decides. A sparse view
    of which a tenth is filled becomes dense: its products are quicker.

    >>> [found.name for found, _ in view_metrics(np.eye(20), "words")]
    ['z-scored Euclidean', 'Hellinger', 'tf-idf Hellinger']
    >>> [(found.name, round(share, 2)) for found, share in view_metrics(np.eye(20) + 1, "pixels")]
    [('z-scored Euclidean', 0.67), ('cosine', 0.33)]
    """
    if kernel:
        return _kernel_metrics(dense(view).astype(np.float64), name)
    X = view.astype(np.float64)
    unit = unit_of(X)
    X = X if unit == 1 else divide(X, unit)
    kind = kind_of(view) if kind is None else kind
    counts = kind == COUNTS
    sparse = (counts or sp.issparse(X)) and not quicker_dense(X)
    X = sp.csr_array(X) if sparse else dense(X)
    zero = None if sp.issparse(X) else ~X.any(axis=0)
    if zero is not None and zero.any():  # such columns change no product and no distance
        X = np.compress(~zero, X, axis=1)

    def scaled(rows: Any) -> Any:
        found = rows.astype(np.float64)
        found = divide(sp.csr_array(found) if zero is None else dense(found), unit)
        return found if zero is None else np.compress(~zero, found, axis=1)

    if not varies(X).any():
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    scored, columns = standardize(X, scale=kind != COMPONENTS)
    if columns.constant.all():
        raise InputError(f"view {name!r} is constant: all its samples are the same up to rounding")
    title = UNSCALED if kind == COMPONENTS else EUCLIDEAN
    first = Metric(title, scored, map_new=lambda rows: columns(scaled(rows)))
    if counts:
        return informative_metrics(
            (metric, 1 / 3) for metric in (first, *_count_metrics(X, scaled))
        )
    second = Metric(COSINE, _unit(X), angular=True, map_new=lambda rows: _unit(scaled(rows)))
    return informative_metrics([(first, 2 / 3), (second, 1 / 3)])


def informative_metrics(metrics: Iterable[tuple[Metric, float]]) -> Metrics:
    """Leave out metrics without information about neighbors, unless all are so.

    Under these, all samples are equally far apart; or all rows have nearly the same direction, so
    that their angles are the small differences between columns that measure about the same.
    """
    every = tuple(metrics)
    kept = [
        (metric, share)
        for metric, share in every
        if not (metric.angular and metric.spread < PARALLEL) and not equidistant(metric)
    ]
    if len(kept) in (0, len(every)):
        return every
    total = sum(share for _, share in kept)
    return tuple((metric, share / total) for metric, share in kept)


def equidistant(metric: Metric) -> bool:
    """Return whether all samples are equally far apart, so that no neighbors stand out.

    Squared distances differ from their mean by less than 0.1 %: those between at most 100
    samples, and from these to all others. Independent columns reach this from millions on.

    >>> equidistant(Metric("x", np.eye(5))), equidistant(Metric("x", np.arange(5.0)[:, None]))
    (True, False)
    """
    n = metric.n_samples
    if n < 3:
        return False
    some = spaced(n, SOME)
    norms, D2 = metric.norms(), metric.distances(some)
    if not _all_equal(D2, norms):
        return False
    D2 = norms[some, None] + norms - 2 * metric.products(some, slice(0, n))
    return _all_equal(D2[some[:, None] != np.arange(n)], norms)


def effective_dimension(metric: Metric) -> float:
    r"""Return $(\sum_i\lambda_i)^2/\sum_i\lambda_i^2$ of the covariance of a metric's points.

    This participation ratio counts the directions in which samples differ: f for f columns that
    are uncorrelated and of one variance, 1 for f copies of a column. O(f), from 500 samples.

    >>> line = np.arange(9.0)[:, None]
    >>> effective_dimension(Metric("x", np.hstack([line, line, line])))
    1.0
    >>> round(effective_dimension(Metric("x", np.eye(9))))
    8
    """
    rows = spaced(metric.n_samples, MANY)
    K = metric.products(rows, rows)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    return float(np.trace(K) ** 2 / max(np.sum(K**2), np.finfo(float).tiny))


def spaced(n: int, size: int) -> np.ndarray:
    """Return at most `size` of n positions, evenly spaced: samples are often sorted by class.

    >>> spaced(9, 3)
    array([0, 4, 8])
    """
    return np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.int64)


def _all_equal(D2: np.ndarray, norms: np.ndarray) -> bool:
    return bool(np.ptp(D2) <= max(EQUAL * D2.mean(), ROUNDING * norms.max()))


def left_out(metrics: Metrics, kind: str) -> list[str]:
    """Return the names of the metrics that views of this kind have and this view has not."""
    names = {
        COUNTS: (EUCLIDEAN, HELLINGER, TF_IDF),
        COMPONENTS: (UNSCALED, COSINE),
        MEASUREMENTS: (EUCLIDEAN, COSINE),
        KERNEL: (KERNEL_DISTANCE, KERNEL_ANGLE),
    }[kind]
    return [name for name in names if name not in {metric.name for metric, _ in metrics}]


def joint_slots(views: Sequence[Metrics]) -> list[tuple[list[Metric], float]]:
    """Return which metrics of several views are added, one of each view, and the shares.

    Views with fewer metrics than others enter the further sums by their first one.

    >>> tables, words = view_metrics(np.eye(20) + 1, "a"), view_metrics(np.eye(20), "b")
    >>> [[metric.name for metric in slot] for slot, _ in joint_slots([tables, words])][2]
    ['z-scored Euclidean', 'tf-idf Hellinger']
    """
    most = max(views, key=len)
    return [
        ([metrics[slot if slot < len(metrics) else 0][0] for metrics in views], share)
        for slot, (_, share) in enumerate(most)
    ]


def with_gram(metrics: Metrics, least: int | None = None) -> Metrics:
    """Replace dense points with `least` columns or more by their inner products.

    No product is computed twice then. With n columns, the default, they take no more memory.
    """

    def short(part: Metric) -> Metric:
        X = part.rows
        if X is None or X.shape[1] < (len(X) if least is None else least):
            return part
        return Metric(part.name, X @ X.T, gram=True, angular=part.angular)

    return tuple((short(part), share) for part, share in metrics)


@dataclass(frozen=True)
class SummedMetric:
    """The sum of several metrics on the same samples: their squared distances are added.

    The first part may be dense, or inner products; the others are sparse.
    """

    name: str
    parts: tuple[Metric, ...]
    angular = False

    @property
    def n_samples(self) -> int:
        return self.parts[0].n_samples

    @property
    def gram(self) -> bool:
        """Whether any part has inner products in place of points."""
        return any(part.gram for part in self.parts)

    def subset(self, rows: np.ndarray) -> SummedMetric:
        """Return the same metric on some of the samples, by a mask or by positions."""
        return SummedMetric(self.name, tuple(part.subset(rows) for part in self.parts))

    def norms(self) -> np.ndarray:
        """Return the squared norm of every sample: (n,)."""
        return np.asarray(sum(part.norms() for part in self.parts))

    def products(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Return inner products of some samples with others, in C order."""
        total = self.parts[0].products(rows, columns)
        for part in self.parts[1:]:
            total += part.products(rows, columns)
        return total


def joint_metric(
    parts: Sequence[Metric], weights: Sequence[float] | np.ndarray
) -> Metric | SummedMetric:
    r"""Combine metrics: $D^2 = \sum_p w_p D_p^2 / \overline{D_p^2}$, means over all pairs.

    Dense points are concatenated, sparse ones too: one part each. Where some parts are inner
    products, those of the dense points are added to them. O(n sum(f)) or O(n^2 (m + sum(f))).

    >>> one, two = (Metric("x", np.array([[0.0], [size]])) for size in (1, 10))
    >>> joint_metric([one, two], [1.0, 3.0]).points.round(3).tolist()
    [[0.0, 0.0], [1.414, 2.449]]
    """
    used = [
        (part, weight / spread)
        for part, weight in zip(parts, weights, strict=True)
        if weight > 0 and (spread := part.spread) > 0
    ]
    if not used:  # all samples are equal under this metric in every view
        used = [(part, 1.0) for part in parts]
    name = " and ".join(dict.fromkeys(part.name for part, _ in used))
    inner = [(part.points, scale) for part, scale in used if part.gram]
    dense = [(part.rows, np.sqrt(scale)) for part, scale in used if part.rows is not None]
    sparse = [
        part.points * np.sqrt(scale)
        for part, scale in used
        if not part.gram and sp.issparse(part.points)
    ]
    found = []
    if dense:
        found.append(Metric(name, _concatenate(dense)))
    if inner:
        products = found.pop().inner() if dense else np.zeros_like(inner[0][0])
        found.append(Metric(name, _add_scaled(products, inner), gram=True))
    if sparse:
        found.append(Metric(name, sp.csr_array(sp.hstack(sparse))))
    return found[0] if len(found) == 1 else SummedMetric(name, tuple(found))


def _add_scaled(total: np.ndarray, matrices: Sequence[tuple[np.ndarray, float]]) -> np.ndarray:
    """Add matrices (n, n), each scaled, to a first one in place, by rows that stay in cache."""
    for start in range(0, len(total), STRIP):
        rows = slice(start, start + STRIP)
        total[rows] += reduce(np.add, [K[rows] * scale for K, scale in matrices])
    return total


def _concatenate(tables: Sequence[tuple[Any, float]]) -> np.ndarray:
    """Concatenate the columns of several tables, each scaled, without a further copy."""
    edges = np.cumsum([0, *(X.shape[1] for X, _ in tables)])
    together = np.empty((len(tables[0][0]), edges[-1]))
    for (X, scale), start, stop in zip(tables, edges[:-1], edges[1:], strict=True):
        np.multiply(X, scale, out=together[:, start:stop])
    return together


def _count_metrics(X: Any, scaled: Callable[[Any], Any]) -> tuple[Metric, Metric]:
    """Return Hellinger metrics, plain and with tf-idf: no frequent word dominates a row."""
    having = np.asarray((X != 0).sum(axis=0)).ravel()
    idf = sp.diags_array(np.log((1 + X.shape[0]) / (1 + having)) + 1)  # rare columns count more

    def root(rows: Any) -> Any:
        counted = scaled(rows)
        return counted.maximum(0.0).sqrt() if sp.issparse(counted) else np.sqrt(counted.clip(0.0))

    roots = X.sqrt() if sp.issparse(X) else np.sqrt(X)
    return (
        Metric(HELLINGER, _unit(roots), False, True, lambda rows: _unit(root(rows))),
        Metric(TF_IDF, _unit(roots @ idf), False, True, lambda rows: _unit(root(rows) @ idf)),
    )


def _kernel_metrics(K: np.ndarray, name: str) -> Metrics:
    peak = np.abs(K).max()
    K = (K + K.T) / (2 * peak if peak > 0 else 1.0)
    distances = Metric(KERNEL_DISTANCE, K, gram=True)
    if not distances.spread > 1e-14:
        raise InputError(f"kernel {name!r} is constant: all its samples are the same")
    scale = inverse_roots(np.diagonal(K))
    angles = Metric(KERNEL_ANGLE, K * scale[:, None] * scale, gram=True, angular=True)
    return (distances, 2 / 3), (angles, 1 / 3)


def quicker_dense(X: Any) -> bool:
    """Return whether products of a matrix are quicker in dense form."""
    stored = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    return bool(stored > SPARSE_UP_TO * np.prod(X.shape, dtype=float))


def _unit(X: Any) -> Any:
    length = np.sqrt(squared_norms(X))
    least = 1e-12 * length.max(initial=0.0)
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > least)
    return sp.csr_array(sp.diags_array(scale) @ X) if sp.issparse(X) else X * scale[:, None]
