"""SWMC: self-weighted multi-view clustering with multiple graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import check_choice, check_whole
from ..kernels.bank import KernelBank
from .base import ComparedMethod, Trace
from .graph_learning import (
    components,
    kernel_neighbors,
    lowest_eigenpairs,
    squared_row_distances,
)
from .linalg import finite_inverse, project_rows, weighted_sum

ZERO = 1e-10  # Laplacian eigenvalues with a smaller sum count as zeros
INNER_CAP = 50


@dataclass(eq=False, repr=False, kw_only=True)
class SWMC(ComparedMethod):
    r"""Self-weighted multi-view clustering: learn one graph of k components near all graphs.

    $$\min_S \sum_v \|S - A_v\|_F \quad \text{s.t.} \quad S \ge 0,\; S\mathbf 1 = \mathbf 1,\;
      \mathrm{rank}(L_S) = n - k$$

    Two steps alternate: the weights are $\alpha_v = 1/(2\|S - A_v\|_F)$; S is the graph nearest to
    $\sum_v\alpha_vA_v$. A penalty $\lambda\,\mathrm{Tr}(F^TL_SF)$ enforces the rank; its weight is
    doubled or halved until the graph has k components. The components are the clusters, without
    k-means. If their number differs from k in the end, a ConvergenceWarning gives both numbers.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    graph : {"neighbors", "kernel"}
        The graphs $A_v$: the adaptive-neighbor graph of the kernel's distances, or the kernel
        itself, as in the published comparison. With ``"neighbors"`` the objective may rise.
    n_neighbors : int
        Neighbors of each sample in the adaptive-neighbor graph.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer; `n_init` and `random_state` have no effect.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array, the components of `graph_`; their number is `n_components_`
    graph_ : (n, n) array, S, rows of sum 1, not symmetric
    weights_ : (m,) array, alpha, not normalized
    n_components_ : int
    objective_history_, n_iter_, converged_
        The objective after each outer iteration.

    Notes
    -----
    An inner step sorts n x n entries and computes k + 1 eigenvectors of an n x n matrix: O(n^3) up
    to n = 500, about O(n^2 k) beyond. If the graph has more than k components, no eigenvectors are
    computed. The memory is the m graphs and about eight more n x n matrices.

    References
    ----------
    F. Nie, J. Li, X. Li. Self-weighted Multiview Clustering with Multiple Graphs. IJCAI 2017.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import SWMC
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = SWMC(3).fit(views)
    >>> model.n_components_, metrics.accuracy(views.labels, model.labels_)
    (3, 1.0)
    """

    name = "swmc"
    title = "SWMC"
    reference = (
        "F. Nie, J. Li, X. Li, Self-weighted Multiview Clustering with Multiple Graphs, IJCAI 2017"
    )

    graph: str = "neighbors"
    n_neighbors: int = 10

    def _solve(self, kernels: KernelBank, k: int) -> None:
        graphs = self._graphs(kernels)
        alpha = np.full(len(graphs), 1 / len(graphs))
        F = lowest_eigenpairs(weighted_sum(alpha, graphs), k)[1]
        trace = Trace(self.title, tolerance=1e-8, after=0, cap=50)
        for _ in trace:
            S, F = rank_constrained_graph(weighted_sum(alpha, graphs), alpha.sum(), k, F)
            misfits = np.array([np.linalg.norm(S - graph) for graph in graphs])
            alpha = finite_inverse(misfits) / 2
            change = abs(misfits.sum() - trace.values[-1]) if trace.values else np.inf
            trace.add(misfits.sum(), settled=change < trace.tolerance)
        self.graph_, self.weights_ = S, alpha
        self.n_components_, labels = components(S)
        self._keep(trace)
        self._keep_labels(labels, k, "clusters are the connected components of the learned graph")

    def _graphs(self, kernels: KernelBank) -> list[np.ndarray]:
        check_choice("graph", self.graph, ("neighbors", "kernel"))
        n_neighbors = check_whole("n_neighbors", self.n_neighbors)
        if self.graph == "kernel":
            return list(kernels)
        return [kernel_neighbors(K, n_neighbors) for K in kernels]


def rank_constrained_graph(
    A: np.ndarray, total: float, k: int, F: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Find a graph S (n, n) near $A/\sum\alpha$ whose Laplacian has k zero eigenvalues.

    The search starts from F (n, k) with a penalty of 1 and ends after at most 50 steps, even if
    the number of zero eigenvalues is not k. Also returns the k lowest eigenvectors.

    A step solves $\min_S \sum_v\alpha_v\|S - A_v\|_F^2 + \langle S, P\rangle$, rows on the simplex,
    for $A = \sum_v\alpha_vA_v$ and the penalty P: every row of S is the projection of that row of
    $(A - P/2)/\sum\alpha$ onto the simplex over its support.
    """
    support = edges(A)
    distances = squared_row_distances(F)
    lam = 1.0
    for _ in range(INNER_CAP):
        S = project_rows((A - lam * distances / 2) / total, support)
        values, vectors = lowest_eigenpairs(S, min(k + 1, len(S)))
        if values[:k].sum() > ZERO:
            lam *= 2
            F = vectors[:, :k]
            distances = squared_row_distances(F)
        elif k < len(S) and values.sum() <= ZERO:
            lam /= 2  # too many components: F is kept
        else:
            return S, vectors[:, :k]
    return S, F


def edges(A: np.ndarray) -> np.ndarray:
    """Return where A (n, n) is positive; a row without positive entries gets its diagonal."""
    support = A > 0
    alone = np.flatnonzero(~support.any(axis=1))
    support[alone, alone] = True
    return support
