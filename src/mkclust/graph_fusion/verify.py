"""Check a fitted GraphFusion against its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.input import fitted_views
from ..data.views import MultiView
from ..linalg.checks import TIE, Check, Verification
from ..linalg.eigenpairs import eigenpairs, lanczos
from ..linalg.kmeans import nearest_centers, unit_rows
from ..linalg.scaling import cross_distances
from .diffusion_map import diffusion_scales
from .fusion import embedded_graph
from .missingness import ProjectedGraph
from .view_graphs import ViewGraphs

DIRECT_UP_TO = 3000  # samples up to which LAPACK decomposes the whole graph; Lanczos beyond


def verify_fit(model: Any, views: Any) -> Verification:
    """Check every claim of a fitted model with eigenvalues that another solver computed.

    The graphs are built again from `views`. Checked are: weights from overlap; the embedding's
    columns as leading eigenvectors of the fused graph, by their residuals; their scales; the
    labels as nearest centers, and the centers as means of their clusters; that neither a step of
    k-means nor the move of one sample lowers the inertia; the names of the samples.
    """
    data = fitted_views(model, views)
    names = _name_error(model, data)
    model, data = model._distinct_only(data)
    nearest = nearest_centers(model.embedding_, model.cluster_centers_)
    labels = model.labels_  # of k-means, before duplicates that it divided were united
    if model._united is not None:
        labels = np.where(model._united < 0, labels, nearest)
    k, n = int(model.n_clusters), len(data)
    graphs = ViewGraphs(data, model.n_neighbors_, model.indefinite)
    scales = diffusion_scales(model.eigenvalues_)
    again = graphs.weights(graphs.subspaces(min(2 * k, n)), k)
    graph = embedded_graph(graphs, model.weights_)
    H = model.embedding_ / scales
    values = leading_values(graph, len(scales) + 1)
    checks = (
        Check("the weights follow from overlap and redundancy",
              np.abs(again.weights - model.weights_).max(), 1e-5),
        Check("the eigenvectors are orthonormal", np.abs(H.T @ H - np.eye(len(scales))).max(),
              1e-8),
        Check("the embedding consists of the leading eigenvectors of the fused graph",
              np.abs(graph @ H - H * values[:-1]).max(), 1e-6),
        Check("the eigenvalues are those of the fused graph",
              np.abs(values[:-1] - model.eigenvalues_).max(), 1e-6),
        Check("every label is that of the nearest center",
              float(np.mean(model._united_labels(nearest) != model.labels_)), 0.0),
        Check("every center is the mean of its cluster", _center_error(model, labels), 1e-3),
        *kmeans_checks(model.embedding_, labels),
        Check("the samples have the names of the fit", names, 0.0),
    )  # fmt: skip
    gap = values[-2] - values[-1]
    tied = gap < TIE * values[0] and scales[-1] > TIE
    ties = (f"eigenvalues {len(scales)} and {len(scales) + 1} of the fused graph are equal",)
    return Verification(checks, ties if tied else ())


def leading_values(graph: sp.csr_array | ProjectedGraph, size: int) -> np.ndarray:
    """Return the largest eigenvalues (size,), descending, padded with 0 beyond n."""
    n = graph.shape[0]
    if n <= DIRECT_UP_TO or size >= n - 1:
        values = eigenpairs(graph.toarray(), max(0, n - size), n - 1)[0]
    else:
        values = lanczos(graph, size, 1e-12, seed=1)[0]
    return np.pad(np.sort(values)[::-1], (0, max(0, size - n)))


def kmeans_checks(embedding: np.ndarray, labels: np.ndarray) -> tuple[Check, Check]:
    """Check that the labels are a local optimum of k-means on the unit rows of the embedding.

    The errors are shares of the inertia, the sum of squared distances to the cluster means, with
    all means as centers: what one more step of k-means takes away, and what the best move of one
    sample does. A step of k-means ignores that a sample moves its own mean, so that the second
    may be above zero at an optimum of the first, by about the share of one sample.
    """
    X = unit_rows(embedding)
    found, own = np.unique(labels, return_inverse=True)
    sizes = np.bincount(own)
    means = np.array([X[own == c].mean(axis=0) for c in range(len(found))])
    squared = cross_distances(X, means)  # (n, k)
    mine = squared[np.arange(len(X)), own]
    inertia = max(float(mine.sum()), np.finfo(float).eps * len(X))
    step = float(mine.sum() - squared.min(axis=1).sum()) / inertia
    leave = mine * np.where(sizes[own] > 1, sizes[own] / np.maximum(sizes[own] - 1, 1), 0.0)
    enter = squared * (sizes / (sizes + 1))
    enter[np.arange(len(X)), own] = np.inf
    move = float(np.max(leave - enter.min(axis=1), initial=0.0)) / inertia
    return (
        Check("no step of k-means lowers the inertia", step, 1e-3),
        Check("no move of one sample lowers the inertia", move, max(1e-3, 2 / len(X))),
    )


def _name_error(model: Any, data: MultiView) -> float:
    """Return the share of samples with another name than in the fit, where both have names."""
    before, now = getattr(model, "sample_names_in_", None), data.index
    if before is None or now is None:
        return 0.0
    return float(np.mean([str(a) != str(b) for a, b in zip(before, now, strict=True)]))


def _center_error(model: Any, labels: np.ndarray) -> float:
    """Return the largest distance of a center from the mean of its cluster's unit rows.

    k-means stops where centers move little, so that this is small but not zero.
    """
    rows = unit_rows(model.embedding_)
    means = np.array([rows[labels == c].mean(axis=0) for c in np.unique(labels)])
    centers = model.cluster_centers_[np.unique(labels)]
    return float(np.linalg.norm(means - centers, axis=1).max())
