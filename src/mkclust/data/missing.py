"""What views lack, samples or single cells: checks, a summary, and cells filled by imputation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.impute import KNNImputer

from ..exceptions import InputError, check_choice
from .values import count_columns, list_names, percent
from .views import MultiView

MOST = 0.5  # share of NaN cells above which a column is left out
FILLED_BY = {
    "median": "the median of their column",
    "knn": "the mean of the five nearest samples",
}


def require_complete(views: MultiView, who: str) -> None:
    """Refuse views that lack samples, naming the first; `who` is the method that needs all."""
    if views.present is None:
        return
    i, p = np.argwhere(~views.present)[0]
    sample = i if views.index is None else repr(views.index[i : i + 1].tolist()[0])
    raise InputError(
        f"view {views.names[p]!r} lacks sample {sample} (NaN; {int((~views.present).sum())} rows "
        f"are missing in all views), and {who} needs every sample in every view: use graph fusion, "
        'or MKC-DNM, drop the samples, or fill in the rows; missing_rows="complete" fits the '
        "complete samples and places the others by their neighbors"
    )


def check_presence(views: MultiView, k: int) -> tuple[str, ...]:
    """Return notes on missing samples; InputError where too few are left for k clusters."""
    if views.present is None:
        return ()
    common = common_rows(views.present)
    for name, held in zip(views.names, np.diagonal(common), strict=True):
        if held < max(k, 2):
            raise InputError(
                f"view {name!r} holds {held} of the {len(views)} samples, too few for {k} "
                "clusters: leave the view out"
            )
    _check_linked(common, views.names, k)
    apart = [
        f"{views.names[p]} and {views.names[q]}"
        for p, q in np.argwhere(np.triu(common <= k, 1)).tolist()
    ]
    note = f"Too few samples in common to be compared: {', '.join(apart)}."
    return (presence_words(views.present, views.names), *([note] if apart else []))


def presence_words(present: np.ndarray, names: Sequence[str]) -> str:
    """Return a sentence with the number of samples that lack views.

    >>> print(presence_words(np.array([[True, True], [True, False]]), ["rna", "protein"]))
    1 of 2 samples lack at least one view (missing: 1 of protein); 1 are in one view only.
    """
    support = present.sum(axis=1)
    gone = [f"{n} of {name}" for name, n in zip(names, (~present).sum(axis=0), strict=True) if n]
    lacking, alone = np.count_nonzero(support < len(names)), np.count_nonzero(support == 1)
    return (
        f"{lacking} of {len(present)} samples lack at least one view (missing: {', '.join(gone)}); "
        f"{alone} are in one view only."
    )


def _check_linked(common: np.ndarray, names: Sequence[str], k: int) -> None:
    """Refuse groups of views that share at most k samples: clusters cannot be matched."""
    groups, group = connected_components(common > k, directed=False)
    if groups > 1:
        apart = (", ".join(np.asarray(names)[group == g]) for g in range(groups))
        raise InputError(
            f"no more than {k} samples are common to any two of these groups of views: "
            f"{' / '.join(apart)}. The clusters of one group cannot be matched with another's: "
            "cluster each group separately, or add samples that both have"
        )


def common_rows(present: np.ndarray) -> np.ndarray:
    """Return the number of samples in both views of each pair, (m, m).

    >>> common_rows(np.array([[True, True], [True, False], [False, True]]))
    array([[2, 1],
           [1, 2]])
    """
    counts = present.astype(np.int64)
    return np.asarray(counts.T @ counts)


@dataclass(frozen=True)
class Imputer:
    """The fitted imputation of one view.

    Attributes
    ----------
    method : {"median", "knn"}
    kept : (f,) bool array
        Columns that are used; the others were NaN in more than half of the rows.
    table : (t, f_kept) array
        The row of medians, or the fitted rows. A file thus needs no pickled imputer.
    """

    method: str
    kept: np.ndarray
    table: np.ndarray

    @cached_property
    def _nearest(self) -> KNNImputer:
        return KNNImputer().fit(self.table)

    def fill(self, X: Any) -> np.ndarray:
        """Return the kept columns of X (b, f) without NaN, except rows without any value."""
        filled = np.array(X[:, self.kept], dtype=np.float64)
        some = ~np.isnan(filled).all(axis=1)
        rows = filled[some]
        if self.method == "median":
            filled[some] = np.where(np.isnan(rows), self.table, rows)
        elif np.isnan(rows).any():
            filled[some] = self._nearest.transform(rows)
        return filled


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

    def fill(self, views: MultiView) -> MultiView:
        """Return views without NaN cells and without the columns that were left out."""
        filled, names = list(views.views), list(views.feature_names)
        for p, imputer in enumerate(self.views):
            if imputer is None or (imputer.kept.all() and not views.gaps[p]):
                continue
            filled[p], own = imputer.fill(filled[p]), names[p]
            names[p] = None if own is None else own[imputer.kept]
        return views._changed(filled, feature_names=names)


def fit_imputation(views: MultiView, method: str) -> Imputation:
    """Fit an imputation by medians of columns, or by nearest samples, to views."""
    check_choice("missing", method, tuple(FILLED_BY))
    imputers: list[Imputer | None] = []
    shares, notes, dropped = np.zeros(views.n_views), [], []
    for p, name in enumerate(views.names):
        rows = views.own_rows(p)
        if views.kernels or sp.issparse(rows):
            imputers.append(None)
            continue
        gaps = np.isnan(rows)
        kept = gaps.mean(axis=0) <= MOST
        if not kept.any():
            raise InputError(
                f"view {name!r}: every column is NaN in more than half of the samples; leave it out"
            )
        table = rows[:, kept] if method == "knn" else np.nanmedian(rows[:, kept], axis=0)[None]
        imputers.append(Imputer(method, kept, table))
        shares[p] = gaps.mean()
        if views.gaps[p]:
            count, size = int(gaps[:, kept].sum()), gaps[:, kept].size
            notes.append(
                f"View {name!r}: {count} of {size} cells ({percent(count / size)}) were NaN and "
                f"filled by {FILLED_BY[method]}."
            )
        if not kept.all():
            dropped.append(_dropped_words(name, kept, views.feature_names[p]))
    return Imputation(tuple(imputers), shares, tuple(notes), tuple(dropped))


def _dropped_words(name: str, kept: np.ndarray, names: np.ndarray | None) -> str:
    gone = np.flatnonzero(~kept)
    shown = list_names([str(column) for column in (gone if names is None else names[gone])])
    count = count_columns(len(gone))
    return f"View {name!r}: {count} (NaN in more than half of the samples) left out: {shown}."
