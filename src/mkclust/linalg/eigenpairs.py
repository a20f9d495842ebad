"""Leading eigenpairs of a symmetric matrix: by LAPACK where it is small, else by Lanczos."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..exceptions import InputError

DENSE_UP_TO = 500  # rows of a dense matrix: below it, and for n / 20 eigenvectors, LAPACK is faster
SPARSE_UP_TO = 900  # rows of a sparse matrix or operator: the same, and for n / 6 eigenvectors
ALL_UP_TO = 600  # rows: up to here all pairs take no longer than a fifth of them
TOLERANCE = 1e-8  # relative residual of an eigenvector of a graph
KERNEL_TOLERANCE = 1e-13  # and of a dense matrix
RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; smaller ones are rounding
REPEATED = 1e-10  # relative: eigenvalues closer than this may repeat, and Lanczos misses copies
Pairs = tuple[np.ndarray, np.ndarray]


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

    def pad(self, rows: np.ndarray) -> Spectrum:
        """Extend to more samples: rows are zero where the mask `rows` (n,) is False."""
        vectors = np.zeros((len(rows), self.size), dtype=self.vectors.dtype, order="F")
        vectors[rows] = self.vectors
        return Spectrum(vectors, self.values, self.complete)

    def head(self, size: int) -> Spectrum:
        """Return the first `size` eigenpairs, sharing memory."""
        if size >= self.size:
            return self
        return Spectrum(self.vectors[:, :size], self.values[:size], complete=False)


def leading(A: Any, size: int) -> Spectrum:
    """Compute the `size` leading eigenpairs, without those below rounding, signs fixed.

    Of a small dense matrix all pairs above rounding are kept.

    >>> found = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> found.values, found.complete
    (array([3., 2.]), True)
    """
    n = A.shape[0]
    whole = isinstance(A, np.ndarray) and (n <= DENSE_UP_TO or size > n // 4)
    if whole:
        values, vectors = scipy.linalg.eigh(A, driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        values, vectors = leading_eigenpairs(A, size)
    floor = max(n * np.finfo(float).eps, RANK_TOLERANCE) * max(values[0], 0.0)
    above = int(np.count_nonzero(values > floor))
    complete = whole or size >= n or above < len(values)
    return Spectrum(with_fixed_signs(vectors[:, :above]), values[:above], complete)


def top_eigenpairs(matrix: np.ndarray, k: int) -> Pairs:
    """Compute the k algebraically largest eigenvalues, descending, and eigenvectors (n, k).

    Signs are fixed (largest entry positive), so that equal input gives equal output.
    """
    values, vectors = leading_eigenpairs(matrix, k)
    return values, with_fixed_signs(vectors)


def leading_eigenpairs(A: Any, size: int) -> Pairs:
    """Return the `size` largest eigenvalues (descending) and eigenvectors (n, size) of A.

    Parameters
    ----------
    A : (n, n) array, sparse array, or operator with `shape`, ``@`` and `toarray`
        Symmetric. LAPACK is used where n is small, many pairs are asked for, or eigenvalues of a
        dense matrix repeat, of which Lanczos finds too few copies.
    size : int

    Lanczos takes one product and O(n size) a step, and n x 2 size memory.

    Examples
    --------
    >>> leading_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    n, dense = A.shape[0], isinstance(A, np.ndarray)
    rows, share = (DENSE_UP_TO, 20) if dense else (SPARSE_UP_TO, 6)
    if n > rows and size <= n // share:
        values, vectors = lanczos(A, size, KERNEL_TOLERANCE if dense else TOLERANCE)
        positive = values[values > RANK_TOLERANCE * values[0]]
        # Of a dense matrix, copies of a repeated eigenvalue may be missing.
        if not dense or (-np.diff(positive) > REPEATED * values[0]).all():
            return values, vectors
    values, vectors = eigenpairs(A if dense else A.toarray(), max(n - size, 0), n - 1)
    return values[::-1].copy(), vectors[:, ::-1]


def lanczos(A: Any, size: int, tolerance: float, seed: int = 0) -> Pairs:
    """Compute the `size` leading eigenpairs by the implicitly restarted Lanczos method.

    The start vector is random with a fixed `seed`, so that equal input gives equal output.
    """
    n = A.shape[0]
    start = np.random.default_rng(seed).standard_normal(n)
    operator = LinearOperator((n, n), matvec=A.__matmul__, dtype=np.float64)
    width = min(max(2 * size + 1, 40), n)
    try:
        values, vectors = eigsh(operator, k=size, which="LA", v0=start, ncv=width, tol=tolerance)
    except ArpackNoConvergence as error:
        raise InputError(
            f"only {len(error.eigenvalues)} of {size} eigenvectors were found: the graph may have "
            "many connected components; increase n_neighbors or remove isolated samples"
        ) from None
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def eigenpairs(matrix: np.ndarray, low: int, high: int) -> Pairs:
    """Return eigenvalues number `low` to `high`, ascending from 0, and their vectors, by LAPACK.

    Its solver for a part of the spectrum (dsyevr) is quick, but may fail or return nothing where
    eigenvalues repeat: an identity matrix of 27 rows is enough. All pairs are computed then, by
    divide and conquer; for a small matrix also where a fifth is asked for, because that takes
    less time (not for a single number: scipy 1.13 refuses it there).

    >>> eigenpairs(np.eye(27), 25, 26)[0]
    array([1., 1.])
    """
    count = high - low + 1
    if not (1 < len(matrix) <= ALL_UP_TO and 5 * count >= len(matrix)):
        with suppress(scipy.linalg.LinAlgError):  # the solver below takes over
            values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[low, high])
            if len(values) == count:
                return values, vectors
    values, vectors = scipy.linalg.eigh(matrix, driver="evd")
    return values[low : high + 1], vectors[:, low : high + 1]


def positive_with(A: np.ndarray, ridge: float) -> bool:
    """Test whether $A + rI$ is positive definite by one Cholesky factorization, n^3 / 3.

    >>> positive_with(np.diag([1.0, -0.5]), 1.0), positive_with(np.diag([1.0, -2.0]), 1.0)
    (True, False)
    """
    shifted = A.copy()
    shifted.flat[:: len(A) + 1] += ridge
    return bool(scipy.linalg.lapack.dpotrf(shifted.T, overwrite_a=1, clean=0)[1] == 0)


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Flip columns so that the entry of largest magnitude, the first among equals, is positive."""
    every = np.arange(vectors.shape[1])
    largest = vectors[np.abs(vectors).argmax(axis=0), every] if vectors.size else np.ones(0)
    return np.asfortranarray(vectors * np.where(largest < 0, -1.0, 1.0))
