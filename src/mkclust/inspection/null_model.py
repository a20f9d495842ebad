r"""Views without clusters that keep means, covariances and missing samples of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.kinds import looks_like_counts
from ..data.views import MultiView

FEW = 10  # distinct values up to which a column is taken as discrete
THIN = 0.1, 1 / 3  # share of nonzero entries up to which they are dealt out: sparse, discrete views


class NullModel:
    r"""Draw views without cluster structure that resemble given ones.

    $$\tilde X_p = \frac{1}{\sqrt n}GCX_p + \frac{1}{n}\mathbf{1}\mathbf{1}^\top X_p$$

    G (n, n) is standard normal and C centers. The samples of all views together are then one
    Gaussian with the mean and covariance of the data: elongation and correlation between views
    are kept, clusters are not. A kernel becomes $AK_pA^\top$ with the same matrix A. Three kinds
    of data need more:

    - Columns with at most ten distinct values keep their values, by rank: noise that is yes or
      no falls into cells, which Gaussian noise does not.
    - In views that look like counts, in sparse views of the same density, and in views of
      discrete columns with at most a third of nonzero entries (links between samples), the
      nonzero entries of all columns are dealt out to the samples at random. Every sample keeps
      its number of entries and every column its values; entries that meet are merged.
    - Samples that a view lacks stay missing.

    Parameters
    ----------
    views : MultiView
    """

    def __init__(self, views: MultiView) -> None:
        self.views = views
        n, m = len(views), views.n_views
        present = views.present if views.present is not None else np.ones((n, m), dtype=bool)
        self._held = [np.flatnonzero(held) for held in present.T]
        self._tables = [self._prepared(p) for p in range(m)]
        self._discrete = [self._discrete_columns(table) for table in self._tables]

    def _prepared(self, p: int) -> Any:
        """Return the rows that view p holds: sparse where entries are dealt out, else dense."""
        view = self.views.own_rows(p)
        if not self.views.kernels and _dealt_out(view):
            return sp.coo_array(view)
        return (view.toarray() if sp.issparse(view) else np.asarray(view)).astype(np.float64)

    def _discrete_columns(self, table: Any) -> np.ndarray:
        if self.views.kernels or sp.issparse(table):
            return np.empty(0, dtype=int)
        steps = _steps(table)
        return np.flatnonzero((steps < FEW) & (steps > 0))

    def draw(self, rng: np.random.Generator) -> MultiView:
        """Return one draw: views of the same names, shapes and missing samples."""
        n = len(self.views)
        G = rng.standard_normal((n, n))
        drawn = []
        for p, table in enumerate(self._tables):
            found = _dealt(table, rng) if sp.issparse(table) else self._gaussian(p, table, G)
            drawn.append(self._placed(p, found))
        return MultiView(
            drawn, names=self.views.names, kernels=self.views.kernels, present=self.views.present,
            kinds=self.views.kinds,
        )  # fmt: skip

    def _gaussian(self, p: int, table: np.ndarray, G: np.ndarray) -> np.ndarray:
        own = G[np.ix_(self._held[p], self._held[p])]
        A = (own - own.mean(axis=1, keepdims=True)) / np.sqrt(len(own)) + 1 / len(own)
        if self.views.kernels:
            return np.asarray(A @ table @ A.T)
        found = np.asarray(A @ table)
        at = self._discrete[p]
        if len(at):
            rank = np.argsort(found[:, at], axis=0).argsort(axis=0)
            found[:, at] = np.take_along_axis(np.sort(table[:, at], axis=0), rank, axis=0)
        return found

    def _placed(self, p: int, rows: Any) -> Any:
        """Extend the rows that view p holds to all samples."""
        at, n = self._held[p], len(self.views)
        if len(at) == n:
            return rows
        if sp.issparse(rows):
            entries = rows.tocoo()
            place = (at[entries.coords[0]], entries.coords[1])
            return sp.csr_array((entries.data, place), shape=(n, rows.shape[1]))
        if self.views.kernels:
            whole = np.full((n, n), np.nan)
            whole[np.ix_(at, at)] = rows
            return whole
        whole = np.full((n, rows.shape[1]), np.nan)
        whole[at] = rows
        return whole


def _dealt_out(view: Any) -> bool:
    """Return whether the null model deals out the nonzero entries of a view."""
    stored = view.count_nonzero() if sp.issparse(view) else np.count_nonzero(view)
    share = stored / np.prod(view.shape, dtype=float)
    if looks_like_counts(view) or (sp.issparse(view) and share < THIN[0]):
        return True
    return bool(share < THIN[1] and not sp.issparse(view) and (_steps(view) < FEW).all())


def _steps(table: np.ndarray) -> np.ndarray:
    """Return the number of distinct values of every column, less one."""
    return np.count_nonzero(np.diff(np.sort(table, axis=0), axis=0), axis=0)


def _dealt(entries: sp.coo_array, rng: np.random.Generator) -> sp.csr_array:
    """Deal the entries of all columns out to the rows, each row as many as it had.

    >>> table = sp.coo_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> _dealt(table, np.random.default_rng(0)).shape
    (2, 3)
    """
    rows, columns = entries.coords
    shape = entries.shape
    dealt = rng.permutation(rows)
    first = np.unique(dealt.astype(np.int64) * shape[1] + columns, return_index=True)[1]
    place = (dealt[first], columns[first])
    return sp.csr_array((entries.data[first].astype(np.float64), place), shape=shape)
