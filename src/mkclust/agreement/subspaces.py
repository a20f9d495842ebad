"""Leading eigenvectors of every view, wherever they come from, behind one protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dgemm

from ..exceptions import InputError
from ..graphs.operator import CenteredGraph
from ..kernels.bank import KernelBank
from ..linalg.krylov import KrylovSpace
from ..linalg.spectrum import Spectrum, direct_is_quicker, leading, leading_of_operator
from ..linalg.threads import in_parallel
from ..progress import step
from .cache import reused
from .common_rows import orthonormal_prefixes, overlap_on_common_rows
from .overlap import Overlap, overlap

SHRUNK = 2  # times the eigenvectors found: what is kept of a Krylov space to save memory
AHEAD = 48  # eigenvectors: computing as many costs about as much as building the kernel again


class Subspaces(Protocol):
    """Leading eigenvectors $V_p$ of every view p, as many as were asked for.

    `names` are the views; `present` (n, m) says which samples each view holds, None where all
    hold all. An algorithm that uses nothing else works on kernels in memory, on graphs and on
    features of rows that are read in chunks.
    """

    names: tuple[str, ...]

    @property
    def present(self) -> np.ndarray | None: ...

    def grow(self, size: int) -> None:
        """Compute `size` eigenvectors of every view, or all where there are fewer."""

    @property
    def horizon(self) -> int | None:
        """Number of eigenvectors known of views that have more; None where all are known."""

    def overlap(self, k: int) -> Overlap:
        """Return $V_p^TV_q$ for all pairs; pairs with at most k common samples have none."""

    def sketch(self, size: int) -> list[np.ndarray] | None:
        """Return rough eigenvectors (n, size) of every view, None where exact ones are as quick."""

    def vectors(self, size: int) -> list[np.ndarray] | None:
        """Return the first `size` eigenvectors of every view; None where they are not in memory."""

    def embed(self, d: np.ndarray, W: np.ndarray) -> Any:
        r"""Return $H = \sum_p V_p[:, :d_p]W_p$ (n, r) for coefficients W (sum d, r)."""

    def coordinates(self, H: Any, d: np.ndarray) -> list[np.ndarray]:
        r"""Return $H^TV_p[:, :d_p]$, (r, d_p), of every view."""


class SpectraInMemory(Sequence[Spectrum]):
    """Eigenvectors held as arrays: `self[p]` is the Spectrum of view p.

    A view that lacks samples has zero rows there. Nothing is computed twice.
    """

    def __init__(
        self, names: Sequence[str], present: np.ndarray | None = None, at_once: int = 1
    ) -> None:
        self.names = tuple(names)
        self.present = present
        self._at_once = at_once
        self._size = 0

    @abstractmethod
    def known(self, p: int) -> Spectrum | None:
        """Return what was computed of view p, over the samples it holds."""

    @abstractmethod
    def find(self, p: int, size: int) -> None:
        """Compute `size` eigenvectors of view p."""

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, p: int) -> Spectrum:  # type: ignore[override]
        found = self.known(p)
        if found is None:
            raise IndexError(f"no eigenvectors of {self.names[p]} were computed yet")
        found = found.head(self._size)
        return found if self.present is None else found.padded(self.present[:, p])

    def grow(self, size: int) -> None:
        """Compute `size` eigenvectors of every view, or all where there are fewer."""
        short = [
            p
            for p in range(len(self))
            if (found := self.known(p)) is None or (found.size < size and not found.complete)
        ]
        in_parallel(lambda p: self.find(p, size), short, at_once=self._at_once)
        for p in short:
            if (found := self.known(p)) is not None and found.size == 0:
                raise InputError(f"view {self.names[p]!r} has no positive eigenvalue")
        self._size = max(size, self._size)

    @property
    def horizon(self) -> int | None:
        sizes = [spectrum.size for spectrum in self if not spectrum.complete]
        return min(sizes, default=None)

    def overlap(self, k: int) -> Overlap:
        if self.present is None:
            return overlap(self)
        return overlap_on_common_rows(self, self.present, k)

    def sketch(self, size: int) -> list[np.ndarray] | None:
        return None

    def vectors(self, size: int) -> list[np.ndarray] | None:
        return [spectrum.vectors[:, :size] for spectrum in self]

    def heads(self, d: Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """Return the first d_p eigenvectors of every view."""
        return [spectrum.vectors[:, :size] for spectrum, size in zip(self, d, strict=True)]

    def embed(self, d: np.ndarray, W: np.ndarray) -> np.ndarray:
        parts = np.split(W, np.cumsum(d)[:-1])
        U = self.heads(d)
        H = np.zeros((len(U[0]), W.shape[1]), order="F")
        for U_p, part in zip(U, parts, strict=True):
            H = dgemm(1.0, U_p, part, beta=1.0, c=H, overwrite_c=True)  # accumulate in place
        return H

    def coordinates(self, H: np.ndarray, d: np.ndarray) -> list[np.ndarray]:
        """Return $H^TU_p$; of a view that lacks samples, with H orthonormal over those it has."""
        H = H[:, H.any(axis=0)]  # a consensus of lower rank is padded with zero columns
        if self.present is None:
            return [H.T @ U for U in self.heads(d)]
        over = [np.where(held[:, None], H, 0.0) for held in self.present.T]
        bases = [orthonormal_prefixes(part) for part in over]
        used = [Q[:, Q.any(axis=0)] for Q in bases]
        return [Q.T @ U for Q, U in zip(used, self.heads(d), strict=True)]


class GraphSubspaces(SpectraInMemory):
    """Leading eigenvectors of graphs (n_p, n_p), each centered and scaled to unit diagonal."""

    def __init__(
        self,
        graphs: Sequence[CenteredGraph],
        names: Sequence[str],
        present: np.ndarray | None = None,
        at_once: int = 1,
    ) -> None:
        super().__init__(names, present, at_once)
        self._states = [reused(("graph spectrum", id(graph)), graph, _State) for graph in graphs]
        self._graphs = graphs

    def known(self, p: int) -> Spectrum | None:
        return self._states[p].found

    def find(self, p: int, size: int) -> None:
        step(f"{size} eigenvectors of {self.names[p]}")
        self._states[p].found = leading_of_operator(self._graphs[p], size)


class KernelSubspaces(SpectraInMemory):
    """Leading eigenvectors of kernels (n_p, n_p) in memory, each kernel built when needed.

    A Krylov space goes on where it stopped. Memory is one n x n matrix for each kernel in work
    and, per view, a basis of about three times the eigenvectors asked for (twice once they are
    found, where kernels are too large to keep; all n of them where n is small).
    """

    def __init__(
        self,
        kernels: Sequence[np.ndarray],
        names: Sequence[str],
        present: np.ndarray | None = None,
        at_once: int = 1,
        kept: bool = True,
    ) -> None:
        super().__init__(names, present, at_once)
        self.kernels = kernels
        self._kept = kept  # whether a kernel that was built stays in memory
        self._states = [_State() for _ in self.names]

    @classmethod
    def of(cls, bank: KernelBank) -> KernelSubspaces:
        """Use the kernels of a bank; what an enclosing block knows of its views is reused."""
        found = cls(bank, bank.names, bank.present, bank.at_once, bank.kept)
        found._states = [
            reused(bank.key(p), bank, partial(_Built, bank, p)) for p in range(len(bank))
        ]
        for p, state in enumerate(found._states):
            state.hand_over(bank, p)
        return found

    def known(self, p: int) -> Spectrum | None:
        return self._states[p].found

    def find(self, p: int, size: int) -> None:
        kernel = self.kernels[p]
        step(f"{size} eigenvectors of {self.names[p]}")
        state = self._states[p]
        space = state.space_for(kernel, size)
        state.found = leading(kernel, size, space)
        if not self._kept:
            del kernel  # free its memory before the space is rearranged
            space.shrink(SHRUNK * size)

    def sketch(self, size: int) -> list[np.ndarray] | None:
        """Return rough eigenvectors in single precision, from Krylov spaces still growing.

        None where exact ones cost no more. Where kernels are built anew every time, the spaces
        grow ahead of `size`.
        """
        if self.present is not None or direct_is_quicker(self.n_samples, size):
            return None
        return in_parallel(lambda p: self._sketch(p, size), range(len(self)), self._at_once)

    def _sketch(self, p: int, size: int) -> np.ndarray:
        state = self._states[p]
        found, space = state.found, state.space
        if found is not None and (found.size >= size or found.complete):
            return found.head(size).vectors.astype(np.float32)
        if space is None or not space.ready(size):
            kernel = self.kernels[p]
            space = state.space_for(kernel, size)
            space.prepare(kernel, size if self._kept else size + AHEAD)
            del kernel  # free its memory where it is not kept
        return space.rough(size)

    @property
    def n_samples(self) -> int:
        return int(getattr(self.kernels, "n_samples", 0) or len(self.kernels[0]))


@dataclass
class _State:
    """What is known of one view: its eigenpairs and the Krylov space they come from."""

    found: Spectrum | None = None
    space: KrylovSpace | None = None

    def space_for(self, kernel: np.ndarray, size: int) -> KrylovSpace:
        if self.space is None:
            self.space = KrylovSpace(len(kernel), kernel.dtype, size)
        return self.space

    def hand_over(self, bank: KernelBank, p: int) -> None:
        """Tell a bank what is known of its kernel p."""


class _Built(_State):
    """The same for a kernel of a bank, which knows how the kernel was centered."""

    def __init__(self, bank: KernelBank, p: int) -> None:
        super().__init__()
        self._bank, self._position = bank, p

    def hand_over(self, bank: KernelBank, p: int) -> None:
        known = self._bank.centerings.get(self._position)
        if known is not None:
            bank.centerings[p] = known
