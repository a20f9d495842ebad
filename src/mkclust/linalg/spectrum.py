"""Kernel to Spectrum: its leading eigenpairs, as many as are needed and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsm

from ..exceptions import InputError
from ..graphs.operator import GraphKernel
from ..progress import step
from .eigen import eigenpairs
from .krylov import KrylovSpace
from .threads import in_parallel

RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue; below it a direction is rounding
RANK_TOLERANCE_SINGLE = 1e-5  # the same for kernels in single precision
Pairs = tuple[np.ndarray, np.ndarray]
Memory = Callable[[np.ndarray, int, Callable[[], Pairs]], Pairs]
_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)
DENSE_UP_TO = 500  # below this n one full LAPACK decomposition is cheaper (benchmarks/RESULTS.md)
SHRUNK = 2  # times the directions found: about half of a space is kept where memory is dear
AHEAD = 48  # directions: about as many cost as much as the kernel they are directions of
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


class Spectra(Sequence[Spectrum]):
    """The spectra of all kernels, grown together on demand.

    Kernels are taken from `kernels` one at a time, or up to `at_once` on as many cores. Nothing is
    computed twice: a Krylov space goes on where it stopped, and what a direct solver found beyond
    what was asked for is kept and shown when asked. Memory is one n x n matrix for each kernel
    in work and, per view, a basis of about three times the directions asked for (twice once they
    are found, where kernels are too large to be kept; all n of them where n is small).

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

    @property
    def kernels(self) -> Any:
        """What the kernels are taken from."""
        return self._kernels

    @property
    def positions(self) -> list[int]:
        """Where in `kernels` those of these spectra are."""
        return [self._places[name] for name in self.names]

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

    def rough(self, size: int) -> list[np.ndarray] | None:
        """About the `size` leading directions of every kernel (n x size), to see if they do.

        In single precision, from Krylov spaces on their way to the true ones; None where these
        cost no more. Where kernels are built anew every time, the spaces grow ahead of `size`.
        """
        n = getattr(self._kernels, "n_samples", 0) or len(self._kernels[0])
        pooled = getattr(self._kernels, "pooled", False)
        if pooled or self.present is not None or _direct(n, size):
            return None
        return in_parallel(lambda name: self._guess(name, size), self.names, self._at_once)

    def _guess(self, name: str, size: int) -> np.ndarray:
        found, space = self._found.get(name), self._spaces.get(name)
        if found is not None and (found.size >= size or found.complete):
            return found.head(size).vectors.astype(np.float32)
        if space is None or not space.ready(size):
            kernel = self._kernels[self._places[name]]
            space = self._space(name, kernel, size)
            space.prepare(kernel, size if self._kept else size + AHEAD)
            del kernel  # where it is not kept its memory is free from here on
        return space.rough(size)

    def _space(self, name: str, kernel: np.ndarray, size: int) -> KrylovSpace:
        if name not in self._spaces:
            self._spaces[name] = KrylovSpace(len(kernel), kernel.dtype, size)
        return self._spaces[name]

    def _find(self, name: str, size: int) -> None:
        place = self._places[name]
        take = getattr(self._kernels, "operator", self._kernels.__getitem__)
        kernel = take(place)
        step(f"{size} eigenvectors of {name}")
        if isinstance(kernel, GraphKernel):
            found = leading_of_kernel(kernel, size)
        else:
            space = self._space(name, kernel, size)
            found = leading(kernel, size, space)
            if not self._kept:
                del kernel  # before anything else is held
                space.shrink(SHRUNK * size)
        rows = getattr(self._kernels, "present", None)
        self._found[name] = found if rows is None else found.padded(rows[:, place])
        if found.size == 0:
            raise InputError(f"kernel {name!r} has no positive eigenvalue")

    @property
    def _kept(self) -> bool:
        """Whether kernels stay in memory; where they do not, time and memory are dear."""
        return bool(getattr(self._kernels, "kept", True))

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

    A small matrix, or a large share of the directions, goes to LAPACK (n^3; of a small one
    everything above rounding is kept); the rest to a Krylov space (about 3 n^2 x size), which
    may be one that an earlier call began.

    >>> found = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> found.values, found.complete
    (array([3., 2.]), True)
    """
    n = len(kernel)
    tolerance = RANK_TOLERANCE_SINGLE if kernel.dtype == np.float32 else RANK_TOLERANCE
    if not _direct(n, size):
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


def leading_of_kernel(kernel: GraphKernel, size: int) -> Spectrum:
    """The same of a sparse graph; what was found before is found again, which is cheap here."""
    values, vectors, everything = kernel.leading(size)
    return _above_rounding(values, vectors, everything, tolerance=RANK_TOLERANCE)


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
    pairs = None if _direct(n, k) else KrylovSpace(n, size=k).pairs(matrix, k)
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


def _direct(n: int, size: int) -> bool:
    """Whether LAPACK is quicker than a Krylov space (benchmarks/RESULTS.md)."""
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
