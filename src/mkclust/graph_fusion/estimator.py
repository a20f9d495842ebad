"""GraphFusion: the default method of the package."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import scipy.sparse as sp

from ..agreement.chance import unrelated_in
from ..agreement.spectra import view_spectra
from ..agreement.subspaces import GraphSubspaces
from ..agreement.weights import ViewWeights, view_weights
from ..base import INDEFINITE, MultiViewClusterer, Partitions
from ..data.memory import physical_memory, size_of
from ..data.views import MultiView
from ..exceptions import InputError
from ..graphs.affinity import default_n_neighbors
from ..linalg.checks import Verification
from ..linalg.kmeans import kmeans_labels
from ..out_of_sample.neighbors import NeighborExtension, extension_view
from ..out_of_sample.predictor import OutOfSample
from .diffusion_map import diffusion_map, n_components_for
from .fusion import JOINT, fuse, in_all_used, joint_weights
from .verify import verify_fit
from .view_graphs import ViewGraphs

EDGES = 200  # per sample and view, in an affinity graph and what it is made from
COPIES = 6  # of the views: their metrics, and all of them together


class GraphFusion(OutOfSample, MultiViewClusterer):
    r"""Fuse affinity graphs of all views and cluster their diffusion map; nothing to tune beyond k.

    $$S = 0.7\sum_p w_pS_p + 0.3\,S_{joint}$$

    For every view, $S_p$ averages kNN and self-tuning affinity graphs under several metrics.
    Views are weighted by the chance-corrected agreement of their graphs' leading eigenvectors
    with those of the other views; redundant views share their weight. $S_{joint}$ is the same
    kind of graph over all views at once. The fused graph is embedded by a diffusion map, and
    k-means on the unit rows gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    n_neighbors : int, optional
        Neighbors per sample; by default half the size of an average cluster, between 5 and 10.
    precomputed : bool
        Whether the views are n x n kernel matrices.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    columns : dict or sequence, optional
        For a single table: its columns by view name, or a view name for each column.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, D) array
        Coordinates of the diffusion map; D is 2k + 1, less where there are few samples.
    eigenvalues_ : (D,) array
        Leading eigenvalues of the fused graph, descending.
    cluster_centers_ : (k, D) array
        Centers of the embedding's rows, scaled to length one.
    weights_ : (m,) array
        Weights of the views; they sum to 1. Weights are not quality scores: redundant views
        share their weight, so several good but similar views may each weigh less than one
        weaker, distinctive view.
    agreement_ : (m, m) array
        Chance-corrected agreement of 2k eigenvectors; unrelated views show about 0.
    redundancy_ : (m, m) array
        1 for copies, near 0 for different views.
    equal_weights_ : bool
        True where no two views agree beyond chance, so that all weigh the same.
    unrelated_views_ : list of str
        Views that agree with no other beyond chance.
    n_neighbors_ : int
        Neighbors used.
    metrics_ : tuple of tuple of str
        Names of the metrics of every view.
    exact_neighbors_ : bool
        False where neighbors were searched approximately (more than 20 000 samples).
    notes_ : tuple of str
        What else was decided: missing samples, approximate neighbors, copies of samples, fewer
        neighbors than asked for, no joint graph.
    presence_ : (n, m) bool array or None
        Which samples each view holds; None where all hold all.
    support_ : (n,) int array or None
        In how many views each sample is; None where nothing is missing.
    view_names_in_, n_features_in_

    Up to 20 000 samples time is O(n^2 sum(f)) for the neighbors; memory is about 100 edges per
    sample and view, never n x n unless kernels are given.

    References
    ----------
    L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. NIPS 2004.
    R. Coifman, S. Lafon. Diffusion maps. Applied and Computational Harmonic Analysis 21, 2006.

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, metrics
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = GraphFusion(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "graph-fusion"
    title = "Graph fusion"
    reference = "mkclust: fused affinity graphs, weighted by subspace agreement"
    takes_missing_rows = True

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int | None = None,
        precomputed: bool = False,
        indefinite: str = "raise",
        columns: Any = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, columns=columns, n_init=n_init, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.precomputed = precomputed
        self.indefinite = indefinite

    def _fit(self, views: MultiView, k: int) -> None:
        _check_memory(views)
        self.n_neighbors_ = self._neighbors_among(len(views), k)
        size = n_components_for(len(views), k)

        graphs = self._graphs(views, self.n_neighbors_)  # S_p: several metrics, averaged
        subspaces = graphs.subspaces(min(2 * k, len(views)))
        overlap = subspaces.overlap(k)  # what the views share
        chosen = view_weights(overlap, size - 1, graphs.redundancy())  # w_p
        fused = fuse(graphs, chosen.weights)  # S
        found = diffusion_map(fused, size)

        self._store(graphs, chosen)
        self.eigenvalues_ = found.eigenvalues
        unrelated = unrelated_in(overlap, k, subspaces.vectors(2 * k))
        self.unrelated_views_ = [views.names[p] for p in unrelated]
        self._spectra = view_spectra(subspaces, k)
        self._label(found.embedding, k)
        self._extension = self._extended(graphs)

    def _store(self, graphs: ViewGraphs, chosen: ViewWeights) -> None:
        self.weights_, self.agreement_ = chosen.weights, chosen.agreement
        self.redundancy_, self.equal_weights_ = chosen.redundancy, chosen.equal
        self.metrics_ = graphs.metric_names()
        self.exact_neighbors_ = graphs.exact
        n, notes = len(graphs.views), []
        if not graphs.exact:
            notes.append(
                f"{n} samples: neighbors were searched approximately, among samples nearby"
            )
        if self.n_neighbors is not None and self.n_neighbors > self.n_neighbors_:
            notes.append(
                f"n_neighbors = {self.n_neighbors} is more than there are: {self.n_neighbors_} "
                "neighbors were used"
            )
        if in_all_used(graphs, chosen.weights).sum() <= graphs.n_neighbors:
            notes.append("too few samples are in all views: the joint graph was left out")
        self.notes_ = (*self.notes_, *notes)

    def _extended(self, graphs: ViewGraphs) -> NeighborExtension:
        """Return what places new samples: the fitted rows and their embedding."""
        joint, spreads = joint_weights(graphs, self.weights_), graphs.spreads()
        views = graphs.views
        parts = tuple(
            extension_view(
                name, views.own_rows(p), views.kernels, graphs.held(p),
                float(self.weights_[p]), float(joint[p]), spreads[p],
            )
            for p, name in enumerate(views.names)
        )  # fmt: skip
        return NeighborExtension(parts, self.embedding_, self.n_neighbors_, JOINT)

    def describe(self) -> tuple[str, ...]:
        """Return what was done and why, one sentence each."""
        names = [str(name) for name in self.view_names_in_]
        used = {name: ", ".join(each) for name, each in zip(names, self.metrics_, strict=True)}
        if len(set(used.values())) == 1:
            metrics = f"{next(iter(used.values()))} in every view"
        else:
            metrics = "; ".join(f"{each} in {name}" for name, each in used.items())
        search = "" if self.exact_neighbors_ else " (approximate search)"
        count = self.n_neighbors_
        weights = ViewWeights(self.weights_, self.agreement_, self.redundancy_, self.equal_weights_)
        last = self.eigenvalues_[-1] / self.eigenvalues_[0]
        return (
            f"affinity graphs of {count} to {2 * count} neighbors{search}; metrics: {metrics}",
            *weights.describe(names),
            f"diffusion map of {len(self.eigenvalues_)} components, relative eigenvalues 1 to "
            f"{last:.2f}",
        )

    def subspaces(self, views: MultiView, size: int) -> GraphSubspaces:
        """Return the `size` leading eigenvectors of every view's affinity graph."""
        count = self._neighbors_among(len(views), int(self.n_clusters))
        return self._graphs(views, count).subspaces(min(size, len(views)))

    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return the fused graph (n, n) for k clusters."""
        graphs = self._graphs(views, self._neighbors_among(len(views), k))
        overlap = graphs.subspaces(min(2 * k, len(views))).overlap(k)
        size = n_components_for(len(views), k)
        return fuse(graphs, view_weights(overlap, size - 1, graphs.redundancy()).weights)

    def partitions(
        self, views: MultiView, ks: Sequence[int], random_state: int, n_init: int
    ) -> Partitions:
        """Return one fused graph and the labels (n,) for every number of clusters.

        The graph is that of the middle number, so that all share one eigenproblem.
        """
        graph = self.affinity(views, ks[len(ks) // 2])
        sizes = {k: n_components_for(len(views), k) for k in ks}
        found = diffusion_map(graph, max(sizes.values()))
        labels = {
            k: kmeans_labels(found.embedding[:, : sizes[k]], k, n_init, random_state) for k in ks
        }
        return Partitions(graph, found.eigenvalues, labels)

    def verify(self, views: Any) -> Verification:
        """Check every claim of the fit with another eigensolver; `views` as fitted."""
        return verify_fit(self, views)

    def _graphs(self, views: MultiView, n_neighbors: int) -> ViewGraphs:
        if self.indefinite not in INDEFINITE:
            raise InputError(
                f'indefinite must be "raise", "shift" or "ignore", got {self.indefinite!r}'
            )
        return ViewGraphs(views, n_neighbors, self.indefinite)

    @property
    def gives_kernels(self) -> bool:
        return bool(self.precomputed)

    def _neighbors_among(self, n: int, k: int) -> int:
        asked = self.n_neighbors
        if asked is None:
            return default_n_neighbors(n, k)
        if not isinstance(asked, Integral) or isinstance(asked, bool) or asked < 1:
            raise InputError(f"n_neighbors must be a whole number from 1 on, got {asked!r}")
        return int(min(asked, n - 1))


def _check_memory(views: MultiView) -> None:
    """Refuse, before the work, data whose graphs would not fit in half the memory."""
    needed = 16.0 * EDGES * len(views) * (views.n_views + 1)
    needed += COPIES * sum(size_of(view) for view in views.views)
    if needed > physical_memory() / 2:
        raise InputError(
            f"graph fusion of {len(views)} samples in {views.n_views} views needs about "
            f"{needed / 2**30:.1f} GiB, more than half of this machine's memory; fit a sample of "
            'the rows, or use method "mkc-dnm", which reads rows in chunks'
        )
