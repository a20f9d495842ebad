"""Graph fusion by anchor graphs: what is estimated from a sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..agreement.chance import unrelated_in
from ..agreement.weights import ViewWeights
from ..data.views import MultiView
from ..graphs.anchors import AnchorBlock, AnchorLinks, anchor_groups
from ..graphs.metrics import joint_metric, joint_slots
from ..linalg.eigen import leading_eigenpairs
from ..progress import step
from .diffusion_map import n_components_for
from .fusion import JOINT, joint_weights
from .view_graphs import ViewGraphs

ANCHORS = 1000  # per metric; ten per cluster where that is more, and half the sample at most
SAMPLE = 10_000  # rows from which anchors are made; ten per anchor where that is more
SAMPLE_BYTES = 256 << 20  # at most, unless that were fewer rows than anchors
WEIGHED = 5000  # of them, from whose exact graphs the view weights are estimated
MORE = 10  # singular vectors beyond those of the embedding, for one step of iteration


@dataclass(frozen=True)
class SampledFusion:
    """What a sample says about the views: weights, unrelated views, and exact graphs behind them.

    `graphs` are those of the samples that the weights were estimated from.
    """

    weights: ViewWeights
    unrelated: tuple[str, ...]
    graphs: ViewGraphs


def n_anchors(n: int, k: int) -> int:
    """Return the number of anchors per metric for n samples and k clusters.

    >>> n_anchors(10**6, 20), n_anchors(10**6, 300), n_anchors(1000, 5)
    (1000, 3000, 500)
    """
    return int(max(min(max(ANCHORS, 10 * k), n // 2), 1))


def sample_size(n: int, k: int, row_bytes: int, sparse: bool = False) -> int:
    """Return the number of rows to draw: ten per anchor, and at most 256 MB.

    Two per anchor where a view is sparse: anchors are rows then, and columns that the sample
    lacks are left out. On coauthor_phy this gives 89 to 91 % ACC, ten per anchor 85.
    """
    anchors = n_anchors(n, k)
    wanted = 2 * anchors if sparse else max(SAMPLE, 10 * anchors)
    return int(min(n, max(min(wanted, SAMPLE_BYTES // max(row_bytes, 1)), 2 * anchors)))


def sampled_fusion(sample: MultiView, k: int, n_neighbors: int, seed: int) -> SampledFusion:
    """Estimate the view weights from the exact graphs of at most 5000 samples."""
    n = min(len(sample), WEIGHED)
    step(f"view weights from {n} samples")
    if n < len(sample):
        chosen = np.random.default_rng([seed, 4]).choice(len(sample), n, replace=False)
        sample = sample[np.sort(chosen)]
    graphs = ViewGraphs(sample, n_neighbors)
    subspaces = graphs.subspaces(min(2 * k, n))
    overlap = subspaces.overlap(k)
    found = graphs.weights(overlap, n_components_for(n, k) - 1)
    unrelated = unrelated_in(overlap, k, subspaces.vectors(2 * k))
    return SampledFusion(found, tuple(sample.names[p] for p in unrelated), graphs)


def anchor_links(
    sample: MultiView, fusion: SampledFusion, anchors: int, count: int, seed: int
) -> AnchorLinks:
    """Choose the anchors of every metric of every view and of all views together."""
    m = sample.n_views
    held = np.ones((len(sample), m), dtype=bool) if sample.present is None else sample.present
    views = tuple(sample.own_rows(p) for p in range(m))
    empty = AnchorLinks(views, held, sample.names, (), count, sample.kinds)
    weights, blocks = fusion.weights.weights, []
    for p in np.flatnonzero(weights > 0).tolist():
        for slot, (metric, share) in enumerate(empty.metrics[p]):
            step(f"anchors in {sample.names[p]}: {metric.name}")
            groups = _placed(anchor_groups(metric, anchors, seed), held[:, p])
            scales = np.eye(m)[p]
            blocks.append(AnchorBlock(slot, scales, groups, (1 - JOINT) * weights[p] * share))
    blocks += _joint_blocks(empty, joint_weights(fusion.graphs, weights), anchors, seed)
    return empty.with_blocks(blocks)


def _joint_blocks(
    links: AnchorLinks, weights: np.ndarray, anchors: int, seed: int
) -> list[AnchorBlock]:
    """Return the blocks of the joint distance; none where no sample is in all used views."""
    used = np.flatnonzero(weights > 0).tolist()
    everywhere = np.asarray(links.held[:, used].all(axis=1))
    if np.count_nonzero(everywhere) < 2:
        return []
    found = []
    for slot, (metrics, share) in enumerate(joint_slots([links.metrics[p] for p in used])):
        step("anchors in all views")
        parts = [
            part.subset(everywhere[links.held[:, p]]) for p, part in zip(used, metrics, strict=True)
        ]
        scales = np.zeros(len(weights))
        for p, part in zip(used, parts, strict=True):
            spread = part.spread()
            scales[p] = weights[p] / spread if spread > 0 else 0.0
        if not scales.any():  # all samples are equal under this metric in every view
            continue
        metric = joint_metric(parts, weights[used])
        groups = _placed(anchor_groups(metric, anchors, seed), everywhere)
        found.append(AnchorBlock(slot, scales, groups, JOINT * share))
    return found


def _placed(groups: np.ndarray, held: np.ndarray) -> np.ndarray:
    found = np.full(len(held), -1, dtype=np.int32)
    found[held] = groups
    return found


def trial_matrix(links: AnchorLinks, sample: MultiView, size: int) -> np.ndarray:
    """Return scaled right singular vectors (R, size + 10) of the links of the sample."""
    step("eigenvectors of the sample")
    present = sample.present
    found = [
        links(
            [view[start : start + links.height] for view in sample.views],
            None if present is None else present[start : start + links.height],
        )
        for start in range(0, len(sample), links.height)
    ]
    Z = sp.csr_array(sp.vstack([each for each, _ in found]), dtype=np.float64)
    degree = np.concatenate([each for _, each in found])
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    C = links.column_scales(np.asarray(Z.sum(axis=0)).ravel())
    B = sp.csr_array(sp.diags_array(scale) @ Z @ sp.diags_array(C))
    values, U = leading_eigenpairs(_Gram(B), min(size + MORE, *B.shape))
    kept = values > 1e-10 * values[0]
    return np.asarray(C[:, None] * (B.T @ (U[:, kept] / np.sqrt(values[kept]))))


class _Gram:
    """$BB^T$ of a sparse B (n, R), as an operator."""

    dtype = np.dtype(np.float64)

    def __init__(self, B: sp.csr_array) -> None:
        self._B, self._T = B, sp.csr_array(B.T)
        self.shape = (B.shape[0], B.shape[0])

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._B @ (self._T @ X))

    def toarray(self) -> np.ndarray:
        return np.asarray((self._B @ self._T).toarray())
