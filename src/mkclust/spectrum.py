"""Kernel to Spectrum: its leading eigenpairs, as many as are needed and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .errors import InputError
from .krylov import KrylovSpace
from .progress import step
from .threads import in_parallel

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; below it a direction is rounding
RANK_TOLERANCE_SINGLE = 1e-5  # the same for kernels in single precision
Pairs = tuple[np.ndarray, np.ndarray]
Memory = Callable[[np.ndarray, int, Callable[[], Pairs]], Pairs]
_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)
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


class Spectra(Sequence[Spectrum]):
    """The spectra of all kernels, grown together on demand.

    Kernels are taken from `kernels` one at a time, or up to `at_once` on as many cores. Nothing is
    computed twice: a Krylov space goes on where it stopped, and what a direct solver found beyond
    what was asked for is kept and shown when asked. Memory is one n x n matrix for each kernel
    in work and, per view, a basis of about three times the directions asked for (all n of them
    where n is small).

    Where `kernels` has an attribute `present` (n, m), a kernel covers only the samples its view
    holds, in their order, and its vectors are zero at the others.
    """

    def __init__(
        self, kernels: Sequence[np.ndarray], names: Sequence[str], at_once: int = 1
    ) -> None:
        self._kernels = kernels
        self._at_once = at_once
        self.names = tuple(names)
        self._places = {name: p for p, name in enumerate(self.names)}  # in `kernels`
        self._found: dict[str, Spectrum] = {}
        self._spaces: dict[str, KrylovSpace] = {}
        self._size = 0

    def chosen(self, positions: Sequence[int]) -> Spectra:
        """Some of the kernels, as if from the beginning, but with all that is known of them.

        What either of the two computes from now on, the other knows as well.
        """
        some = Spectra(self._kernels, [self.names[p] for p in positions], self._at_once)
        some._places, some._found, some._spaces = self._places, self._found, self._spaces
        return some

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> Spectrum:  # type: ignore[override]
        found = self._found.get(self.names[position])
        if found is None:
            raise IndexError(f"the spectrum of {self.names[position]} was not computed yet")
        return found.head(self._size)

    def kernel(self, position: int) -> np.ndarray:
        """The matrix itself, not to be written to."""
        return self._kernels[self._places[self.names[position]]]

    def grow(self, size: int) -> None:
        """Have `size` directions of every kernel, or all above rounding where those are fewer."""
        known = {name: self._found.get(name) for name in self.names}
        short = [
            name
            for name, found in known.items()
            if found is None or (found.size < size and not found.complete)
        ]
        in_parallel(lambda name: self._find(name, size), short, at_once=self._at_once)
        self._size = max(size, self._size)

    def _find(self, name: str, size: int) -> None:
        kernel = self._kernels[self._places[name]]
        step(f"{size} eigenvectors of {name}")
        if name not in self._spaces:
            self._spaces[name] = KrylovSpace(len(kernel), kernel.dtype)
        found = leading(kernel, size, self._spaces[name])
        rows = getattr(self._kernels, "present", None)
        place = self._places[name]
        self._found[name] = found if rows is None else found.padded(rows[:, place])
        if found.size == 0:
            raise InputError(f"kernel {name!r} has no positive eigenvalue")

    @property
    def present(self) -> np.ndarray | None:
        """Which samples each kernel covers, (n, m); None where all of them cover all."""
        rows = getattr(self._kernels, "present", None)
        return None if rows is None else rows[:, [self._places[name] for name in self.names]]

    @property
    def horizon(self) -> int | None:
        """Directions known of each kernel that has more of them; None when all are known."""
        sizes = [self[p].size for p in range(len(self)) if not self[p].complete]
        return min(sizes, default=None)


def covered(spectra: Sequence[Spectrum]) -> np.ndarray | None:
    """Which samples each of the spectra covers, (n, m); None where all of them cover all."""
    return spectra.present if isinstance(spectra, Spectra) else None


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
    tolerance = RANK_TOLERANCE_SINGLE if kernel.dtype == np.float32 else RANK_TOLERANCE
    if not _direct(n, size):
        pairs = (space or KrylovSpace(n, kernel.dtype)).pairs(kernel, size)
        if pairs is not None:
            return _above_rounding(*pairs, everything=False, tolerance=tolerance)
    values, vectors = scipy.linalg.eigh(kernel.astype(np.float64, copy=False), driver="evd")
    return _above_rounding(values[::-1], vectors[:, ::-1], everything=True, tolerance=tolerance)


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


def _above_rounding(
    values: np.ndarray, vectors: np.ndarray, everything: bool, tolerance: float
) -> Spectrum:
    floor = max(len(vectors) * np.finfo(float).eps, tolerance) * max(values[0], 0.0)
    above = int(np.count_nonzero(values > floor))
    kept = vectors[:, :above]
    if vectors.dtype == np.float32:
        # Overlaps are compared to nine digits: what is rounded must still be orthonormal.
        kept = np.linalg.qr(kept.astype(np.float64))[0]
    return Spectrum(
        vectors=with_fixed_signs(kept),
        values=values[:above],
        complete=everything or above < len(values),
    )
