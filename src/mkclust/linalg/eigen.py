"""Some eigenpairs of a symmetric matrix by LAPACK, also where its quick solver gives none."""

from __future__ import annotations

import numpy as np
import scipy.linalg

ALL_UP_TO = 600  # rows: up to here all pairs take no longer than a fifth of them


def eigenpairs(matrix: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues number `low` to `high`, ascending from 0, and their vectors (n, high - low + 1).

    LAPACK's solver for a part of the spectrum (dsyevr) is the quick one, and may fail, or return
    nothing at all, where eigenvalues repeat: an identity matrix of 27 is enough. All of them are
    computed then, by divide and conquer; and of a small matrix also where a fifth is asked for,
    because that takes less time (a single number not: scipy 1.13 refuses it there).

    >>> eigenpairs(np.eye(27), 25, 26)[0]
    array([1., 1.])
    """
    count = high - low + 1
    if not (1 < len(matrix) <= ALL_UP_TO and 5 * count >= len(matrix)):
        try:
            values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[low, high])
            if len(values) == count:
                return values, vectors
        except scipy.linalg.LinAlgError:  # the other solver is the answer to it
            values = np.empty(0)
    values, vectors = scipy.linalg.eigh(matrix, driver="evd")
    return values[low : high + 1], vectors[:, low : high + 1]


def eigenvalues(matrix: np.ndarray, low: int, high: int) -> np.ndarray:
    """The values of `eigenpairs` alone.

    >>> eigenvalues(np.eye(27), 25, 26)
    array([1., 1.])
    """
    try:
        values = scipy.linalg.eigvalsh(matrix, subset_by_index=[low, high])
        if len(values) == high - low + 1:
            return np.asarray(values)
    except scipy.linalg.LinAlgError:  # as above
        values = np.empty(0)
    return np.asarray(scipy.linalg.eigvalsh(matrix, driver="evd")[low : high + 1])
