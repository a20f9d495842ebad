"""Leading eigenvectors of every view, of its graph or its kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dgemm

from ..data.memory import make_once
from ..exceptions import InputError
from ..io.models import storable
from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import Spectrum, leading
from ..linalg.scaling import Centering
from ..linalg.threads import in_parallel
from ..progress import step
from .subspace_overlap import Overlap, orthonormal_prefixes, overlap, overlap_on_common_rows


class Subspaces(Sequence[Spectrum]):
    """Leading eigenvectors of the graph or kernel of every view: `self[p]` is that of view p.

    A view that lacks samples has zero rows there. Nothing is computed twice, also not by others
    with the same matrices inside `with shared_views()`. Memory is one matrix of a bank in work
    and, per view, the eigenvectors asked for (all n of them where n is small).

    Parameters
    ----------
    matrices : sequence of (n_p, n_p) arrays or operators, or KernelBank
        Of a bank, each kernel is built when it is needed.
    names : sequence of str
    present : (n, m) bool array or None
        Which samples each view holds.
    at_once : int
        How many views are decomposed in parallel.
    solve : function of a matrix and a number of eigenvectors to a Spectrum
    """

    def __init__(
        self,
        matrices: Sequence[Any],
        names: Sequence[str],
        present: np.ndarray | None = None,
        at_once: int = 1,
        solve: Callable[[Any, int], Spectrum] = leading,
    ) -> None:
        self.matrices = matrices
        self.names = tuple(names)
        self.present = present
        self._at_once, self._solve = at_once, solve
        self._size = 0
        keys = [(solve, *self._key(p)) for p in range(len(self))]
        self._known = [make_once(key, matrices, _Known) for key in keys]
        if isinstance(matrices, KernelBank):
            known = {p: each.centering for p, each in enumerate(self._known)}
            matrices.centerings |= {p: done for p, done in known.items() if done is not None}

    @classmethod
    def of(cls, bank: KernelBank) -> Subspaces:
        """Return those of the kernels of a bank."""
        return cls(bank, bank.names, bank.present, bank.at_once)

    def _key(self, p: int) -> tuple[Any, ...]:
        if isinstance(self.matrices, KernelBank):
            return self.matrices.key(p)
        return "spectrum", id(self.matrices[p])

    def known(self, p: int) -> Spectrum | None:
        """Return what was computed of view p, over the samples it holds."""
        return self._known[p].found

    def find(self, p: int, size: int) -> None:
        """Compute `size` eigenvectors of view p."""
        matrix = self.matrices[p]
        step(f"{size} eigenvectors of {self.names[p]}")
        self._known[p].found = self._solve(matrix, size)
        if isinstance(self.matrices, KernelBank):
            self._known[p].centering = self.matrices.centerings[p]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, p: int) -> Spectrum:  # type: ignore[override]
        found = self.known(p)
        if found is None:
            raise IndexError(f"no eigenvectors of {self.names[p]} were computed yet")
        found = found.head(self._size)
        return found if self.present is None else found.pad(self.present[:, p])

    def grow(self, size: int) -> Self:
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
        return self

    @property
    def horizon(self) -> int | None:
        """Number of eigenvectors known of each view that has more; None where all are known."""
        sizes = [spectrum.size for spectrum in self if not spectrum.complete]
        return min(sizes, default=None)

    def overlap(self, k: int) -> Overlap:
        """Return the overlaps of all pairs of views."""
        if self.present is None:
            return overlap(list(self))
        return overlap_on_common_rows(list(self), self.present, k)

    def heads(self, d: int | Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """Return the first d_p eigenvectors of every view, or the first d of all."""
        sizes = np.broadcast_to(d, len(self))
        return [spectrum.vectors[:, :size] for spectrum, size in zip(self, sizes, strict=True)]

    def embed(self, d: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Return the first d_p eigenvectors of all views times W (sum d, r): (n, r)."""
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


@dataclass
class _Known:
    """What is known of one view: its eigenpairs, and how the kernel of a bank was centered."""

    found: Spectrum | None = None
    centering: Centering | None = None


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
    return ViewSpectra(
        values=tuple(np.array(spectrum.values) for spectrum in spectra),
        heads=tuple(spectrum.vectors[:, :k].astype(np.float32) for spectrum in spectra),
    )
