"""Clusters of samples that some views lack, for methods that need complete samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.views import MultiView
from ..graphs.affinity import default_n_neighbors
from ..kernels.functions import dense
from ..predict.neighbors import neighbor_extension, neighbor_view
from ..predict.new_samples import NewRows


def place_incomplete(model: Any, views: MultiView, complete: np.ndarray) -> None:
    """Extend the labels and embedding of a fit to the complete samples to all samples.

    A sample that some views lack gets the weighted mean over its nearest complete samples in the
    views it has (`NeighborExtension`), of the indicators of their clusters and of their rows of
    the embedding. The cluster with the largest mean is its own.

    Parameters
    ----------
    model : ComparedMethod
        Fitted to the complete samples; `labels_`, `embedding_`, `graph_` and `kernel_` are
        replaced. The last two are zero where a sample was not fitted.
    views : MultiView
        All samples.
    complete : (c,) int array
        Positions of the samples that all views have.
    """
    labels = np.asarray(model.labels_)
    clusters = np.eye(int(labels.max()) + 1)[labels]
    k = clusters.shape[1]
    H = getattr(model, "embedding_", np.empty((len(labels), 0)))
    rest = np.setdiff1d(np.arange(len(views)), complete)
    count = default_n_neighbors(len(complete), k)
    placed = _extended(views, complete, rest, np.hstack([clusters, H]), count)
    every = np.empty(len(views), dtype=labels.dtype)
    every[complete], every[rest] = labels, placed[:, :k].argmax(axis=1)
    model.labels_ = every
    if H.shape[1]:
        model.embedding_ = np.empty((len(views), H.shape[1]))
        model.embedding_[complete], model.embedding_[rest] = H, placed[:, k:]
    for name in ("graph_", "kernel_"):
        if hasattr(model, name):
            full = np.zeros((len(views), len(views)))
            full[np.ix_(complete, complete)] = getattr(model, name)
            setattr(model, name, full)


def _extended(
    views: MultiView, complete: np.ndarray, rest: np.ndarray, values: np.ndarray, n_neighbors: int
) -> np.ndarray:
    """Return the means of `values` (c, r) over the nearest complete samples, for the rest."""
    assert views.present is not None
    held, fitted = np.ones(len(complete), dtype=bool), views[complete]
    parts = tuple(
        neighbor_view(name, view, kind, held, 1 / views.n_views, 0.0, (1.0, 1.0, 1.0))
        for name, view, kind in zip(fitted.names, fitted.views, fitted.kinds, strict=True)
    )
    extension = neighbor_extension(parts, values, n_neighbors, 0.0)
    embed, found = extension.embedder(), []
    for start in range(0, len(rest), extension.height):
        rows = rest[start : start + extension.height]
        new = [dense(v[rows][:, complete] if views.kernels else v[rows]) for v in views.views]
        own = [np.asarray(v.diagonal())[rows] if views.kernels else None for v in views.views]
        found.append(embed(NewRows(new, own, views.present[rows])))
    return np.concatenate(found)
