"""Fill NaN cells of feature views, in a fit and in new samples, by scikit-learn's imputers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.impute import KNNImputer, SimpleImputer

from ..data.views import MultiView
from ..exceptions import InputError
from ..io.archive import storable
from .columns import check_width, listed

MOST = 0.5  # share of NaN cells above which a column is left out
FILLED_BY = {
    "median": "the median of their column",
    "knn": "the mean of the five nearest samples",
    "function": "the given function",
}


@storable
@dataclass(frozen=True)
class Imputer:
    """The fitted imputation of one view.

    Attributes
    ----------
    method : {"median", "knn", "function"}
    kept : (f,) bool array
        Columns that are used; the others were NaN in more than half of the rows.
    table : (t, f_kept) array
        What scikit-learn's imputer is fitted to, again for every use: the row of medians, or the
        fitted rows. A file thus needs no pickled imputer.
    """

    method: str
    kept: np.ndarray
    table: np.ndarray

    def fill(self, X: Any, name: str, function: Any = None, fitting: bool = False) -> np.ndarray:
        """Return the kept columns of X (b, f) without NaN, except rows without any value.

        A function gets the fitted rows and the new ones below them, in a fit the former only.
        """
        check_width(name, X.shape[1], len(self.kept))
        filled = np.array(X[:, self.kept], dtype=np.float64)
        some = ~np.isnan(filled).all(axis=1)
        if np.isnan(rows := filled[some]).any():
            filled[some] = self._filled(rows, name, function, fitting)
        return filled

    def _filled(self, rows: np.ndarray, name: str, function: Any, fitting: bool) -> np.ndarray:
        if self.method != "function":
            kind = SimpleImputer(strategy="median") if self.method == "median" else KNNImputer()
            return np.asarray(kind.fit(self.table).transform(rows))
        given = rows if fitting else np.vstack([self.table, rows])
        found = np.asarray(function(given.copy()), dtype=np.float64)
        if found.shape != given.shape or not np.isfinite(found).all():
            problem = f"shape {found.shape}" if found.shape != given.shape else "NaN or infinity"
            raise InputError(
                f"view {name!r}: missing must return the table of shape {given.shape} without "
                f"NaN, but {getattr(function, '__name__', 'it')} returned {problem}"
            )
        return found[len(found) - len(rows) :]


@storable
@dataclass(frozen=True)
class Imputation:
    """The fitted imputation of all views.

    Attributes
    ----------
    views : tuple of Imputer or None
        None for sparse views and kernels, where NaN is refused.
    shares : (m,) array
        Share of NaN cells in the rows that each view has.
    notes : tuple of str
        What was filled and how.
    dropped : tuple of str
        A sentence for each view with columns that were left out.
    """

    views: tuple[Imputer | None, ...]
    shares: np.ndarray
    notes: tuple[str, ...]
    dropped: tuple[str, ...]

    def fill(self, views: MultiView, function: Any, fitting: bool = False) -> MultiView:
        """Return views without NaN cells and without the columns that were left out."""
        filled, names = list(views.views), list(views.feature_names)
        for p, (name, imputer) in enumerate(zip(views.names, self.views, strict=True)):
            if imputer is None or (imputer.kept.all() and not views.gaps[p]):
                continue
            filled[p] = imputer.fill(filled[p], name, function, fitting)
            own = names[p]
            names[p] = None if own is None else own[imputer.kept]
        return views._changed(filled, feature_names=names)


def impute(views: MultiView, missing: Any) -> tuple[MultiView, Imputation]:
    """Fit an imputation to views, and return them without NaN cells."""
    method = "function" if callable(missing) else missing
    if method not in FILLED_BY or (isinstance(missing, str) and method == "function"):
        raise InputError(f'missing must be None, "median", "knn" or a function, got {missing!r}')
    imputers: list[Imputer | None] = []
    shares, notes, dropped = np.zeros(views.n_views), [], []
    for p, name in enumerate(views.names):
        rows = views.own_rows(p)
        if views.kernels or sp.issparse(rows):
            imputers.append(None)
            continue
        gaps = np.isnan(rows) if views.gaps[p] else np.zeros(rows.shape, dtype=bool)
        kept = gaps.mean(axis=0) <= MOST
        imputers.append(Imputer(method, kept, _table(rows[:, kept], method, name)))
        shares[p] = gaps.mean()
        if gaps.any():
            notes.append(_note(name, gaps[:, kept], method))
        if not kept.all():
            dropped.append(_dropped(name, kept, views.feature_names[p]))
    found = Imputation(tuple(imputers), shares, tuple(notes), tuple(dropped))
    return found.fill(views, missing, fitting=True), found


def _table(rows: np.ndarray, method: str, name: str) -> np.ndarray:
    if not rows.shape[1]:
        raise InputError(
            f"view {name!r}: every column is NaN in more than half of the samples; leave it out"
        )
    if method != "median":
        return rows
    return np.asarray(SimpleImputer(strategy="median").fit(rows).statistics_)[None]


def _note(name: str, gaps: np.ndarray, method: str) -> str:
    count = int(gaps.sum())
    return (
        f"View {name!r}: {count} of {gaps.size} cells ({100 * count / gaps.size:.2g} %) were NaN "
        f"and filled by {FILLED_BY[method]}."
    )


def _dropped(name: str, kept: np.ndarray, names: np.ndarray | None) -> str:
    gone = np.flatnonzero(~kept)
    shown = gone if names is None else names[gone]
    count = "1 column that is" if len(gone) == 1 else f"{len(gone)} columns that are"
    return (
        f"View {name!r}: {count} NaN in more than half of the samples "
        f"{'was' if len(gone) == 1 else 'were'} left out: {listed(list(shown))}."
    )
