"""Rows of all views together: aligned, cut into pieces of work, read in blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from ..data.values import encodable
from ..data.views import MultiView
from ..exceptions import InputError
from ..io.manifest import is_result, read_manifest
from .sources import ArraySource, PartsSource, Source, is_stored, source_of

PIECE = 32 << 20  # bytes of rows per piece of work: smaller ones have more overhead
MOST_PIECES = 4000  # a scheduler takes about a millisecond for each
LEAST_PIECES = 4  # so that small data are shared among threads too


@dataclass(frozen=True)
class Piece:
    """Rows start ... stop-1 of every view: one unit of work."""

    start: int
    stop: int
    sources: tuple[Source, ...]
    names: tuple[str, ...]

    def blocks(self, height: int) -> Iterator[list[np.ndarray]]:
        """Yield the rows in double precision, `height` at a time."""
        views = self.load()
        for start in range(0, self.stop - self.start, height):
            yield [np.asarray(view[start : start + height], dtype=np.float64) for view in views]

    def load(self) -> list[np.ndarray]:
        views = (source.read(self.start, self.stop) for source in self.sources)
        return [np.ascontiguousarray(view) for view in views]  # sums depend on the layout

    def native(self) -> list[Any]:
        """Return the same rows, sparse where a view is sparse."""
        return [
            source.native(self.start, self.stop) if _is_sparse(source) else
            np.ascontiguousarray(source.read(self.start, self.stop))
            for source in self.sources
        ]  # fmt: skip

    def checksums(self, views: Sequence[Any]) -> np.ndarray:
        """Return the SHA-256 of every view's rows: (m, 32) bytes. It takes about 0.7 s per GB."""
        found = []
        for view in views:
            digest = hashlib.sha256(f"{view.dtype.str} {view.shape} ".encode())
            for array in _arrays(view):
                digest.update(array.data)
            found.append(np.frombuffer(digest.digest(), dtype=np.uint8))
        return np.stack(found)

    def check_finite(self, views: Sequence[Any]) -> None:
        """Refuse NaN and infinity by view, file, row and column."""
        for name, source, view in zip(self.names, self.sources, views, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # found below
                total = view.sum(dtype=np.float64)
            if view.dtype.kind != "f" or np.isfinite(total):
                continue
            dense = view.toarray() if sp.issparse(view) else view
            at = np.argwhere(~np.isfinite(dense))
            if len(at):
                row, column = at[0]
                raise InputError(
                    f"view {name!r} has a value that is NaN or infinite in column {column} of "
                    f"{source.place(self.start + int(row))}"
                )


class Rows:
    """Views of large data in memory or in files: the counterpart of `MultiView`.

    Parameters
    ----------
    views : list or dict
        Per view an array, a sparse matrix, a memory map, a zarr or dask array, or a path: a
        .npy or .parquet file, a folder of such parts in the order of their numbers, a zarr array.
    labels : (n,) array, optional
        Known classes, for evaluation only.
    feature_names : dict, optional
        Column names by view, where the views themselves have none. The attribute has an array
        or None per view; .parquet parts have names.
    index : (n,) array, optional
        Sample names; of a MultiView, or of the frames beside stored views.

    >>> Rows({"shape": np.zeros((4, 2)), "color": np.ones((4, 3))})
    Rows(4 samples: shape 2, color 3)
    """

    kernels = False

    def __init__(
        self,
        views: Any,
        *,
        labels: Any = None,
        notes: Sequence[str] = (),
        feature_names: Mapping[str, Any] | None = None,
        index: np.ndarray | None = None,
    ) -> None:
        if isinstance(views, MultiView):
            index = views.index
            labels, notes = views.labels if labels is None else labels, views.notes
            feature_names = dict(zip(views.names, views.feature_names, strict=True))
            views = dict(zip(views.names, views.views, strict=True))
        views = _by_name(views)
        if not views:
            raise InputError("no views given: at least one is needed")
        self.names: tuple[str, ...] = tuple(encodable(str(name)) for name in views)
        self.sources: tuple[Source, ...] = tuple(_named(*item) for item in views.items())
        lengths = [source.n_rows for source in self.sources]
        if len(set(lengths)) > 1:
            listed = ", ".join(f"{name} {n}" for name, n in zip(self.names, lengths, strict=True))
            raise InputError(f"views must have the same rows, got {listed}")
        self.n_samples = lengths[0]
        self.notes = tuple(notes)
        self.index = index
        known = {} if feature_names is None else feature_names
        self.feature_names: tuple[np.ndarray | None, ...] = tuple(
            known[name] if known.get(name) is not None else _columns(source)
            for name, source in zip(self.names, self.sources, strict=True)
        )
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != (len(self),):
            raise InputError(f"labels must have one entry per sample ({len(self)})")

    @property
    def n_views(self) -> int:
        return len(self.names)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(source.width for source in self.sources)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, sum(self.widths)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        parts = [f"{name} {width}" for name, width in zip(self.names, self.widths, strict=True)]
        return f"Rows({len(self)} samples: {', '.join(parts)})"

    @property
    def row_bytes(self) -> int:
        """Return the memory of an average row of all views, sparse ones as stored."""
        return sum(
            source.row_bytes if isinstance(source, ArraySource) else 8 * source.width
            for source in self.sources
        )

    @property
    def any_sparse(self) -> bool:
        """Return whether any view is a sparse matrix."""
        return any(_is_sparse(source) for source in self.sources)

    def pieces(self, native: bool = False) -> list[Piece]:
        """Return all rows in pieces of equal size: about `PIECE` bytes in double precision.

        Pieces are up to eight times larger where there would be more than `MOST_PIECES`. Sparse
        rows count as dense, because they are read so, unless they are read `native`.
        """
        row = self.row_bytes if native else 8 * sum(self.widths)
        size = min(max(PIECE, row * len(self) // MOST_PIECES), 8 * PIECE)
        height = max(1, size // row)
        height = min(height, max(256, -(-len(self) // LEAST_PIECES)))
        spans = [(a, min(a + height, len(self))) for a in range(0, len(self), height)]
        return [
            Piece(a, b, tuple(source.portion(a, b) for source in self.sources), self.names)
            for a, b in spans
        ]

    def take(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return some rows of every view, by ascending position."""
        return [
            source.read(0, len(self))[rows]
            if isinstance(source, ArraySource) and source.dense
            else np.concatenate([source.read(int(row), int(row) + 1) for row in rows])
            for source in self.sources
        ]

    def in_memory(self) -> MultiView:
        """Return the same views as arrays."""
        views = {
            name: source.read(0, len(self))
            for name, source in zip(self.names, self.sources, strict=True)
        }
        return MultiView(
            views, labels=self.labels, notes=self.notes, feature_names=self.feature_names,
            index=self.index,
        )  # fmt: skip

    def describe(self) -> list[str]:
        """Return the name and shape of every view; two data sets may have the same."""
        return [
            f"{s.n_rows} x {s.width} {n}" for n, s in zip(self.names, self.sources, strict=True)
        ]

    def stamps(self) -> list[str]:
        """Return a text per view that usually changes when its files do; "" without files."""
        return [s.stamp() if isinstance(s, PartsSource) else "" for s in self.sources]


def _arrays(view: Any) -> tuple[np.ndarray, ...]:
    return (view.data, view.indices, view.indptr) if sp.issparse(view) else (view,)


def _is_sparse(source: Source) -> TypeGuard[ArraySource]:
    return isinstance(source, ArraySource) and not source.dense


def stored_rows(X: Any) -> Rows | None:
    """Return X as `Rows` where any of its views is stored outside memory, else None.

    Arrays and frames beside stored views are checked by `MultiView`.
    """
    if isinstance(X, Rows):
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
        return Rows(items)
    checked = MultiView(here)
    items |= dict(zip(checked.names, checked.views, strict=True))
    known = dict(zip(checked.names, checked.feature_names, strict=True))
    return Rows(items, feature_names=known, index=checked.index)


def views_in_parts(paths: Sequence[Path]) -> dict[str, Path] | None:
    """Return the views stored at the given paths by name; None where there are none.

    A .npy file, a zarr array or a folder of .npy parts is a view. A folder of .parquet parts is a
    view if there are several paths; a single one has a view per file. A single folder of such
    folders holds all views.
    """
    if len(paths) == 1 and paths[0].is_dir() and not _is_source(paths[0]):
        inside = sorted(
            path
            for path in paths[0].iterdir()
            if path.is_dir() and not is_result(path) and not read_manifest(path)
        )
        paths = inside if inside and all(_is_source(path, True) for path in inside) else []
    several = len(paths) > 1
    if not paths or not all(_is_source(path, several) for path in paths):
        return None
    return _by_name(list(paths))


def _is_source(path: Path, parquet: bool = False) -> bool:
    if not path.is_dir():
        return path.suffix == ".npy"
    if (path / "zarr.json").exists() or (path / ".zarray").exists():
        return True
    kinds = {file.suffix for file in path.iterdir()}
    return ".npy" in kinds or (parquet and ".parquet" in kinds)


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


def _columns(source: Source) -> np.ndarray | None:
    names = getattr(source, "columns", None)
    return None if names is None else np.array(names, dtype=object)


def _named(name: str, view: Any) -> Source:
    try:
        source = source_of(view)
    except InputError as error:
        raise type(error)(f"view {name!r}: {error}") from None
    if source.n_rows == 0:
        raise InputError(f"view {name!r} is empty: it has no rows")
    return source
