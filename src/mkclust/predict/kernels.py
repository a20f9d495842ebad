r"""Extension of fits to kernels by the Nystroem method: rows of the embedding of new samples.

A new sample has in every view a row $\kappa_p$ of kernel values with the fitted samples, centered
and normalized by their means and scales. Its coordinates on the kept eigenvectors are
$u_p = \kappa_pU_p\Lambda_p^{-1}$, and its row of the embedding is the least squares solution h of

$$\min_h \sum_p \|u_p - hB_p^T\|^2, \quad B_p = U_p^TH^*, \quad\text{so}\quad
h = \Big(\sum_p u_pB_p\Big)\Big(\sum_p B_p^TB_p\Big)^{-1},$$

over the views that the sample has. For a fitted sample it is its row of H*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..io.models import storable
from ..kernels.bank import KernelBank
from ..kernels.functions import fitted_kernel
from ..linalg.eigenpairs import Spectrum
from ..linalg.scaling import Centering
from .new_samples import ROWS_AT_ONCE, SHIFTED, Embedder, Extension, NewRows

SINGULAR = 1e-12  # relative; components of the consensus that the available views do not cover
AGREES = 1e-6  # tolerance for the row of a fitted sample, recomputed by a user's function

Term = Callable[[Any, np.ndarray | None], np.ndarray]
"""A function from rows (b, f_p) of one view and their self-similarities, if known, to (b, k)."""

storable(Centering)  # a field of `KernelView`


@storable
@dataclass(frozen=True)
class KernelView:
    r"""The term $u_pB_p = \kappa_pQ$ of one view, with $Q = U_p\Lambda_p^{-1}B_p$.

    Attributes
    ----------
    kernel : str or callable
    view : (n_p, f_p) array or None
        The fitted rows, by reference; None for a given kernel.
    centering : Centering
    Q : (n_p, k) array
    G : (k, k) array
        $B_p^TB_p$.
    first : (k,) array
        The result for the first fitted row.
    held : (n,) bool array or None
        Which samples the view holds; None for all.
    """

    kernel: Any
    view: Any
    centering: Centering
    Q: np.ndarray
    G: np.ndarray
    first: np.ndarray
    held: np.ndarray | None = None

    def term(self, params: Mapping[str, Any]) -> Term:
        """Return the function of new rows; quantities of the fitted rows are computed once."""
        done = self.centering
        if done.shift:
            raise InputError(SHIFTED)
        rows = self._given_rows
        if self.view is not None:
            rows = fitted_kernel(self.kernel, params, self.view).rows

        def term(new: Any, own: np.ndarray | None) -> np.ndarray:
            K, found = rows(new)
            found = found if own is None else own
            K /= done.unit
            return np.asarray(done.rows(K, found / done.unit) @ self.Q)

        if callable(self.kernel):
            self._check_function(term)
        return term

    def _given_rows(self, new: Any) -> tuple[np.ndarray, np.ndarray]:
        done = self.centering
        own = np.nan if done.own is None else done.own * done.unit
        held = slice(None) if self.held is None else self.held
        return new[:, held].astype(np.float64), np.full(len(new), own)

    def _check_function(self, term: Term) -> None:
        """Check with a fitted row that a function gives the same for one and two arguments."""
        found = term(self.view[:1], None)[0]
        if np.abs(found - self.first).max() > AGREES * np.sqrt(np.trace(self.G) / len(self.Q)):
            raise InputError(
                "its kernel function gives other values for (new, fitted) samples than it gave "
                "when fitted: for a pair of samples it must not depend on any others"
            )


@storable
@dataclass(frozen=True)
class KernelExtension(Extension):
    """Extension of a model fitted on kernels: the fitted rows, and an (n, k) matrix per view."""

    views: tuple[KernelView, ...]
    params: Mapping[str, Any]

    @property
    def height(self) -> int:
        return max(1, min(4096, ROWS_AT_ONCE // (8 * max(len(view.Q) for view in self.views))))

    def embedder(self) -> Embedder:
        terms = []
        for name, view in zip(self.names, self.views, strict=True):
            try:
                terms.append(view.term(self.params))
            except InputError as error:
                raise InputError(f"view {name!r}: {error}") from None

        def embed(new: NewRows) -> np.ndarray:
            present = new.held()
            H = np.zeros((len(present), self.views[0].Q.shape[1]))
            for p, term in enumerate(terms):
                rows, own = np.flatnonzero(present[:, p]), new.own[p]
                if len(rows):
                    H[rows] += term(new.views[p][rows], None if own is None else own[rows])
            return self._solve(H, present)

        return embed

    def _solve(self, H: np.ndarray, present: np.ndarray) -> np.ndarray:
        r"""Convert rows of $\sum_p u_pB_p$ to rows h: one k x k matrix per set of views."""
        patterns, which = np.unique(present, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            G = np.sum([self.views[p].G for p in np.flatnonzero(pattern)], axis=0)
            rows = which.ravel() == number
            H[rows] = H[rows] @ np.linalg.pinv(G, rcond=SINGULAR, hermitian=True)
        return H

    def needs_own(self) -> list[str]:
        return [
            name
            for name, view in zip(self.names, self.views, strict=True)
            if view.view is None and view.centering.scale is not None and view.centering.own is None
        ]


def kernel_extension(
    kernels: KernelBank, spectra: Sequence[Spectrum], dimensions: np.ndarray, H: np.ndarray
) -> KernelExtension:
    """Build the extension of a fitted model: O(n k sum(d)), without storing a kernel."""
    maps = []
    for p, d in enumerate(dimensions):
        U, values = spectra[p].vectors[:, :d], spectra[p].values[:d]
        held = None if kernels.present is None else kernels.present[:, p]
        rows = slice(None) if held is None else held
        kernel, view, centering = kernels.ingredients(p)
        B = U.T @ H
        Q = (U[rows] / values) @ B
        maps.append(KernelView(kernel, view, centering, Q, B.T @ B, U[rows][0] @ B, held))
    given = tuple(name for name, m in zip(kernels.names, maps, strict=True) if m.view is None)
    return KernelExtension(kernels.names, given, views=tuple(maps), params=kernels.params)
