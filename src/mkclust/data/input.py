"""From everything an estimator accepts to views: of a fit, of new samples, of a fit again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..exceptions import ColumnsWarning, InputError, MissingRowsWarning, warn
from .alignment import as_text, rows_of, set_sample_names
from .checksums import hash_views
from .missing import UNFILLED, Imputation, impute, require_no_gaps
from .values import column_names, fill_masked, is_frame, is_polars, list_names
from .views import MultiView, split_columns

Names = np.ndarray | None


class TakesViews:
    """Mixin that turns the input of an estimator into a MultiView, with names.

    Rows that are stored outside memory are recognized by `_large_views` and stay as they are.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of all views.
    feature_names_in_ : (f,) object array of str
        Column names of one table; absent for several views and for tables without names.
    view_names_in_ : (m,) object array of str
    view_widths_in_ : (m,) int array
        Number of columns of every view.
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
    view_names_in_: np.ndarray
    view_widths_in_: np.ndarray
    view_feature_names_in_: list[Names]
    _imputation: Imputation | None
    _key_columns: tuple[Any, ...] = ()
    _row_hashes: np.ndarray | None = None
    _distinct: np.ndarray | None = None
    _united: np.ndarray | None = None
    takes_missing_rows: ClassVar[bool] = False
    reads_chunks: ClassVar[bool] = False

    @property
    def gives_kernels(self) -> bool:
        """Whether the input is announced as kernel matrices."""
        return False

    def takes_chunks(self, rows: Any) -> bool:
        """Return whether rows stored outside memory are read in chunks."""
        return self.reads_chunks

    def _large_views(self, X: Any) -> Any:
        """Return input that is stored outside memory, opened."""
        raise InputError(f"rows outside memory are not supported, got {type(X).__name__}")

    def _fit_views(self, X: Any) -> Any:
        """Return the views of a fit, without NaN cells, and keep their names."""
        views = self._views_of(X)
        self._fit_names(views)
        if not isinstance(views, MultiView):
            if self.missing is not None:
                raise InputError(
                    f"missing={self.missing!r} is for tables in memory: rows that are read in "
                    "chunks are not filled, and must have no NaN",
                    parameter="missing",
                )
            return views
        self._row_hashes = hash_views(views)
        if self.missing is None:
            if any(views.gaps):
                require_no_gaps(views)
            return views
        filled, self._imputation = impute(views, self.missing)
        return filled

    def _fit_names(self, views: Any) -> None:
        """Keep the names of views and columns."""
        self._imputation = None
        self.view_names_in_ = np.array(views.names, dtype=object)
        self.view_widths_in_ = np.array(views.widths)
        self.view_feature_names_in_ = list(views.feature_names)
        self._key_columns = views.key_columns if isinstance(views, MultiView) else ()

    def _views_of(self, X: Any) -> Any:
        if is_outside_memory(X):
            self.__dict__.pop("feature_names_in_", None)
            views = self._large_views(X)
            views = views if self.takes_chunks(views) else views.in_memory()
        else:
            if is_omics(X):
                X = _omics_views(X)
            if not self.gives_kernels and not is_several(X):
                return self._views_of_table(X)
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to one table
            views = X if isinstance(X, MultiView) else MultiView(X, kernels=self.gives_kernels)
        self.n_features_in_ = views.shape[1]
        return views

    def _views_of_table(self, X: Any, reset: bool = True, exact: bool = False) -> MultiView:
        """Return one table as views; without `reset`, with the columns of the fit."""
        X, notes, keys = fill_masked(X, "X"), list[str](), tuple[Any, ...]()
        if self.columns is None and (is_frame(X) or is_polars(X)):
            known = None if reset else self._keys_in({str(self.view_names_in_[0]): X})
            (X,), keys, notes = set_sample_names([X], ["X"], known)
        if not is_frame(X) and not is_polars(X) and not sp.issparse(X):
            try:
                X = check_array(
                    X, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
                )
            except (ValueError, OverflowError) as error:
                raise InputError(f"X is neither views nor a table: {error}") from None
        if not reset:
            own = self.view_feature_names_in_[0] if self.columns is None else self._table_names()
            X = order_frame("the table", X, own, exact)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self.columns is not None:
            return split_columns(X, self.columns)
        views = MultiView([X], notes=notes)
        views.key_columns = keys or (None,)
        return views

    def _table_names(self) -> Names:
        found: Names = vars(self).get("feature_names_in_")
        return found

    def _keys_in(self, views: Mapping[str, Any]) -> list[Any]:
        """Return the key columns of the fit, for the tables that have them."""
        known = dict(zip(map(str, self.view_names_in_), self._key_columns, strict=False))
        return [
            known[name] if known.get(name) in list(getattr(view, "columns", ())) else None
            for name, view in views.items()
        ]

    def _note_gaps(self) -> None:
        """Keep what was filled and left out of the views, and warn of the latter."""
        found = self._imputation
        if found is not None:
            self.gap_shares_ = found.shares
            self.notes_ = (*self.notes_, *found.notes, *found.dropped)
            for sentence in found.dropped:
                warn(sentence, ColumnsWarning)

    def _new_views(self, X: Any) -> Any:
        """Return the views of new samples, with the columns of the fit and without NaN cells."""
        views = self._matched_views(X)
        if not isinstance(views, MultiView):
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

    def _matched_views(self, X: Any, exact: bool = False) -> Any:
        """Return views by the names and with the columns of the fit, joined as in the fit.

        Columns that the fit did not have are ignored with a warning, or refused if `exact`.
        """
        names = tuple(map(str, self.view_names_in_))
        if is_outside_memory(X):
            X = self._large_views(X)
        elif is_omics(X):
            X = _omics_views(X)
        elif not isinstance(X, MultiView):
            if not self.gives_kernels and not is_several(X):
                return self._views_of_table(X, reset=False, exact=exact)
            if isinstance(X, (list, tuple)) and len(X) == len(names):
                X = dict(zip(names, X, strict=True))
            if isinstance(X, Mapping) and not self.gives_kernels:
                X = self._join_new({str(name): view for name, view in X.items()}, exact)
            X = MultiView(X, kernels=self.gives_kernels)
        if not exact and isinstance(X, MultiView):
            X = self._with_missing_views(X)
        return match_views(X, names, self.view_feature_names_in_, exact)

    def _join_new(self, items: Mapping[str, Any], exact: bool) -> dict[str, Any]:
        """Name the rows of new frames by the key columns of the fit, and order their columns.

        Before MultiView, because a column to ignore may hold text.
        """
        names, fitted = list(map(str, self.view_names_in_)), self.view_feature_names_in_
        views = {name: fill_masked(item, name) for name, item in items.items()}
        made, _, _ = set_sample_names(list(views.values()), list(views), self._keys_in(views))
        return {
            name: order_frame(f"view {name!r}", view, fitted[names.index(name)], exact)
            if name in names
            else view
            for name, view in zip(views, made, strict=True)
        }

    def _with_missing_views(self, views: MultiView) -> MultiView:
        """Add the fitted views that new samples lack as missing, where the method can do that."""
        names = list(map(str, self.view_names_in_))
        lacking = [name for name in names if name not in views.names]
        some = any(name in names for name in views.names)
        if not lacking or not some or not self.takes_missing_rows or views.kernels:
            return views
        warn(
            f"the new samples have no {', '.join(lacking)}: they are placed by "
            f"{', '.join(name for name in names if name in views.names)} alone",
            MissingRowsWarning,
        )
        n, widths = len(views), dict(zip(names, self.view_widths_in_, strict=True))
        present = np.ones((n, views.n_views), dtype=bool) if views.present is None else (
            views.present
        )  # fmt: skip
        return MultiView(
            [*views.views, *(np.full((n, widths[name]), np.nan) for name in lacking)],
            names=[*views.names, *lacking],
            index=views.index,
            labels=views.labels,
            notes=views.notes,
            present=np.hstack([present, np.zeros((n, len(lacking)), dtype=bool)]),
            feature_names=[
                *views.feature_names,
                *(self.view_feature_names_in_[names.index(name)] for name in lacking),
            ],
        )

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
        samples = vars(self).get("sample_names_in_")
        own = None if samples is None else np.array([str(name) for name in samples], dtype=object)
        found: MultiView = match_views(views, names, [own] * len(names))
        return found


def fitted_views(model: Any, views: Any) -> Any:
    """Return `views` as a fitted model took them; an InputError where they are other data.

    Views and columns, and samples where both have names, are put in the order of the fit. Values
    are compared by the checksums of rows that the fit kept. Rows outside memory are compared by
    their number and names only.
    """
    check_is_fitted(model, "labels_")
    data, n = model._matched_views(views, exact=True), len(model.labels_)
    if len(data) != n:
        raise InputError(f"the model was fitted to {n} samples, but views has {len(data)}")
    if not isinstance(data, MultiView):
        return data
    data = _order_samples(vars(model).get("sample_names_in_"), data)
    _refuse_other_values(vars(model).get("_row_hashes"), data)
    if model._imputation is not None:
        return model._imputation.fill(data, model.missing, fitting=True)
    require_no_gaps(data)
    return data


def _order_samples(fitted: Names, views: MultiView) -> MultiView:
    given = sample_names(views)
    if fitted is None or given is None:
        return views
    own, new = as_text(fitted), as_text(given)
    if own == new:
        return views
    if len(set(new)) < len(new):
        raise InputError("the samples have another order than in the fit, and repeated names")
    rows = rows_of(own, new)
    other = fitted[rows < 0]
    if len(other):
        raise InputError(
            f"{len(other)} of the {len(fitted)} fitted samples are not in views: "
            f"{list_names([str(name) for name in other])}"
        )
    found: MultiView = views[rows]
    return found


def _refuse_other_values(fitted: np.ndarray | None, views: MultiView) -> None:
    """Refuse views whose rows have other checksums (n, m) than those of the fit."""
    if fitted is None:
        return
    found = hash_views(views)
    different = found != fitted if found.shape == fitted.shape else np.ones(found.shape, dtype=bool)
    if not different.any():
        return
    p = int(np.argmax(different.any(axis=0)))
    rows = np.flatnonzero(different[:, p])
    first = rows[0] if views.index is None else repr(views.index[rows[0]])
    alike = np.array_equal(np.sort(found[:, p]), np.sort(fitted[:, p]))
    what = "its rows in another order" if alike else "other values"
    raise InputError(
        f"view {views.names[p]!r} has {what} than in the fit, in {len(rows)} of {len(views)} "
        f"samples (the first is {first}): ask about the data that the model was fitted to"
    )


def sample_names(views: Any) -> Names:
    """Return the sample names (n,) as objects, dates as text; None where there are none."""
    if views.index is None:
        return None
    names = np.asarray(views.index)
    return (names.astype(str) if names.dtype.kind in "mM" else names).astype(object)


# ---------------------------------------------------------------- columns by name


def column_order(what: str, fitted: Names, given: Names, exact: bool = False) -> np.ndarray | None:
    """Return the positions of the fitted columns among the given ones; None for all as they are.

    Missing columns raise InputError. Other columns are left out with a `ColumnsWarning`, or
    refused if `exact`.

    >>> column_order("view 'a'", np.array(["x", "y"]), np.array(["y", "x"]))
    array([1, 0])
    """
    if given is None or (fitted is not None and np.array_equal(fitted, given)):
        return None
    if fitted is None:
        warn(
            f"{what} has column names, but the model was fitted without: its columns are taken by "
            "position",
            ColumnsWarning,
        )
        return None
    for names, whose in ((fitted, "as it was fitted"), (given, "of the new samples")):
        values, counts = np.unique(names.astype(str), return_counts=True)
        if (counts > 1).any():
            twice = list_names(values[counts > 1])
            raise InputError(f"{what} {whose} has several columns named {twice}")
    order, extra = rows_of(fitted, given), np.setdiff1d(given, fitted)
    lacking = fitted[order < 0]
    if len(lacking):
        raise InputError(
            f"{what} lacks {len(lacking)} of the {len(fitted)} columns that the model was fitted "
            f"to: {list_names(lacking)}"
        )
    if len(extra):
        count = "1 column" if len(extra) == 1 else f"{len(extra)} columns"
        said = f"{count} that the model was not fitted to"
        if exact:
            raise InputError(f"{what} has {said}: {list_names(extra)}")
        warn(f"{what}: {said}, ignored: {list_names(extra)}", ColumnsWarning)
    return order


def order_frame(what: str, view: Any, fitted: Names, exact: bool = False) -> Any:
    """Return a frame with the fitted columns; unchanged where it or the fit has no names."""
    order = None if fitted is None else column_order(what, fitted, column_names(view), exact)
    if order is None:
        return view
    return view.iloc[:, order] if is_frame(view) else view[:, order.tolist()]


def match_views(
    views: Any, names: Sequence[str], fitted: Sequence[Names], exact: bool = False
) -> Any:
    """Return views by the `names` and with the columns of the fit (names per view, or None)."""
    if set(views.names) != set(names):
        raise InputError(
            f"the model was fitted on the views {', '.join(names)}, but got "
            f"{', '.join(views.names)}"
        )
    at = [views.names.index(name) for name in names]
    orders = [
        column_order(f"view {name!r}", own, views.feature_names[p], exact)
        for name, own, p in zip(names, fitted, at, strict=True)
    ]
    if views.names == tuple(names) and all(order is None for order in orders):
        return views
    return views.with_columns(names, orders)


# ---------------------------------------------------------------- recognition of the input


def is_several(X: Any) -> bool:
    """Return whether X holds several views rather than one table."""
    if sp.issparse(X):
        return False
    if isinstance(X, (MultiView, Mapping)) or getattr(X, "ndim", 2) == 3:
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if hasattr(first, "shape"):
        return len(first.shape) == 2
    return isinstance(first, (list, tuple)) and len(first) > 0 and np.ndim(first[0]) > 0


def is_outside_memory(X: Any) -> bool:
    """Return whether X is, or holds, rows that are stored outside memory."""
    if isinstance(X, (MultiView, np.ndarray)):
        return False
    items = X.values() if isinstance(X, Mapping) and not sp.issparse(X) else X
    several = isinstance(X, (Mapping, list, tuple)) and not sp.issparse(X)
    return hasattr(X, "in_memory") or any(_is_stored(item) for item in (items if several else [X]))


def _is_stored(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    return isinstance(value, (str, Path, np.memmap)) or package in ("dask", "dask_expr", "zarr")


def is_omics(X: Any) -> bool:
    """Return whether X is a MuData or an AnnData, or a dict or list of AnnData."""
    if isinstance(X, (list, tuple, dict)):
        items = list(X.values()) if isinstance(X, dict) else X
        return len(items) > 0 and all(is_omics(item) for item in items)
    return all(hasattr(X, name) for name in ("obs_names", "obs", "obsm", "uns"))


def _omics_views(X: Any) -> MultiView:
    from .adapters import views_of

    return views_of(X)
