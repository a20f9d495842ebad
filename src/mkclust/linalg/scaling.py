"""Standardization of columns and distances between rows, of dense and sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError

ROUNDING = 1e-14  # of the largest entry: a column that varies by less is constant
NEGLIGIBLE = 1e-10  # of the largest in the view: what is left of a column after cancellation
BLOCK = 1 << 17  # entries: a megabyte at a time


@dataclass(frozen=True)
class Columns:
    """The standardization of the columns of one view, for other rows of the same columns.

    A row x becomes (x / `peak` - `mean`) / `deviation`, and 0 in constant columns.

    Attributes
    ----------
    peak, deviation : (f,) arrays
    mean : (f,) array or None
        None for a sparse view, which is not centered.
    constant : (f,) bool array
    """

    peak: np.ndarray
    mean: np.ndarray | None
    deviation: np.ndarray
    constant: np.ndarray

    def __call__(self, rows: Any) -> Any:
        """Standardize other rows of the same columns, dense or sparse."""
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
    """Scale each column to unit variance; center dense columns; set constant columns to 0.

    A column is constant where it varies by no more than rounding, 1e-14 of its largest entry.
    A sparse view stays sparse: its columns are scaled and not shifted, which leaves distances
    unchanged. Columns are first divided by their largest entry, against overflow and underflow.

    >>> standardized(np.array([[1.0, 7.0], [3.0, 7.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    return standardizing(view)[0]


def standardizing(view: Any, scale: bool = True) -> tuple[Any, Columns]:
    """Return the standardized view, and the standardization for other rows.

    Without `scale`, the columns of a dense view are in one unit, such as components: they are
    centered and keep their relative lengths.

    >>> X, columns = standardizing(np.array([[1.0], [3.0]]))
    >>> columns(np.array([[4.0]]))
    array([[2.]])
    """
    X = view.astype(np.float64)
    rest = cancelled(X)
    if sp.issparse(X):
        peak = _safe(abs(X).max(axis=0).toarray().ravel())
        X = _divided(X, peak)
        deviation = _safe(np.sqrt(_sparse_variance(X)))
        columns = Columns(peak, None, deviation, ~varies(X) | rest)
        return _scaled(X, columns.inverse), columns
    peak = _safe(np.abs(X).max(axis=0))
    X /= peak
    constant = ~varies(X) | rest
    if not scale:
        X *= peak / peak.max()
        peak = np.full_like(peak, peak.max())
    mean = X.mean(axis=0)
    X -= mean
    deviation = _safe(X.std(axis=0)) if scale else np.ones_like(peak)
    X /= deviation
    X[:, constant] = 0.0
    return X, Columns(peak, mean, deviation, constant)


def cancelled(X: Any) -> np.ndarray:
    """Return which columns are what rounding left of zero (f,).

    They take both signs, and none of their entries exceeds 1e-10 of the largest varying column. A
    column of positive numbers in a small unit is no such rest.

    >>> cancelled(np.array([[1.0, 1e-15, 1e-15], [2.0, -1e-15, 3e-15]]))
    array([False,  True, False])
    """
    top, bottom = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        top, bottom = top.toarray().ravel(), bottom.toarray().ravel()
    size = np.maximum(top, -bottom)
    largest = size[top > bottom].max(initial=0.0)  # a constant column does not count
    return np.asarray((bottom < 0) & (top > 0) & (size <= NEGLIGIBLE * largest))


def varies(X: Any, tolerance: float = ROUNDING) -> np.ndarray:
    """Return which columns take more than one value, beyond a share of their largest magnitude.

    >>> varies(np.array([[1e-30, 5.0], [3e-30, 5.0]]))
    array([ True, False])
    """
    top, bottom = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        top, bottom = top.toarray().ravel(), bottom.toarray().ravel()
    size = np.maximum(np.abs(top), np.abs(bottom))
    return np.asarray(top / 2 - bottom / 2 > tolerance * (size / 2))  # no overflow


def in_units(X: Any, unit: float) -> Any:
    """Return X / unit without computing 1 / unit, which may be infinite."""
    return _divided(X, np.full(X.shape[1], unit)) if sp.issparse(X) else X / unit


def unit_of(X: Any) -> float:
    """Return 1, or the largest entry where that is out of bounds."""
    peak = float(abs(X).max())
    return 1.0 if peak == 0 or 1e-6 < peak < 1e50 else peak


def mean_squared_distance(X: Any) -> float:
    r"""Return the mean of $D^2$ over all n^2 pairs of rows in O(n f).

    Raises InputError when it is zero: all samples are equal.
    """
    n = X.shape[0]
    total = np.asarray(X.sum(axis=0)).ravel()
    spread = 2 * (squared_norms(X).sum() / n - total @ total / n**2)
    if not spread > 1e-14 * squared_norms(X).max():
        raise InputError("it is constant: all its samples are the same")
    return float(spread)


def cross_distances(X: Any, Y: Any) -> np.ndarray:
    r"""Compute $D^2_{ij} = |x_i|^2 + |y_j|^2 - 2x_i^Ty_j$ (b, n) of X (b, f) and Y (n, f)."""
    squared = X @ Y.T
    squared = squared.toarray() if sp.issparse(squared) else np.asarray(squared)
    squared *= -2.0
    squared += squared_norms(X)[:, None] + squared_norms(Y)
    return np.maximum(squared, 0.0, out=squared)


def squared_norms(X: Any) -> np.ndarray:
    """Return $|x_i|^2$ of every row: (n,)."""
    return np.asarray(X.power(2).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X))


def inverse_roots(values: np.ndarray) -> np.ndarray:
    """Return one over the square root of every positive value (n,), and 0 for the others."""
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)


def row_blocks(K: np.ndarray) -> Iterator[slice]:
    """Cut the rows into blocks small enough for a chain of elementwise steps in the cache."""
    height = max(1, BLOCK // max(1, K.shape[1]))
    return (slice(start, start + height) for start in range(0, len(K), height))


def _sparse_variance(X: sp.csr_array) -> np.ndarray:
    """Return the variance of each column in two passes; entries that are not stored are 0."""
    n, width = X.shape
    X.sum_duplicates()
    mean = X.mean(axis=0)
    stored = np.bincount(X.indices, minlength=width)
    away = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, minlength=width)
    return (away + (n - stored) * mean**2) / n


def _divided(X: Any, divisors: np.ndarray) -> sp.csr_array:
    """Divide the columns of a sparse X by divisors whose inverse may overflow."""
    X = sp.csr_array(X)
    return sp.csr_array((X.data / divisors[X.indices], X.indices, X.indptr), shape=X.shape)


def _scaled(X: Any, factors: np.ndarray) -> sp.csr_array:
    return sp.csr_array(X @ sp.diags_array(factors))


def _safe(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)
