r"""The fused graph $S = 0.7\sum_p w_pS_p + 0.3\,S_{joint}$."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..graphs.affinity import affinity_graph, degree_normalized, placed
from ..graphs.metrics import joint_metric, joint_slots
from ..progress import step
from .missingness import ProjectedGraph, without_presence
from .view_graphs import ViewGraphs

JOINT = 0.3  # share of the joint graph in the fused one; the rest is the mean over the views


def fuse(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    r"""Return $S = 0.7\sum_p w_pS_p + 0.3\,S_{joint}$ (n, n), degree-normalized.

    $S_{joint}$ is the affinity graph of all views at once: its squared distances are the
    weighted sum of those of the views. O(n^2 sum(f)) time for exact neighbors.
    """
    return degree_normalized(fused_edges(graphs, weights))


def fused_edges(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return the same before it is normalized by the degrees."""
    step("fusing the graphs of all views")
    mean = mean_graph(graphs, weights) + placing_edges(graphs, weights)
    joint = joint_graph(graphs, joint_weights(graphs, weights))
    return sp.csr_array(mean * (1 - JOINT) + joint * JOINT)


def embedded_graph(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array | ProjectedGraph:
    """Return the fused graph without the directions of missingness, for its diffusion map."""
    edges = fused_edges(graphs, weights)
    present = graphs.views.present
    degree = np.asarray(edges.sum(axis=1)).ravel()
    used = None if present is None else present[:, weights > 0]
    return without_presence(degree_normalized(edges), degree, used)


def mean_graph(graphs: Sequence[sp.csr_array], weights: np.ndarray) -> sp.csr_array:
    r"""Return $\sum_p w_pS_p$ (n, n)."""
    total = sum(graph * weight for graph, weight in zip(graphs, weights, strict=True))
    return sp.csr_array(total)


def blend(mean: sp.csr_array, joint: sp.csr_array, share: float = JOINT) -> sp.csr_array:
    """Return the graph with a given share of the joint graph, degree-normalized."""
    return degree_normalized(sp.csr_array(mean * (1 - share) + joint * share))


def joint_weights(graphs: ViewGraphs, weights: np.ndarray) -> np.ndarray:
    """Return each view's weight in the joint distance (m,): its weight times the root of its width.

    This lies between equal weights of views and equal weights of columns: a wide view holds more
    measurements, but not always better ones. Only columns that vary are measurements. Kernels have
    no width.
    """
    roots = weights if graphs.views.kernels else weights * np.sqrt(graphs.varying_columns())
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
    return ~np.any([graphs.held(p) for p in np.flatnonzero(weights > 0).tolist()], axis=0)


def in_all_used(graphs: ViewGraphs, weights: np.ndarray) -> np.ndarray:
    """Return which samples every view with a weight holds: (n,)."""
    return np.all([graphs.held(p) for p in np.flatnonzero(weights > 0).tolist()], axis=0)


def joint_graph(graphs: ViewGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return the affinity graph of the joint distance, over samples that every used view holds."""
    used = np.flatnonzero(weights > 0).tolist()
    everywhere = in_all_used(graphs, weights)
    if np.count_nonzero(everywhere) <= graphs.n_neighbors:
        return sp.csr_array((len(everywhere), len(everywhere)))
    if len(used) == 1:
        return graphs[used[0]]
    shared = [
        tuple((part.subset(everywhere[graphs.held(p)]), share) for part, share in graphs.metrics(p))
        for p in used
    ]
    combined = ((joint_metric(parts, weights[used]), share) for parts, share in joint_slots(shared))
    return placed(affinity_graph(combined, graphs.n_neighbors, "all views"), everywhere)
