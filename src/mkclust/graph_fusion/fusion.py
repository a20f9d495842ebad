"""The fused graph: the weighted mean of the views' graphs, and a share of the joint graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2_contingency

from ..graphs.affinity import affinity_graph, degree_normalized, pad_graph
from ..graphs.metrics import Metric, joint_metric, joint_slots
from ..linalg.threads import in_parallel
from ..progress import step
from .view_graphs import ViewGraphs

JOINT = 0.3  # share of the joint graph in the fused one; the rest is the mean over the views
NARROW = 1.5  # effective dimensions, on average, below which views are one measurement each
JOINT_OF_NARROW = 0.95  # share of the joint graph then; the rest places samples with missing views
DEPENDENT = 0.001  # p-value below which labels are said to depend on the views that samples have
EXPECTED = 5  # samples of a cluster without or with a view, from which the test is valid
CONSTANT = 1e-6  # relative length of a direction that the others already contain


def fuse(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    r"""Return $S = (1 - c)\sum_p w_pS_p + c\,S_{joint}$ (n, n), degree-normalized.

    c is the `joint_share`: 0.3, or 0.95 where the views are one measurement each. $S_{joint}$ is
    the affinity graph of all views at once: its squared distances are the weighted sum of those of
    the views. O(n^2 sum(f)) time for exact neighbors.
    """
    return degree_normalized(fused_edges(graphs, weights))


def fused_edges(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return the fused graph before it is normalized by the degrees."""
    step("fusing the graphs of all views")
    mean = mean_graph(graphs, weights) + placing_edges(graphs, weights)
    joint = joint_graph(graphs, joint_weights(graphs, weights))
    share = joint_share(graphs, weights)
    return sp.csr_array(mean * (1 - share) + joint * share)


def graph_to_embed(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array | ProjectedGraph:
    """Return the fused graph without the directions of missingness, for its diffusion map."""
    edges = fused_edges(graphs, weights)
    degree = np.asarray(edges.sum(axis=1)).ravel()
    return without_presence(degree_normalized(edges), degree, graphs.views.held[:, weights > 0])


def mean_graph(graphs: Sequence[sp.csr_array], weights: np.ndarray) -> sp.csr_array:
    r"""Return $\sum_p w_pS_p$ (n, n)."""
    return sp.csr_array(sum(graph * weight for graph, weight in zip(graphs, weights, strict=True)))


def blend(mean: sp.csr_array, joint: sp.csr_array, share: float) -> sp.csr_array:
    """Return the graph with a given share of the joint graph, degree-normalized."""
    return degree_normalized(sp.csr_array(mean * (1 - share) + joint * share))


def joint_share(graphs: ViewGraphs, weights: np.ndarray) -> float:
    """Return the share of the joint graph in the fused one: 0.3, or 0.95 for narrow views.

    If all columns of a view measure about the same, its neighbors are those of a single number,
    which say little about clusters. If that holds for the views on average, as for the bands of
    an image, they are treated as the columns of one table. Kernels have no columns.
    """
    if graphs.views.kernels or weights @ graphs.effective_dimensions >= NARROW:
        return JOINT
    return JOINT_OF_NARROW


def joint_weights(graphs: ViewGraphs, weights: np.ndarray) -> np.ndarray:
    """Return each view's weight in the joint distance (m,): its weight times the root of its width.

    This lies between equal weights of views and equal weights of columns: a wide view holds more
    measurements, but not always better ones. Only columns that vary are measurements. Kernels have
    no width.
    """
    roots = weights if graphs.views.kernels else weights * np.sqrt(graphs.varying_columns)
    return np.asarray(roots / np.sum(roots))


def placing_edges(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return the edges of views of weight 0 that place samples which no used view holds (n, n).

    These samples would be lost without them. Edges between all other samples are not among them,
    so that the clusters of those do not depend on a view without a weight.
    """
    alone = in_no_used(graphs, weights)
    total = sp.csr_array((len(alone), len(alone)))
    if not alone.any():
        return total
    some, others = (sp.diags_array(chosen.astype(float)) for chosen in (alone, ~alone))
    for p in np.flatnonzero(weights == 0).tolist():
        total = total + some @ graphs[p] + others @ graphs[p] @ some
    return sp.csr_array(total * weights[weights > 0].mean())


def in_no_used(graphs: ViewGraphs, weights: np.ndarray) -> np.ndarray:
    """Return which samples no view with a weight holds: (n,)."""
    return np.asarray(~graphs.views.held[:, weights > 0].any(axis=1))


def in_all_used(graphs: ViewGraphs, weights: np.ndarray) -> np.ndarray:
    """Return which samples every view with a weight holds: (n,)."""
    return np.asarray(graphs.views.held[:, weights > 0].all(axis=1))


def joint_graph(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return the affinity graph of the joint distance, over samples that every used view holds."""
    used = np.flatnonzero(weights > 0).tolist()
    held, everywhere = graphs.views.held, in_all_used(graphs, weights)
    if np.count_nonzero(everywhere) <= graphs.n_neighbors:
        return sp.csr_array((len(everywhere), len(everywhere)))
    if len(used) == 1:
        return graphs[used[0]]
    shared = [
        tuple((part.subset(everywhere[held[:, p]]), share) for part, share in graphs.metrics(p))
        for p in used
    ]

    def graph(slot: tuple[list[Metric], float]) -> sp.csr_array:
        combined = joint_metric(slot[0], weights[used]), slot[1]
        return affinity_graph([combined], graphs.n_neighbors, "all views")

    found = in_parallel(graph, joint_slots(shared), graphs.at_once)
    return pad_graph(sp.csr_array(sum(found)), everywhere)


@dataclass(frozen=True)
class ProjectedGraph:
    r"""$(I - BB^T)S(I - BB^T)$ of a graph S (n, n) and orthonormal directions B (n, r)."""

    graph: sp.csr_array
    directions: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.graph.shape

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        B = self.directions
        Y = self.graph @ (X - B @ (B.T @ X))
        return np.asarray(Y - B @ (B.T @ Y))

    def toarray(self) -> np.ndarray:
        """Return the operator as a dense matrix (n, n)."""
        found = self @ np.eye(self.shape[0])
        return np.asarray((found + found.T) / 2)


def without_presence(
    graph: sp.csr_array, degree: np.ndarray, present: np.ndarray
) -> sp.csr_array | ProjectedGraph:
    r"""Remove from a fused graph S the directions that tell which views a sample has.

    Samples that only one view holds have no edge to samples that only another one holds, so that
    S has eigenvectors of missingness, whatever the data. The presence of every view, times the
    root of the degrees $\Delta$, is projected out, as far as it differs from the trivial
    eigenvector $\Delta^{1/2}1$, which stays. One direction per pattern of missing views would
    remove clusters, too. `present` (n, m) says which samples the used views hold.

    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2)) / 2))  # no sample in both views
    >>> present = np.array([[True, False]] * 2 + [[False, True]] * 2)
    >>> np.linalg.eigvalsh(without_presence(blocks, np.ones(4), present).toarray()).round(6)
    array([0., 0., 0., 1.])
    """
    if present.all():
        return graph
    root = np.sqrt(degree)
    columns = np.column_stack([root, present * root[:, None]])
    Q, R = np.linalg.qr(columns)
    new = np.abs(np.diagonal(R)) > CONSTANT * np.linalg.norm(columns, axis=0)
    return ProjectedGraph(graph, np.ascontiguousarray(Q[:, 1:][:, new[1:]]))


def missingness_p_value(labels: np.ndarray, present: np.ndarray) -> float:
    """Test whether the clusters depend on which views a sample has, and return the p-value.

    Pearson's chi-square test compares the clusters with the presence of each view (n, m). Clusters
    in which it expects fewer than five samples, present or not, are counted as one: the test is
    not valid for fewer. The smallest p-value is multiplied by the number of tests (Bonferroni).

    >>> present = np.repeat([[True, True], [True, False]], 20, axis=0)
    >>> missingness_p_value(np.arange(40) % 2, present)
    1.0
    >>> missingness_p_value(np.arange(40) // 20, present) < DEPENDENT
    True
    """
    codes = np.unique(labels, return_inverse=True)[1]
    lacking = [held for held in present.T if not held.all() and held.any()]
    if not lacking or codes.max() == 0:
        return 1.0
    found = []
    for held in lacking:
        table = np.zeros((2, codes.max() + 1))
        np.add.at(table, (held.astype(int), codes), 1)
        few = table.sum(axis=0) * min(held.mean(), 1 - held.mean()) < EXPECTED
        table = np.column_stack([table[:, ~few], table[:, few].sum(axis=1)])
        table = table[:, table.any(axis=0)]
        found.append(float(chi2_contingency(table, correction=False).pvalue))
    return min(1.0, len(found) * min(found))
