"""Leading eigenvectors of every view: of graphs, or of kernels in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from ..exceptions import InputError
from ..graphs.affinity import CenteredGraph
from ..io.models import storable
from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import Spectrum, leading
from ..linalg.threads import in_parallel
from ..progress import step
from .cache import reused
from .overlap import Overlap, orthonormal_prefixes, overlap, overlap_on_common_rows


class Subspaces(Sequence[Spectrum]):
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

    def vectors(self, size: int) -> list[np.ndarray]:
        """Return the first `size` eigenvectors of every view."""
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


class GraphSubspaces(Subspaces):
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
        self._states[p].found = leading(self._graphs[p], size)


class KernelSubspaces(Subspaces):
    """Leading eigenvectors of kernels (n_p, n_p) in memory, each kernel built when needed.

    Memory is one n x n matrix for each kernel in work and, per view, the eigenvectors asked for
    (all n of them where n is small).
    """

    def __init__(
        self,
        kernels: Sequence[np.ndarray],
        names: Sequence[str],
        present: np.ndarray | None = None,
        at_once: int = 1,
    ) -> None:
        super().__init__(names, present, at_once)
        self.kernels = kernels
        self._states = [_State() for _ in self.names]

    @classmethod
    def of(cls, bank: KernelBank) -> KernelSubspaces:
        """Use the kernels of a bank; what an enclosing block knows of its views is reused."""
        found = cls(bank, bank.names, bank.present, bank.at_once)
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
        self._states[p].found = leading(kernel, size)

    @property
    def n_samples(self) -> int:
        return int(getattr(self.kernels, "n_samples", 0) or len(self.kernels[0]))


@dataclass
class _State:
    """What is known of one view: its eigenpairs."""

    found: Spectrum | None = None

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


@storable
@dataclass(frozen=True)
class ViewSpectra:
    """Per view: the eigenvalues known, and the first k eigenvectors.

    `values` are arrays (D_p,), descending; `heads` are (n, min(k, D_p)) in single precision,
    which is enough to draw: 4 n k bytes per view.
    """

    values: tuple[np.ndarray, ...]
    heads: tuple[np.ndarray, ...]


def view_spectra(spectra: Sequence[Spectrum], k: int) -> ViewSpectra:
    """Copy what is kept, so that the eigenvectors themselves can be freed.

    >>> kept = view_spectra([Spectrum(np.eye(3), np.array([3.0, 2.0, 1.0]), True)], 2)
    >>> kept.values[0], kept.heads[0].shape
    (array([3., 2., 1.]), (3, 2))
    """
    every = [spectra[p] for p in range(len(spectra))]
    return ViewSpectra(
        values=tuple(np.array(spectrum.values) for spectrum in every),
        heads=tuple(spectrum.vectors[:, :k].astype(np.float32) for spectrum in every),
    )


def view_spectra_of(model: Any) -> ViewSpectra | None:
    """Return what a fitted model kept; None for methods that keep nothing."""
    kept: ViewSpectra | None = getattr(model, "_spectra", None)
    return kept
