"""Leading eigenpairs of a symmetric matrix as a `Spectrum`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsm

from .eigen import eigenpairs, leading_eigenpairs
from .krylov import KrylovSpace

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; smaller ones are rounding
RANK_TOLERANCE_SINGLE = 1e-5  # the same for kernels in single precision
Pairs = tuple[np.ndarray, np.ndarray]
Memory = Callable[[np.ndarray, int, Callable[[], Pairs]], Pairs]
_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)
DENSE_UP_TO = 500  # below this n one full LAPACK decomposition is cheaper (benchmarks/RESULTS.md)
SUBSET_UP_TO = 1500  # up to this n LAPACK is faster for n / 20 eigenvectors, beyond for n / 10


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of one kernel, eigenvalues descending.

    Attributes
    ----------
    vectors : (n, D) array
        Orthonormal columns.
    values : (D,) array
    complete : bool
        Whether all further eigenvalues are rounding, so that D is the numerical rank.
    """

    vectors: np.ndarray
    values: np.ndarray
    complete: bool

    @property
    def size(self) -> int:
        """Number of eigenpairs D."""
        return len(self.values)

    def padded(self, rows: np.ndarray) -> Spectrum:
        """Extend to more samples: rows are zero where the mask `rows` (n,) is False."""
        vectors = np.zeros((len(rows), self.size), dtype=self.vectors.dtype, order="F")
        vectors[rows] = self.vectors
        return Spectrum(vectors, self.values, self.complete)

    def head(self, size: int) -> Spectrum:
        """Return the first `size` eigenpairs, sharing memory."""
        if size >= self.size:
            return self
        return Spectrum(self.vectors[:, :size], self.values[:size], complete=False)


def leading(kernel: np.ndarray, size: int, space: KrylovSpace | None = None) -> Spectrum:
    r"""Compute the `size` leading eigenpairs of a symmetric matrix, without those below rounding.

    LAPACK (n^3) is used for a small matrix or a large share of the eigenvectors; of a small
    matrix all pairs above rounding are kept. Otherwise a Krylov space is used (about
    3 n^2 x size), which may be the `space` of an earlier call.

    >>> found = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> found.values, found.complete
    (array([3., 2.]), True)
    """
    n = len(kernel)
    tolerance = RANK_TOLERANCE_SINGLE if kernel.dtype == np.float32 else RANK_TOLERANCE
    if not direct_is_quicker(n, size):
        pairs = (space or KrylovSpace(n, kernel.dtype, size)).pairs(kernel, size, fewer=True)
        if pairs is not None:
            return _above_rounding(*pairs, everything=False, tolerance=tolerance, own=True)
    kernel = kernel.astype(np.float64, copy=False)
    everything = n <= DENSE_UP_TO or size > n // 4
    if everything:
        values, vectors = scipy.linalg.eigh(kernel, driver="evd")
    else:
        values, vectors = eigenpairs(kernel, n - size, n - 1)
    return _above_rounding(values[::-1], vectors[:, ::-1], everything, tolerance=tolerance)


def leading_of_operator(A: Any, size: int) -> Spectrum:
    """Compute the leading eigenpairs of a sparse matrix or operator by `leading_eigenpairs`."""
    values, vectors = leading_eigenpairs(A, size)
    return _above_rounding(values, vectors, size >= A.shape[0], tolerance=RANK_TOLERANCE)


def top_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the k algebraically largest eigenvalues, descending, and eigenvectors (n, k).

    Signs are fixed (largest entry positive), so that equal input gives equal output.
    """
    memory = _memory.get()
    return _top(matrix, k) if memory is None else memory(matrix, k, lambda: _top(matrix, k))


@contextmanager
def remembered_by(memory: Memory) -> Iterator[None]:
    """Make `top_eigenpairs` call ``memory(matrix, k, compute)`` inside the block.

    This caches results of many fits to the same kernels: the memory returns a stored result or
    that of `compute`.
    """
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def _top(matrix: np.ndarray, k: int) -> Pairs:
    values, vectors = extreme_pairs(matrix, k)
    return values, with_fixed_signs(vectors)


def extreme_pairs(matrix: np.ndarray, k: int) -> Pairs:
    """Compute the k algebraically largest eigenvalues, descending, and vectors of any sign."""
    n = len(matrix)
    pairs = None if direct_is_quicker(n, k) else KrylovSpace(n, size=k).pairs(matrix, k)
    if pairs is None:
        values, vectors = eigenpairs(matrix, n - k, n - 1)
        pairs = values[::-1], vectors[:, ::-1]
    return pairs


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Flip columns so that the entry of largest magnitude is positive."""
    return np.asfortranarray(vectors * _signs(vectors))


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Return the sign of the entry of largest magnitude in each column, the first among ties."""
    every = np.arange(vectors.shape[1])
    top, bottom = vectors.argmax(axis=0), vectors.argmin(axis=0)
    highest, lowest = vectors[top, every], -vectors[bottom, every]
    return np.where((lowest > highest) | ((lowest == highest) & (bottom < top)), -1.0, 1.0)


def _orthonormal(V: np.ndarray) -> np.ndarray:
    """Orthonormalize columns that are nearly so; the span of every V[:, :a] does not change.

    Overlaps are compared to nine digits, which single precision does not reach.
    """
    return np.asarray(dtrsm(1.0, scipy.linalg.cholesky(V.T @ V), V, side=1))


def direct_is_quicker(n: int, size: int) -> bool:
    """Return whether LAPACK is faster than a Krylov space (benchmarks/RESULTS.md)."""
    return n <= DENSE_UP_TO or size > n // (20 if n <= SUBSET_UP_TO else 10)


def _above_rounding(
    values: np.ndarray, vectors: np.ndarray, everything: bool, tolerance: float, own: bool = False
) -> Spectrum:
    """Return the pairs above rounding; `vectors` may be overwritten if `own`."""
    floor = max(len(vectors) * np.finfo(float).eps, tolerance) * max(values[0], 0.0)
    above = int(np.count_nonzero(values > floor))
    kept = vectors[:, :above]
    if vectors.dtype == np.float32:
        kept = _orthonormal(kept.astype(np.float64))
    kept = np.asfortranarray(kept)
    return Spectrum(
        vectors=np.multiply(kept, _signs(kept), out=kept if own else None),
        values=values[:above],
        complete=everything or above < len(values),
    )
