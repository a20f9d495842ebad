r"""One view to its geometries: in which sense two samples are near each other.

No single sense of distance suits pixels, word counts and measurements alike. A view gets three:
z-scored columns twice and directions of rows; or, where it looks like counts, z-scored columns
and directions of rows after a square root, plain and by tf-idf. A given kernel gets its
distances and its angles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from ..linalg.scaling import in_units, squared_norms, standardising, unit_of, varies

COUNTS_UP_TO = 0.1  # share of entries that are not zero, in a view that looks like counts
SPARSE_UP_TO = 0.1  # the same share, from which dense products are quicker than sparse ones
DISTANCES, DIRECTIONS = "z-scored columns", "directions of rows"
ROOTS, COUNTS = "directions of square roots", "tf-idf of square roots"
KERNEL_DISTANCES, KERNEL_ANGLES = "kernel distances", "kernel angles"


@dataclass(frozen=True)
class Geometry:
    """Samples as points: rows of `points` (n, f), or of `points` = their inner products (n, n).

    `angular` says that a sample without anything in common with another is not its neighbour,
    however few there are. `of` brings rows of other samples into the same geometry.
    """

    name: str
    points: Any
    gram: bool = False
    angular: bool = False
    of: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def n_samples(self) -> int:
        return int(self.points.shape[0])

    @property
    def nbytes(self) -> int:
        """Memory that the points take."""
        X = self.points
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def rows(self) -> np.ndarray | None:
        """The points where they are dense."""
        return None if self.gram or sp.issparse(self.points) else np.asarray(self.points)

    def norms(self) -> np.ndarray:
        """Squared length of every sample: (n,)."""
        return np.diagonal(self.points).copy() if self.gram else squared_norms(self.points)

    def products(self, rows: slice, columns: slice | np.ndarray) -> np.ndarray:
        """Inner products of some samples with others, row by row in memory."""
        X = self.points
        if self.gram:
            return np.array(X[rows, columns], order="C")
        same = isinstance(columns, slice) and rows == columns
        left = X[rows]
        right = left if same else X[columns]
        if sp.issparse(X):
            if X.nnz <= SPARSE_UP_TO * np.prod(X.shape, dtype=float):
                return np.asarray((left @ right.T).toarray())
            left = left.toarray()
            right = left if same else right.toarray()
        return np.asarray(left @ right.T)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Squared distances between some samples, each pair once: (b (b - 1) / 2,)."""
        some = self.points[np.ix_(rows, rows)] if self.gram else self.points[rows]
        few = Geometry(self.name, some, self.gram)
        inner, norms = few.products(slice(None), slice(None)), few.norms()
        one, two = np.triu_indices(len(rows), 1)
        return np.asarray(np.maximum(norms[one] + norms[two] - 2 * inner[one, two], 0.0))

    def spread(self) -> float:
        """Mean squared distance of two samples, over all n^2 pairs: O(n f)."""
        n = self.n_samples
        total = self.points.sum() if self.gram else np.sum(self.points.sum(axis=0) ** 2)
        return float(max(2 * (self.norms().sum() / n - total / n**2), 0.0))

    def taken(self, rows: np.ndarray) -> Geometry:
        """The same for some of the samples."""
        if rows.all():
            return self
        some = self.points[np.ix_(rows, rows)] if self.gram else self.points[rows]
        return Geometry(self.name, some, self.gram, self.angular, of=self.of)

    def in_order(self, order: np.ndarray, dtype: Any) -> Geometry:
        """The samples in another order and precision, of points that are no inner products."""
        return Geometry(self.name, self.points[order].astype(dtype), angular=self.angular)


def geometries(view: Any, name: str, kernel: bool = False) -> tuple[Geometry, Geometry, Geometry]:
    """The three geometries of a view (n, f), or of a kernel (n, n). O(n f).

    >>> [found.name for found in geometries(np.eye(20), "words")]
    ['z-scored columns', 'directions of square roots', 'tf-idf of square roots']
    >>> [found.name for found in geometries(np.eye(20) + 1, "pixels")]
    ['z-scored columns', 'directions of rows', 'z-scored columns']
    """
    if kernel:
        return _of_kernel(_dense(view).astype(np.float64), name)
    X = view.astype(np.float64)
    unit = unit_of(X)
    X = X if unit == 1 else in_units(X, unit)
    counts = _looks_like_counts(X)
    X = sp.csr_array(X) if counts or sp.issparse(X) else X
    zero = None if sp.issparse(X) else ~X.any(axis=0)
    if zero is not None and zero.any():  # columns that take part in no product and no distance
        X = np.compress(~zero, X, axis=1)

    def scaled(rows: Any) -> Any:
        found = _floats(rows, sparse=zero is None)
        found = found if unit == 1 else in_units(found, unit)
        return found if zero is None else np.compress(~zero, found, axis=1)

    if not varies(X).any():
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    scored, columns = standardising(X)
    first = Geometry(DISTANCES, scored, of=lambda rows: columns(scaled(rows)))
    if counts:
        return first, *_of_counts(X, scaled)
    second = Geometry(DIRECTIONS, _unit(X), angular=True, of=lambda rows: _unit(scaled(rows)))
    return first, second, first


def condensed(parts: Sequence[Geometry]) -> tuple[Geometry, ...]:
    """Inner products in place of dense points with as many columns as samples, or more: no more
    memory, and none of these products is computed twice."""

    def short(part: Geometry) -> Geometry:
        X = part.rows
        if X is None or X.shape[1] < X.shape[0]:
            return part
        return Geometry(part.name, X @ X.T, gram=True, angular=part.angular)

    once = {id(part): part for part in parts}
    shorter = {key: short(part) for key, part in once.items()}
    return tuple(shorter[id(part)] for part in parts)


@dataclass(frozen=True)
class Joint:
    """Several geometries of the same samples as one: squared distances added up."""

    name: str
    parts: tuple[Geometry, ...]
    angular = False

    @property
    def n_samples(self) -> int:
        return self.parts[0].n_samples

    @property
    def gram(self) -> bool:
        """Whether inner products stand in place of points, in any part."""
        return any(part.gram for part in self.parts)

    def in_order(self, order: np.ndarray, dtype: Any) -> Joint:
        """The samples in another order and precision, of points that are no inner products."""
        return Joint(self.name, tuple(part.in_order(order, dtype) for part in self.parts))

    def norms(self) -> np.ndarray:
        """Squared length of every sample: (n,)."""
        return np.asarray(sum(part.norms() for part in self.parts))

    def products(self, rows: slice, columns: slice | np.ndarray) -> np.ndarray:
        """Inner products of some samples with others, row by row in memory."""
        total = self.parts[0].products(rows, columns)
        for part in self.parts[1:]:
            total += part.products(rows, columns)
        return total


def side_by_side(parts: Sequence[Geometry], weights: Sequence[float] | np.ndarray) -> Joint:
    r"""One geometry of several: $D^2 = \sum_p w_p D_p^2 / \overline{D_p^2}$, over pairs of samples.

    Dense points side by side, sparse ones likewise, a sum of inner products: one part each.
    O(n sum(f)) or O(n^2 m).

    >>> one, two = (Geometry("x", np.array([[0.0], [size]])) for size in (1, 10))
    >>> side_by_side([one, two], [1.0, 3.0]).parts[0].points.round(3).tolist()
    [[0.0, 0.0], [1.414, 2.449]]
    """
    used = [
        (part, weight / spread)
        for part, weight in zip(parts, weights, strict=True)
        if weight > 0 and (spread := part.spread()) > 0
    ]
    if not used:  # all the same in this sense, in every view: so they are side by side
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
    if inner:
        found.append(Geometry(name, sum(K * scale for K, scale in inner), gram=True))
    if dense:
        found.append(Geometry(name, _beside(dense)))
    if sparse:
        found.append(Geometry(name, sp.csr_array(sp.hstack(sparse))))
    return Joint(name, tuple(found))


def _beside(tables: Sequence[tuple[Any, float]]) -> np.ndarray:
    """Columns of several tables, each scaled, written once."""
    edges = np.cumsum([0, *(X.shape[1] for X, _ in tables)])
    together = np.empty((len(tables[0][0]), edges[-1]))
    for (X, scale), start, stop in zip(tables, edges[:-1], edges[1:], strict=True):
        np.multiply(X, scale, out=together[:, start:stop])
    return together


def _of_counts(X: sp.csr_array, scaled: Callable[[Any], Any]) -> tuple[Geometry, Geometry]:
    """Angles after a square root, plain and by tf-idf: no frequent word decides alone, as it may
    in a row of counts."""
    rarity = _rarity(X)

    def root(rows: Any) -> Any:
        return scaled(rows).maximum(0.0).sqrt()

    roots = X.sqrt()
    return (
        Geometry(ROOTS, _unit(roots), angular=True, of=lambda rows: _unit(root(rows))),
        Geometry(
            COUNTS, _unit(roots @ rarity), angular=True, of=lambda rows: _unit(root(rows) @ rarity)
        ),
    )


def _of_kernel(K: np.ndarray, name: str) -> tuple[Geometry, Geometry, Geometry]:
    peak = np.abs(K).max()
    K = (K + K.T) / (2 * peak if peak > 0 else 1.0)
    distances = Geometry(KERNEL_DISTANCES, K, gram=True)
    if not distances.spread() > 1e-14:
        raise InputError(f"kernel {name!r} is constant: all its samples are the same")
    length = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    angles = Geometry(KERNEL_ANGLES, K * scale[:, None] * scale, gram=True, angular=True)
    return distances, angles, distances


def _looks_like_counts(X: Any) -> bool:
    stored = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    return bool(X.min() >= 0 and 0 < stored < COUNTS_UP_TO * np.prod(X.shape, dtype=float))


def _rarity(X: sp.csr_array) -> sp.dia_array:
    """What tf-idf multiplies columns by: more for those that few samples have."""
    X.eliminate_zeros()
    having = np.bincount(X.indices, minlength=X.shape[1])
    return sp.diags_array(np.log((1 + X.shape[0]) / (1 + having)) + 1)


def _floats(rows: Any, sparse: bool) -> Any:
    rows = rows.astype(np.float64)
    if sparse:
        return sp.csr_array(rows)
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def _unit(X: Any) -> Any:
    length = np.sqrt(squared_norms(X))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 1e-12 * length.max())
    return sp.csr_array(sp.diags_array(scale) @ X) if sp.issparse(X) else X * scale[:, None]


def _dense(points: Any) -> np.ndarray:
    return points.toarray() if sp.issparse(points) else np.asarray(points)
