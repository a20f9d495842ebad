"""Some eigenpairs of a symmetric matrix: by LAPACK where it is dense or small, else by Lanczos."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..exceptions import InputError
from ..progress import step

ALL_UP_TO = 600  # rows: up to here all pairs take no longer than a fifth of them
DENSE_UP_TO = 900  # rows of a sparse matrix; below it one LAPACK call is cheaper than Lanczos
TOLERANCE = 1e-8  # relative residual of an eigenvector
SINGLE_BEYOND = 20_000  # rows: single precision halves the time of a product
SINGLE_TOLERANCE = 1e-4  # in single precision; subspaces are accurate to its square


def leading_eigenpairs(A: Any, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the `size` largest eigenvalues (descending) and eigenvectors (n, size) of A.

    Parameters
    ----------
    A : (n, n) sparse array, or an operator with `shape`, ``@``, `astype` and `toarray`
        Symmetric. It is made dense where n is small or a sixth of all pairs is asked for.
    size : int
    seed : int
        Seed of the start vector, so that equal input gives equal output.

    Lanczos takes O(nnz + n size) a step and n x 2 size memory. Beyond 20 000 rows it works in
    single precision; the vectors are orthonormal to double precision again afterwards.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> leading_eigenpairs(sp.diags_array([1.0, 3.0, 2.0]).tocsr(), 2)[0]
    array([3., 2.])
    """
    n = A.shape[0]
    if n <= DENSE_UP_TO or size > n // 6:
        values, vectors = eigenpairs(A.toarray(), max(n - size, 0), n - 1)
        return values[::-1].copy(), vectors[:, ::-1]
    if n <= SINGLE_BEYOND:
        return lanczos(A, size, TOLERANCE, seed)
    values, vectors = lanczos(A.astype(np.float32), size, SINGLE_TOLERANCE, seed)
    return _within(A, vectors.astype(np.float64))


def lanczos(A: Any, size: int, tolerance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Compute the same by the implicitly restarted Lanczos method, in the precision of A."""
    step(f"{size} eigenvectors of a sparse graph")
    n, dtype = A.shape[0], getattr(A, "dtype", np.float64)
    start = np.random.default_rng(seed).standard_normal(n).astype(dtype)
    operator = LinearOperator((n, n), matvec=A.__matmul__, dtype=dtype)
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


def eigenpairs(matrix: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues number `low` to `high`, ascending from 0, and their vectors.

    LAPACK's solver for a part of the spectrum (dsyevr) is quick, but may fail or return nothing
    where eigenvalues repeat: an identity matrix of 27 rows is enough. All pairs are computed
    then, by divide and conquer; for a small matrix also where a fifth is asked for, because
    that takes less time (not for a single number: scipy 1.13 refuses it there).

    >>> eigenpairs(np.eye(27), 25, 26)[0]
    array([1., 1.])
    """
    count = high - low + 1
    if not (1 < len(matrix) <= ALL_UP_TO and 5 * count >= len(matrix)):
        try:
            values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[low, high])
            if len(values) == count:
                return values, vectors
        except scipy.linalg.LinAlgError:  # the solver below takes over
            values = np.empty(0)
    values, vectors = scipy.linalg.eigh(matrix, driver="evd")
    return values[low : high + 1], vectors[:, low : high + 1]


def eigenvalues(matrix: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the values of `eigenpairs` alone.

    >>> eigenvalues(np.eye(27), 25, 26)
    array([1., 1.])
    """
    try:
        values = scipy.linalg.eigvalsh(matrix, subset_by_index=[low, high])
        if len(values) == high - low + 1:
            return np.asarray(values)
    except scipy.linalg.LinAlgError:  # the solver below takes over
        values = np.empty(0)
    return np.asarray(scipy.linalg.eigvalsh(matrix, driver="evd")[low : high + 1])


def _within(A: Any, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs of A within the span of some vectors, descending."""
    Q = np.linalg.qr(vectors)[0]
    values, Y = scipy.linalg.eigh(Q.T @ (A @ Q))
    return values[::-1], Q @ Y[:, ::-1]
