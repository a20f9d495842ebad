"""Centering and scaling: of columns of tables, and of kernels; distances between rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError

ROUNDING = 1e-14  # of the largest entry: a column that varies by less is constant
NEGLIGIBLE = 1e-12  # of the largest in the view: what is left of a column after cancellation
BLOCK = 1 << 17  # entries: a megabyte at a time
JITTER = 1e-12  # added to the centered diagonal before normalizing, as in the published kernels
CONSTANT = 50  # rounding errors of the largest diagonal entry that equal samples may leave


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
            return _scale_columns(_divide_columns(rows, self.peak), self.inverse)
        X = dense(rows) / self.peak
        if self.mean is None:
            return X * self.inverse
        X -= self.mean
        X /= self.deviation
        X[:, self.constant] = 0.0
        return X

    @property
    def inverse(self) -> np.ndarray:
        return np.where(self.constant, 0.0, 1 / self.deviation)


def standardize(view: Any, scale: bool = True) -> tuple[Any, Columns]:
    """Scale columns to unit variance; center dense ones. Return the rule for other rows, too.

    A column is constant, and becomes 0, where it varies by no more than rounding, 1e-14 of its
    largest entry. A sparse view stays sparse: its columns are scaled and not shifted, which leaves
    distances unchanged. Columns are first divided by their largest entry, against overflow and
    underflow. Without `scale`, the columns of a dense view are in one unit, such as components:
    they are centered and keep their relative lengths.

    >>> X, columns = standardize(np.array([[0.0, 7.0], [4.0, 7.0]]))
    >>> X.tolist(), columns(np.array([[6.0, 7.0]])).tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [[2.0, 0.0]])
    """
    X = view.astype(np.float64)
    rest = rounding_columns(X)
    if sp.issparse(X):
        peak = _safe(abs(X).max(axis=0).toarray().ravel())
        X = _divide_columns(X, peak)
        deviation = _safe(np.sqrt(_sparse_variance(X)))
        columns = Columns(peak, None, deviation, ~varies(X) | rest)
        return _scale_columns(X, columns.inverse), columns
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


def rounding_columns(X: Any) -> np.ndarray:
    """Return which columns are what rounding left of zero (f,).

    They take both signs, as the largest varying column does, and none of their entries exceeds
    1e-12 of it: centering leaves such columns. Where the largest is positive, columns differ in
    unit, and none is a rest.

    >>> rounding_columns(np.array([[-1.0, 1e-15, 1e-15], [2.0, -1e-15, 3e-15]]))
    array([False,  True, False])
    """
    top, bottom = _column_ends(X)
    size, signed = np.maximum(top, -bottom), (bottom < 0) & (top > 0)
    largest = size[top > bottom].max(initial=0.0)  # a constant column does not count
    return np.asarray(signed & signed[size == largest].any() & (size <= NEGLIGIBLE * largest))


def varies(X: Any, tolerance: float = ROUNDING) -> np.ndarray:
    """Return which columns take more than one value, beyond a share of their largest magnitude.

    >>> varies(np.array([[1e-30, 5.0], [3e-30, 5.0]]))
    array([ True, False])
    """
    top, bottom = _column_ends(X)
    size = np.maximum(np.abs(top), np.abs(bottom))
    return np.asarray(top / 2 - bottom / 2 > tolerance * (size / 2))  # no overflow


def _column_ends(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest and the smallest entry of every column."""
    top, bottom = X.max(axis=0), X.min(axis=0)
    return dense(top).ravel(), dense(bottom).ravel()


def divide(X: Any, unit: float) -> Any:
    """Return X / unit without computing 1 / unit, which may be infinite."""
    return _divide_columns(X, np.full(X.shape[1], unit)) if sp.issparse(X) else X / unit


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


def cross_distances(X: Any, Y: Any, norms: np.ndarray) -> np.ndarray:
    r"""Compute $D^2_{ij} = |x_i|^2 + |y_j|^2 - 2x_i^Ty_j$ (b, n) of X (b, f) and Y (n, f).

    `norms` (n,) are the $|y_j|^2$.
    """
    squared = dense(X @ Y.T)
    squared *= -2.0
    squared += squared_norms(X)[:, None] + norms
    return np.maximum(squared, 0.0, out=squared)


def squared_norms(X: Any) -> np.ndarray:
    """Return $|x_i|^2$ of every row: (n,)."""
    return np.asarray(X.power(2).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X))


def inverse_roots(values: np.ndarray) -> np.ndarray:
    """Return one over the square root of every positive value (n,), and 0 for the others."""
    roots = np.sqrt(np.maximum(values, 0.0))
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)


def dense(matrix: Any) -> np.ndarray:
    """Return a matrix as a dense array."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


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


def _divide_columns(X: Any, divisors: np.ndarray) -> sp.csr_array:
    """Divide the columns of a sparse X by divisors whose inverse may overflow."""
    X = sp.csr_array(X)
    return sp.csr_array((X.data / divisors[X.indices], X.indices, X.indptr), shape=X.shape)


def _scale_columns(X: Any, factors: np.ndarray) -> sp.csr_array:
    return sp.csr_array(X @ sp.diags_array(factors))


def _safe(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, 1.0)


@dataclass(frozen=True)
class Centering:
    r"""The map $K_{ij} \leftarrow (K_{ij} - h_i - h_j)\,s_is_j$ that was applied to a kernel.

    Attributes
    ----------
    half : array of shape (n,), or None
        $h$: the column means minus half the overall mean; None without centering.
    scale : array of shape (n,), or None
        $s$: one over the root of the centered diagonal plus `jitter`; None without normalizing.
    mean : float
        The overall mean; 0 without centering.
    jitter : float
        The number added to the centered diagonal.
    own : float or None
        The diagonal before centering, where all its entries are equal.
    unit : float
        The number that the kernel was divided by beforehand.
    shift : float
        The number that was added to its diagonal beforehand.
    """

    half: np.ndarray | None
    scale: np.ndarray | None
    mean: float
    jitter: float
    own: float | None
    unit: float = 1.0
    shift: float = 0.0

    def apply(self, K: np.ndarray) -> None:
        """Center and normalize the kernel (n, n) that this was made for, in place."""
        for rows in row_blocks(K):
            if self.half is not None:
                K[rows] -= self.half[rows, None] + self.half
            if self.scale is not None:
                K[rows] *= self.scale[rows, None] * self.scale
        if self.scale is not None:
            np.fill_diagonal(K, self.scale > 0)

    def rows(self, K: np.ndarray, own: np.ndarray) -> np.ndarray:
        r"""Center and normalize kernel rows of new samples, in place.

        The means are those of the n fitted samples, so that the row of a fitted sample becomes
        its row of the centered kernel.

        Parameters
        ----------
        K : array of shape (b, n)
            Similarities of the new samples to the fitted ones.
        own : array of shape (b,)
            Similarity $\kappa(x, x)$ of each new sample to itself.

        Returns
        -------
        array of shape (b, n)
            `K` itself.
        """
        half = np.zeros(len(K))
        if self.half is not None:
            half = K.mean(axis=1) - self.mean / 2
            K -= half[:, None] + self.half
        if self.scale is not None:
            K *= inverse_roots(own - 2 * half + self.jitter)[:, None] * self.scale
        return K


def centering_of(
    K: np.ndarray, center: bool = True, normalize: bool = True, name: str = "kernel"
) -> Centering:
    r"""Compute the centering and normalizing of a kernel, without applying it.

    $$K_{ij} \leftarrow (K_{ij} - r_i - r_j + \bar r) / \sqrt{K_{ii}K_{jj}}$$

    with $r$ the column means of K. The centered diagonal is increased by 1e-12, or by less where
    the kernel is smaller than one, so that the result does not depend on small units. A sample
    whose centered diagonal entry is not positive gets a zero row.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric matrix.
    center, normalize : bool
        What to do.
    name : str
        Name of the view, for messages.

    Returns
    -------
    Centering

    Raises
    ------
    InputError
        If no entry of the centered diagonal is positive.

    Examples
    --------
    >>> K = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> centering_of(K).apply(K)
    >>> K.round(6)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    own = np.diagonal(K)
    size = float(np.abs(own).max())
    half = half_means(K) if center else None
    diagonal = own if half is None else own - 2 * half
    if diagonal.max() <= CONSTANT * np.finfo(K.dtype).eps * size:
        raise InputError(_why_not(K, half, name))
    jitter = JITTER * min(1.0, size)
    return Centering(
        half=half,
        scale=inverse_roots(diagonal + jitter) if normalize else None,
        mean=0.0 if half is None else float(2 * half.mean()),
        jitter=jitter,
        own=float(own[0]) if (own == own[0]).all() else None,
    )


def half_means(K: np.ndarray) -> np.ndarray:
    """Return the h (n,) whose outer sum $h_i + h_j$ is the part of K that centering removes.

    One vector for rows and columns keeps the rounding errors symmetric.
    """
    total = np.zeros(K.shape[1])
    for rows in row_blocks(K):
        total += K[rows].sum(axis=0)  # a block has few enough rows for a sum in float32
    mean = total / len(K)
    return np.asarray(mean - mean.mean() / 2)


def has_zero_diagonal(K: np.ndarray) -> bool:
    """Return whether the diagonal of a matrix is zero and its other entries are not all zero.

    Examples
    --------
    >>> has_zero_diagonal(np.array([[0.0, 2.0], [2.0, 0.0]])), has_zero_diagonal(np.zeros((2, 2)))
    (True, False)
    """
    return not np.diagonal(K).any() and bool(K.any())


ZERO_DIAGONAL = (
    "its diagonal is zero: this looks like a distance matrix or an affinity without "
    "self-similarity; pass a kernel"
)


def _why_not(K: np.ndarray, half: np.ndarray | None, name: str) -> str:
    """Describe a kernel whose centered diagonal has no positive entry."""
    left = K if half is None else K - (half[:, None] + half)
    if np.abs(left).max() <= np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max():
        return f"view {name!r} is constant: all its samples are the same"
    if has_zero_diagonal(K):
        return f"the matrix of view {name!r} is not a kernel: {ZERO_DIAGONAL}"
    return (
        f"the matrix of view {name!r} is not a kernel: no sample has a positive similarity to "
        f"itself{'' if half is None else ' after centering'}, the largest is "
        f"{np.diagonal(left).max():.3g}; this looks like a distance matrix; pass a kernel"
    )
