"""Kernel to Spectrum: its leading eigenpairs, as many as are needed and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, eigsh

from .progress import step

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; below it a direction is rounding
DENSE_UP_TO = 800  # below this n one full LAPACK decomposition is cheaper than any iteration


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

    def head(self, size: int) -> Spectrum:
        """The first `size` directions, as views of the same memory."""
        if size >= self.size:
            return self
        return Spectrum(self.vectors[:, :size], self.values[:size], complete=False)


class Spectra(Sequence[Spectrum]):
    """The spectra of all kernels, grown together on demand.

    Kernels are taken from `kernels` one at a time, so memory is one n x n matrix and the bases.
    A solver may find more than was asked for; that is kept for later growth and shown then.
    """

    def __init__(self, kernels: Sequence[np.ndarray], names: Sequence[str]) -> None:
        self._kernels = kernels
        self.names = tuple(names)
        self._found: list[Spectrum | None] = [None] * len(self.names)
        self._size = 0

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, position: int) -> Spectrum:  # type: ignore[override]
        found = self._found[position]
        if found is None:
            raise IndexError(f"the spectrum of {self.names[position]} was not computed yet")
        return found.head(self._size)

    def grow(self, size: int) -> None:
        """Have `size` directions of every kernel, or all above rounding where those are fewer."""
        for p, found in enumerate(self._found):
            if found is None or (found.size < size and not found.complete):
                step(f"{size} eigenvectors of {self.names[p]}")
                self._found[p] = leading(self._kernels[p], size)
        self._size = max(size, self._size)

    @property
    def horizon(self) -> int | None:
        """Directions known of each kernel that has more of them; None when all are known."""
        sizes = [self[p].size for p in range(len(self)) if not self[p].complete]
        return min(sizes, default=None)


def leading(kernel: np.ndarray, size: int) -> Spectrum:
    r"""The `size` leading eigenpairs of a symmetric matrix, those below rounding left out.

    A small matrix, or a large share of the directions, goes to LAPACK (n^3, and everything it
    found above rounding is kept); the rest to Lanczos (about n^2 x size).

    >>> found = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> found.values, found.complete
    (array([3., 2.]), True)
    """
    n = len(kernel)
    if n <= DENSE_UP_TO or size > n // 5:
        return _truncated(*_all_pairs(kernel), everything=True)
    values, vectors = top_eigenpairs(kernel, size)
    return _truncated(values, vectors, everything=False)


def top_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k algebraically largest eigenvalues, descending, and their vectors (n x k).

    Signs are fixed (largest entry positive), so that equal input gives equal output.
    """
    n = len(matrix)
    if n <= DENSE_UP_TO or k > n // 5:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - k, n - 1])
    else:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(matrix, k=k, which="LA", v0=start, ncv=min(n, 2 * k + 20))
        except ArpackError:
            values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - k, n - 1])
    return values[::-1], with_fixed_signs(vectors[:, ::-1])


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns flipped so that the entry of largest magnitude is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asfortranarray(vectors * np.where(signs == 0, 1.0, signs))


def _all_pairs(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = scipy.linalg.eigh(kernel, driver="evd")
    return values[::-1], with_fixed_signs(vectors[:, ::-1])


def _truncated(values: np.ndarray, vectors: np.ndarray, everything: bool) -> Spectrum:
    floor = max(len(vectors) * np.finfo(float).eps, RANK_TOLERANCE) * max(values[0], 0.0)
    above = int(np.count_nonzero(values > floor))
    return Spectrum(
        vectors=vectors[:, :above],
        values=values[:above],
        complete=everything or above < len(values),
    )
