r"""Out-of-sample extensions of graph fusion: the weighted mean of neighbors, links to anchors.

In each view, and over all views at once, a new sample has neighbors among the fitted ones under
the metrics of the fit. Its row of the embedding is
$(1 - c)\sum_p w_p\,\overline{e_j}(p) + c\,\overline{e_j}(joint)$, means over those neighbors'
rows, with c the `joint_share` of the fit (0.3, or 0.95 for views of one measurement each). It
minimizes $\sum_j a_j\|e - e_j\|^2$ over its edges a in the fused graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.values import ABSENT, hash_rows
from ..data.views import MultiView
from ..exceptions import InputError
from ..graphs.affinity import scale_number
from ..graphs.anchors import AnchorLinks
from ..graphs.metrics import Metric, view_metrics
from ..graphs.neighbors import smallest
from ..io.models import storable
from ..linalg.scaling import cross_distances, squared_norms
from .new_samples import ROWS_AT_ONCE, SHIFTED, Embedder, Extension, NewRows

Distances = Callable[[Any, np.ndarray | None], list[np.ndarray]]
"""Function of new rows (b, f) and self-similarities to squared distances (b, n), one a metric."""


@storable
@dataclass(frozen=True)
class NeighborView:
    """One fitted view: its rows, by reference, and its weights.

    `weight` is the view's own, `joint` that in the joint distance. A given kernel has no rows;
    its distances need its `diagonal` (n_p,), its rows are known by their `hashes`, and it may have
    been `shifted`. `held` (n,) says which samples the view has, `spreads` are the mean squared
    distances under its metrics, `kind` is what its columns are.
    """

    name: str
    view: Any
    diagonal: np.ndarray | None
    held: np.ndarray
    weight: float
    joint: float
    spreads: tuple[float, ...]
    kind: str
    hashes: np.ndarray | None = None
    shifted: bool = False

    def distance_function(self) -> tuple[Distances, tuple[bool, ...], tuple[float, ...]]:
        """Return a function from new rows to distances, which are angular, and their shares.

        What depends on the fitted rows alone is computed here.
        """
        if self.shifted:
            raise InputError(f"view {self.name!r}: {SHIFTED}")
        if self.diagonal is not None:
            return self._of_kernel, (False, True), (2 / 3, 1 / 3)
        parts, shares = zip(*view_metrics(self.view, self.name, kind=self.kind), strict=True)
        norms = [part.norms() for part in parts]

        def distances(rows: Any, own: np.ndarray | None) -> list[np.ndarray]:
            return [_squared(*each, rows) for each in zip(parts, norms, strict=True)]

        return distances, tuple(part.angular for part in parts), shares

    def _of_kernel(self, rows: Any, own: np.ndarray | None) -> list[np.ndarray]:
        diagonal = np.asarray(self.diagonal)
        K = np.asarray(rows, dtype=np.float64)[:, self.held]
        self_ = np.full(len(K), diagonal[0]) if own is None else own
        far = np.maximum(self_[:, None] + diagonal - 2 * K, 0.0)
        scale = np.sqrt(np.maximum(np.outer(self_, diagonal), np.finfo(float).tiny))
        return [far, np.maximum(2 - 2 * K / scale, 0.0)]


@storable
@dataclass(frozen=True)
class NeighborExtension(Extension):
    """The extension of a fitted GraphFusion: the fitted rows and their embedding (n, D).

    `joint_share` is the share of the joint graph in the fused one. A sample that equals a fitted
    one in every view gets its row of the embedding; the first of several equal ones. By the mean
    of its neighbors, of which it is one itself, some fitted samples would change their cluster.
    """

    views: tuple[NeighborView, ...]
    embedding: np.ndarray
    n_neighbors: int
    joint_share: float

    @property
    def height(self) -> int:
        # Each row needs three distances to all samples in each view.
        return max(1, min(4096, ROWS_AT_ONCE // (24 * len(self.views) * len(self.embedding))))

    def needs_own(self) -> list[str]:
        return [
            view.name
            for view in self.views
            if view.diagonal is not None and np.ptp(view.diagonal) > 0
        ]

    def embedder(self) -> Embedder:
        maps, angular, shares = zip(*(view.distance_function() for view in self.views), strict=True)
        fitted = self._fitted_places()

        def embed(new: NewRows) -> np.ndarray:
            present = new.held()
            E = np.zeros((len(present), self.embedding.shape[1]))
            far: list[Any] = [None] * len(maps)
            weights = np.array([view.weight for view in self.views])
            alone = ~present[:, weights > 0].any(axis=1)  # in no view with a weight
            for p, view in enumerate(self.views):
                used = present[:, p] if view.weight > 0 else present[:, p] & alone
                rows, own = np.flatnonzero(used), new.own[p]
                if len(rows):
                    far[p] = maps[p](new.views[p][rows], None if own is None else own[rows])
                    weight = (1 - self.joint_share) * (view.weight or weights[weights > 0].mean())
                    E[rows] += weight * self._mean(far[p], view.held, angular[p], shares[p])
            self._add_joint(E, far, present, max(shares, key=len))
            if fitted:
                keys = np.column_stack([hash_rows(view) for view in new.views])
                keys[~present] = ABSENT
                for i, key in enumerate(keys):
                    if (place := fitted.get(key.tobytes())) is not None:
                        E[i] = self.embedding[place]
            return E

        return embed

    def _fitted_places(self) -> dict[bytes, int]:
        """Return the fitted samples by the hashes of their rows; {} for kernels that lack some."""
        if self.given and not all(view.held.all() for view in self.views):
            return {}
        keys = np.full((len(self.embedding), len(self.views)), ABSENT)
        for p, view in enumerate(self.views):
            keys[view.held, p] = hash_rows(view.view) if view.hashes is None else view.hashes
        return {key.tobytes(): i for i, key in reversed(list(enumerate(keys)))}

    def _mean(
        self,
        far: Sequence[np.ndarray],
        held: np.ndarray,
        angular: Sequence[bool],
        shares: Sequence[float],
    ) -> np.ndarray:
        """Return the mean row of the embedding over neighbors under all metrics: (b, D)."""
        own = self.embedding[held]
        found = [
            share * (neighbor_weights(D2, self.n_neighbors, right) @ own)
            for D2, right, share in zip(far, angular, shares, strict=True)
        ]
        return np.asarray(np.sum(found, axis=0))

    def _add_joint(
        self, E: np.ndarray, far: Sequence[Any], present: np.ndarray, shares: Sequence[float]
    ) -> None:
        """Add the part of the joint distance, for samples that every used view has."""
        used = [p for p, view in enumerate(self.views) if view.joint > 0]
        rows = np.flatnonzero(present[:, used].all(axis=1))
        held = np.all([self.views[p].held for p in used], axis=0)
        if not len(rows) or np.count_nonzero(held) <= self.n_neighbors:
            return
        combined = []
        for slot in range(len(shares)):
            total = np.zeros((len(rows), np.count_nonzero(held)))
            for p in used:
                view = self.views[p]
                own = slot if slot < len(view.spreads) else 0
                if view.spreads[own] > 0:
                    at = np.searchsorted(np.flatnonzero(present[:, p]), rows)
                    total += view.joint / view.spreads[own] * far[p][own][at][:, held[view.held]]
            combined.append(total)
        angular = (False,) * len(shares)
        E[rows] += self.joint_share * self._mean(combined, held, angular, shares)


def neighbor_weights(D2: np.ndarray, count: int, angular: bool) -> sp.csr_array:
    r"""Return weights (b, n) of the neighbors of new samples; rows sum to 1, or 0 without any.

    From squared distances (b, n): half equally over `count` neighbors, half by
    $\exp(-D^2/\sigma^2)$ over twice as many, $\sigma$ the distance to neighbor 0.7 `count`.

    >>> neighbor_weights(np.array([[0.0, 1.0, 9.0]]), 1, False).toarray().round(2)
    array([[0.87, 0.13, 0.  ]])
    """
    b, n = D2.shape
    size = min(2 * count, n)
    nearest, found = smallest(D2, size)
    real = found < 2 - 1e-9 if angular else np.ones_like(found, dtype=bool)
    scale = found[:, scale_number(count, size) - 1]
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    # A sample far from all others keeps its neighbors: the nearest has weight one.
    weighed = np.exp(-(found - found[:, :1]) / scale) * real
    alike = (np.arange(size) < count) * real
    weights = sum(
        part / np.maximum(part.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        for part in (weighed, alike)
    )
    edges = np.arange(0, b * size + 1, size)
    return sp.csr_array((np.ravel(weights) / 2, nearest.ravel(), edges), shape=(b, n))


def neighbor_extension(
    views: MultiView,
    weights: Sequence[float] | np.ndarray,
    joint: Sequence[float] | np.ndarray,
    spreads: Sequence[tuple[float, ...]],
    embedding: np.ndarray,
    n_neighbors: int,
    joint_share: float,
    shifted: Collection[str] = (),
) -> NeighborExtension:
    """Keep what new samples are compared with, in every view; nothing is computed."""
    parts, held = [], views.held
    for p, name in enumerate(views.names):
        rows, own = views.own_rows(p), spreads[p]
        diagonal = hashes = None
        if views.kernels:  # the metrics divided a kernel by its largest entry; angles have no unit
            own = own[0] * float(np.abs(rows).max()), own[1]
            diagonal, hashes = np.asarray(rows.diagonal(), dtype=np.float64), hash_rows(rows)
            rows = None
        weight, known = (float(weights[p]), float(joint[p])), (hashes, name in shifted)
        kind = views.kinds[p]
        parts.append(NeighborView(name, rows, diagonal, held[:, p], *weight, own, kind, *known))
    given = views.names if views.kernels else ()
    return NeighborExtension(views.names, given, tuple(parts), embedding, n_neighbors, joint_share)


def _squared(part: Metric, norms: np.ndarray, rows: Any) -> np.ndarray:
    assert part.map_new is not None
    Y = part.map_new(rows)
    D2 = cross_distances(Y, part.points, norms)
    if part.angular:  # rows of zeros are at a right angle to all others
        D2[:, norms < 0.5] = 2.0
        D2[squared_norms(Y) < 0.5] = 2.0
    return D2


@storable
@dataclass(frozen=True)
class AnchorExtension(Extension):
    r"""The anchors of a fitted model and the coefficients W (R, D) of its embedding.

    A new sample has links z (R,) to the anchors as the fitted ones, and its row of the embedding
    is $d^{-1/2}zW$. A fitted sample gets its own row by the same formula.
    """

    links: AnchorLinks
    W: np.ndarray

    @property
    def height(self) -> int:
        return self.links.height

    def embedder(self) -> Embedder:
        return lambda new: self.links.embed(new.views, new.present, self.W)
