"""Preparation of tables before clustering, on request: log counts, columns of large variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..exceptions import InputError
from .views import MultiView


def prepare_views(
    views: MultiView, log: bool = False, top_variance: int | None = None
) -> MultiView:
    """Apply `log_counts`, then `largest_variance`, to every table; names and missing samples stay.

    >>> from mkclust.data.datasets import make_views
    >>> prepare_views(make_views(30, 3, 2, random_state=0), top_variance=4)
    MultiView(30 samples: view1 4, view2 4)
    """
    if views.kernels and (log or top_variance is not None):
        raise InputError("kernels have no columns to prepare: give tables")
    tables, names = list(views.views), list(views.feature_names)
    notes = ["Counts were scaled to a million per sample, then log2(1 + x)."] if log else []
    for p, name in enumerate(views.names):
        if log:
            tables[p] = log_counts(tables[p])
        if top_variance is not None:
            kept = largest_variance(views.own_rows(p) if not log else tables[p], top_variance)
            tables[p], own = tables[p][:, kept], names[p]
            notes.append(f"View {name!r}: {len(kept)} of {views.widths[p]} columns kept.")
            names[p] = None if own is None else own[kept]
    made = views._changed(tables, notes=[*views.notes, *notes], feature_names=names, kinds=None)
    made.log = log or views.log
    return made


def log_counts(X: Any) -> Any:
    r"""Scale the counts (n, f) of every sample to a sum of a million, then take logarithms.

    $\log_2(1 + 10^6 x_{ij} / \sum_j x_{ij})$; missing values stay missing.

    >>> log_counts(np.array([[1.0, 3.0], [0.0, 8.0]])).round(2)
    array([[17.93, 19.52],
           [ 0.  , 19.93]])
    """
    sparse = sp.issparse(X)
    if (X.min() if sparse else np.nanmin(X, initial=0.0)) < 0:
        raise InputError("log needs counts, which are not negative")
    total = np.asarray(X.sum(axis=1) if sparse else np.nansum(X, axis=1), dtype=np.float64)
    scale = np.divide(1e6, total, out=np.zeros_like(total), where=total > 0)[:, None]
    logs = sp.csr_array(X.multiply(scale)).log1p() if sparse else np.log1p(X * scale)
    return logs / np.log(2)


def largest_variance(X: Any, count: int) -> np.ndarray:
    """Return the columns of X (n, f) with the largest variance, ascending; NaN does not count.

    >>> largest_variance(np.array([[0.0, 5.0, 1.0], [1.0, -5.0, 4.0]]), 2)
    array([1, 2])
    """
    if count < 1:
        raise InputError(f"top_variance must be at least 1, got {count}")
    variance = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.nanvar(X, axis=0)
    return np.sort(np.argsort(-np.nan_to_num(variance), kind="stable")[:count])
