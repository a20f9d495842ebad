"""Columns made comparable, and the distances between rows; dense and sparse alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError

BLOCK = 1 << 17  # entries: a megabyte at a time
PANEL = 256  # rows: enough for a product at full speed, few enough to be mirrored from the cache


@dataclass(frozen=True)
class Columns:
    """What makes the columns of one view comparable, for rows that come later too.

    A row is divided by `peak`, less `mean` (None of a sparse view), over `deviation`, and 0 where
    `constant`: four arrays (f,).
    """

    peak: np.ndarray
    mean: np.ndarray | None
    deviation: np.ndarray
    constant: np.ndarray

    def __call__(self, rows: Any) -> Any:
        """Other rows of the same columns, dense or sparse, on the same scale."""
        if self.mean is None and sp.issparse(rows):
            return _scaled(_divided(rows, self.peak), self.inverse)
        X = (rows.toarray() if sp.issparse(rows) else np.asarray(rows)) / self.peak
        if self.mean is None:
            return X * self.inverse
        X -= self.mean
        X /= self.deviation
        X[:, self.constant] = 0.0
        return X

    @property
    def inverse(self) -> np.ndarray:
        return np.where(self.constant, 0.0, 1 / self.deviation)


def standardized(view: Any) -> Any:
    """Each column with unit variance; constant columns are 0; dense columns also centred.

    A sparse view stays sparse: its columns are scaled, not shifted, which no distance notices.
    Columns are divided by their largest entry first, so that 1e-300 and 1e300 both work.

    >>> standardized(np.array([[1.0, 7.0], [3.0, 7.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    return standardizing(view)[0]


def standardizing(view: Any) -> tuple[Any, Columns]:
    """The standardized view, and what does the same to other rows.

    >>> X, columns = standardizing(np.array([[1.0], [3.0]]))
    >>> columns(np.array([[4.0]]))
    array([[2.]])
    """
    X = view.astype(np.float64)
    if sp.issparse(X):
        peak = _safe(abs(X).max(axis=0).toarray().ravel())
        X = _divided(X, peak)
        deviation = _safe(np.sqrt(_sparse_variance(X)))
        columns = Columns(peak, None, deviation, ~varies(X, 0.0))
        return _scaled(X, columns.inverse), columns
    peak = _safe(np.abs(X).max(axis=0))
    X /= peak
    constant = ~varies(X, 0.0)
    mean = X.mean(axis=0)
    X -= mean
    deviation = _safe(X.std(axis=0))
    X /= deviation
    X[:, constant] = 0.0
    return X, Columns(peak, mean, deviation, constant)


def varies(X: Any, tolerance: float = 1e-14) -> np.ndarray:
    """Which columns take more than one value, beyond a tolerance."""
    top, bottom = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        top, bottom = top.toarray().ravel(), bottom.toarray().ravel()
    return np.asarray(top - bottom > tolerance)


def rescaled(X: Any) -> Any:
    """X divided by its largest entry where products would overflow, or look like nothing."""
    unit = unit_of(X)
    return X if unit == 1 else in_units(X, unit)


def in_units(X: Any, unit: float) -> Any:
    """X / unit, also where 1 / unit is infinite: a sparse matrix would be multiplied by that."""
    return _divided(X, np.full(X.shape[1], unit)) if sp.issparse(X) else X / unit


def unit_of(X: Any) -> float:
    """What `rescaled` divides by: 1, or the largest entry where that is out of bounds."""
    peak = float(abs(X).max())
    return 1.0 if peak == 0 or 1e-6 < peak < 1e50 else peak


def mean_squared_distance(X: Any) -> float:
    r"""Mean of $D^2$ over all n^2 pairs of rows, without the pairs: O(n f).

    Raises InputError when it is zero, as nothing can be clustered then.
    """
    n = X.shape[0]
    total = np.asarray(X.sum(axis=0)).ravel()
    spread = 2 * (squared_norms(X).sum() / n - total @ total / n**2)
    if not spread > 1e-14 * squared_norms(X).max():
        raise InputError("it is constant: all its samples are the same")
    return float(spread)


def squared_distances(
    X: Any, factor: float = 1.0, transform: Callable[[np.ndarray], Any] | None = None
) -> np.ndarray:
    r"""$c\,D^2_{ij} = c\,(|x_i|^2 + |x_j|^2 - 2x_i^Tx_j)$, n x n: one product, one pass in place.

    `transform` is applied to blocks of rows while they are in the cache, and writes to them.

    >>> squared_distances(np.array([[0.0], [3.0]]), factor=-1.0)
    array([[ 0., -9.],
           [-9.,  0.]])
    """
    norms = squared_norms(X)
    nearest = np.maximum if factor > 0 else np.minimum  # no pair is nearer than itself

    def finish(block: np.ndarray, itself: np.ndarray) -> None:
        nearest(block, np.zeros_like(block), out=block)  # numpy takes four times as long for 0.0
        block[np.arange(len(block)), itself] = 0.0
        if transform is not None:
            transform(block)

    if not sp.issparse(X):
        ones = np.ones_like(norms)
        left = np.column_stack([X * (-2 * factor), norms * factor, ones * factor])
        return _symmetric_product(left, np.column_stack([X, ones, norms]), finish)
    squared = (X @ X.T).toarray()
    for rows in row_blocks(squared):
        block = squared[rows]
        block *= -2 * factor
        block += factor * (norms[rows, None] + norms)
        finish(block, np.arange(len(norms))[rows])
    squared += squared.T.copy()  # a sparse product does not promise symmetric rounding
    squared /= 2
    return squared


def _symmetric_product(
    left: np.ndarray, right: np.ndarray, finish: Callable[[np.ndarray, np.ndarray], Any]
) -> np.ndarray:
    """left @ right.T (n x n), known to be symmetric: what is above the diagonal is computed, each
    block of rows finished while it is in the cache, and mirrored."""
    n = len(left)
    product, below = np.empty((n, n), left.dtype), np.tri(PANEL, k=-1, dtype=bool)
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        above = product[start:stop, start:]
        np.matmul(left[start:stop], right[start:].T, out=above)
        for rows in row_blocks(above):
            finish(above[rows], np.arange(len(above))[rows])
        product[stop:, start:stop] = above[:, stop - start :].T
        corner = above[:, : stop - start]
        np.copyto(corner, corner.T.copy(), where=below[: stop - start, : stop - start])
    return product


def cross_distances(X: Any, Y: Any) -> np.ndarray:
    r"""$D^2_{ij} = |x_i|^2 + |y_j|^2 - 2x_i^Ty_j$ of other rows X (b, f) to Y (n, f): (b, n)."""
    squared = X @ Y.T
    squared = squared.toarray() if sp.issparse(squared) else np.asarray(squared)
    squared *= -2.0
    squared += squared_norms(X)[:, None] + squared_norms(Y)
    return np.maximum(squared, 0.0, out=squared)


def squared_norms(X: Any) -> np.ndarray:
    """$|x_i|^2$ of every row: (n,)."""
    return np.asarray(X.power(2).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X))


def row_blocks(K: np.ndarray) -> Iterator[slice]:
    """Rows of a matrix, a few at a time, so that a chain of elementwise steps stays in cache."""
    height = max(1, BLOCK // max(1, K.shape[1]))
    return (slice(start, start + height) for start in range(0, len(K), height))


def _sparse_variance(X: sp.csr_array) -> np.ndarray:
    """Two passes over the stored entries; the others are zeros, each the mean away from it."""
    n, width = X.shape
    X.sum_duplicates()
    mean = X.mean(axis=0)
    stored = np.bincount(X.indices, minlength=width)
    away = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, minlength=width)
    return (away + (n - stored) * mean**2) / n


def _divided(X: Any, divisors: np.ndarray) -> sp.csr_array:
    """The columns of a sparse X over their divisors, which may be too small to be inverted."""
    X = sp.csr_array(X)
    return sp.csr_array((X.data / divisors[X.indices], X.indices, X.indptr), shape=X.shape)


def _scaled(X: Any, factors: np.ndarray) -> sp.csr_array:
    return sp.csr_array(X @ sp.diags_array(factors))


def _safe(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)
