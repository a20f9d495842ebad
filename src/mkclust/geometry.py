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

from .errors import InputError
from .scaling import in_units, squared_norms, standardising, unit_of, varies

COUNTS_UP_TO = 0.1  # share of entries that are not zero, in a view that looks like counts
SPARSE_UP_TO = 0.1  # the same share, from which dense products are quicker than sparse ones
DISTANCES, DIRECTIONS = "z-scored columns", "directions of rows"
ROOTS, COUNTS = "directions of square roots", "tf-idf of square roots"
KERNEL_DISTANCES, KERNEL_ANGLES = "kernel distances", "kernel angles"


@dataclass(frozen=True)
class Geometry:
    """Samples as points: rows of `points` (n, f), or of `points` = their inner products (n, n).

    `beside` may hold further columns of the same samples, sparse where `points` are dense.
    `angular` says that a sample without anything in common with another is not its neighbour,
    however few there are. `of` brings rows of other samples into the same geometry.
    """

    name: str
    points: Any
    gram: bool = False
    angular: bool = False
    beside: Any = None
    of: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def n_samples(self) -> int:
        return int(self.points.shape[0])

    def norms(self) -> np.ndarray:
        """Squared length of every sample: (n,)."""
        if self.gram:
            return np.diagonal(self.points).copy()
        own = squared_norms(self.points)
        return own if self.beside is None else own + squared_norms(self.beside)

    def products(self, rows: slice, columns: slice) -> np.ndarray:
        """Inner products of some samples with others, row by row in memory."""
        if self.gram:
            return np.array(self.points[rows, columns], order="C")
        found = _products(self.points, rows, columns)
        if self.beside is not None:
            found += _products(self.beside, rows, columns)
        return found

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

    def scaled(rows: Any) -> Any:
        found = _floats(rows, sparse=sp.issparse(X))
        return found if unit == 1 else in_units(found, unit)

    if not varies(X).any():
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    scored, columns = standardising(X)
    first = Geometry(DISTANCES, scored, of=lambda rows: columns(scaled(rows)))
    if counts:
        return first, *_of_counts(X, scaled)
    second = Geometry(DIRECTIONS, _unit(X), angular=True, of=lambda rows: _unit(scaled(rows)))
    return first, second, first


def side_by_side(parts: Sequence[Geometry], weights: Sequence[float] | np.ndarray) -> Geometry:
    r"""One geometry of several: $D^2 = \sum_p w_p D_p^2 / \overline{D_p^2}$, over pairs of samples.

    Rows side by side for points, a sum for inner products: O(n sum(f)) or O(n^2 m).

    >>> one, two = (Geometry("x", np.array([[0.0], [size]])) for size in (1, 10))
    >>> side_by_side([one, two], [1.0, 3.0]).points.round(3).tolist()
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
    if parts[0].gram:
        return Geometry(name, sum(part.points * scale for part, scale in used), gram=True)
    scaled = [part.points * np.sqrt(scale) for part, scale in used]
    sparse = [points for points in scaled if sp.issparse(points)]
    dense = [points for points in scaled if not sp.issparse(points)]
    words = sp.csr_array(sp.hstack(sparse)) if sparse else None
    return Geometry(name, np.hstack(dense), beside=words) if dense else Geometry(name, words)


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


def _products(X: Any, rows: slice, columns: slice) -> np.ndarray:
    """By the sparse product only where it is quicker: its cost grows by the square of the share."""
    left, right = X[rows], X[columns]
    if not sp.issparse(X):
        return np.asarray(left @ (left if rows == columns else right).T)
    if X.nnz > SPARSE_UP_TO * np.prod(X.shape, dtype=float):
        left, right = left.toarray(), right.toarray()
        return np.asarray(left @ (left if rows == columns else right).T)
    return np.asarray((left @ right.T).toarray())


def _dense(points: Any) -> np.ndarray:
    return points.toarray() if sp.issparse(points) else np.asarray(points)
