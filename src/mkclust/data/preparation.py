"""Preparation of tables before clustering: two scikit-learn transformers, applied on request."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from ..exceptions import InputError
from .views import MultiView


class LogCounts(TransformerMixin, BaseEstimator):
    r"""Scale the counts of every sample to a sum of a million, then take logarithms.

    $\log_2(1 + 10^6 x_{ij} / \sum_j x_{ij})$. Nothing is fitted.

    Examples
    --------
    >>> LogCounts().fit_transform(np.array([[1.0, 3.0], [0.0, 8.0]])).round(2)
    array([[17.93, 19.52],
           [ 0.  , 19.93]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: every sample is scaled by itself."""
        return self

    def transform(self, X: Any) -> Any:
        """Return log counts per million; missing values stay missing."""
        if (X.min() if sp.issparse(X) else np.nanmin(X, initial=0.0)) < 0:
            raise InputError("log needs counts, which are not negative")
        if sp.issparse(X):
            total = np.asarray(X.sum(axis=1)).ravel()
            scale = np.divide(1e6, total, out=np.zeros_like(total, dtype=float), where=total > 0)
            scaled = sp.csr_array(sp.diags_array(scale) @ sp.csr_array(X, dtype=float))
            scaled.data = np.log2(1 + scaled.data)
            return scaled
        total = np.nansum(X, axis=1, keepdims=True)
        scale = np.divide(1e6, total, out=np.zeros_like(total, dtype=float), where=total > 0)
        return np.log2(1 + X * scale)


class TopVariance(TransformerMixin, BaseEstimator):
    """Keep the columns with the largest variance, in their order.

    Parameters
    ----------
    n_columns : int
        Columns to keep; a narrower table is unchanged.

    Attributes
    ----------
    kept_ : (n_columns,) int array

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, -5.0, 4.0]])
    >>> TopVariance(2).fit(X).kept_
    array([1, 2])
    """

    def __init__(self, n_columns: int = 2000) -> None:
        self.n_columns = n_columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns; missing values are left out of their variance."""
        if self.n_columns < 1:
            raise InputError(f"n_columns must be at least 1, got {self.n_columns}")
        if sp.issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
        else:
            variance = np.nanvar(X, axis=0)
        order = np.argsort(-np.nan_to_num(variance), kind="stable")
        self.kept_ = np.sort(order[: self.n_columns])
        return self

    def transform(self, X: Any) -> Any:
        """Return the kept columns."""
        return X[:, self.kept_]


def prepare_views(
    views: MultiView, log: bool = False, top_variance: int | None = None
) -> MultiView:
    """Apply `LogCounts`, then `TopVariance`, to every table; names and missing samples stay.

    >>> from mkclust.data.datasets import make_views
    >>> prepare_views(make_views(30, 3, 2, random_state=0), top_variance=4)
    MultiView(30 samples: view1 4, view2 4)
    """
    if views.kernels and (log or top_variance is not None):
        raise InputError("kernels have no columns to prepare: give tables")
    tables, names, notes = list(views.views), list(views.feature_names), []
    for p, name in enumerate(views.names):
        if log:
            tables[p] = LogCounts().fit_transform(tables[p])
        if top_variance is not None:
            chosen = TopVariance(top_variance).fit(views.own_rows(p) if not log else tables[p])
            tables[p], own = chosen.transform(tables[p]), names[p]
            notes.append(f"View {name!r}: {tables[p].shape[1]} of {views.widths[p]} columns kept.")
            names[p] = None if own is None else own[chosen.kept_]
    told = ["Counts were scaled to a million per sample, then log2(1 + x)."] if log else []
    return MultiView(
        dict(zip(views.names, tables, strict=True)), labels=views.labels, index=views.index,
        notes=(*views.notes, *told, *notes), present=views.present, feature_names=names,
    )  # fmt: skip
