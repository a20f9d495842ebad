r"""New samples among fused graphs: at the weighted mean of their neighbours, in every sense.

In each view, and over all views at once, a new sample x has neighbours among the fitted ones,
found in the same geometries. Its row of the embedding is
$0.7\sum_p w_p\,\overline{e_j}(p) + 0.3\,\overline{e_j}(all)$, means over those neighbours' rows,
which minimises $\sum_j a_j\|e - e_j\|^2$ over its edges a in the fused graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..graph_fusion.fusion import JOINT, Partition, held_by
from ..graphs.affinity import SCALE_AT
from ..graphs.metrics import Geometry, geometries
from ..kernels.bank import KernelBank
from ..linalg.scaling import squared_norms
from .fitted_rows import KnownRows
from .nystroem import ROWS_AT_ONCE, Embedder, NewRows, OfViews

Distances = Callable[[Any, np.ndarray | None], list[np.ndarray]]
"""Rows of new samples (b, f), and their self-similarities, to squared distances (b, n) x 3."""


@dataclass(frozen=True)
class FusedView:
    """One view of a fused graph: its fitted rows, by reference, and how much it counts.

    Of a given kernel there are no rows; `diagonal` (n_p,) is what its distances need. `held` (n,)
    says which samples the view has, `spreads` the mean squared distances of its geometries.
    """

    name: str
    width: int
    view: Any
    diagonal: np.ndarray | None
    held: np.ndarray
    weight: float
    joint: float
    spreads: tuple[float, ...]

    def ready(self) -> tuple[Distances, tuple[bool, ...]]:
        """The map to distances, with all that depends on the fitted rows alone made ready, and
        which of the geometries know no neighbours at a right angle."""
        if self.diagonal is not None:
            return self._of_kernel, (False, True, False)
        parts = geometries(self.view, self.name)
        norms = [part.norms() for part in parts]

        def measured(rows: Any, own: np.ndarray | None) -> list[np.ndarray]:
            found = [_squared(*each, rows) for each in zip(parts[:2], norms[:2], strict=True)]
            same = parts[2] is parts[0]
            return [*found, found[0] if same else _squared(parts[2], norms[2], rows)]

        return measured, tuple(part.angular for part in parts)

    def _of_kernel(self, rows: Any, own: np.ndarray | None) -> list[np.ndarray]:
        diagonal = np.asarray(self.diagonal)
        K = np.asarray(rows, dtype=np.float64)[:, self.held]
        self_ = np.full(len(K), diagonal[0]) if own is None else own
        far = np.maximum(self_[:, None] + diagonal - 2 * K, 0.0)
        scale = np.sqrt(np.maximum(np.outer(self_, diagonal), np.finfo(float).tiny))
        return [far, np.maximum(2 - 2 * K / scale, 0.0), far]


@dataclass(frozen=True)
class FusedProjection(OfViews):
    """The map of a model fitted on pooled graphs: the fitted rows and their embedding (n, D)."""

    views: tuple[FusedView, ...]
    embedding: np.ndarray
    n_neighbors: int

    @property
    def parts(self) -> tuple[FusedView, ...]:
        return self.views

    @property
    def height(self) -> int:
        """Rows at a time: three distances to every fitted sample in each view."""
        return max(1, min(4096, ROWS_AT_ONCE // (24 * len(self.views) * len(self.embedding))))

    def needs_own(self) -> list[str]:
        """Given kernels whose new rows must come with self-similarities."""
        return [
            view.name
            for view in self.views
            if view.diagonal is not None and np.ptp(view.diagonal) > 0
        ]

    def known(self, embedding: np.ndarray) -> KnownRows | None:
        """The fitted samples; None where a view was a kernel, so that they have no rows."""
        if self.given:
            return None
        held = [None if view.held.all() else view.held for view in self.views]
        return KnownRows([view.view for view in self.views], held, embedding)

    def embedder(self) -> Embedder:
        maps, angular = zip(*(view.ready() for view in self.views), strict=True)

        def embed(new: NewRows) -> np.ndarray:
            shape = len(new.views[0]), len(self.views)
            present = np.ones(shape, dtype=bool) if new.present is None else new.present
            E = np.zeros((shape[0], self.embedding.shape[1]))
            far: list[Any] = [None] * len(maps)
            for p, view in enumerate(self.views):
                rows, own = np.flatnonzero(present[:, p]), new.own[p]
                if view.weight > 0 and len(rows):
                    far[p] = maps[p](new.views[p][rows], None if own is None else own[rows])
                    E[rows] += (1 - JOINT) * view.weight * self._mean(far[p], view.held, angular[p])
            self._add_joint(E, far, present)
            return E

        return embed

    def _mean(
        self, far: Sequence[np.ndarray], held: np.ndarray, angular: Sequence[bool]
    ) -> np.ndarray:
        """Mean row of the embedding over neighbours, in all geometries: (b, D)."""
        own = self.embedding[held]
        found = [
            neighbour_weights(D2, self.n_neighbors, right) @ own
            for D2, right in zip(far, angular, strict=True)
        ]
        return np.asarray(np.mean(found, axis=0))

    def _add_joint(self, E: np.ndarray, far: Sequence[Any], present: np.ndarray) -> None:
        """The same over all views at once, for samples that every view used has."""
        used = [p for p, view in enumerate(self.views) if view.joint > 0]
        rows = np.flatnonzero(present[:, used].all(axis=1))
        held = np.all([self.views[p].held for p in used], axis=0)
        if not len(rows) or np.count_nonzero(held) <= self.n_neighbors:
            return
        combined = []
        for slot in range(3):
            total = np.zeros((len(rows), np.count_nonzero(held)))
            for p in used:
                view, spread = self.views[p], self.views[p].spreads[slot]
                if spread > 0:
                    at = np.searchsorted(np.flatnonzero(present[:, p]), rows)
                    total += view.joint / spread * far[p][slot][at][:, held[view.held]]
            combined.append(total)
        E[rows] += JOINT * self._mean(combined, held, (False,) * 3)


def neighbour_weights(D2: np.ndarray, count: int, angular: bool) -> sp.csr_array:
    r"""Weights (b, n) of the samples a new one lies between, each row's sum 1, or 0 without any.

    From squared distances (b, n): half from `count` neighbours alike, half by
    $\exp(-D^2/\sigma^2)$ over twice as many, $\sigma$ the distance of the neighbour 0.7 `count`.

    >>> neighbour_weights(np.array([[0.0, 1.0, 9.0]]), 1, False).toarray().round(2)
    array([[0.87, 0.13, 0.  ]])
    """
    b, n = D2.shape
    size = min(2 * count, n)
    nearest = np.argpartition(D2, size - 1, axis=1)[:, :size]
    found = np.take_along_axis(D2, nearest, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, axis=1)
    found = np.take_along_axis(found, order, axis=1)
    real = found < 2 - 1e-9 if angular else np.ones_like(found, dtype=bool)
    scale = found[:, min(max(2, round(SCALE_AT * count)), size) - 1]
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    # Far from all neighbours is not far from nothing: the nearest counts one.
    weighed = np.exp(-(found - found[:, :1]) / scale) * real
    alike = (np.arange(size) < count) * real
    weights = sum(
        part / np.maximum(part.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        for part in (weighed, alike)
    )
    edges = np.arange(0, b * size + 1, size)
    return sp.csr_array((np.ravel(weights) / 2, nearest.ravel(), edges), shape=(b, n))


def fused_projection(bank: KernelBank, found: Partition) -> FusedProjection:
    """What a model fitted on pooled graphs keeps to place new samples: nothing is computed."""
    how = found.fusion
    assert how is not None
    views = []
    for p, name in enumerate(how.names):
        rows, given = bank.views.own_rows(p), bank.views.kernels
        views.append(
            FusedView(
                name=name,
                width=bank.n_samples if given else rows.shape[1],
                view=None if given else rows,
                diagonal=np.asarray(rows.diagonal(), dtype=np.float64) if given else None,
                held=held_by(bank.views, p),
                weight=float(how.chosen.weights[p]),
                joint=float(how.joint[p]),
                spreads=_in_own_unit(found.spreads[p], rows) if given else found.spreads[p],
            )
        )
    return FusedProjection(tuple(views), found.embedding, how.n_neighbors)


def _in_own_unit(spreads: Sequence[float], kernel: Any) -> tuple[float, ...]:
    """Mean squared distances of a given kernel, which its geometries divide by its largest entry;
    angles have no unit."""
    unit = float(np.abs(kernel).max())
    return spreads[0] * unit, spreads[1], spreads[2] * unit


def _squared(part: Geometry, norms: np.ndarray, rows: Any) -> np.ndarray:
    assert part.of is not None
    Y = part.of(rows)
    found = Y @ part.points.T
    D2 = found.toarray() if sp.issparse(found) else np.asarray(found)
    D2 *= -2.0
    D2 += squared_norms(Y)[:, None] + norms
    if part.angular:  # rows of zeros are at a right angle to everything
        D2[:, norms < 0.5] = 2.0
        D2[squared_norms(Y) < 0.5] = 2.0
    return np.maximum(D2, 0.0, out=D2)
