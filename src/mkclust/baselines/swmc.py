"""SWMC: self-weighted multi-view clustering with multiple graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..kernels.bank import KernelBank
from ..progress import step
from .base import ComparedMethod, Trace, checked_count
from .graph_learning import (
    components,
    kernel_neighbours,
    lowest_eigenpairs,
    squared_row_distances,
    warn_of_components,
)
from .linalg import weighted_sum
from .simplex import project_rows

ZERO = 1e-10  # eigenvalues of a Laplacian that sum to less count as zeros
INNER_CAP = 50


class SWMC(ComparedMethod):
    r"""One graph of k components near all views' graphs, which weight themselves.

    $$\min_S \sum_v \|S - A_v\|_F \quad \text{s.t.} \quad S \ge 0,\; S\mathbf 1 = \mathbf 1,\;
      \mathrm{rank}(L_S) = n - k$$

    Alternates $\alpha_v = 1/(2\|S - A_v\|_F)$ with the graph nearest to $\sum_v\alpha_vA_v$; the
    rank is enforced by a penalty $\lambda\,\mathrm{Tr}(F^TL_SF)$ whose weight is doubled or
    halved until k components are there. The components are the clusters: there is no k-means.
    Their number can come out different from k, which is reported by a warning.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    graph : {"neighbors", "kernel"}
        What to take for $A_v$: the adaptive-neighbour graph of the kernel's distances, or the
        kernel itself, as in the published comparison. With ``"neighbors"`` the objective need
        not fall at every step.
    n_neighbors : int
        Neighbours of each sample in that graph.
    kernel, kernel_params, center, normalize, indefinite, columns, n_init, random_state
        See MultiViewClusterer; `n_init` and `random_state` are without effect.

    Attributes
    ----------
    labels_ : (n,) int array, the components of `graph_`; as many as `n_components_`
    graph_ : (n, n) array, S, rows of sum 1, not symmetric
    weights_ : (m,) array, alpha, not normalised
    n_components_ : int
    objective_history_, n_iter_, converged_
        The sum above after each of the outer iterations.

    Each inner step sorts n x n entries and takes k + 1 eigenvectors of an n x n matrix: O(n^3)
    up to n = 800, then about O(n^2 k); none when there are too many components. In memory are
    the m graphs and about eight more n x n matrices.

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

    title = "SWMC"
    reference = (
        "F. Nie, J. Li, X. Li, Self-weighted Multiview Clustering with Multiple Graphs, IJCAI 2017"
    )

    def __init__(
        self, n_clusters: int, *, graph: str = "neighbors", n_neighbors: int = 10, **shared: Any
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.graph = graph
        self.n_neighbors = n_neighbors

    def _solve(self, kernels: KernelBank, k: int) -> None:
        fusion = fuse(self._graphs(kernels), k)
        self.graph_ = fusion.graph
        self.weights_ = fusion.weights
        self.n_components_, self.labels_ = components(fusion.graph)
        self._keep(fusion.trace)
        if self.n_components_ != k:
            warn_of_components(self.title, self.n_components_, k, "they are the labels")

    def _graphs(self, kernels: KernelBank) -> list[np.ndarray]:
        if self.graph not in ("neighbors", "kernel"):
            raise InputError(f'graph must be "neighbors" or "kernel", got {self.graph!r}')
        neighbours = checked_count("n_neighbors", self.n_neighbors)
        if self.graph == "kernel":
            return list(kernels)
        return [kernel_neighbours(K, neighbours) for K in kernels]


@dataclass(frozen=True)
class Fusion:
    """The common graph S (n, n), the weights alpha (m,) and the objective's trace."""

    graph: np.ndarray
    weights: np.ndarray
    trace: Trace


def fuse(graphs: list[np.ndarray], k: int) -> Fusion:
    """The whole of SWMC on the graphs (n, n) of all views, from equal weights."""
    alpha = np.full(len(graphs), 1 / len(graphs))
    F = lowest_eigenpairs(weighted_sum(alpha, graphs), k)[1]
    trace = Trace(tolerance=1e-8, after=0, cap=50)
    while True:
        step(f"SWMC, iteration {len(trace.values) + 1}")
        A = weighted_sum(alpha, graphs)
        S, F = rank_constrained_graph(A, alpha.sum(), k, F)
        residuals = np.array([np.linalg.norm(S - graph) for graph in graphs])
        alpha = self_weights(residuals)
        value = residuals.sum()
        change = abs(value - trace.values[-1]) if trace.values else np.inf
        if trace.record(value, change < trace.tolerance):
            return Fusion(S, alpha, trace)


def rank_constrained_graph(
    A: np.ndarray, total: float, k: int, F: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""The graph S near $A/\sum\alpha$ whose Laplacian has k zero eigenvalues, and their vectors.

    Starts from F (n, k) and weighs the penalty anew; ends with what it has after 50 steps.
    """
    support = edges(A)
    distances = squared_row_distances(F)
    lam = 1.0
    for _ in range(INNER_CAP):
        S = nearest_graph(A, total, lam * distances, support)
        values, vectors = lowest_eigenpairs(S, min(k + 1, len(S)))
        if values[:k].sum() > ZERO:
            lam *= 2
            F = vectors[:, :k]
            distances = squared_row_distances(F)
        elif k < len(S) and values.sum() <= ZERO:
            lam /= 2  # too many components: F stays
        else:
            return S, vectors[:, :k]
    return S, F


def nearest_graph(
    A: np.ndarray, total: float, penalty: np.ndarray, support: np.ndarray
) -> np.ndarray:
    r"""$\min_S \sum_v\alpha_v\|S - A_v\|_F^2 + \langle S, P\rangle$ over rows on the simplex.

    Every row is a projection of $(A - P/2)/\sum\alpha$, $A = \sum_v\alpha_vA_v$, on its support.
    """
    return project_rows((A - penalty / 2) / total, support)


def edges(A: np.ndarray) -> np.ndarray:
    """Where A (n, n) is positive; a sample with no such entry is left to itself."""
    support = A > 0
    alone = np.flatnonzero(~support.any(axis=1))
    support[alone, alone] = True
    return support


def self_weights(residuals: np.ndarray) -> np.ndarray:
    r"""$\alpha_v = 1/(2\|S - A_v\|_F)$; a graph met exactly gets a weight large but finite."""
    floor = np.finfo(float).eps * max(residuals.max(), 1.0)
    return 0.5 / np.maximum(residuals, floor)
