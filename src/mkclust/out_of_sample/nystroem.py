r"""Out-of-sample extension by the Nystroem method: rows of the embedding of new samples.

A new sample has in every view a row $\kappa_p$ of kernel values with the fitted samples, centered
and normalized by their means and scales. Its coordinates on the kept eigenvectors are
$u_p = \kappa_pU_p\Lambda_p^{-1}$, and its row of the embedding is the least squares solution h of

$$\min_h \sum_p \|u_p - hB_p^T\|^2, \quad B_p = U_p^TH^*, \quad\text{so}\quad
h = \Big(\sum_p u_pB_p\Big)\Big(\sum_p B_p^TB_p\Big)^{-1},$$

over the views that the sample has. For a fitted sample it is its row of H*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..chunked.gram import block_height as feature_height
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ..io.archive import check_shape, storable
from ..kernels.bank import KernelBank
from ..kernels.features import Features
from ..kernels.functions import FUNCTION_KERNELS, KernelRows, UserKernel, in_kernel_units
from ..kernels.neighbor_graphs import GRAPH_KERNELS
from ..large.blocks import block_height, map_blocks
from ..large.views import LargeViews, refuse_not_finite
from ..linalg.centering import Centering
from ..linalg.spectrum import Spectrum
from .fitted_rows import FittedRows

ROWS_AT_ONCE = 32 << 20  # bytes of kernel rows (b, n) per thread at a time
SINGULAR = 1e-12  # relative; components of the consensus that the available views do not cover
AGREES = 1e-6  # tolerance for the row of a fitted sample, recomputed by a user's function


@dataclass(frozen=True)
class NewRows:
    """A block of new samples.

    Attributes
    ----------
    views : sequence of (b, f_p) arrays
    own : sequence of (b,) arrays or None
        Kernel values of each sample with itself; None for a view whose kernel computes them.
    present : (b, m) bool array or None
        Which samples each view holds; None for all.
    """

    views: Sequence[np.ndarray]
    own: Sequence[np.ndarray | None]
    present: np.ndarray | None = None


Embedder = Callable[[NewRows], np.ndarray]
"""A function from new samples to their rows of the embedding, (b, k)."""


Part = Callable[[Any, np.ndarray | None], np.ndarray]
"""A function from rows (b, f_p) of one view and their self-similarities, if known, to (b, k)."""


@storable
@dataclass(frozen=True)
class KernelView:
    r"""The term $u_pB_p = \kappa_pQ$ of one view, with $Q = U_p\Lambda_p^{-1}B_p$.

    Attributes
    ----------
    view : (n_p, f_p) array or None
        The fitted rows, by reference; None for a given kernel.
    centering : Centering or None
        None for a graph: its $u_p$ is a mean over neighbors, so that $Q = U_pB_p$.
    Q : (n_p, k) array
    G : (k, k) array
        $B_p^TB_p$.
    first : (k,) array
        The result for the first fitted row.
    held : (n,) bool array or None
        Which samples the view holds; None for all.
    """

    name: str
    width: int
    kernel: Any
    view: Any
    centering: Centering | None
    Q: np.ndarray
    G: np.ndarray
    first: np.ndarray
    held: np.ndarray | None = None

    def part(self, params: Mapping[str, Any]) -> Part:
        """Return the function of new rows; quantities of the fitted rows are computed once."""
        try:
            if self.centering is not None:
                return self._kernel_part(self.centering, params)
            weights = GRAPH_KERNELS[self.kernel](**params).weights(self.view)
        except InputError as error:
            raise InputError(f"view {self.name!r}: {error}") from None
        return lambda new, own: np.asarray(weights(new) @ self.Q)

    def _kernel_part(self, done: Centering, params: Mapping[str, Any]) -> Part:
        if done.shift:
            raise InputError(
                "its kernel was indefinite and shifted, which is undefined for new samples; fit "
                'with a semi-definite kernel, or with indefinite="ignore"'
            )
        rows = self._kernel_rows(done, params)

        def part(new: Any, own: np.ndarray | None) -> np.ndarray:
            K, found = rows(new)
            return np.asarray(done.rows(K, found if own is None else own / done.unit) @ self.Q)

        if callable(self.kernel):
            self._check_function(part)
        return part

    def _kernel_rows(self, done: Centering, params: Mapping[str, Any]) -> KernelRows:
        if callable(self.kernel):
            return in_kernel_units(UserKernel(self.kernel, params).rows(self.view), done.unit)
        if self.kernel != "precomputed":
            rows = FUNCTION_KERNELS[self.kernel](**params).rows(self.view)
            return in_kernel_units(rows, done.unit)
        own = np.nan if done.own is None else done.own
        held = slice(None) if self.held is None else self.held
        return lambda new: (new[:, held].astype(np.float64) / done.unit, np.full(len(new), own))

    def _check_function(self, part: Part) -> None:
        """Check with a fitted row that a function gives the same for one and two arguments."""
        found = part(self.view[:1], None)[0]
        if np.abs(found - self.first).max() > AGREES * np.sqrt(np.trace(self.G) / len(self.Q)):
            raise InputError(
                "its kernel function gives other values for (new, fitted) samples than it gave "
                "when fitted: for a pair of samples it must not depend on any others"
            )

    def check(self, n: int, width: int) -> None:
        """Refuse a view from a file that does not match n samples and an embedding of `width`.

        `width` is k, so G is (k, k).
        """
        rows = n if self.held is None else int(self.held.sum())
        given = self.kernel == "precomputed"
        if not given and self.kernel not in (*FUNCTION_KERNELS, *GRAPH_KERNELS):
            raise FileFormatError(f"unknown kernel {self.kernel!r} of the view {self.name}")
        check_shape(self.Q.shape, (rows, width), f"the map of {self.name}")
        check_shape(self.G.shape, (width, width), f"the map of {self.name}")
        if not given:
            check_shape(self.view.shape, (rows, self.width), f"the view {self.name}")
        parts = () if self.centering is None else (self.centering.half, self.centering.scale)
        for values in parts:
            if values is not None:
                check_shape(values.shape, (rows,), f"the centering of {self.name}")


class OfViews(ABC):
    """Names, widths and kinds of the fitted views, from one part per view."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """One object per view with `name`, `width` and `view`, which is None for a given kernel."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(view.name for view in self.parts)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(view.width for view in self.parts)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the views that were given as kernels."""
        return tuple(view.name for view in self.parts if view.view is None)

    @property
    def kernels(self) -> bool:
        return self.given == self.names


@storable
@dataclass(frozen=True)
class KernelExtension(OfViews):
    """Extension of a model fitted on kernels: the fitted rows, and an (n, k) matrix per view."""

    maps: tuple[KernelView, ...]
    params: Mapping[str, Any]

    @property
    def parts(self) -> tuple[KernelView, ...]:
        return self.maps

    @property
    def height(self) -> int:
        """Number of rows per block."""
        return max(1, min(4096, ROWS_AT_ONCE // (8 * max(len(view.Q) for view in self.maps))))

    def embedder(self) -> Embedder:
        parts = [view.part(self.params) for view in self.maps]

        def embed(new: NewRows) -> np.ndarray:
            shape = len(new.views[0]), len(parts)
            present = np.ones(shape, dtype=bool) if new.present is None else new.present
            H = np.zeros((shape[0], self.maps[0].Q.shape[1]))
            for p, part in enumerate(parts):
                rows, own = np.flatnonzero(present[:, p]), new.own[p]
                if len(rows):
                    H[rows] += part(new.views[p][rows], None if own is None else own[rows])
            return self._fitted(H, present)

        return embed

    def _fitted(self, H: np.ndarray, present: np.ndarray) -> np.ndarray:
        r"""Convert rows of $\sum_p u_pB_p$ to rows h: one k x k matrix per set of views."""
        patterns, which = np.unique(present, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            G = np.sum([self.maps[p].G for p in np.flatnonzero(pattern)], axis=0)
            rows = which.ravel() == number
            H[rows] = H[rows] @ np.linalg.pinv(G, rcond=SINGULAR, hermitian=True)
        return H

    def check(self, n: int, width: int) -> None:
        """Refuse an extension from a file that does not match n samples and this `width`."""
        for view in self.maps:
            view.check(n, width)

    def known(self, embedding: np.ndarray) -> FittedRows | None:
        """Return the fitted samples; None where a view was a kernel and has no feature rows."""
        if self.given:
            return None
        return FittedRows([m.view for m in self.maps], [m.held for m in self.maps], embedding)

    def needs_own(self) -> list[str]:
        """Return the given kernels whose new rows need self-similarities to be normalized."""
        return [
            view.name
            for view in self.maps
            if view.view is None and view.centering is not None
            and view.centering.scale is not None and view.centering.own is None
        ]  # fmt: skip


@storable
@dataclass(frozen=True)
class FeatureExtension:
    r"""Extension of a model fitted on explicit features: $h = zW$, z (sum r,), W (sum r, k)."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    features: Features
    W: np.ndarray
    graphs: tuple[str, ...] = ()
    given = ()
    kernels = False

    @property
    def height(self) -> int:
        return feature_height(self.features.maps)

    def check(self, n: int, width: int) -> None:
        """Refuse an extension from a file that does not match an embedding of `width`."""
        expected = int(self.features.starts[-1]), width
        check_shape(self.W.shape, expected, "the map of its features")

    def embedder(self) -> Embedder:
        if self.graphs:
            raise InputError(
                f"view {self.graphs[0]!r}: a sparse neighbor graph of large data has no extension "
                "to new samples; use another kernel, or fit a sample with approximation=None"
            )
        W = self.W.astype(self.features.dtype)

        def embed(new: NewRows) -> np.ndarray:
            if new.present is not None and not new.present.all():
                lacking = self.names[int(np.argwhere(~new.present)[0, 1])]
                raise InputError(
                    f"view {lacking!r} lacks samples: a model with approximated kernels needs all"
                )
            rows = [np.asarray(view, dtype=np.float64) for view in new.views]
            return np.asarray(self.features(rows)[0] @ W)

        return embed

    def needs_own(self) -> list[str]:
        return []


def kernel_extension(
    kernels: KernelBank, spectra: Sequence[Spectrum], dimensions: np.ndarray, H: np.ndarray
) -> KernelExtension:
    """Build the extension of a fitted model: O(n k sum(d)), without storing a kernel."""
    maps = []
    for p, (name, d) in enumerate(zip(kernels.names, dimensions, strict=True)):
        U, values = spectra[p].vectors[:, :d], spectra[p].values[:d]
        rows = slice(None) if kernels.present is None else kernels.present[:, p]
        kernel, view, done = kernels.ingredients(p)
        B = U.T @ H
        graph = isinstance(kernel, str) and kernel in GRAPH_KERNELS
        maps.append(
            KernelView(
                name=name,
                width=len(U) if view is None else view.shape[1],
                kernel=kernel,
                view=view,
                centering=None if graph else done,
                Q=(U[rows] if graph else U[rows] / values) @ B,
                G=B.T @ B,
                first=U[rows][0] @ B,
                held=None if kernels.present is None else kernels.present[:, p],
            )
        )
    return KernelExtension(tuple(maps), kernels.params)


def embedded(
    found: Any,
    views: MultiView | LargeViews,
    own: Sequence[np.ndarray | None],
    known: FittedRows | None = None,
) -> Iterator[np.ndarray]:
    """Yield the embedding of new samples, block by block; memory is a few blocks of kernel rows.

    `found` is an out-of-sample extension. `own` holds the self-similarities (n,) of every view,
    where they are known. Samples of `known` get their fitted rows.
    """
    embed, names, m = found.embedder(), views.names, views.n_views

    def embed_block(start: int, present: Any, *arrays: Any) -> np.ndarray:
        rows = [view.toarray() if sp.issparse(view) else view for view in arrays[:m]]
        if present is None:
            refuse_not_finite(names, start, rows)
        parts = []
        for first in range(0, len(rows[0]), found.height):
            at = slice(first, first + found.height)
            block = [view[at] for view in rows]
            held = None if present is None else present[at]
            alone = [None if values is None else values[at] for values in arrays[m:]]
            parts.append(embed(NewRows(block, alone, held)))
            if known is not None:
                known.put(block, held, parts[-1])
        return np.concatenate(parts)

    height = block_height(len(views), 8 * sum(views.widths))
    return map_blocks("new samples", embed_block, [views.present, *views.views, *own], height)
