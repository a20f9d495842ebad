"""Kernel to Spectrum: its leading eigenpairs, as many as are needed and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .errors import InputError
from .krylov import KrylovSpace
from .progress import step
from .threads import in_parallel

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; below it a direction is rounding
DENSE_UP_TO = 500  # below this n one full LAPACK decomposition is cheaper (benchmarks/RESULTS.md)


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

    Kernels are taken from `kernels` one at a time, or up to `at_once` on as many cores. Nothing is
    computed twice: a Krylov space goes on where it stopped, and what a direct solver found beyond
    what was asked for is kept and shown when asked. Memory is one n x n matrix for each kernel
    in work and, per view, a basis of about three times the directions asked for (all n of them
    where n is small).
    """

    def __init__(
        self, kernels: Sequence[np.ndarray], names: Sequence[str], at_once: int = 1
    ) -> None:
        self._kernels = kernels
        self._at_once = at_once
        self.names = tuple(names)
        self._found: list[Spectrum | None] = [None] * len(self.names)
        self._spaces: list[KrylovSpace | None] = [None] * len(self.names)
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
        short = [
            p
            for p, found in enumerate(self._found)
            if found is None or (found.size < size and not found.complete)
        ]
        in_parallel(lambda p: self._find(p, size), short, at_once=self._at_once)
        self._size = max(size, self._size)

    def _find(self, p: int, size: int) -> None:
        kernel = self._kernels[p]
        step(f"{size} eigenvectors of {self.names[p]}")
        space = self._spaces[p] = self._spaces[p] or KrylovSpace(len(kernel))
        self._found[p] = found = leading(kernel, size, space)
        if found.size == 0:
            raise InputError(f"kernel {self.names[p]!r} has no positive eigenvalue")

    @property
    def horizon(self) -> int | None:
        """Directions known of each kernel that has more of them; None when all are known."""
        sizes = [self[p].size for p in range(len(self)) if not self[p].complete]
        return min(sizes, default=None)


def leading(kernel: np.ndarray, size: int, space: KrylovSpace | None = None) -> Spectrum:
    r"""The `size` leading eigenpairs of a symmetric matrix, those below rounding left out.

    A small matrix, or a large share of the directions, goes to LAPACK (n^3, and everything it
    found above rounding is kept); the rest to a Krylov space (about 3 n^2 x size), which may be
    one that an earlier call began.

    >>> found = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> found.values, found.complete
    (array([3., 2.]), True)
    """
    n = len(kernel)
    if not _direct(n, size):
        pairs = (space or KrylovSpace(n)).pairs(kernel, size)
        if pairs is not None:
            return _above_rounding(*pairs, everything=False)
    values, vectors = scipy.linalg.eigh(kernel, driver="evd")
    return _above_rounding(values[::-1], vectors[:, ::-1], everything=True)


def top_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k algebraically largest eigenvalues, descending, and their vectors (n x k).

    Signs are fixed (largest entry positive), so that equal input gives equal output.
    """
    n = len(matrix)
    pairs = None if _direct(n, k) else KrylovSpace(n).pairs(matrix, k)
    if pairs is None:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - k, n - 1])
        pairs = values[::-1], vectors[:, ::-1]
    return pairs[0], with_fixed_signs(pairs[1])


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns flipped so that the entry of largest magnitude is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asfortranarray(vectors * np.where(signs == 0, 1.0, signs))


def _direct(n: int, size: int) -> bool:
    return n <= DENSE_UP_TO or size > n // 8


def _above_rounding(values: np.ndarray, vectors: np.ndarray, everything: bool) -> Spectrum:
    floor = max(len(vectors) * np.finfo(float).eps, RANK_TOLERANCE) * max(values[0], 0.0)
    above = int(np.count_nonzero(values > floor))
    return Spectrum(
        vectors=with_fixed_signs(vectors[:, :above]),
        values=values[:above],
        complete=everything or above < len(values),
    )
