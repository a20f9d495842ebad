"""GraphFusion: the default method of the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..agreement.subspaces import Subspaces, view_spectra
from ..agreement.weights import ViewWeights
from ..base import INDEFINITE, MultiViewClusterer, Partitions, default_n_neighbors, neighbors_note
from ..data.views import MultiView
from ..exceptions import DegenerateWarning, InputError, check_choice, check_whole, warn
from ..large.kmeans import kmeans, seed_of
from ..large.views import LargeViews
from ..linalg.eigenpairs import with_fixed_signs
from ..linalg.kmeans import DIFFUSION, kmeans_labels, nearest_centers
from ..linalg.verification import (
    TIE,
    Check,
    kmeans_checks,
    orthonormality_error,
    recomputed_eigenpairs,
)
from ..predict.neighbors import AnchorExtension, neighbor_extension
from ..predict.new_samples import OutOfSample
from .anchors import AnchorRows, anchor_links, n_anchors, trial_matrix, weights_from_sample
from .diffusion_map import diffusion_map, diffusion_scales, n_components_for
from .fusion import (
    DEPENDENT,
    JOINT,
    ProjectedGraph,
    fuse,
    graph_to_embed,
    in_all_used,
    in_no_used,
    joint_share,
    joint_weights,
    missingness_p_value,
)
from .view_graphs import ViewGraphs, check_memory, neighbor_search


@dataclass(eq=False, repr=False, kw_only=True)
class GraphFusion(OutOfSample, MultiViewClusterer):
    r"""Fuse affinity graphs of all views and cluster their diffusion map; nothing to tune beyond k.

    $$S = (1 - c)\sum_p w_pS_p + c\,S_{joint}$$

    For every view, $S_p$ averages kNN and self-tuning affinity graphs under several metrics.
    Views are weighted by the chance-corrected agreement of their graphs' leading eigenvectors
    with those of the other views; redundant views share their weight. $S_{joint}$ is the same
    kind of graph over all views at once; its share c is 0.3, or 0.95 where the views are one
    measurement each. The fused graph is embedded by a diffusion map, and k-means on the unit rows
    gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    n_neighbors : int, optional
        Neighbors per sample; by default half the size of an average cluster, between 5 and 10.
        With anchors, half of them is the number of links per row and metric.
    neighbors : {"auto", "exact", "anchors"}
        How neighbors are found: exactly, or through links to anchors (docs/scale.md).
        ``"auto"`` is exact up to 20 000 samples and for kernels, else anchors.
    precomputed : bool
        Whether the views are n x n kernel matrices.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    columns : dict or sequence, optional
        For a single table: its columns by view name, or a view name for each column.
    missing : {None, "median", "knn"}
        What to do with NaN cells: refuse them, or fill them (see MultiViewClusterer).
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means, and of the sample that anchors are made from.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, D) array
        Coordinates of the diffusion map; D is 2k + 1, less where there are few samples.
    eigenvalues_ : (D,) array
        Leading eigenvalues of the fused graph, descending.
    cluster_centers_ : (k, D) array
        Centers of the embedding's rows, scaled to length one.
    inertia_ : float
        Sum of the squared distances of those rows to their centers.
    membership_ : (n, k) array
        Probability of every cluster for every sample; rows sum to 1 (docs/confidence.md).
    weights_ : (m,) array
        Weights of the views; they sum to 1. Weights are not quality scores: redundant views
        share their weight, so several good but similar views may each weigh less than one
        weaker, distinctive view.
    agreement_ : (m, m) array
        Chance-corrected agreement of 2k eigenvectors; unrelated views show about 0.
    redundancy_ : (m, m) array
        1 for copies, near 0 for different views.
    equal_weights_ : bool
        True where no two views agree beyond chance: redundant views share a weight there, and
        agreement has no part in it.
    unrelated_views_ : list of str
        Views that agree with no other beyond chance.
    uninformative_views_ : list of str
        Views in which all samples are equally far apart.
    n_neighbors_ : int
        Neighbors used.
    metrics_ : tuple of tuple of str
        Names of the metrics of every view.
    neighbor_search_ : {"exact", "anchors"}
        How neighbors were found.
    n_anchors_ : int or None
        Number of anchors per metric, at most; None where neighbors were exact.
    notes_ : tuple of str
        What else was decided: missing samples, anchors, copies of samples, fewer neighbors than
        asked for, no joint graph.
    missingness_p_value_ : float or None
        p-value of the test whether the labels depend on which views a sample has; None where
        nothing is missing.
    presence_ : (n, m) bool array or None
        Which samples each view holds; None where all hold all.
    support_ : (n,) int array or None
        In how many views each sample is; None where nothing is missing.
    gap_shares_ : (m,) array
        Share of NaN cells in every view; absent for ``missing=None``.
    sample_names_in_, view_names_in_, view_feature_names_in_, n_features_in_
        Names and number of what was fitted.

    With exact neighbors time is O(n^2 sum(f)), and memory about 100 edges per sample and view,
    never n x n unless kernels are given. With anchors both are O(n): two passes over the rows,
    which may stay on disk.

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

    n_neighbors: int | None = None
    neighbors: str = "auto"
    precomputed: bool = False
    indefinite: str = "raise"

    def takes_chunks(self, views: LargeViews) -> bool:
        return neighbor_search(views, self.neighbors) == "anchors"

    def _fit(self, views: MultiView | LargeViews, k: int) -> None:
        self.n_neighbors_ = self._neighbors_among(len(views), k)
        self.neighbor_search_ = neighbor_search(views, self.neighbors)
        if self.neighbor_search_ == "anchors":
            self._fit_anchors(views, k)
        else:
            self._fit_graphs(views.in_memory() if isinstance(views, LargeViews) else views, k)

    def _fit_graphs(self, views: MultiView, k: int) -> None:
        """Cluster from exact graphs."""
        check_memory(views)
        graphs = self.view_graphs(views, k)  # S_p: several metrics, averaged
        subspaces = graphs.subspaces(2 * k)
        chosen = graphs.weights(subspaces, k)  # w_p, by what the views share
        fused = graph_to_embed(graphs, chosen.weights)  # S, without directions of missingness
        found = diffusion_map(fused, n_components_for(len(views), k))

        self._store(graphs, chosen)
        self.eigenvalues_ = found.eigenvalues
        self._spectra = view_spectra(subspaces, k)
        self._label(found.embedding, k)
        self._test_missingness(views)
        self.n_anchors_ = None
        self._extension = neighbor_extension(
            views, self.weights_, joint_weights(graphs, self.weights_), graphs.spreads(),
            self.embedding_, self.n_neighbors_, joint_share(graphs, self.weights_), graphs.shifted,
        )  # fmt: skip

    def _fit_anchors(self, views: MultiView | LargeViews, k: int) -> None:
        """Cluster from links to anchors, in passes over the rows."""
        seed, n = seed_of(self.random_state), len(views)
        rows, size = AnchorRows(views, seed), n_components_for(n, k)
        sample = rows.sample(k)
        fusion = weights_from_sample(sample, k, self.n_neighbors_, seed)  # w_p
        count = max(1, round(self.n_neighbors_ / 2))
        links = anchor_links(sample, fusion, n_anchors(n, k), count, seed)  # Z, never S
        values, W, used = rows.iterate(links, trial_matrix(links, sample, size))
        values, W = values[:size], with_fixed_signs(W[:, :size]) * diffusion_scales(values[:size])
        H = rows.embed(links, W)
        clusters = kmeans(H, rows.height, k, self.n_init, seed)

        self.labels_, self.inertia_ = clusters.labels, clusters.inertia
        self.cluster_centers_ = clusters.centers
        if isinstance(H, np.ndarray):  # else it stays on the workers of a cluster
            self.embedding_ = H
        self.eigenvalues_ = values
        self._extension = AnchorExtension(views.names, (), links, W)
        self._store(fusion.graphs, fusion.chosen)
        self._test_missingness(views)
        self.n_anchors_ = int(np.diff(links.starts).max())  # type: ignore[assignment]
        some = "" if used == n else f"; eigenvectors from {used} samples"
        self.notes_ = (
            f"{n} samples: neighbors by links to {self.n_anchors_} anchors per metric, made from "
            f"{len(sample)} samples; view weights from {len(fusion.graphs.views)} samples{some}",
            *self.notes_,
        )

    def _store(self, graphs: ViewGraphs, chosen: ViewWeights) -> None:
        self.weights_, self.agreement_ = chosen.weights, chosen.agreement
        self.redundancy_, self.equal_weights_ = chosen.redundancy, chosen.equal
        notes = graphs.notes()
        nothing = [graphs.names[p] for p in np.flatnonzero(~graphs.informative)]
        self.uninformative_views_ = nothing
        if nothing:
            notes.append(
                f"{', '.join(nothing)}: all samples are equally far apart, so that the view tells "
                "nothing about clusters"
            )
            warn(notes[-1], DegenerateWarning)
        self.unrelated_views_ = [graphs.names[p] for p in chosen.unrelated]
        placed = np.count_nonzero(in_no_used(graphs, chosen.weights))
        if placed:
            notes.append(
                f"{placed} samples are in no view that is used: they were placed by their "
                "neighbors in views that agree with no other beyond chance, and their clusters "
                "are uncertain"
            )
        notes += neighbors_note(self.n_neighbors, self.n_neighbors_)
        fewest = graphs.n_neighbors if self.neighbor_search_ == "exact" else 1
        if in_all_used(graphs, chosen.weights).sum() <= fewest:
            notes.append("too few samples are in all used views: the joint graph was left out")
        if len(graphs) > 1 and joint_share(graphs, chosen.weights) > JOINT:
            notes.append(
                "the columns of each view measure about the same, so that clusters are looked for "
                "in all views together"
            )
        self.notes_ = (*self.notes_, *notes)
        self.metrics_ = graphs.metric_names()

    def _test_missingness(self, views: MultiView | LargeViews) -> None:
        """Test whether the labels depend on which views a sample has, and say so."""
        self.missingness_p_value_ = None
        if views.present is not None:
            p = missingness_p_value(self.labels_, views.present)
            self.missingness_p_value_ = p
            if p < DEPENDENT:
                self.notes_ += (
                    f"the clusters depend on which views a sample has (p = {p:.1g}): some of them "
                    "may follow missing data",
                )

    def describe_method(self) -> tuple[str, ...]:
        """Return what was done and why, one sentence each."""
        names = [str(name) for name in self.view_names_in_]
        used = {name: ", ".join(each) for name, each in zip(names, self.metrics_, strict=True)}
        metrics = "; ".join(f"{each} in {name}" for name, each in used.items())
        if len(set(used.values())) == 1:
            metrics = f"{next(iter(used.values()))} in every view"
        count = self.n_neighbors_
        graphs = f"affinity graphs of {count} to {2 * count} exact neighbors"
        if self.neighbor_search_ == "anchors":
            graphs = (
                f"anchor graphs: each sample is linked to {max(1, round(count / 2))} of up to "
                f"{self.n_anchors_} anchors per metric"
            )
        unrelated = tuple(p for p, name in enumerate(names) if name in self.unrelated_views_)
        weights = ViewWeights(
            self.weights_, self.agreement_, self.redundancy_, self.equal_weights_, unrelated
        )
        last = self.eigenvalues_[-1] / self.eigenvalues_[0]
        return (
            f"{graphs}; metrics: {metrics}",
            *weights.describe(names),
            f"diffusion map of {len(self.eigenvalues_)} components, relative eigenvalues 1 to "
            f"{last:.2f}",
        )

    def subspaces(self, views: MultiView, size: int) -> Subspaces:
        """Return the `size` leading eigenvectors of every view's affinity graph."""
        return self.view_graphs(views).subspaces(size)

    def view_graphs(self, views: MultiView, k: int | None = None) -> ViewGraphs:
        """Return the affinity graph (n, n) of every view, as a fit of k clusters builds it."""
        check_choice("indefinite", self.indefinite, INDEFINITE)
        count = self._neighbors_among(len(views), int(self.n_clusters) if k is None else k)
        return ViewGraphs(views, count, self.indefinite)

    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return the fused graph (n, n) for k clusters."""
        graphs = self.view_graphs(views, k)
        chosen = graphs.weights(graphs.subspaces(2 * k), k)
        return fuse(graphs, chosen.weights)

    def partitions(
        self, views: MultiView, ks: Sequence[int], random_state: int, n_init: int
    ) -> Partitions:
        """Return one fused graph and the labels (n,) for every number of clusters.

        The graph is that of the middle number, so that all share one eigenproblem.
        """
        middle, most = ks[len(ks) // 2], n_components_for(len(views), max(ks))
        graphs = self.view_graphs(views, middle)
        chosen = graphs.weights(graphs.subspaces(2 * middle), middle)
        fused = graph_to_embed(graphs, chosen.weights)
        graph = fused.graph if isinstance(fused, ProjectedGraph) else fused
        sizes = {k: n_components_for(len(views), k) for k in ks}
        embedding = diffusion_map(fused, most).embedding
        labels = {k: kmeans_labels(embedding[:, : sizes[k]], k, n_init, random_state) for k in ks}
        return Partitions(graph, labels)

    def _checks(self, views: MultiView) -> Iterator[Check | str]:
        """Check weights, eigenpairs and labels, with graphs that are built again."""
        if self.neighbor_search_ == "anchors":
            raise InputError(
                "verify needs exact graphs, and this model was fitted with anchors: fit a sample "
                'of the rows with neighbors="exact"'
            )
        k, D = int(self.n_clusters), len(self.eigenvalues_)
        graphs = ViewGraphs(views, self.n_neighbors_, self.indefinite)
        again = graphs.weights(graphs.subspaces(2 * k), k).weights
        off = float(np.abs(again - self.weights_).max())
        yield Check("the weights follow from overlap and redundancy", off, 1e-5)
        graph = graph_to_embed(graphs, self.weights_)
        scales = diffusion_scales(self.eigenvalues_)
        H = self.embedding_ / scales
        yield Check("the eigenvectors are orthonormal", orthonormality_error(H), 1e-8)
        values = recomputed_eigenpairs(graph, D + 1)[0]
        values = np.pad(values, (0, D + 1 - len(values)))
        off = float(np.abs(graph @ H - H * values[:-1]).max())
        claim = "the embedding consists of the leading eigenvectors of the fused graph"
        yield Check(claim, off, 1e-6)
        off = float(np.abs(values[:-1] - self.eigenvalues_).max())
        yield Check("the eigenvalues are those of the fused graph", off, 1e-6)
        nearest = nearest_centers(self.embedding_, self.cluster_centers_)
        yield self._check_labels(nearest)
        # Labels of k-means, before duplicates that it divided were united.
        labels = self.labels_ if self._united is None else nearest
        yield from kmeans_checks(self.embedding_, labels, self.cluster_centers_)
        if values[-2] - values[-1] < TIE * values[0] and scales[-1] > TIE:
            yield f"eigenvalues {D} and {D + 1} of the fused graph are equal"

    def _sharpness(self, k: int) -> float:
        return DIFFUSION

    def _neighbors_among(self, n: int, k: int) -> int:
        if self.n_neighbors is None:
            return default_n_neighbors(n, k)
        return min(check_whole("n_neighbors", self.n_neighbors), n - 1)
