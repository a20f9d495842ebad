"""Views whose rows stay outside memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.values import as_table, column_sums, kind_by_sums, to_utf8
from ..data.views import MultiView, Views
from ..exceptions import InputError
from ..io.files import RESULT, is_result
from .arrays import NUMBERS, as_dask_array, dask_module, is_stored, is_zarr
from .blocks import block_height, is_dask, map_blocks, sum_blocks


class LargeViews(Views):
    """Views with rows outside memory: the counterpart of `MultiView`.

    Parameters
    ----------
    views : list or dict
        Per view a dask array or DataFrame, a memory map, a zarr array, or a path: a .npy or
        .parquet file, a folder of such parts in the order of their numbers, a zarr array. Arrays
        and sparse matrices in memory may stand beside them.
    labels : (n,) array, optional
        Known classes, for evaluation only.
    notes : sequence of str
    feature_names : dict, optional
        Column names by view, where the views themselves have none. The attribute has an array
        or None per view.
    index : (n,) array, optional
        Sample names.

    Attributes
    ----------
    views : tuple of (n, f_p) dask arrays, or arrays and sparse matrices in memory
    """

    def __init__(
        self,
        views: Any,
        *,
        labels: Any = None,
        notes: Sequence[str] = (),
        feature_names: Mapping[str, Any] | None = None,
        index: np.ndarray | None = None,
    ) -> None:
        views = _by_name(views)
        if not views:
            raise InputError("no views given: at least one is needed")
        opened = [_open_view(name, view) for name, view in views.items()]
        self.names: tuple[str, ...] = tuple(to_utf8(str(name)) for name in views)
        self.views: tuple[Any, ...] = tuple(array for array, _ in opened)
        lengths = [array.shape[0] for array in self.views]
        if len(set(lengths)) > 1:
            listed = ", ".join(f"{name} {n}" for name, n in zip(self.names, lengths, strict=True))
            raise InputError(f"views must have the same rows, got {listed}")
        self.n_samples = int(lengths[0])
        self.notes = tuple(notes)
        self.index = index
        known = {} if feature_names is None else feature_names
        self.feature_names: tuple[np.ndarray | None, ...] = tuple(
            known[name] if known.get(name) is not None else own
            for name, (_, own) in zip(self.names, opened, strict=True)
        )
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != (len(self),):
            raise InputError(f"labels must have one entry per sample ({len(self)})")

    def take(self, rows: np.ndarray) -> MultiView:
        """Return some rows of every view in memory, by ascending position."""
        return self._in_memory(lambda array: array[rows], rows, self.kinds)

    def in_memory(self) -> MultiView:
        """Return all rows in memory."""
        return self._in_memory(lambda array: array, slice(None), None)

    def _in_memory(
        self, chosen: Callable[[Any], Any], rows: Any, kinds: tuple[str, ...] | None
    ) -> MultiView:
        found = dask_module("dask").compute(*(chosen(array) for array in self.views))
        return MultiView(
            list(found),
            names=self.names,
            labels=None if self.labels is None else self.labels[rows],
            notes=self.notes,
            feature_names=self.feature_names,
            index=None if self.index is None else self.index[rows],
            kinds=kinds,
        )

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What the columns of every view are (see MultiView), found in one pass over all rows."""
        first = dask_module("dask").compute(*(array[:1] for array in self.views))
        origins = [None if sp.issparse(row) else np.asarray(row)[0] for row in first]
        height = block_height(len(self), row_bytes(self))
        found = sum_blocks("kinds of columns", partial(_all_sums, origins), self.views, height)
        return tuple(
            kind_by_sums(len(self), {name: value for (q, name), value in found.items() if q == p})
            for p in range(self.n_views)
        )

    def blocks(self, p: int) -> Iterator[Any]:
        """Yield the rows of view p in memory, block by block."""
        height = block_height(len(self), 8 * self.widths[p])
        return map_blocks(f"rows of {self.names[p]}", _block, [self.views[p]], height)

    def with_columns(self, names: Sequence[str], orders: Sequence[np.ndarray | None]) -> LargeViews:
        """Return the views of these names, each with its columns in another order, or as is."""
        at = [self.names.index(name) for name in names]
        views, columns = {}, {}
        for p, name, order in zip(at, names, orders, strict=True):
            views[name] = self.views[p] if order is None else self.views[p][:, order]
            own = self.feature_names[p]
            columns[name] = own if own is None or order is None else own[order]
        return LargeViews(
            views, labels=self.labels, notes=self.notes, feature_names=columns, index=self.index
        )


def row_bytes(views: MultiView | LargeViews) -> int:
    """Return the memory of an average row of all views, sparse ones as stored."""
    return sum(
        12 * int(view.nnz) // max(1, len(views)) + 8 if sp.issparse(view) else 8 * view.shape[1]
        for view in views.views
    )


def refuse_not_finite(names: Sequence[str], start: int, views: Sequence[Any]) -> None:
    """Refuse NaN and infinity in a block of rows, by view, row and column."""
    for name, view in zip(names, views, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):  # found below
            total = view.sum(dtype=np.float64)
        if view.dtype.kind != "f" or np.isfinite(total):
            continue
        at = np.argwhere(~np.isfinite(view.toarray() if sp.issparse(view) else view))
        if len(at):
            row, column = at[0]
            raise InputError(
                f"view {name!r} has a value that is NaN or infinite in column {column} of row "
                f"{start + int(row)}"
            )


def as_large_views(X: Any) -> LargeViews | None:
    """Return X as `LargeViews` where any of its views is stored outside memory, else None.

    Arrays and frames beside stored views are checked by `MultiView`.
    """
    if isinstance(X, LargeViews):
        return X
    if is_stored(X) and not isinstance(X, np.memmap):
        X = [X]
    if isinstance(X, (MultiView, np.ndarray)) or not isinstance(X, (Mapping, list, tuple)):
        return None
    if not any(is_stored(view) for view in (X.values() if isinstance(X, Mapping) else X)):
        return None
    items = _by_name(X)
    here = {name: view for name, view in items.items() if not is_stored(view)}
    if not here:
        return LargeViews(items)
    checked = MultiView(here)
    items |= dict(zip(checked.names, checked.views, strict=True))
    known = dict(zip(checked.names, checked.feature_names, strict=True))
    return LargeViews(items, feature_names=known, index=checked.index)


def find_stored_views(paths: Sequence[Path]) -> dict[str, Path] | None:
    """Return the views stored at the given paths by name; None where there are none.

    A .npy file, a zarr array or a folder of .npy parts is a view. A folder of .parquet parts is a
    view if there are several paths; a single one has a view per file. A single folder of such
    folders holds all views.
    """
    if len(paths) == 1 and paths[0].is_dir() and not _is_view(paths[0]):
        inside = sorted(
            path for path in paths[0].iterdir() if path.is_dir() and not is_result(path / RESULT)
        )
        paths = inside if inside and all(_is_view(path, True) for path in inside) else []
    several = len(paths) > 1
    if not paths or not all(_is_view(path, several) for path in paths):
        return None
    return _by_name(list(paths))


def _is_view(path: Path, parquet: bool = False) -> bool:
    if not path.is_dir():
        return path.suffix == ".npy"
    kinds = {file.suffix for file in path.iterdir()}
    return is_zarr(path) or ".npy" in kinds or (parquet and ".parquet" in kinds)


def _by_name(views: Any) -> dict[str, Any]:
    """Return the views by name: as given, by the last part of a path, or by position."""
    if isinstance(views, Mapping):
        return {str(name): view for name, view in views.items()}
    names = [
        Path(view).stem if isinstance(view, (str, Path)) else f"view{p + 1}"
        for p, view in enumerate(views)
    ]
    if len(set(names)) < len(names):
        raise InputError(
            f"view names must differ, got {', '.join(names)}: give a dict of name and path"
        )
    return dict(zip(names, views, strict=True))


def _open_view(name: str, view: Any) -> tuple[Any, np.ndarray | None]:
    """Return a view as a dask array, or as it is in memory, and its column names."""
    try:
        array, columns = as_dask_array(view) if is_stored(view) else (view, None)
        array = array if is_dask(array) else as_table(array, "rows")
        if len(getattr(array, "shape", ())) != 2:
            raise InputError(f"rows x columns are needed, got {getattr(array, 'shape', array)}")
        if array.dtype.kind not in NUMBERS:
            raise InputError(f"numbers are needed, got {array.dtype}")
        if not array.shape[0] or not array.shape[1]:
            raise InputError(f"it is empty: {array.shape[0]} rows and {array.shape[1]} columns")
    except InputError as error:
        raise type(error)(f"view {name!r}: {error}") from None
    return array, columns


def _block(start: int, rows: Any) -> Any:
    return rows


def _all_sums(origins: Sequence[Any], start: int, *views: Any) -> dict[Any, np.ndarray]:
    return {
        (p, name): value
        for p, (view, origin) in enumerate(zip(views, origins, strict=True))
        for name, value in column_sums(view, origin).items()
    }
