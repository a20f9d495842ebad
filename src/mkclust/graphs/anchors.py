r"""Anchor graphs: every sample is linked to a few of r anchors, and no two samples directly.

Under one metric, Z (n, r) has the weights of the links, `count` per row, rows summing to 1. With
$L = \mathrm{diag}(Z^T1)$ the affinity $ZL^{-1}Z^T$ is doubly stochastic and of rank r. It is never
formed: the fused graph is $S = \sum_b s_b Z_bL_b^{-1}Z_b^T$ over blocks b, one for every metric of
every view and of all views together, so that its eigenvectors are left singular vectors of the
blocks side by side. Time and memory are linear in n.

References
----------
W. Liu, J. He, S.-F. Chang. Large Graph Construction for Scalable Semi-Supervised Learning.
ICML 2010.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from ..io.models import storable
from ..linalg.kmeans import unit_rows
from ..linalg.scaling import dense, inverse_roots, squared_norms
from ..linalg.threads import one_thread
from .metrics import Metric, Metrics, SummedMetric, view_metrics
from .neighbors import smallest

Sums = dict[str, np.ndarray]

STEPS = 5  # of k-means, from random rows
AXES = 128  # principal axes onto which dense points with more columns are projected
GROUP = 16  # the number of columns of distances is a multiple, so that it can be halved
FAR = 1e30  # squared distance in columns that are no anchor
RIGHT = 2 - 1e-6  # squared distance of unit rows from which they count as at a right angle
DISTANCES = 1 << 19  # distances to anchors in memory at a time


def anchor_groups(metric: Metric | SummedMetric, count: int, seed: int) -> np.ndarray:
    """Divide samples into at most `count` groups: labels (n,), -1 for samples in no group.

    Dense points are grouped by a few steps of k-means: O(n count f). Sparse rows share few
    columns, and the mean of a group is near to none of them: `count` of them are drawn, each a
    group of its own.

    >>> points = Metric("x", np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]))
    >>> len(set(anchor_groups(points, 2, 0).tolist()))
    2
    """
    parts, n, count = metric.parts, metric.n_samples, min(count, metric.n_samples)
    chosen = np.random.default_rng([seed, 3]).choice(n, count, replace=False)
    if any(sp.issparse(part.points) for part in parts):
        groups = np.full(n, -1, dtype=np.int32)
        groups[np.sort(chosen)] = np.arange(count)
        return groups
    X = np.hstack([part.points for part in parts]).astype(np.float32)
    with one_thread(), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        start = X[np.sort(chosen)]
        model = KMeans(count, init=start, n_init=1, max_iter=STEPS, algorithm="lloyd").fit(X)
    return np.asarray(np.unique(model.labels_, return_inverse=True)[1], dtype=np.int32)


def reduce_width(metric: Metric) -> Metric:
    """Project dense points with more than 128 columns onto their 128 leading principal axes.

    A link then costs r x 128 operations for any number of columns, and what single samples have
    alone counts less (benchmarks/ANCHORS.md: BDGP). The axes come from a randomized SVD of the
    sample: O(n f).

    References
    ----------
    N. Halko, P.-G. Martinsson, J. Tropp. Finding Structure with Randomness. SIAM Review 53, 2011.
    """
    X, map_new = metric.rows, metric.map_new
    if X is None or map_new is None or min(X.shape) <= AXES:
        return metric
    with one_thread():  # the same axes on any number of threads, and on every worker
        found = randomized_svd(X.astype(np.float32), AXES, n_iter=2, random_state=0)
    axes = found[2].T.astype(float)

    def project(points: np.ndarray) -> np.ndarray:
        return unit_rows(points @ axes) if metric.angular else points @ axes

    return replace(metric, points=project(X), map_new=lambda rows: project(map_new(rows)))


@storable
@dataclass(frozen=True)
class AnchorBlock:
    """The anchors of one metric: centers of groups of a sample.

    Attributes
    ----------
    slot : int
        Which metric of a view is used; the first of views that have fewer.
    scales : (m,) array
        Weight of every view's squared distance; 0 for views that are not used.
    groups : (n,) int array
        The group of every sample, from 0 to r - 1; -1 for samples in none.
    share : float
        Weight of the block in the fused graph.
    """

    slot: int
    scales: np.ndarray
    groups: np.ndarray
    share: float

    @property
    def size(self) -> int:
        """Return the number of anchors, r."""
        return int(self.groups.max()) + 1

    @property
    def used(self) -> list[int]:
        """Return the views with a part in the distance."""
        return np.flatnonzero(self.scales > 0).tolist()


@storable
@dataclass(frozen=True)
class AnchorLinks:
    """The links of any rows to the anchors of all blocks.

    Attributes
    ----------
    views : tuple of (n_p, f_p) arrays or sparse matrices
        A sample of the rows of every view, without those that the view lacks. Columns are
        standardized by this sample.
    held : (n, m) bool array
        Which of the n samples every view holds.
    names : tuple of str
    blocks : tuple of AnchorBlock
    count : int
        Links per row and block.
    kinds : tuple of str
        What the columns of every view are (`MultiView.kinds`); by default the sample tells.
    """

    views: tuple[Any, ...]
    held: np.ndarray
    names: tuple[str, ...]
    blocks: tuple[AnchorBlock, ...]
    count: int
    kinds: tuple[str, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def starts(self) -> np.ndarray:
        """Return the first column of every block, and the number of columns R in the end."""
        return np.cumsum([0, *(block.size for block in self.blocks)])

    @property
    def height(self) -> int:
        """Return the number of rows at a time, whose distances to one block fit in the cache."""
        return max(64, DISTANCES // max(block.size for block in self.blocks))

    @cached_property
    def metrics(self) -> tuple[Metrics, ...]:
        """Return the metrics of every view on the sample, wide ones on their principal axes."""
        kinds = self.kinds or [None] * len(self.views)
        return tuple(
            tuple(
                (reduce_width(part), share) for part, share in view_metrics(view, name, kind=kind)
            )
            for view, name, kind in zip(self.views, self.names, kinds, strict=True)
        )

    def metric(self, p: int, slot: int) -> Metric:
        """Return metric number `slot` of a view, or its first where it has fewer."""
        metrics = self.metrics[p]
        return metrics[slot if slot < len(metrics) else 0][0]

    def with_blocks(self, blocks: Sequence[AnchorBlock]) -> AnchorLinks:
        """Return links to the anchors of other blocks; the metrics are not computed again."""
        found = replace(self, blocks=tuple(blocks))
        found.__dict__["metrics"] = self.metrics
        return found

    @cached_property
    def _anchors(self) -> list[dict[int, Any]]:
        """Return, per block and view it uses, a matrix that turns points into distances to anchors.

        A center is scaled to the root mean square length of its members. The mean of many rows
        is shorter than any of them, and in many columns it would be the nearest anchor of all.
        """
        found = []
        for block in self.blocks:
            members = np.flatnonzero(block.groups >= 0)
            group = block.groups[members]
            padded = block.size + -block.size % GROUP
            mean = sp.csr_array(
                (1 / np.bincount(group)[group], (group, np.arange(len(group)))),
                shape=(padded, len(group)),
            )
            centers, own, squares = {}, np.zeros(padded), np.zeros(padded)
            for p in block.used:
                at = np.searchsorted(np.flatnonzero(self.held[:, p]), members)
                points = self.metric(p, block.slot).points[at]
                centers[p] = mean @ points
                own += block.scales[p] * squared_norms(centers[p])
                squares += block.scales[p] * (mean @ squared_norms(points))
            longer = np.sqrt(np.divide(squares, own, out=np.ones_like(own), where=own > 0))
            pairs = centers.items()
            real = np.arange(padded) < block.size
            found.append({p: _distance_matrix(C, longer, block.scales[p], real) for p, C in pairs})
        return found

    def __call__(
        self, views: Sequence[Any], present: np.ndarray | None = None
    ) -> tuple[sp.csr_array, np.ndarray]:
        r"""Return the links Z (b, R) of some rows, all blocks side by side, and degrees (b,).

        The degree of a row in the fused graph is the total share of the blocks in which it has
        links: 1, unless a view lacks the row or a row of zeros has no angle. `present` (b, m)
        says which rows the views hold.
        """
        b, width = views[0].shape[0], len(self.blocks) * self.count
        places = np.zeros((b, width), dtype=np.int32)
        weights = np.zeros((b, width), dtype=np.float32)
        degree = np.zeros(b)
        known: dict[tuple[int, int], tuple[Any, np.ndarray]] = {}
        for number, (block, start) in enumerate(zip(self.blocks, self.starts, strict=False)):
            here = np.arange(b)
            if present is not None:
                here = np.flatnonzero(present[:, block.used].all(axis=1))
            inner, own = self._distances(number, views, present, here, known)
            # Rows of zeros have no angle, and rows at a right angle are no neighbors.
            most = np.where(own > 0.5, RIGHT - own, -np.inf) if self._angular(block) else None
            near, far = smallest(inner, min(self.count, block.size), most)
            w = link_weights(np.maximum(far + own[:, None], 0.0), self._angular(block))
            columns = slice(number * self.count, number * self.count + near.shape[1])
            places[here, columns] = near + start
            weights[here, columns] = w
            degree[here] += block.share * (w.sum(axis=1) > 0)
        edges = np.arange(0, b * width + 1, width)
        size = int(self.starts[-1])
        return sp.csr_array((weights.ravel(), places.ravel(), edges), shape=(b, size)), degree

    def parts(
        self, views: Sequence[Any], present: np.ndarray | None = None
    ) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
        """Yield links and degrees of all rows of a block, as many at a time as fit in the cache."""
        for start in range(0, views[0].shape[0], self.height):
            some = slice(start, start + self.height)
            yield self([view[some] for view in views], None if present is None else present[some])

    def product(self, views: Sequence[Any], present: np.ndarray | None, X: np.ndarray) -> Sums:
        r"""Return sums over the rows of a block for a trial matrix X (R, q).

        `mass` is $Z^T1$ (R,), `product` $Z^T\Delta^{-1}ZX$ (R, q) and `gram`
        $X^TZ^T\Delta^{-1}ZX$ (q, q), with the degrees $\Delta$; `rows` is the number of rows.
        """
        R, q = X.shape
        found = {"mass": np.zeros(R), "product": np.zeros((R, q)), "gram": np.zeros((q, q))}
        for Z, degree in self.parts(views, present):
            scale = inverse_roots(degree)[:, None]
            F = (Z @ X) * scale
            across = Z.T.tocsr()
            found["mass"] += np.asarray(across.sum(axis=1, dtype=np.float64)).ravel()
            found["product"] += across @ (F * scale)
            found["gram"] += F.T @ F
        return found | {"rows": np.array(views[0].shape[0])}

    def embed(self, views: Sequence[Any], present: np.ndarray | None, W: np.ndarray) -> np.ndarray:
        r"""Return the rows $\Delta^{-1/2}ZW$ of the embedding (b, D) of a block."""
        parts = self.parts(views, present)
        return np.concatenate([(Z @ W) * inverse_roots(degree)[:, None] for Z, degree in parts])

    def column_scales(self, mass: np.ndarray) -> np.ndarray:
        r"""Return $\sqrt{s_b / L_{jj}}$ (R,) from the column sums of Z; 0 for unused anchors."""
        shares = np.repeat([block.share for block in self.blocks], np.diff(self.starts))
        return np.sqrt(np.divide(shares, mass, out=np.zeros_like(shares), where=mass > 0))

    def _angular(self, block: AnchorBlock) -> bool:
        return len(block.used) == 1 and self.metric(block.used[0], block.slot).angular

    def _distances(
        self,
        number: int,
        views: Sequence[Any],
        present: np.ndarray | None,
        here: np.ndarray,
        known: dict[tuple[int, int], tuple[Any, np.ndarray]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances (b', r) of the rows `here` to the anchors of a block.

        They come in two parts: without the squared norms of the rows, in single precision, and
        those norms (b',). `known` keeps the points of the rows, which several blocks use.
        """
        block, norms = self.blocks[number], np.zeros(len(here))
        found: Any = None
        for p in block.used:
            key = p, block.slot
            held = None if present is None else present[:, p]
            if key not in known:
                metric = self.metric(p, block.slot)
                Y = metric.map_new(views[p] if held is None else views[p][held])  # type: ignore[misc]
                known[key] = _with_one(Y), squared_norms(Y)
            Y, own = known[key]
            if held is not None:
                at = np.searchsorted(np.flatnonzero(held), here)
                Y, own = Y[at], own[at]
            part = dense(Y @ self._anchors[number][p])
            found = part if found is None else np.add(found, part, out=found)
            norms += block.scales[p] * own
        return found, norms


def _with_one(points: Any) -> Any:
    """Return points with a column of ones, in single precision."""
    both = [points.astype(np.float32), np.ones((points.shape[0], 1), dtype=np.float32)]
    return sp.csr_array(sp.hstack(both)) if sp.issparse(points) else np.hstack(both)


def _distance_matrix(centers: Any, lengths: np.ndarray, scale: float, real: np.ndarray) -> Any:
    r"""Return M (f + 1, r) with $(y, 1)M = c\,(\|a\|^2 - 2y^Ta)$ for centers a of some lengths.

    In single precision, and sparse where the centers are. Centers that are not `real` (r,) are
    farther than any other.
    """
    a = sp.diags_array(lengths) @ centers
    last = np.where(real, squared_norms(a) * scale, FAR)
    parts = [-2 * a * scale, last[:, None]]
    if sp.issparse(a):
        return sp.csr_array(sp.hstack(parts).T, dtype=np.float32)
    return np.ascontiguousarray(np.hstack(parts).T, dtype=np.float32)


def link_weights(far: np.ndarray, angular: bool) -> np.ndarray:
    r"""Return the weights (b, s) of links of squared lengths `far`; rows sum to 1, or are 0.

    $w_{ij} \propto \exp(-D_{ij}^2 / \sigma_i^2)$ with $\sigma_i$ the distance to the last anchor.
    Under an angular metric, anchors at a right angle or more are not linked, and count as at one.
    """
    far = np.minimum(far, 2.0) if angular else far
    scale = far[:, -1:]
    weights = np.exp(-far / np.where(scale > 0, scale, 1.0))
    if angular:
        weights[far > RIGHT] = 0.0
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
