"""The views of a fit and of new samples, from everything an estimator accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from ..data.adapters import as_views, is_several
from ..data.alignment import rows_of
from ..data.keys import keyed
from ..data.missing import UNFILLED, require_no_gaps
from ..data.values import plain_values
from ..data.views import MultiView, split_columns
from ..exceptions import ColumnsWarning, InputError, warn
from ..large.views import LargeViews, as_large_views
from .columns import frame_in_order, listed, views_in_order
from .imputation import Imputation, impute


class TakesViews:
    """Mixin that turns the input of an estimator into a MultiView or LargeViews, with names.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of all views.
    feature_names_in_ : (f,) object array of str
        Column names of one table; absent for several views and for tables without names.
    view_names_in_ : (m,) object array of str
    view_feature_names_in_ : list of (f_p,) object arrays or None
        Column names of every view; None for a view without names, such as an array.
    sample_names_in_ : (n,) object array
        Sample names in the order of `labels_`; absent where the input has none.
    gap_shares_ : (m,) array
        Share of NaN cells that `missing` filled or left out in every view; absent without it.
    """

    columns: Any
    missing: Any
    notes_: tuple[str, ...]
    _imputation: Imputation | None
    reads_chunks: ClassVar[bool] = False

    @property
    def gives_kernels(self) -> bool:
        """Whether the input is announced as kernel matrices."""
        return False

    def takes_chunks(self, rows: LargeViews) -> bool:
        """Return whether rows stored outside memory are read in chunks."""
        return self.reads_chunks

    def _checked_views(self, X: Any) -> Any:
        """Return the views of a fit, without NaN cells."""
        views, self._imputation = self._taken(X), None
        self.view_feature_names_in_ = list(views.feature_names)
        if self.missing is None:
            if isinstance(views, MultiView):
                require_no_gaps(views)
            return views
        if isinstance(views, LargeViews):
            raise InputError(
                f"missing={self.missing!r} is for tables in memory: rows that are read in chunks "
                "are not filled, and must have no NaN"
            )
        filled, self._imputation = impute(views, self.missing)
        return filled

    def _taken(self, X: Any) -> Any:
        rows = as_large_views(X)
        if rows is not None:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.shape[1]
            return rows if self.takes_chunks(rows) else rows.in_memory()
        X = as_views(X)
        if not self.gives_kernels and not is_several(X):
            return self._views_of_table(X)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to one table
        views = X if isinstance(X, MultiView) else MultiView(X, kernels=self.gives_kernels)
        self.n_features_in_ = views.shape[1]
        return views

    def _views_of_table(self, X: Any, reset: bool = True) -> MultiView:
        X = plain_values(X, "X")
        notes: list[str] = []
        if self.columns is None:
            (X,), notes = keyed([X], ["X"])
        if not hasattr(X, "columns") and not sp.issparse(X):
            try:
                X = check_array(
                    X, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
                )
            except ValueError as error:
                raise InputError(f"X is neither views nor a table: {error}") from None
        if not reset:
            X = frame_in_order("the table", X, self._fitted_table_names())
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self.columns is not None:
            return split_columns(X, self.columns)
        return MultiView([X], notes=notes)

    def _fitted_table_names(self) -> np.ndarray | None:
        """Return the column names of the fitted table; None where it had none."""
        if self.columns is None:
            own: np.ndarray | None = self.view_feature_names_in_[0]
            return own
        return getattr(self, "feature_names_in_", None)

    def _note_names(self, views: MultiView | LargeViews) -> None:
        """Keep the names of views and samples."""
        self.view_names_in_ = np.array(views.names, dtype=object)
        names = sample_names(views)
        if names is not None:
            self.sample_names_in_ = names

    def _note_gaps(self) -> None:
        """Keep what was filled and left out of the views, and warn of the latter."""
        found = self._imputation
        if found is not None:
            self.gap_shares_ = found.shares
            self.notes_ = (*self.notes_, *found.notes, *found.dropped)
            for sentence in found.dropped:
                warn(sentence, ColumnsWarning)

    def _new_views(self, X: Any) -> MultiView | LargeViews:
        """Return the views of new samples, with the columns of the fit and without NaN cells."""
        views = self._matched_views(X)
        if isinstance(views, LargeViews):
            if self._imputation is not None:
                raise InputError(
                    "the model fills NaN cells, which is for tables in memory: give arrays or "
                    "frames, not rows that are read in chunks"
                )
            return views
        if self._imputation is None:
            require_no_gaps(views, UNFILLED)
            return views
        return self._imputation.fill(views, self.missing)

    def _matched_views(self, X: Any) -> MultiView | LargeViews:
        """Return the views of new samples by the names and with the columns of the fit."""
        names = tuple(map(str, self.view_names_in_))
        rows = as_large_views(X)
        X = as_views(X) if rows is None else rows
        if isinstance(X, (MultiView, LargeViews)):
            found: MultiView | LargeViews = views_in_order(X, names, self.view_feature_names_in_)
            return found
        if not is_several(X):
            return self._views_of_table(X, reset=False)
        if isinstance(X, (list, tuple)) and len(X) == len(names):
            X = dict(zip(names, X, strict=True))
        if isinstance(X, Mapping):  # before MultiView, because a column to ignore may hold text
            fitted = dict(zip(names, self.view_feature_names_in_, strict=True))
            X = {
                str(name): frame_in_order(f"view {name!r}", view, fitted[str(name)])
                if str(name) in fitted
                else view
                for name, view in X.items()
            }
        found = views_in_order(MultiView(X), names, self.view_feature_names_in_)
        return found

    def _new_kernel_rows(self, X: Any) -> MultiView:
        """Return the kernel values of new with fitted samples; fitted kernels are accepted too.

        Columns with names are matched with the fitted samples.
        """
        names = tuple(map(str, self.view_names_in_))
        if isinstance(X, MultiView):
            views = MultiView(dict(zip(X.names, X.views, strict=True)), index=X.index,
                              feature_names=X.feature_names)  # fmt: skip
        elif isinstance(X, Mapping):
            views = MultiView(X)
        else:
            parts = list(X) if isinstance(X, (list, tuple)) or np.ndim(X) == 3 else [X]
            if len(parts) != len(names):
                raise InputError(f"{len(names)} kernels were fitted, but got {len(parts)}")
            views = MultiView(parts, names=names)
        samples = getattr(self, "sample_names_in_", None)
        own = None if samples is None else np.array([str(name) for name in samples], dtype=object)
        found: MultiView = views_in_order(views, names, [own] * len(names))
        return found


def sample_names(views: MultiView | LargeViews) -> np.ndarray | None:
    """Return the sample names (n,) as objects, dates as text; None where there are none."""
    if views.index is None:
        return None
    names = np.asarray(views.index)
    return (names.astype(str) if names.dtype.kind in "mM" else names).astype(object)


def in_fitted_order(model: Any, views: Any) -> Any:
    """Return views with the samples in the order of the fit; InputError where they are others.

    Samples and views are compared by name where both have names, else by their number.
    """
    n, names = len(model.labels_), tuple(map(str, model.view_names_in_))
    if len(views) != n:
        raise InputError(f"the model was fitted to {n} samples, but views has {len(views)}")
    if set(views.names) != set(names):
        raise InputError(
            f"the model was fitted to the views {', '.join(names)}, but views has "
            f"{', '.join(views.names)}"
        )
    if isinstance(views, LargeViews):
        own = dict(zip(views.names, views.feature_names, strict=True))
        return views_in_order(views, names, [own[name] for name in names])
    views = views if views.names == names else views.select(names)
    fitted, given = getattr(model, "sample_names_in_", None), sample_names(views)
    if fitted is None or given is None or np.array_equal(fitted, given):
        return views
    if len(set(given.tolist())) < n:
        raise InputError("the samples have another order than in the fit, and repeated names")
    rows = rows_of(fitted.tolist(), given.tolist())
    other = fitted[rows < 0]
    if len(other):
        raise InputError(
            f"{len(other)} of the {n} fitted samples are not in views: {listed(other)}"
        )
    return views[rows]
