"""Turn what a user passes to fit, predict or a question into a MultiView.

Beside it, the warnings of input that is probably not what the user means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..exceptions import (
    ColumnsWarning,
    DegenerateWarning,
    InputError,
    MissingRowsWarning,
    OutlierWarning,
    warn,
)
from .adapters import views_of
from .alignment import as_text, rows_of, set_sample_names
from .missing import Imputation, fit_imputation
from .values import SHOWN, as_table, column_names, count_columns, is_frame, is_omics, list_names
from .views import FILL, MultiView, split_columns

Names = np.ndarray | None
UNFILLED = "the model was fitted without filling NaN cells, so that new samples must have none"
FACTOR = 1e5  # times the median; real data sets have up to 1e4
RIGHT_ANGLE = 5e-10  # cosine of a right angle, up to rounding, as in the neighbor search
MOST = 0.5  # share of isolated samples above which a kernel is close to the identity
FEWEST = 3  # samples: a centered kernel of two holds only one negative similarity


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
    n_features_in_: int
    sample_names_in_: np.ndarray
    view_names_in_: np.ndarray
    view_widths_in_: np.ndarray
    view_feature_names_in_: list[Names]
    _imputation: Imputation | None = None
    _key_columns: tuple[Any, ...] = ()
    _log: bool = False  # of views that `prepare_views` took logarithms of
    _row_hashes: np.ndarray | None = None
    _distinct: np.ndarray | None = None
    _united: np.ndarray | None = None
    reads_chunks: ClassVar[bool] = False
    precomputed: bool = False

    @property
    def gives_kernels(self) -> bool:
        """Whether the input is announced as kernel matrices."""
        return bool(self.precomputed)

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
        self._row_hashes = views.row_hashes()
        if self.missing is not None:
            self._imputation = fit_imputation(views, self.missing)
            self.gap_shares_ = self._imputation.shares
        return self._without_gaps(views)

    def _without_gaps(self, views: MultiView, advice: str = FILL) -> MultiView:
        """Return views without NaN cells: filled as in the fit, or refused."""
        if self._imputation is not None:
            return self._imputation.fill(views)
        views.require_no_gaps(advice)
        return views

    def _fit_names(self, views: Any) -> None:
        """Keep the names of views, columns and samples."""
        self.view_names_in_ = np.array(views.names, dtype=object)
        self.view_widths_in_ = np.array(views.widths)
        self.view_feature_names_in_ = list(views.feature_names)
        self._log = views.log
        self._key_columns = views.key_columns if isinstance(views, MultiView) else ()
        if views.index is not None:
            self.sample_names_in_ = sample_names(views.index)

    def _views_of(self, X: Any) -> Any:
        """Return the views of a fit, and keep the number of columns and the names of a table."""
        if self._is_table(X):
            X = as_table(X, "X")
            views = MultiView([X]) if self.columns is None else split_columns(X, self.columns)
            one = self.columns is None
            self.n_features_in_ = views.shape[1] if one else X.shape[1]
            names = views.feature_names[0] if one else column_names(X)
            if names is not None:
                self.feature_names_in_ = names
            return views
        if self.columns is not None:
            raise InputError(
                "columns divides one table into views, but several views are given: leave it out",
                parameter="columns",
            )
        if is_outside_memory(X):
            views = self._large_views(X)
            views = views if self.takes_chunks(views) else views.in_memory()
        elif is_omics(X):
            views = views_of(X)
        elif isinstance(X, MultiView):
            views = X
            if self.gives_kernels and not X.kernels:
                raise InputError("kernels are announced, but the views are tables (kernels=True)")
        else:
            views = MultiView(X, kernels=self.gives_kernels)
            self.notes_ = views.notes
        self.n_features_in_ = views.shape[1]
        return views

    def _is_table(self, X: Any) -> bool:
        """Return whether X is one table rather than several views."""
        several = self.gives_kernels or is_several(X) or is_omics(X)
        return not several and not is_outside_memory(X)

    def _note_gaps(self) -> None:
        """Keep what was filled and left out of the views, and warn of the latter."""
        found = self._imputation
        if found is not None:
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
        return self._without_gaps(views, UNFILLED)

    def _matched_views(self, X: Any, exact: bool = False) -> Any:
        """Return views by the names and with the columns of the fit, joined as in the fit.

        Columns that the fit did not have are ignored with a warning, or refused if `exact`.
        """
        names = list(map(str, self.view_names_in_))
        table = self._is_table(X)
        if table and self.columns is not None:
            own: Names = vars(self).get("feature_names_in_")
            X = order_frame("the table", as_table(X, "X"), own, exact)
            self._check_width("the table", np.shape(X)[1], self.n_features_in_)
            X = split_columns(X, self.columns)
        elif is_outside_memory(X):
            X = self._large_views(X)
        elif is_omics(X):
            X = views_of(X)
        elif not isinstance(X, MultiView):
            parts = [X] if table else X
            if isinstance(parts, (list, tuple)) and len(parts) == len(names):
                parts = dict(zip(names, parts, strict=True))
            if isinstance(parts, Mapping) and not self.gives_kernels:
                parts = self._join_new({str(name): part for name, part in parts.items()}, exact)
            X = MultiView(parts, kernels=self.gives_kernels)
        if not exact and isinstance(X, MultiView):
            X = self._with_missing_views(X)
        return self._match(X, self.view_feature_names_in_, exact)

    def _join_new(self, items: Mapping[str, Any], exact: bool) -> dict[str, Any]:
        """Name the rows of new frames by the key columns of the fit, and order their columns.

        Before MultiView, because a column to ignore may hold text.
        """
        fitted = dict(zip(map(str, self.view_names_in_), self.view_feature_names_in_, strict=True))
        known = dict(zip(fitted, self._key_columns, strict=False))
        views = {name: as_table(item, name) for name, item in items.items()}
        keys = [
            known[name] if known.get(name) in list(getattr(view, "columns", ())) else None
            for name, view in views.items()
        ]
        made, _, _ = set_sample_names(list(views.values()), list(views), keys)
        turned = [_turn_to(fitted.get(name), view) for name, view in zip(views, made, strict=True)]
        return {
            name: order_frame(f"view {name!r}", view, fitted.get(name), exact)
            for name, view in zip(views, turned, strict=True)
        }

    def _with_missing_views(self, views: MultiView) -> MultiView:
        """Add the fitted views that new samples lack as missing; kernels must all be given."""
        fitted = list(map(str, self.view_names_in_))
        lacking = [p for p, name in enumerate(fitted) if name not in views.names]
        held = [name for name in fitted if name in views.names]
        if not lacking or not held or views.kernels:
            return views
        warn(
            f"the new samples have no {', '.join(fitted[p] for p in lacking)}: they are placed by "
            f"{', '.join(held)} alone",
            MissingRowsWarning,
        )
        n, names = len(views), self.view_feature_names_in_
        return views._changed(
            [*views.views, *(np.full((n, self.view_widths_in_[p]), np.nan) for p in lacking)],
            names=[*views.names, *(fitted[p] for p in lacking)],
            present=np.hstack([views.held, np.zeros((n, len(lacking)), bool)]),
            feature_names=[*views.feature_names, *(names[p] for p in lacking)],
            kinds=None,
        )

    def _new_kernel_rows(self, X: Any) -> Any:
        """Return the kernel values of new with fitted samples; fitted kernels are accepted too.

        Columns with names are matched with the fitted samples.
        """
        names = tuple(map(str, self.view_names_in_))
        if isinstance(X, MultiView):
            columns = [X.index] * X.n_views if X.kernels else X.feature_names
            given = dict(zip(X.names, X.views, strict=True))
            views = MultiView(given, index=X.index, feature_names=columns)
        elif isinstance(X, Mapping):
            views = MultiView(X)
        else:
            parts = list(X) if isinstance(X, (list, tuple)) or np.ndim(X) == 3 else [X]
            if len(parts) != len(names):
                raise InputError(f"{len(names)} kernels were fitted, but got {len(parts)}")
            views = MultiView(parts, names=names)
        samples = vars(self).get("sample_names_in_")
        own = None if samples is None else np.array(list(map(str, samples)), dtype=object)
        return self._match(views, [own] * len(names))

    def _match(self, views: Any, fitted: Sequence[Names], exact: bool = False) -> Any:
        """Return the views of the fit, with its columns; `fitted` has their names per view."""
        names = tuple(map(str, self.view_names_in_))
        if set(views.names) != set(names):
            raise InputError(
                f"the model was fitted on the views {', '.join(names)}, but got "
                f"{', '.join(views.names)}"
            )
        orders = [
            column_order(f"view {name!r}", own, views.feature_names[views.names.index(name)], exact)
            for name, own in zip(names, fitted, strict=True)
        ]
        if views.names != names or any(order is not None for order in orders):
            views = views.with_columns(names, orders)
        for name, width, own in zip(names, views.widths, self.view_widths_in_, strict=True):
            self._check_width(f"view {name!r}", width, own)
        return views

    def _check_width(self, what: str, width: int, fitted: int) -> None:
        """Refuse another number of columns than in the fit, in the words of scikit-learn."""
        if width != fitted:
            raise InputError(
                f"{what} of X has {width} features, but {type(self).__name__} is expecting "
                f"{fitted} features as input: the columns of the fit, and of a kernel its samples"
            )


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
    return model._without_gaps(data)


def _order_samples(fitted: Names, views: MultiView) -> MultiView:
    if fitted is None or views.index is None:
        return views
    own, new = as_text(fitted), as_text(sample_names(views.index))
    if own == new:
        return views
    if len(set(new)) < len(new):
        raise InputError("the samples have another order than in the fit, and repeated names")
    rows = rows_of(own, new)
    if len(other := fitted[rows < 0]):
        raise InputError(
            f"{len(other)} of the {len(fitted)} fitted samples are not in views: "
            f"{list_names([str(name) for name in other])}"
        )
    return views._take(rows)


def _refuse_other_values(fitted: np.ndarray | None, views: MultiView) -> None:
    """Refuse views whose rows have other checksums (n, m) than those of the fit."""
    if fitted is None:
        return
    found = views.row_hashes()
    different = found != fitted if found.shape == fitted.shape else np.ones(found.shape, dtype=bool)
    if not different.any():
        return
    p = int(np.argmax(different.any(axis=0)))
    rows = np.flatnonzero(different[:, p])
    first = rows[0] if views.index is None else repr(views.index[rows[:1]].tolist()[0])
    alike = np.array_equal(np.sort(found[:, p]), np.sort(fitted[:, p]))
    what = "its rows in another order" if alike else "other values"
    raise InputError(
        f"view {views.names[p]!r} has {what} than in the fit, in {len(rows)} of {len(views)} "
        f"samples (the first is {first}): ask about the data that the model was fitted to"
    )


def sample_names(index: Any) -> np.ndarray:
    """Return sample names (n,) as objects, dates as text."""
    names = np.asarray(index)
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
    if len(lacking := fitted[order < 0]):
        raise InputError(
            f"{what} lacks {len(lacking)} of the {len(fitted)} columns that the model was fitted "
            f"to: {list_names(lacking)}"
        )
    if len(extra):
        said = f"{count_columns(len(extra))} that the model was not fitted to"
        if exact:
            raise InputError(f"{what} has {said}: {list_names(extra)}")
        warn(f"{what}: {said}, ignored: {list_names(extra)}", ColumnsWarning)
    return order


def _turn_to(fitted: Names, view: Any) -> Any:
    """Return a frame transposed if the fitted columns are the names of its rows."""
    if fitted is None or not is_frame(view):
        return view
    columns = view.columns.astype(str)
    if set(fitted) & set(columns) or not set(fitted) <= set(view.index.astype(str)):
        return view
    return view.set_axis(columns, axis="columns").T.rename(columns=str)


def order_frame(what: str, view: Any, fitted: Names, exact: bool = False) -> Any:
    """Return a frame with the fitted columns; unchanged where it or the fit has no names.

    Where the fit has names, numbers of columns are names, too.
    """
    if fitted is None or not is_frame(view):
        return view
    order = column_order(what, fitted, np.array(list(map(str, view.columns)), dtype=object), exact)
    return view if order is None else view.iloc[:, order]


# ---------------------------------------------------------------- recognition of the input


def is_several(X: Any) -> bool:
    """Return whether X holds several views rather than one table."""
    if sp.issparse(X):
        return False
    if isinstance(X, (MultiView, Mapping)) or getattr(X, "ndim", 2) == 3:
        return True
    if not isinstance(X, (list, tuple)):
        return False
    if not X or any(len(getattr(item, "shape", ())) > 0 for item in X):
        return True
    first = X[0]
    return isinstance(first, (list, tuple)) and len(first) > 0 and np.ndim(first[0]) > 0


def is_outside_memory(X: Any) -> bool:
    """Return whether X is, or holds, rows that are stored outside memory."""
    if isinstance(X, (MultiView, np.ndarray)) or sp.issparse(X):
        return False
    items = X.values() if isinstance(X, Mapping) else X if isinstance(X, (list, tuple)) else [X]
    return hasattr(X, "in_memory") or any(_is_stored(item) for item in items)


def _is_stored(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    return isinstance(value, (str, Path, np.memmap)) or package in ("dask", "dask_expr", "zarr")


# ---------------------------------------------------------------- suspicious input


ISOLATED = (
    "most samples are similar to no other sample, so that the kernel is close to the identity and "
    "holds no clusters. Leave it out, or give a Gaussian kernel a larger width"
)
LIKE_KERNELS = (
    "square, symmetric and with ones on the diagonal, as kernel matrices are, but clustered as "
    "tables of features. If they are kernels, pass kernels=True (to an estimator in Python "
    'precomputed=True or kernel="precomputed")'
)


def warn_of_input(views: MultiView) -> None:
    """Warn of input that is probably not what the user means; nothing is changed.

    The eigenvectors of a kernel close to the identity are unrelated to those of others, and
    MKC-DNM then keeps about $\\sqrt{kn}$ eigenvectors of every kernel (docs/research.md,
    section 9). The rows of a table that is a kernel would be clustered as features.
    """
    warn_of_outliers(views)
    suspect, words = (_is_isolated, ISOLATED) if views.kernels else (_is_like_kernel, LIKE_KERNELS)
    names = [name for p, name in enumerate(views.names) if suspect(views.own_rows(p))]
    if names and len(views) >= FEWEST:
        warn(f"{', '.join(names)}: {words}", DegenerateWarning)


def warn_of_outliers(views: MultiView) -> None:
    """Warn of samples whose largest value is 100 000 times larger than usual in a view.

    The usual value is the median over the samples of their largest absolute values, without
    zeros. O(n f).
    """
    found: dict[int, list[str]] = {}
    factor = 0.0
    for view, name in zip(views.views, views.names, strict=True):
        size = _largest_values(view)
        positive = size[size > 0]
        usual = float(np.quantile(positive, 0.5, method="lower")) if len(positive) else np.inf
        for i in np.flatnonzero(size / FACTOR > usual).tolist():
            found.setdefault(i, []).append(name)
            factor = max(factor, float(size[i]) / usual)
    if not found or 2 * len(found) > len(views):
        return
    names = np.arange(len(views)) if views.index is None else views.index
    samples = [f"sample {names[i]}" for i in list(found)[:SHOWN]]
    samples += [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    inside = dict.fromkeys(name for names in found.values() for name in names)
    warn(
        f"{', '.join(samples)}: values up to {factor:.0e} times larger than usual in "
        f"{', '.join(inside)}. Such a sample can decide scaling and clusters alone; check it, or "
        "leave it out",
        OutlierWarning,
    )


def _largest_values(view: Any) -> np.ndarray:
    """Return the largest absolute value of every row (n,); 0 where all are missing."""
    both = (view.max(axis=1), view.min(axis=1))
    ends = [end.toarray().ravel() if sp.issparse(end) else end for end in both]
    top = np.max(np.abs(np.asarray(ends, dtype=np.float64)), axis=0)
    return np.asarray(np.nan_to_num(top, nan=0.0, posinf=np.inf))


def _is_isolated(kernel: Any) -> bool:
    return isolated_share(kernel) > MOST


def isolated_share(kernel: Any) -> float:
    r"""Return the share of samples at a right angle, or more, to all others: O(n^2).

    Sample i is isolated where $K_{ij} \le 5\cdot10^{-10}\sqrt{K_{ii}K_{jj}}$ for all other j.

    >>> isolated_share(np.eye(4)), isolated_share(np.ones((4, 4)))
    (1.0, 0.0)
    """
    K = np.array(kernel.toarray() if sp.issparse(kernel) else kernel, dtype=np.float64)
    length = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    np.fill_diagonal(K, -np.inf)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        K /= length
        nearest = np.nan_to_num(K, nan=-np.inf).max(axis=1, initial=-np.inf)
        return float(np.mean(nearest <= RIGHT_ANGLE * length))


def _is_like_kernel(view: Any) -> bool:
    """Return whether a table is symmetric with a unit diagonal and nothing larger."""
    if view.shape[0] != view.shape[1] or not np.allclose(view.diagonal(), 1.0):
        return False
    if sp.issparse(view):
        return bool(abs(view - view.T).max() < 1e-8 and abs(view).max() < 1 + 1e-8)
    with np.errstate(invalid="ignore"):
        return bool(np.nanmax(np.abs(view)) < 1 + 1e-8 and np.allclose(view, view.T))
