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

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; below it a direction is rounding
RANK_TOLERANCE_SINGLE = 1e-5  # the same for kernels in single precision
Pairs = tuple[np.ndarray, np.ndarray]
Memory = Callable[[np.ndarray, int, Callable[[], Pairs]], Pairs]
_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)
DENSE_UP_TO = 500  # below this n one full LAPACK decomposition is cheaper (benchmarks/RESULTS.md)
SUBSET_UP_TO = 1500  # below this n a twentieth of the directions is worth LAPACK, then a tenth


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of one kernel, eigenvalues descending.

    `vectors` is n x D with orthonormal columns, `values` has length D. `complete` says that no
    further direction lies above rounding, so D is the numerical rank.
    """

    vectors: np.ndarray
    values: np.ndarray
    complete: bool

    @property
    def size(self) -> int:
        return len(self.values)

    def padded(self, rows: np.ndarray) -> Spectrum:
        """The same over more samples: zero wherever the mask `rows` (n,) is False."""
        vectors = np.zeros((len(rows), self.size), dtype=self.vectors.dtype, order="F")
        vectors[rows] = self.vectors
        return Spectrum(vectors, self.values, self.complete)

    def head(self, size: int) -> Spectrum:
        """The first `size` directions, as views of the same memory."""
        if size >= self.size:
            return self
        return Spectrum(self.vectors[:, :size], self.values[:size], complete=False)


def leading(kernel: np.ndarray, size: int, space: KrylovSpace | None = None) -> Spectrum:
    r"""The `size` leading eigenpairs of a symmetric matrix, those below rounding left out.

    A small matrix, or a large share of the directions, goes to LAPACK (n^3; of a small one
    everything above rounding is kept); the rest to a Krylov space (about 3 n^2 x size), which
    may be one that an earlier call began.

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
    """Compute the same of a sparse matrix or operator, as `leading_eigenpairs` takes it."""
    values, vectors = leading_eigenpairs(A, size)
    return _above_rounding(values, vectors, size >= A.shape[0], tolerance=RANK_TOLERANCE)


def top_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k algebraically largest eigenvalues, descending, and their vectors (n x k).

    Signs are fixed (largest entry positive), so that equal input gives equal output.
    """
    memory = _memory.get()
    return _top(matrix, k) if memory is None else memory(matrix, k, lambda: _top(matrix, k))


@contextmanager
def remembered_by(memory: Memory) -> Iterator[None]:
    """Inside the block `top_eigenpairs` goes through ``memory(matrix, k, compute)``.

    For many fits on the same kernels: a memory may know the answer, and else calls `compute`.
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
    """The k algebraically largest eigenvalues, descending, and vectors (n, k) of either sign."""
    n = len(matrix)
    pairs = None if direct_is_quicker(n, k) else KrylovSpace(n, size=k).pairs(matrix, k)
    if pairs is None:
        values, vectors = eigenpairs(matrix, n - k, n - 1)
        pairs = values[::-1], vectors[:, ::-1]
    return pairs


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns flipped so that the entry of largest magnitude is positive."""
    return np.asfortranarray(vectors * _signs(vectors))


def _signs(vectors: np.ndarray) -> np.ndarray:
    """The sign of the entry of largest magnitude in each column, the first where several are."""
    every = np.arange(vectors.shape[1])
    top, bottom = vectors.argmax(axis=0), vectors.argmin(axis=0)
    highest, lowest = vectors[top, every], -vectors[bottom, every]
    return np.where((lowest > highest) | ((lowest == highest) & (bottom < top)), -1.0, 1.0)


def _orthonormal(V: np.ndarray) -> np.ndarray:
    """Columns that are orthonormal but for rounding, made so to the last digit; every V[:, :a]
    spans what it spanned. Overlaps are compared to nine digits."""
    return np.asarray(dtrsm(1.0, scipy.linalg.cholesky(V.T @ V), V, side=1))


def direct_is_quicker(n: int, size: int) -> bool:
    """Tell whether LAPACK is quicker than a Krylov space (benchmarks/RESULTS.md)."""
    return n <= DENSE_UP_TO or size > n // (20 if n <= SUBSET_UP_TO else 10)


def _above_rounding(
    values: np.ndarray, vectors: np.ndarray, everything: bool, tolerance: float, own: bool = False
) -> Spectrum:
    """The pairs that are not rounding; written over `vectors` where those are nobody else's."""
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
