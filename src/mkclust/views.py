"""MultiView: several descriptions of the same samples, rows aligned, names kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .errors import InputError

SHOWN = 5  # how many offending rows or columns an error spells out


class MultiView:
    """Samples described by several views: one matrix per view, the same rows in each.

    Parameters
    ----------
    views : list, tuple or dict of (n, f_p) arrays, frames or sparse matrices; or MultiView
        With ``kernels=True``: n x n kernel matrices, or one (m, n, n) array of them.
    names : sequence of str, optional
        View names; a dict's keys, or ``view1 ...`` when absent.
    kernels : bool
        Whether each view is a kernel (similarity) matrix rather than a feature table.
    labels : (n,) array-like, optional
        Known classes. Never used for clustering, only for evaluation.
    index : (n,) array-like, optional
        Sample names; taken from the frames when they have an index.
    notes : sequence of str
        What a file reader decided on the way here.

    Frames are aligned by their index: the same samples in another order are reordered, and a
    sample missing from one view is an error that names both. Indexing takes rows of every
    view at once (for kernels, rows and columns), so scikit-learn's model selection can split
    it; it cannot be iterated, since that would split the views.

    Examples
    --------
    >>> import numpy as np
    >>> from mkclust import MultiView
    >>> views = MultiView({"shape": np.zeros((4, 2)), "colour": np.ones((4, 3))})
    >>> views
    MultiView(4 samples: shape 2, colour 3)
    >>> views[[0, 2]]["colour"].shape
    (2, 3)
    """

    def __init__(
        self,
        views: Any,
        *,
        names: Sequence[str] | None = None,
        kernels: bool = False,
        labels: Any = None,
        index: Any = None,
        notes: Iterable[str] = (),
    ) -> None:
        if isinstance(views, MultiView):  # what is not given anew is inherited
            kernels = kernels or views.kernels
            labels = views.labels if labels is None else labels
            index = views.index if index is None else index
            notes = notes or views.notes
        items, found = _listed(views, kernels)
        self.names: tuple[str, ...] = _checked_names(names if names is not None else found)
        if len(self.names) != len(items):
            raise InputError(f"{len(items)} views but {len(self.names)} names: {self.names}")
        items, frame_index = _aligned(items, self.names, kernels)
        self.kernels: bool = bool(kernels)
        self.views: tuple[Any, ...] = tuple(
            _matrix(view, name) for view, name in zip(items, self.names, strict=True)
        )
        self.n_samples = _common_length(self.views, self.names)
        if self.kernels:
            _check_square(self.views, self.names)
        self.index: np.ndarray | None = _column(
            index if index is not None else frame_index, self, "index"
        )
        self.labels: np.ndarray | None = _column(_following(labels, self.index), self, "labels")
        self.notes: tuple[str, ...] = tuple(notes)

    @property
    def n_views(self) -> int:
        return len(self.views)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(view.shape[1] for view in self.views)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and columns over all views: what scikit-learn asks of a table."""
        return self.n_samples, sum(self.widths)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        what = "kernels" if self.kernels else "samples"
        parts = (
            self.names
            if self.kernels
            else [f"{name} {width}" for name, width in zip(self.names, self.widths, strict=True)]
        )
        count = f"{self.n_views} {what} of {len(self)}" if self.kernels else f"{len(self)} {what}"
        return f"MultiView({count}: {', '.join(parts)})"

    def __getitem__(self, key: Any) -> Any:
        """One view by its name, or rows of all views by a slice, a mask or a list."""
        if isinstance(key, str):
            return self.views[self._position(key)]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, tuple) or (np.ndim(key) != 1 and not isinstance(key, slice)):
            raise TypeError(
                "a MultiView is indexed by rows (a slice, a mask or a list of positions) or by a "
                f"view's name, not by {key!r}; its views are {', '.join(self.names)}"
            )
        return self._take(np.arange(len(self))[key if isinstance(key, slice) else np.asarray(key)])

    def __iter__(self) -> Any:
        raise TypeError(
            "a MultiView is not a sequence of views, so that nothing splits the views instead of "
            "the rows; use .views for the matrices or [rows] for some samples"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a MultiView is several tables, not one array; see its .views")

    def _position(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"no view {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def _take(self, rows: np.ndarray) -> MultiView:
        def taken(view: Any) -> Any:
            return view[rows][:, rows] if self.kernels else view[rows]

        return MultiView(
            [taken(view) for view in self.views],
            names=self.names,
            kernels=self.kernels,
            labels=None if self.labels is None else self.labels[rows],
            index=None if self.index is None else self.index[rows],
            notes=self.notes,
        )

    def select(self, names: Sequence[str]) -> MultiView:
        """The same samples with only the named views, in the order given."""
        return MultiView(
            [self[name] for name in names],
            names=names,
            kernels=self.kernels,
            labels=self.labels,
            index=self.index,
            notes=self.notes,
        )


def split_columns(table: Any, columns: Any) -> MultiView:
    """One table to views: `columns` maps each view's name to its columns, or each column to a view.

    >>> import numpy as np
    >>> split_columns(np.zeros((3, 4)), ["a", "b", "b", "a"])
    MultiView(3 samples: a 2, b 2)
    >>> split_columns(np.zeros((3, 4)), {"left": [0, 1], "right": slice(2, 4)})
    MultiView(3 samples: left 2, right 2)
    """
    if not isinstance(columns, Mapping):
        owners = np.asarray(columns)
        if owners.shape != (table.shape[1],):
            raise InputError(
                f"columns must name a view for each of the {table.shape[1]} columns, "
                f"got {owners.shape[0] if owners.ndim else 'a scalar'}"
            )
        columns = {str(owner): np.flatnonzero(owners == owner) for owner in dict.fromkeys(owners)}
    frame = _is_frame(table)
    if not frame and sp.issparse(table):
        table = table.tocsr()

    def part(name: Any, chosen: Any) -> Any:
        try:
            if not frame:
                return table[:, chosen]
            by_position = isinstance(chosen, slice) or np.asarray(chosen).dtype.kind in "iub"
            return table.iloc[:, chosen] if by_position else table.loc[:, list(chosen)]
        except (IndexError, KeyError) as error:
            raise InputError(f"columns of view {name!r} are not in the table: {error}") from None

    return MultiView({str(name): part(name, chosen) for name, chosen in columns.items()})


def _is_frame(value: Any) -> bool:
    return hasattr(value, "iloc") and hasattr(value, "columns")


def _listed(views: Any, kernels: bool) -> tuple[list[Any], list[str]]:
    """The views as a list, with the names they came with."""
    if isinstance(views, MultiView):
        return list(views.views), list(views.names)
    if isinstance(views, Mapping):
        return list(views.values()), [str(name) for name in views]
    if _is_frame(views) or sp.issparse(views):
        views = [views]
    elif isinstance(views, np.ndarray):
        views = _unstacked(views, kernels)
    if isinstance(views, (str, bytes)) or not isinstance(views, Sequence):
        raise InputError(
            f"views must be a list, tuple or dict of matrices, got {type(views).__name__}"
        )
    return list(views), [f"view{p + 1}" for p in range(len(views))]


def _unstacked(array: np.ndarray, kernels: bool) -> list[np.ndarray]:
    if array.ndim == 3 and kernels and array.shape[1] != array.shape[2]:
        hint = "; move the last axis first: np.moveaxis(kernels, -1, 0)"
        raise InputError(
            f"kernels must be stacked as (views, n, n), got shape {array.shape}"
            + (hint if array.shape[0] == array.shape[1] else "")
        )
    if array.ndim == 3 and not kernels:
        raise InputError(
            f"a stack of shape {array.shape} is taken as kernels only; give feature views as a list"
        )
    return list(array) if array.ndim == 3 else [array]


def _checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    checked = tuple(str(name) for name in names)
    twice = sorted({name for name in checked if checked.count(name) > 1})
    if not checked:
        raise InputError("no views given: at least one is needed")
    if twice:
        raise InputError(f"view names must differ, but {', '.join(twice)} occurs more than once")
    return checked


def _aligned(items: list[Any], names: Sequence[str], kernels: bool) -> tuple[list[Any], Any]:
    """Every frame in the row order of the first one; kernels in their columns too."""
    frames = [p for p, item in enumerate(items) if _is_frame(item)]
    if not frames:
        return items, None
    first = items[frames[0]].index
    aligned = list(items)
    for p in frames[1:]:
        index = items[p].index
        if index.equals(first):
            continue
        _check_same_samples(first, index, names[frames[0]], names[p])
        if len(frames) < len(items):
            raise InputError(
                f"view {names[p]!r} has its rows in another order than {names[frames[0]]!r}, and "
                "views without an index cannot follow; give every view as a frame, or reorder"
            )
        aligned[p] = items[p].loc[first]
    if kernels:
        for p in frames:
            if set(aligned[p].columns) == set(first):
                aligned[p] = aligned[p].loc[:, first]
    return aligned, first.to_numpy()


def _check_same_samples(first: Any, index: Any, first_name: str, name: str) -> None:
    for samples, owner in ((first, first_name), (index, name)):
        if samples.has_duplicates:
            twice = list(samples[samples.duplicated()].unique()[:SHOWN])
            raise InputError(f"view {owner!r} has several rows named {twice}: cannot align")
    for here, there, owner in ((first, index, name), (index, first, first_name)):
        missing = here.difference(there, sort=False)
        if len(missing):
            shown = ", ".join(map(repr, missing[:SHOWN].tolist()))
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise InputError(f"view {owner!r} lacks {len(missing)} samples: {shown}{more}")


def _matrix(view: Any, name: str) -> Any:
    """One view as a finite 2-D ndarray or csr array, its dtype kept where numeric."""
    _check_numeric_columns(view, name)
    columns = list(view.columns) if _is_frame(view) else None
    try:
        matrix = check_array(
            view, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0,
            ensure_min_features=0, input_name=name,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise InputError(f"view {name!r}: {error}") from None
    if matrix.shape[0] == 0:
        raise InputError(f"view {name!r} is empty: found array with 0 sample(s)")
    if matrix.shape[1] == 0:
        raise InputError(
            f"view {name!r} is empty: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 "
            "is required."
        )
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    _check_finite(matrix, name, columns)
    return matrix


def _check_numeric_columns(view: Any, name: str) -> None:
    if not _is_frame(view):
        return
    bad = [
        column for column, dtype in view.dtypes.items() if getattr(dtype, "kind", "O") not in "iufb"
    ]
    if bad:
        shown = ", ".join(map(repr, bad[:SHOWN])) + (" ..." if len(bad) > SHOWN else "")
        raise InputError(
            f"view {name!r} has {len(bad)} non-numeric columns ({shown}): encode or drop them, or "
            "make a column of sample names the index"
        )


def _check_finite(matrix: Any, name: str, columns: list[Any] | None) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind not in "f" or np.isfinite(values).all():
        return
    at = np.argwhere(~np.isfinite(values))
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        row, column = coo.coords[0][at[0, 0]], coo.coords[1][at[0, 0]]
    else:
        row, column = at[0]
    where = repr(columns[column]) if columns is not None else str(column)
    raise InputError(
        f"view {name!r} has {len(at)} values that are NaN or infinite (inf), the first at row "
        f"{row}, column {where}"
    )


def _common_length(views: Sequence[Any], names: Sequence[str]) -> int:
    lengths = [view.shape[0] for view in views]
    if len(set(lengths)) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in zip(names, lengths, strict=True))
        transposed = {view.shape[1] for view in views}
        hint = "; they agree in columns: transposed?" if len(transposed) == 1 else ""
        raise InputError(f"views must have the same rows, got {listed}{hint}")
    return int(lengths[0])


def _check_square(views: Sequence[Any], names: Sequence[str]) -> None:
    for view, name in zip(views, names, strict=True):
        if view.shape[0] != view.shape[1]:
            raise InputError(f"kernel {name!r} must be square, got shape {view.shape}")


def _following(labels: Any, index: np.ndarray | None) -> Any:
    """Labels that come with sample names, in the order of the views' own."""
    if index is None or not hasattr(labels, "reindex") or set(labels.index) != set(index):
        return labels
    return labels.loc[index] if labels.index.is_unique else labels


def _column(values: Any, views: MultiView, what: str) -> np.ndarray | None:
    if values is None:
        return None
    column = np.asarray(values)
    if column.shape != (len(views),):
        raise InputError(
            f"{what} must have one entry per sample ({len(views)}), got {column.shape}"
        )
    return column
