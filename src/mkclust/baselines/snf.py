"""SNF: similarity network fusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from ..agreement.subspaces import Subspaces
from ..base import INDEFINITE, Partitions, default_n_neighbors, neighbors_note
from ..data.memory import make_once, require_memory, shared_views
from ..data.values import COMPONENTS, KERNEL
from ..data.views import MultiView
from ..exceptions import check_choice, check_whole
from ..graphs.affinity import CenteredGraph, degree_normalized, knn_affinity, pad_graph
from ..graphs.metrics import EUCLIDEAN, KERNEL_DISTANCE, UNSCALED, Metric, view_metrics
from ..graphs.neighbors import neighborhood
from ..kernels.given import check_kernel
from ..linalg.scaling import dense
from ..progress import step
from .base import FitsCompleteRows, check_number
from .graph_learning import spectral_embedding

METRICS = ("sqeuclidean", "euclidean")
TINY = np.finfo(float).eps  # added to every local scale: copies of a sample have none


@dataclass(eq=False, repr=False, kw_only=True)
class SNF(FitsCompleteRows):
    r"""Similarity network fusion: diffuse every view's network through those of the others.

    $$P_v \leftarrow S_v \Big(\tfrac{1}{m-1}\sum_{u\ne v}P_u\Big)S_v^T, \qquad
      W_v(i,j) = \frac{1}{\sqrt{2\pi}\,\sigma_{ij}}\,e^{-\rho_{ij}^2/2\sigma_{ij}^2}, \qquad
      \sigma_{ij} = \frac{\mu}{3}(\bar\rho_i + \bar\rho_j + \rho_{ij})$$

    $\rho$ are the distances of view v and $\bar\rho_i$ is the mean distance of sample i to its K
    nearest neighbors. $P_v$ starts as $W_v$ with rows of sum 1; $S_v$ keeps the K largest entries
    of every row of it. After a fixed number of iterations the mean of all $P_v$ is the fused
    network. k-means on the unit rows of its k leading normalized eigenvectors gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    n_neighbors : int
        Neighbors of each sample, K; itself is one of them in $S_v$. At most n - 1 are used.
    mu : float
        Width of the affinities; 0.3 to 0.8 are recommended.
    n_iter : int
        Number of iterations of the diffusion.
    metric : {"sqeuclidean", "euclidean"}
        Squared or plain Euclidean distances $\rho$. Columns are standardized first, except
        components. The manual of the authors' program has the former, the paper the latter. For
        given kernels the squared distance is $K_{ii} + K_{jj} - 2K_{ij}$.
    precomputed : bool
        Whether the views are n x n kernel matrices.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    columns, missing, n_init, random_state
        See MultiViewClusterer.
    missing_rows : {"raise", "complete"}
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array
        Leading eigenvectors of $\Delta^{-1/2}W\Delta^{-1/2}$, with the fused network W.
    graph_ : (n, n) array
        The fused network, symmetric.
    metric_ : str
        ``"z-scored Euclidean"``, or ``"kernel distance"`` where kernels were given.
    n_neighbors_ : int, neighbors used
    n_iter_ : int, always `n_iter`: the diffusion has no objective and no test of convergence
    presence_, support_
        See ComparedMethod.

    Notes
    -----
    Time is $O(n^2(\sum_pf_p + mKT))$ for T iterations, and memory m + 5 matrices of n x n.

    Where paper and program differ, this follows the authors' program, and snfpy, which is a
    translation of it: the affinity is a normal density; the networks start with rows of sum 1 and
    are made symmetric, without 1/2 on the diagonal; after every iteration the identity is added
    in place of a normalization; the fused network has rows of sum 1, is made symmetric and 1/2 is
    added to its diagonal. A single view is diffused through itself.

    References
    ----------
    B. Wang, A. Mezlini, F. Demir, M. Fiume, Z. Tu, M. Brudno, B. Haibe-Kains, A. Goldenberg.
    Similarity network fusion for aggregating data types on a genomic scale. Nature Methods
    11(3), 2014.

    Examples
    --------
    >>> from mkclust import SNF, datasets, metrics
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = SNF(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "snf"
    title = "SNF"
    reference = (
        "B. Wang et al., Similarity network fusion for aggregating data types on a genomic scale, "
        "Nature Methods 11(3), 2014"
    )

    n_neighbors: int = 20
    mu: float = 0.5
    n_iter: int = 20
    metric: str = "sqeuclidean"
    precomputed: bool = False
    indefinite: str = "raise"
    missing_rows: str = "raise"

    def _fit_rows(self, views: MultiView, k: int) -> None:
        check_choice("metric", self.metric, METRICS)
        asked = check_whole("n_neighbors", self.n_neighbors)
        settings = check_number("mu", self.mu, above=True), check_whole("n_iter", self.n_iter)
        n, m = len(views), views.n_views
        self.n_neighbors_ = min(asked, n - 1)
        what = f"the networks of SNF of {n} samples in {m} views"
        require_memory(8.0 * n**2 * (m + 5), what, "use graph fusion")
        how = views.kinds, self.indefinite, self.metric, self.n_neighbors_, *settings
        key = ("snf", *map(id, views.views), *how)
        self.graph_ = make_once(key, views, partial(self._fused, views, *settings))

        self.n_iter_ = int(self.n_iter)
        names = {KERNEL: KERNEL_DISTANCE, COMPONENTS: UNSCALED}
        self.metric_ = ", ".join(dict.fromkeys(names.get(kind, EUCLIDEAN) for kind in views.kinds))
        self.notes_ += neighbors_note(asked, self.n_neighbors_)
        self._label(spectral_embedding(self.graph_, k), k)

    def _fused(self, views: MultiView, mu: float, n_iter: int) -> np.ndarray:
        """Return the fused network (n, n) of complete views."""
        affinities = []
        for each in self.view_metrics(views):
            D = squared_distances(each)
            D = np.sqrt(D, out=D) if self.metric == "euclidean" else D
            affinities.append(scaled_affinity(D, self.n_neighbors_, mu))
        return fuse_networks(affinities, self.n_neighbors_, n_iter)

    def describe_method(self) -> tuple[str, ...]:
        """Return what was done, one sentence each."""
        squared = "squared distances" if self.metric == "sqeuclidean" else "distances"
        return (
            f"affinities of {self.n_neighbors_} neighbors, mu = {self.mu:g}, from {squared} "
            f"({self.metric_}); Wang et al., 2014",
            f"{self.n_iter_} iterations of diffusion, then spectral clustering of the mean network",
        )

    def view_metrics(self, views: MultiView) -> Iterator[Metric]:
        """Yield the metric of every view, over the samples it holds."""
        check_choice("indefinite", self.indefinite, INDEFINITE)
        for p, name in enumerate(views.names):
            view = views.own_rows(p)
            if views.kernels:
                view = check_kernel(dense(view), name, view.shape[0], self.indefinite)[0]
            yield view_metrics(view, name, views.kernels, views.kinds[p])[0][0]

    def partitions(
        self, views: MultiView, ks: Sequence[int], random_state: int, n_init: int
    ) -> Partitions:
        """Return a graph of all views and the labels for every k, from one fused network."""
        with shared_views():
            return super().partitions(views, ks, random_state, n_init)

    def _view_graphs(self, views: MultiView, k: int) -> list[sp.csr_array]:
        """Return the kNN graph of every view, over the samples it holds."""
        counted = ((m, default_n_neighbors(m.n_samples, k)) for m in self.view_metrics(views))
        return [knn_affinity(neighborhood(metric, count), count) for metric, count in counted]

    def subspaces(self, views: MultiView, size: int) -> Subspaces:
        """Return the `size` leading eigenvectors of every view's kNN graph."""
        graphs = [CenteredGraph(graph) for graph in self._view_graphs(views, int(self.n_clusters))]
        return Subspaces(graphs, views.names, views.present).grow(min(size, len(views)))

    def affinity(self, views: MultiView, k: int) -> sp.csr_array:
        """Return the mean (n, n) of the kNN graphs of all views, degree-normalized."""
        graphs = map(pad_graph, self._view_graphs(views, k), views.held.T)
        return degree_normalized(sp.csr_array(sum(graphs) / views.n_views))


def squared_distances(metric: Metric) -> np.ndarray:
    """Return the squared distances of all samples, (n, n), zero on the diagonal."""
    norms = metric.norms()
    D = metric.inner() * -2.0
    D += norms[:, None] + norms
    np.maximum(D, 0.0, out=D)
    np.fill_diagonal(D, 0.0)
    return D


def scaled_affinity(D: np.ndarray, n_neighbors: int, mu: float) -> np.ndarray:
    r"""Return the normal density of the distances D (n, n) at $\sigma_{ij}$, (n, n).

    $\sigma_{ij} = \frac\mu3(\bar D_i + \bar D_j + D_{ij})$ with $\bar D_i$ the mean distance to
    the nearest neighbors. The unit of D has no effect on the fused network. O(n^2).

    >>> scaled_affinity(np.array([[0.0, 1.0], [1.0, 0.0]]), 1, 0.5).round(3)
    array([[1.197, 0.108],
           [0.108, 1.197]])
    """
    nearest = np.partition(D, n_neighbors, axis=1)[:, : n_neighbors + 1]
    mean = nearest.sum(axis=1) / n_neighbors + TINY  # the sample itself adds a distance of zero
    sigma = (mean[:, None] + mean + D) / 3
    sigma[sigma <= TINY] = 0.0
    sigma += TINY
    sigma *= mu
    W = np.exp(-0.5 * np.square(D / sigma))
    W /= np.sqrt(2 * np.pi) * sigma
    return W


def fuse_networks(affinities: Sequence[np.ndarray], n_neighbors: int, n_iter: int) -> np.ndarray:
    """Return the fused network (n, n) of affinities (n, n), one per view.

    The local networks have n K entries, so that one iteration takes O(m n^2 K).
    """
    P = [_symmetrized(W / W.sum(axis=1, keepdims=True)) for W in affinities]
    S = [local_network(network, n_neighbors) for network in P]
    n, m = len(P[0]), len(P)
    total = sum(P[1:], P[0].copy())
    for iteration in range(n_iter):
        step(f"SNF, iteration {iteration + 1}")
        for v in range(m):
            others = (total - P[v]) / (m - 1) if m > 1 else total
            P[v] = _symmetrized(S[v] @ np.asarray(S[v] @ others).T)
            P[v].flat[:: n + 1] += 1.0
        total = sum(P[1:], P[0].copy())
    total /= total.sum(axis=1, keepdims=True)
    fused = _symmetrized(total)
    fused.flat[:: n + 1] += 0.5
    return fused


def local_network(P: np.ndarray, n_neighbors: int) -> sp.csr_array:
    """Keep the largest entries of every row of P (n, n), scaled to sum 1; ties are all kept.

    >>> local_network(np.array([[4.0, 2.0, 1.0], [1.0, 3.0, 1.0], [0.0, 1.0, 3.0]]), 2).toarray()
    array([[0.66666667, 0.33333333, 0.        ],
           [0.2       , 0.6       , 0.2       ],
           [0.        , 0.25      , 0.75      ]])
    """
    at = len(P) - n_neighbors
    least = np.partition(P, at, axis=1)[:, at, None]
    S = sp.csr_array(np.where(P >= least, P, 0.0))
    return sp.csr_array(sp.diags_array(1 / S.sum(axis=1)) @ S)


def _symmetrized(P: np.ndarray) -> np.ndarray:
    return np.asarray((P + P.T) / 2)
