"""Graph fusion by anchor graphs: anchors from a sample of the rows, and passes over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..agreement.weights import ViewWeights
from ..data.views import MultiView
from ..graphs.anchors import AnchorBlock, AnchorLinks, anchor_groups
from ..graphs.metrics import joint_metric, joint_slots
from ..graphs.neighbors import EXACT_UP_TO
from ..large.blocks import block_height, compute_rows, map_blocks, sum_blocks
from ..large.views import LargeViews, refuse_not_finite, row_bytes
from ..linalg.eigenpairs import leading_eigenpairs
from ..linalg.scaling import inverse_roots
from ..progress import step
from .fusion import in_no_used, joint_share, joint_weights
from .view_graphs import ViewGraphs

ANCHORS = 1000  # per metric; ten per cluster where that is more, and half the sample at most
SAMPLE = 10_000  # rows from which anchors are made; ten per anchor where that is more
SAMPLE_BYTES = 256 << 20  # at most, unless that were fewer rows than anchors
WEIGHED = 5000  # of them, from whose exact graphs the view weights are estimated
ITERATED = 1_000_000  # rows drawn for the step of subspace iteration, of more
SINGULAR = 1e-10  # relative; singular values below are rounding
MORE = 10  # singular vectors beyond those of the embedding, for one step of iteration


@dataclass(frozen=True)
class SampledFusion:
    """What a sample says about the views: weights, and the exact graphs behind them.

    `graphs` are those of the samples that the weights were estimated from.
    """

    chosen: ViewWeights
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


def weights_from_sample(sample: MultiView, k: int, n_neighbors: int, seed: int) -> SampledFusion:
    """Estimate the view weights from the exact graphs of at most 5000 samples.

    A view of weight 0 that alone holds some samples gets the mean weight of the others.
    """
    n = min(len(sample), WEIGHED)
    step(f"view weights from {n} samples")
    if n < len(sample):
        rows = np.random.default_rng([seed, 4]).choice(len(sample), n, replace=False)
        sample = sample[np.sort(rows)]
    graphs = ViewGraphs(sample, n_neighbors)
    chosen = graphs.weights(graphs.subspaces(2 * k), k)
    weights, alone = chosen.weights.copy(), in_no_used(graphs, chosen.weights)
    for p in np.flatnonzero(weights == 0).tolist():
        # Links of some rows only would not connect them.
        if (graphs.views.held[:, p] & alone).any():
            weights[p] = chosen.weights[chosen.weights > 0].mean()
    return SampledFusion(replace(chosen, weights=weights / weights.sum()), graphs)


def anchor_links(
    sample: MultiView, fusion: SampledFusion, anchors: int, count: int, seed: int
) -> AnchorLinks:
    """Choose the anchors of every metric of every view and of all views together."""
    m, held = sample.n_views, sample.held
    views = tuple(sample.own_rows(p) for p in range(m))
    empty = AnchorLinks(views, held, sample.names, (), count, sample.kinds)
    weights, blocks = fusion.chosen.weights, []
    joint = joint_share(fusion.graphs, weights)
    for p in np.flatnonzero(weights > 0).tolist():
        for slot, (metric, share) in enumerate(empty.metrics[p]):
            step(f"anchors in {sample.names[p]}: {metric.name}")
            groups = _pad_groups(anchor_groups(metric, anchors, seed), held[:, p])
            scales = np.eye(m)[p]
            blocks.append(AnchorBlock(slot, scales, groups, (1 - joint) * weights[p] * share))
    for block in _joint_blocks(empty, joint_weights(fusion.graphs, weights), anchors, seed):
        blocks.append(replace(block, share=joint * block.share))
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
        scales, spreads = np.zeros(len(weights)), np.array([part.spread for part in parts])
        scales[used] = np.divide(weights[used], spreads, out=np.zeros(len(used)), where=spreads > 0)
        if not scales.any():  # all samples are equal under this metric in every view
            continue
        metric = joint_metric(parts, weights[used])
        groups = _pad_groups(anchor_groups(metric, anchors, seed), everywhere)
        found.append(AnchorBlock(slot, scales, groups, share))
    return found


def _pad_groups(groups: np.ndarray, held: np.ndarray) -> np.ndarray:
    found = np.full(len(held), -1, dtype=np.int32)
    found[held] = groups
    return found


def trial_matrix(links: AnchorLinks, sample: MultiView, size: int) -> np.ndarray:
    """Return scaled right singular vectors (R, size + 10) of the links of the sample."""
    step("eigenvectors of the sample")
    found = list(links.parts(sample.views, sample.present))
    Z = sp.csr_array(sp.vstack([each for each, _ in found]), dtype=np.float64)
    scale = inverse_roots(np.concatenate([each for _, each in found]))
    C = links.column_scales(np.asarray(Z.sum(axis=0)).ravel())
    B = sp.csr_array(sp.diags_array(scale) @ Z @ sp.diags_array(C))
    values, U = leading_eigenpairs(_Gram(B), min(size + MORE, *B.shape))
    kept = values > SINGULAR * values[0]
    return np.asarray(C[:, None] * (B.T @ (U[:, kept] / np.sqrt(values[kept]))))


class _Gram:
    """$BB^T$ of a sparse B (n, R), as an operator."""

    def __init__(self, B: sp.csr_array) -> None:
        self._B, self._T = B, sp.csr_array(B.T)
        self.shape = (B.shape[0], B.shape[0])

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._B @ (self._T @ X))

    def toarray(self) -> np.ndarray:
        return np.asarray((self._B @ self._T).toarray())


class AnchorRows:
    r"""The rows of all views, in blocks, and what passes over them compute.

    The stacked links are $B = \Delta^{-1/2}ZC$ (n, R) with $C = \mathrm{diag}(\sqrt{s_b/L})$ and
    $\Delta$ the degrees, and the fused graph is $S = BB^T$. A first pass draws a sample and
    checks all rows; anchors, view weights and approximate right singular vectors come from the
    sample. The second pass makes one step of subspace iteration, the third one the embedding.
    """

    def __init__(self, views: MultiView | LargeViews, seed: int) -> None:
        self.views, self.seed = views, seed
        self.height = block_height(len(views), row_bytes(views))
        self._arrays = [views.present, *views.views]

    def sample(self, k: int) -> MultiView:
        """Draw the samples that anchors are made from; stored rows are checked for NaN."""
        n, sparse = len(self.views), any(sp.issparse(view) for view in self.views.views)
        size = sample_size(n, k, row_bytes(self.views), sparse)
        rows = np.random.default_rng([self.seed, 2]).choice(n, size, replace=False)
        rows.sort()
        if isinstance(self.views, MultiView):
            return self.views[rows]
        take = partial(_checked_rows, self.views.names, rows)
        parts = list(map_blocks("sample", take, self.views.views, self.height))
        drawn = [_stack(blocks) for blocks in zip(*parts, strict=True)]
        return MultiView(drawn, names=self.views.names, kinds=self.views.kinds)

    def iterate(self, links: AnchorLinks, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        r"""Make one step of subspace iteration from a trial matrix X (R, q).

        It uses all rows, or a million drawn at random: what the sums over all rows are estimated
        from is then still a hundred times the sample that the anchors are made from.

        With $\tilde X = C^{-1}X$ and $G = B^TB$, Rayleigh-Ritz in the span of $\tilde X$ gives
        eigenvalues and $v = \tilde Xa$; $u = BGv\lambda^{-3/2}$ are the eigenvectors of S.
        Returned are the eigenvalues (q,), descending, W (R, q) with $u = \Delta^{-1/2}ZW$, and
        the number of rows used.
        """
        n = len(self.views)
        share = min(1.0, ITERATED / n)
        function = partial(_product, links, X, share, self.seed)
        found = sum_blocks("links", function, self._arrays, self.height)
        used = int(found["rows"])
        times = n / used
        C = links.column_scales(times * found["mass"])[:, None]
        start = np.divide(X, C, out=np.zeros_like(X), where=C > 0)
        length, Q = scipy.linalg.eigh(start.T @ start)
        kept = length > SINGULAR * length[-1]
        T = Q[:, kept] / np.sqrt(length[kept])
        values, A = scipy.linalg.eigh(T.T @ (times * found["gram"]) @ T)
        values, A = values[::-1], T @ A[:, ::-1]
        positive = values > SINGULAR * values[0]
        values, A = values[positive], A[:, positive]
        return values, C**2 * (times * found["product"] @ A) * values**-1.5, used

    def embed(self, links: AnchorLinks, W: np.ndarray) -> Any:
        """Return the embedding (n, D) of all rows: an array, or a dask array where it is large."""
        dtype = np.float64 if len(self.views) <= EXACT_UP_TO else np.float32
        function = partial(_embed, links, np.ascontiguousarray(W), dtype)
        shape = len(self.views), W.shape[1]
        return compute_rows("embedding", function, self._arrays, self.height, shape, dtype)


def _checked_rows(names: Sequence[str], rows: np.ndarray, start: int, *views: Any) -> list[Any]:
    """Return the drawn rows of a block, after a check of all its rows for NaN."""
    refuse_not_finite(names, start, views)
    here = rows[(rows >= start) & (rows < start + views[0].shape[0])] - start
    return [view[here] for view in views]


def _product(
    links: AnchorLinks,
    X: np.ndarray,
    share: float,
    seed: int,
    start: int,
    present: Any,
    *views: Any,
) -> dict[str, np.ndarray]:
    """Return the sums of `AnchorLinks.product` over a share of the rows of a block."""
    chosen: Sequence[Any] = views
    if share < 1:
        height = views[0].shape[0]
        random = np.random.default_rng([seed, 5, start])
        rows = np.sort(random.choice(height, int(np.ceil(share * height)), replace=False))
        chosen = [view[rows] for view in views]
        present = None if present is None else present[rows]
    return links.product(chosen, present, X)


def _embed(
    links: AnchorLinks, W: np.ndarray, dtype: Any, start: int, present: Any, *views: Any
) -> np.ndarray:
    return links.embed(views, present, W).astype(dtype)


def _stack(blocks: Sequence[Any]) -> Any:
    return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)
