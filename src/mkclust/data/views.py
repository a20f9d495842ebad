"""The class MultiView: several tables or kernels of the same samples, aligned by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import EntryTypeError, InputError
from .alignment import (
    align,
    check_index,
    order_columns_as_rows,
    order_labels,
    place_rows,
    set_sample_names,
    turn_transposed,
)
from .values import (
    ABSENT,
    COUNTS,
    KERNEL,
    KINDS,
    as_matrix,
    as_table,
    column_names,
    hash_rows,
    is_frame,
    kind_of,
    list_names,
    percent,
    place_of,
    to_utf8,
)

KEPT = ("names", "kernels", "labels", "index", "notes", "present", "feature_names", "kinds")
FILL = 'fill them with missing="median" or missing="knn", or drop those rows or columns'


class Views:
    """What `MultiView` and `LargeViews`, its counterpart outside memory, have in common."""

    kernels: bool = False
    log: bool = False  # whether `prepare_views` took logarithms
    present: np.ndarray | None = None
    names: tuple[str, ...]
    views: tuple[Any, ...]
    feature_names: tuple[np.ndarray | None, ...]
    n_samples: int

    @property
    def held(self) -> np.ndarray:
        """Which samples each view holds, (n, m), also where none is missing."""
        everything = np.ones((self.n_samples, self.n_views), dtype=bool)
        return everything if self.present is None else self.present

    @property
    def n_views(self) -> int:
        return len(self.views)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(int(view.shape[1]) for view in self.views)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of columns over all views, as scikit-learn expects."""
        return self.n_samples, sum(self.widths)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        lacking = 0 if self.present is None else int((~self.present.all(axis=1)).sum())
        count = f"{self.n_views} kernels of {len(self)}" if self.kernels else f"{len(self)} samples"
        some = f", {lacking} of them incomplete" if lacking else ""
        parts = [f"{name} {width}" for name, width in zip(self.names, self.widths, strict=True)]
        shown = ", ".join(self.names if self.kernels else parts)
        return f"{type(self).__name__}({count}{some}: {shown})"


class MultiView(Views):
    """Samples described by several views: one matrix per view, the same rows in each.

    Parameters
    ----------
    views : list, tuple or dict of (n, f_p) arrays, frames or sparse matrices; or MultiView
        With ``kernels=True``: n x n kernel matrices, or one (m, n, n) array of them.
    id : str or sequence, optional
        The column of the frames with the sample names, or one per view. Without it, the index
        names the samples, or a column that is recognized: the attribute `key_columns` has it.
    names : sequence of str, optional
        View names; a dict's keys, or ``view1 ...`` when absent.
    kernels : bool
        Whether each view is a kernel (similarity) matrix and not a feature table.
    labels : (n,) array-like, optional
        Known classes. Never used for clustering, only for evaluation.
    index : (n,) array-like, optional
        Sample names of arrays; frames with names have theirs, and `index` must be the same.
    notes : sequence of str
        Decisions of a file reader.
    present : (n, m) booleans, optional
        Which samples each view holds, where the views themselves do not show it.
    feature_names : sequence of (f_p,) sequences or None, optional
        Column names per view; taken from frames when they have some. The attribute has one
        object array of str or None per view. Kernels have none.
    kinds : sequence of {"measurements", "counts", "components"}, optional
        What the columns of every view are, which decides how samples are compared; found in the
        data by default. Some of the samples, `views[rows]`, have the kinds of all.

    Notes
    -----
    Frames are joined by sample name, never by position where there are names; `notes` says by
    what. The same samples in another order are reordered, and samples of only some frames are
    kept (docs/missing.md), those of the first frame first. A frame whose columns are the samples
    of the others is transposed. A row
    of NaN only, or a row and column of a kernel, marks a sample that the view lacks. Samples
    absent from sparse views are given by `present`. Every sample must be in some view. The
    attribute `present` is None where no sample is missing. Other NaN cells of a table are kept:
    the attribute `gaps` says which views have some. An estimator fills them as its parameter
    `missing` says, or refuses them.

    Indexing selects rows of every view (for kernels, rows and columns), so that scikit-learn's
    model selection can split the samples. Iteration is refused, since it would split the views.

    Examples
    --------
    >>> import numpy as np
    >>> from mkclust import MultiView
    >>> views = MultiView({"shape": np.zeros((4, 2)), "color": np.ones((4, 3))})
    >>> views
    MultiView(4 samples: shape 2, color 3)
    >>> views[[0, 2]]["color"].shape
    (2, 3)
    """

    def __init__(
        self,
        views: Any,
        *,
        id: Any = None,
        names: Sequence[str] | None = None,
        kernels: bool = False,
        labels: Any = None,
        index: Any = None,
        notes: Iterable[str] = (),
        present: Any = None,
        feature_names: Sequence[Any] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> None:
        if isinstance(views, MultiView):  # arguments that are not given are inherited
            feature_names = views.feature_names if feature_names is None else feature_names
            present = views.present if present is None else present
            kernels = kernels or views.kernels
            labels = views.labels if labels is None else labels
            index = views.index if index is None else index
            notes = notes or views.notes
            kinds = views.kinds if kinds is None and kernels == views.kernels else kinds
            self.log = views.log
        items, found = _list_views(views, kernels)
        self.kernels = bool(kernels)
        self.names = _check_names(found if names is None else names, len(items))
        items = [as_table(item, name) for item, name in zip(items, self.names, strict=True)]
        frames = any(is_frame(item) for item in items)
        if id is not None and (index is not None or kernels or not frames):
            raise InputError(
                "id names a column of frames: arrays, views that are joined already, kernels and "
                "views with an index have none",
                parameter="id",
            )
        own = views.key_columns if isinstance(views, MultiView) else (None,) * len(items)
        self.key_columns: tuple[Any, ...] = own
        rows: Sequence[np.ndarray | None] = (None,) * len(items)
        if frames:
            if kernels:
                items = [order_columns_as_rows(item) for item in items]
            elif index is None:
                items, self.key_columns, told = set_sample_names(items, self.names, id)
                items, turned = turn_transposed(items, self.names)
                notes = (*notes, *told, *turned)
            rows, samples, told = align(items, self.names)
            notes = (*notes, *told)
            index = samples if index is None else check_index(index, samples)
        columns = [None] * len(items) if feature_names is None else list(feature_names)
        if len(columns) != len(items):
            raise InputError(f"{len(items)} views but feature_names for {len(columns)}")
        checked = [
            as_matrix(view, name, self.kernels, index, own)
            for view, name, own in zip(items, self.names, columns, strict=True)
        ]
        self.views = tuple(
            matrix if own is None else place_rows(matrix, own, self.kernels)
            for (matrix, _), own in zip(checked, rows, strict=True)
        )
        absent = [gone for _, gone in checked]
        self.n_samples = _common_length(self)
        self.feature_names = _feature_names(feature_names, items, self)
        self.index: np.ndarray | None = _column(index, self, "index")
        self.labels: np.ndarray | None = _column(order_labels(labels, self.index), self, "labels")
        self.notes: tuple[str, ...] = tuple(map(to_utf8, notes))
        self.present = _presence(self, absent, rows, present)
        if present is not None and self.present is not None:
            held_rows = np.where(self.present, np.arange(len(self))[:, None], -1).T
            self.views = tuple(
                place_rows(view, own, self.kernels) if own.min() < 0 else view
                for view, own in zip(self.views, held_rows, strict=True)
            )
        self.gaps: tuple[bool, ...] = tuple(
            gone is not None and bool(np.isnan(self.own_rows(p)).any())
            for p, gone in enumerate(absent)
        )
        self._kinds = None if kinds is None else _check_kinds(self, kinds)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the columns of every view are: see the parameter; ``"kernel"`` for kernels."""
        if self._kinds is None:
            own = map(self.own_rows, range(self.n_views))
            self._kinds = tuple(KERNEL if self.kernels else kind_of(view) for view in own)
        return self._kinds

    def __getitem__(self, key: Any) -> Any:
        """Return one view by name, or rows of all views by a slice, a mask or a list."""
        if isinstance(key, str):
            return self.views[self._position(key)]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, slice):
            return self._take(np.arange(len(self))[key])
        rows = np.zeros(()) if isinstance(key, tuple) else np.asarray(key)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
            raise EntryTypeError(
                "a MultiView is indexed by rows (a slice, a mask or a list of positions) or by a "
                f"view's name, not by {key!r}; its views are {', '.join(self.names)}"
            )
        return self._take(rows if rows.size else np.arange(0))

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
        return self._changed(
            [view[rows][:, rows] if self.kernels else view[rows] for view in self.views],
            labels=None if self.labels is None else self.labels[rows],
            index=None if self.index is None else self.index[rows],
            present=None if self.present is None else self.present[rows],
        )

    def _changed(self, views: Sequence[Any], **attributes: Any) -> MultiView:
        """Return other matrices with the attributes of these views, except as given."""
        made = MultiView(views, **{name: getattr(self, name) for name in KEPT} | attributes)
        keys = dict(zip(self.names, self.key_columns, strict=True))
        made.key_columns, made.log = tuple(map(keys.get, made.names)), self.log
        return made

    def own_rows(self, position: int) -> Any:
        """Return the rows that one view holds: (n_p, f_p), or (n_p, n_p) of a kernel."""
        view = self.views[position]
        if self.present is None or self.present[:, position].all():
            return view
        rows = np.flatnonzero(self.present[:, position])
        return view[rows][:, rows] if self.kernels else view[rows]

    def require_no_gaps(self, advice: str = FILL) -> None:
        """Refuse NaN cells: how many, where, in which share of rows and columns, what to do."""
        if not any(self.gaps):
            return
        p, *others = (p for p in range(self.n_views) if self.gaps[p])
        held = np.flatnonzero(self.held[:, p])
        gaps = np.isnan(self.views[p][held])
        i, j = np.argwhere(gaps)[0]
        count = "1 NaN cell" if gaps.sum() == 1 else f"{gaps.sum()} NaN cells"
        shares = (
            f"{mask.sum()} of {len(mask)} {what} ({percent(mask.mean())})"
            for mask, what in ((gaps.any(axis=1), "rows"), (gaps.any(axis=0), "columns"))
        )
        place = place_of(int(held[i]), int(j), self.index, self.feature_names[p])
        also = ", ".join(self.names[q] for q in others)
        raise InputError(
            f"view {self.names[p]!r} has {count}, in {' and '.join(shares)}, the first at {place}"
            + (f"; {also} {'has' if len(others) == 1 else 'have'} some too" if also else "")
            + f": {advice}; a sample may lack one of several views only as a whole, its row all NaN"
        )

    def row_hashes(self) -> np.ndarray:
        """Return `hash_rows` of every view, (n, m); rows that a view lacks have the number 1."""
        found = np.column_stack([hash_rows(view) for view in self.views])
        found[~self.held] = ABSENT
        return found

    def select(self, names: Sequence[str]) -> MultiView:
        """Return the same samples with only the named views, in the given order.

        Raises InputError where a sample is in none of them.
        """
        at = [self._position(name) for name in names]
        return self._changed(
            [self.views[p] for p in at],
            names=names,
            present=None if self.present is None else self.present[:, at],
            feature_names=[self.feature_names[p] for p in at],
            kinds=[self.kinds[p] for p in at],
        )

    def with_columns(self, names: Sequence[str], orders: Sequence[np.ndarray | None]) -> MultiView:
        """Return the views of these names, each with its columns in another order, or as is."""
        chosen = self if self.names == tuple(names) else self.select(names)
        columns = zip(chosen.feature_names, orders, strict=True)
        return chosen._changed(
            [v if o is None else v[:, o] for v, o in zip(chosen.views, orders, strict=True)],
            feature_names=[own if o is None or own is None else own[o] for own, o in columns],
        )


def split_columns(table: Any, columns: Any) -> MultiView:
    """Split a table into views; `columns` maps view names to columns, or lists a view per column.

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
    frame = is_frame(table)
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

    parts = {str(name): part(name, chosen) for name, chosen in columns.items()}
    return MultiView(parts, index=table.index.to_numpy() if frame else None)


def _list_views(views: Any, kernels: bool) -> tuple[list[Any], list[str]]:
    """Return the views as a list, with their names."""
    if isinstance(views, MultiView):
        return list(views.views), list(views.names)
    if isinstance(views, Mapping) and not sp.issparse(views):  # dok is a dict until scipy 1.14
        return list(views.values()), [str(name) for name in views]
    if is_frame(views) or hasattr(views, "get_columns") or sp.issparse(views):
        views = [views]
    elif isinstance(views, np.ndarray):
        views = _unstack(views, kernels)
    if isinstance(views, (str, bytes)) or not isinstance(views, Sequence):
        raise InputError(
            f"views must be a list, tuple or dict of matrices, got {type(views).__name__}"
        )
    return list(views), [f"view{p + 1}" for p in range(len(views))]


def _unstack(array: np.ndarray, kernels: bool) -> list[np.ndarray]:
    if array.ndim != 3:
        return [array]
    if not kernels:
        raise InputError(
            f"a stack of shape {array.shape} is taken as kernels only; give feature views as a list"
        )
    if array.shape[1] != array.shape[2]:
        raise InputError(
            f"kernels must be stacked as (views, n, n), got shape {array.shape}; to move the last "
            "axis first: np.moveaxis(kernels, -1, 0)"
        )
    return list(array)


def _check_names(names: Iterable[Any], count: int) -> tuple[str, ...]:
    checked = tuple(to_utf8(str(name)) for name in names)
    twice = sorted({name for name in checked if checked.count(name) > 1})
    if not checked:
        raise InputError("no views given: at least one is needed")
    if twice:
        raise InputError(f"view names must differ, but {', '.join(twice)} occurs more than once")
    if len(checked) != count:
        raise InputError(f"{count} views but {len(checked)} names: {checked}")
    return checked


def _presence(
    views: MultiView,
    absent: Sequence[np.ndarray | None],
    rows: Sequence[np.ndarray | None],
    given: Any,
) -> np.ndarray | None:
    """Return which samples each view holds (n, m); None for all.

    They are neither among the `absent` rows of the view, nor without one in `rows`, and `given`.
    """
    present = np.ones((len(views), views.n_views), dtype=bool)
    for p, (gone, row) in enumerate(zip(absent, rows, strict=True)):
        if row is not None:
            present[:, p] = row >= 0
        if gone is not None:
            present[:, p] &= ~gone if row is None else ~gone[row]
    if given is not None:
        mask = np.asarray(given)
        if mask.shape != present.shape or mask.dtype != bool:
            raise InputError(
                f"present must be True or False for each of {len(views)} samples and "
                f"{views.n_views} views, got {mask.dtype} {mask.shape}"
            )
        present &= mask
    if len(nowhere := np.flatnonzero(~present.any(axis=1))):
        names = list_names(nowhere if views.index is None else views.index[nowhere], " ...")
        raise InputError(f"{len(nowhere)} samples are in no view at all ({names}): drop them")
    return None if present.all() else present


def _check_kinds(views: MultiView, kinds: Sequence[str]) -> tuple[str, ...]:
    if len(kinds) != views.n_views or not set(kinds) <= {*KINDS, KERNEL}:
        raise InputError(
            f"kinds must be one of {', '.join(KINDS)} for each of {views.n_views} views, got "
            f"{', '.join(map(str, kinds))}"
        )
    for name, view, kind in zip(views.names, views.views, kinds, strict=True):
        if kind == COUNTS and np.sum(view < 0):
            raise InputError(f"view {name!r} has negative cells, which are no counts (kinds=)")
    return tuple(kinds)


def _common_length(views: MultiView) -> int:
    """Return the number of rows, which all views must have."""
    lengths = [int(view.shape[0]) for view in views.views]
    if len(set(lengths)) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in zip(views.names, lengths, strict=True))
        hint = "; they agree in columns: transposed?" * (len(set(views.widths)) == 1)
        raise InputError(f"views must have the same rows, got {listed}{hint}")
    return lengths[0]


def _feature_names(
    given: Sequence[Any] | None, items: Sequence[Any], views: MultiView
) -> tuple[np.ndarray | None, ...]:
    """Return the column names of every view, as given or from its frame; None where unnamed."""
    if views.kernels:
        return (None,) * views.n_views
    found = [column_names(item) for item in items] if given is None else given
    for name, width, own in zip(views.names, views.widths, found, strict=True):
        if own is not None and len(own) != width:
            raise InputError(f"view {name!r} has {width} columns but {len(own)} feature_names")
    return tuple(
        None if own is None else np.array([str(c) for c in own], dtype=object) for own in found
    )


def _column(values: Any, views: MultiView, what: str) -> np.ndarray | None:
    if values is None:
        return None
    if np.ma.is_masked(values):
        count = np.count_nonzero(np.ma.getmaskarray(values))
        raise InputError(f"{what} has {count} masked entries: fill them in")
    column = np.asarray(values)
    if column.shape != (len(views),):
        raise InputError(
            f"{what} must have one entry per sample ({len(views)}), got {column.shape}"
        )
    return column
