"""The affinity graphs of all views, each built once, and how their neighbors are found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock

import numpy as np
import scipy.sparse as sp

from ..agreement.chance import p_values_on_common_rows
from ..agreement.subspaces import Subspaces
from ..agreement.weights import ViewWeights, redundancy, view_weights
from ..data.memory import fits_in_memory, make_once, require_memory, size_of
from ..data.views import MultiView
from ..exceptions import InputError, check_choice
from ..graphs.affinity import CenteredGraph, affinity_graph, pad_graph
from ..graphs.metrics import (
    Metrics,
    effective_dimension,
    equidistant,
    left_out,
    view_metrics,
    with_gram,
)
from ..graphs.neighbors import EXACT_UP_TO
from ..kernels.given import check_kernel
from ..large.views import LargeViews, row_bytes
from ..linalg.scaling import dense, varies
from ..linalg.threads import ALL, in_parallel, one_blas_thread
from .diffusion_map import n_components_for

SIDE_BY_SIDE = 4096  # samples up to which graphs of several views are built at once
SORTING = Lock()
KEPT = 512 << 20  # bytes: the points of all metrics are kept up to this size, else made again
WIDE = 10  # a view is wide if it has more than one column per so many samples
PRODUCTS = 3 * 8  # bytes per pair of samples: inner products under the metrics of a view


class ViewGraphs(Sequence[sp.csr_array]):
    """Affinity graphs $S_p$ (n, n) of all views; a sample that a view lacks has no edges there.

    Memory is about 100 edges per sample and view, and the points of the metrics, or their inner
    products, up to 512 MB; views that are kernel matrices stay n x n.
    """

    def __init__(self, views: MultiView, n_neighbors: int, indefinite: str = "raise") -> None:
        views.require_no_gaps()
        self.views = views
        self.names = views.names
        self.n_neighbors = n_neighbors
        self.indefinite = indefinite
        self.shifted: set[str] = set()  # kernels that were made semi-definite
        self._metrics: dict[int, Metrics] = {}
        # In many samples one search uses all cores in BLAS by itself.
        self.at_once = ALL if len(views) <= SIDE_BY_SIDE else 1
        self._all = range(len(self.names))
        self._graphs = in_parallel(self._graph, self._all, self.at_once)

    def _key(self, p: int) -> tuple[object, ...]:
        held = None if self.views.present is None else self.views.held[:, p].tobytes()
        kind = self.views.kinds[p], self.indefinite
        return "graph", id(self.views.views[p]), held, kind, self.n_neighbors

    def _graph(self, p: int) -> CenteredGraph:
        def build() -> CenteredGraph:
            metrics = self.metrics(p)
            count = min(self.n_neighbors, metrics[0][0].n_samples - 1)
            return CenteredGraph(affinity_graph(metrics, count, self.names[p]))

        return make_once(self._key(p), self.views, build)

    def metrics(self, p: int) -> Metrics:
        """Return the metrics of view p, over the samples it holds, with their shares."""
        if p in self._metrics:
            return self._metrics[p]
        view, name = self.views.own_rows(p), self.names[p]
        if self.views.kernels:
            view, _, shift = check_kernel(dense(view), name, view.shape[0], self.indefinite)
            self.shifted |= {name} if shift else set()
        found = view_metrics(view, name, self.views.kernels, self.views.kinds[p])
        if view.shape[0] <= EXACT_UP_TO:
            found = with_gram(found, self._wide)
        every = [part for metrics in (*self._metrics.values(), found) for part, _ in metrics]
        if sum(part.nbytes for part in every) <= KEPT:
            self._metrics[p] = found
        return found

    @cached_property
    def _wide(self) -> int:
        """The number of columns from which inner products are kept in place of points.

        It is n, unless the products of all views with n / 10 columns fit in half of what is kept.
        """
        n = len(self.views)
        wide = sum(view.shape[1] >= n // WIDE for view in self.views.views)
        return n // WIDE if PRODUCTS * n**2 * wide <= KEPT // 2 else n

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, p: int) -> sp.csr_array:  # type: ignore[override]
        return pad_graph(self._graphs[p].graph, self.views.held[:, p])

    def subspaces(self, size: int) -> Subspaces:
        """Return the `size` leading eigenvectors of every graph, each centered; at most n."""
        spaces = Subspaces(self._graphs, self.names, self.views.present, at_once=ALL)
        return spaces.grow(min(size, len(self.views)))

    def redundancy(self) -> np.ndarray:
        """Return the redundancy of all pairs of views, (m, m)."""
        parts = [self.metrics(p)[0][0] for p in self._all]
        return redundancy(list(self), parts, [self.views.held[:, p] for p in self._all])

    @cached_property
    def varying_columns(self) -> np.ndarray:
        """Return the number of columns of every view that are not constant: (m,)."""
        return np.array([np.count_nonzero(varies(self.views.own_rows(p))) for p in self._all])

    @cached_property
    def effective_dimensions(self) -> np.ndarray:
        """In how many directions the samples of every view differ: (m,)."""
        return np.array([effective_dimension(self.metrics(p)[0][0]) for p in self._all])

    def metric_names(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the metrics of every view."""
        return tuple(tuple(metric.name for metric, _ in self.metrics(p)) for p in self._all)

    @cached_property
    def informative(self) -> np.ndarray:
        """Return in which views some samples are nearer to each other than others: (m,)."""
        return np.array(
            [not all(equidistant(part) for part, _ in self.metrics(p)) for p in self._all]
        )

    def weights(self, subspaces: Subspaces, k: int) -> ViewWeights:
        """Return the weights of the views for k clusters, from their leading eigenvectors."""
        size = n_components_for(len(self.views), k) - 1
        # Rounding of the weights decides ties in the joint graph. Graphs that refits share are
        # sorted in place here.
        with one_blas_thread(), SORTING:
            if not self.informative.any():
                raise InputError(
                    "all samples are equally far apart in every view: there is nothing to cluster"
                )
            p_values = p_values_on_common_rows(subspaces.heads(2 * k), k, self.views.present)
            overlap, redundancy = subspaces.overlap(k), self.redundancy()
        return view_weights(overlap, size, redundancy, p_values, self.informative)

    def notes(self) -> list[str]:
        """Return a note on metrics under which samples hardly differ, which are left out."""
        found = [
            f"{' and '.join(names)} of {view}"
            for p, view in enumerate(self.names)
            if (names := left_out(self.metrics(p), self.views.kinds[p]))
        ]
        return [f"metrics left out: {', '.join(found)}"] if found else []

    def spreads(self) -> tuple[tuple[float, ...], ...]:
        """Return the mean squared distance under every metric of every view."""
        return tuple(tuple(metric.spread for metric, _ in self.metrics(p)) for p in self._all)


SEARCHES = ("auto", "exact", "anchors")
EDGES = 200  # per sample and view, in an affinity graph and what it is made from
COPIES = 6  # of the views: their metrics, and all of them together


def neighbor_search(views: MultiView | LargeViews, asked: str = "auto") -> str:
    """Return ``"exact"`` or ``"anchors"``: how the neighbors of all samples are found.

    The rule, in this order, where ``"auto"`` is asked for:

    1. Given kernels contain all distances: exact.
    2. Up to 20 000 samples, if the exact graphs fit in half the memory: exact.
    3. Else anchors, for arrays, sparse matrices and rows on disk alike.

    The steps are the same. With anchors they are approximate: view weights come from at most 5000
    samples, and the fused graph is never formed.

    >>> import numpy as np
    >>> neighbor_search(MultiView([np.eye(30)]))
    'exact'
    """
    check_choice("neighbors", asked, SEARCHES)
    if views.kernels:
        if asked == "anchors":
            raise InputError('kernels have no anchors: use neighbors="auto" or "exact"')
        return "exact"
    if asked != "auto":
        return asked
    few = len(views) <= EXACT_UP_TO and fits_in_memory(graph_memory(views))
    return "exact" if few else "anchors"


def graph_memory(views: MultiView | LargeViews) -> float:
    """Return the bytes that exact graphs of all views need, about; sparse views stay sparse."""
    graphs = 16.0 * EDGES * len(views) * (views.n_views + 1)
    if isinstance(views, LargeViews):
        return graphs + COPIES * float(row_bytes(views)) * len(views)
    return graphs + COPIES * sum(size_of(view) for view in views.views)


def check_memory(views: MultiView) -> None:
    """Refuse, before the work, data whose exact graphs would not fit in half the memory."""
    what = f"exact graphs of {len(views)} samples in {views.n_views} views"
    require_memory(graph_memory(views), what, 'use neighbors="anchors"')
