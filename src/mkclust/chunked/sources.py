"""Row sources of one view: an array, a memory map, a folder of parts, zarr, dask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..data.values import plain_values
from ..exceptions import FileFormatError, InputError
from .parts import Part, npy_part, open_parts


class Source(Protocol):
    """Rows that can be read by range, repeatedly, from any thread."""

    n_rows: int
    width: int

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start ... stop-1 as a numeric matrix."""
        ...

    def portion(self, start: int, stop: int) -> Source:
        """Return a source for these rows, small to send to a worker; it may have all rows."""
        return self

    def place(self, row: int) -> str:
        """Describe where a row is stored."""
        return f"row {row}"


class ArraySource(Source):
    """Rows of an array or a sparse matrix in memory.

    >>> ArraySource(np.arange(6).reshape(3, 2)).portion(1, 3).read(2, 3)
    array([[4, 5]])
    """

    def __init__(self, array: Any, start: int = 0) -> None:
        self._array = array
        self._start = start
        self.n_rows, self.width = array.shape
        self.dense = not sp.issparse(array)

    def read(self, start: int, stop: int) -> np.ndarray:
        rows = self.native(start, stop)
        return rows.toarray() if sp.issparse(rows) else np.asarray(rows)

    def native(self, start: int, stop: int) -> Any:
        """Return the same rows, sparse where the matrix is."""
        return self._array[start - self._start : stop - self._start]

    def take(self, rows: np.ndarray) -> Any:
        """Return some rows, sparse where the matrix is."""
        return self._array[rows - self._start]

    @property
    def row_bytes(self) -> int:
        """Return the memory of an average row."""
        if self.dense:
            return 8 * self.width
        return 12 * int(self._array.nnz) // max(1, self.n_rows) + 8

    def portion(self, start: int, stop: int) -> Source:
        return ArraySource(self.native(start, stop), start)


class PartsSource(Source):
    """Rows of one or more consecutive files: .npy or .parquet parts.

    `keeper` is referenced as long as the source exists, for example the owner of a temporary
    folder. `columns` are the names of the columns, where the files have some.
    """

    def __init__(self, parts: Sequence[Part], keeper: Any = None) -> None:
        self.parts = tuple(parts)
        self._starts = np.concatenate([[0], np.cumsum([part.n_rows for part in parts])])
        self._keeper = keeper
        self.n_rows = int(self._starts[-1])
        self.width = parts[0].width
        self.columns = parts[0].columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.width

    def read(self, start: int, stop: int) -> np.ndarray:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        pieces = []
        for part, begin in zip(self.parts[first:], self._starts[first:], strict=False):
            if begin >= stop:
                break
            inside = slice(max(start - begin, 0), min(stop - begin, part.n_rows))
            pieces.append(part.read(int(inside.start), int(inside.stop)))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def place(self, row: int) -> str:
        position = int(np.searchsorted(self._starts, row, side="right")) - 1
        path = self.parts[position].path
        return f"row {row}, which is row {row - self._starts[position]} of {path}"

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.read(rows.start, min(rows.stop, self.n_rows))

    def stamp(self) -> str:
        """Return names, sizes and times of all files; data may change without them."""
        return "; ".join(part.stamp() for part in self.parts)

    def __len__(self) -> int:
        return self.n_rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read all rows into memory."""
        return np.asarray(self.read(0, self.n_rows), dtype=dtype)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_keeper": None}


class ColumnsSource(Source):
    """Some columns of another source, in another order.

    >>> ColumnsSource(ArraySource(np.arange(6).reshape(3, 2)), np.array([1, 0])).read(2, 3)
    array([[5, 4]])
    """

    def __init__(self, source: Source, order: np.ndarray) -> None:
        self._source = source
        self._order = order
        self.n_rows, self.width = source.n_rows, len(order)

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._source.read(start, stop)[:, self._order]

    def portion(self, start: int, stop: int) -> Source:
        return ColumnsSource(self._source.portion(start, stop), self._order)

    def place(self, row: int) -> str:
        return self._source.place(row)


class ZarrSource(Source):
    """Rows of a zarr array; chunks that were never written hold its fill value."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.n_rows, self.width = array.shape

    def read(self, start: int, stop: int) -> np.ndarray:
        try:
            return np.asarray(self._array[start:stop])
        except (OSError, RuntimeError, ValueError) as error:
            raise FileFormatError(f"zarr array {self._array}: {error}") from None

    def place(self, row: int) -> str:
        return f"row {row} of {self._array.store_path}"


class DaskSource(Source):
    """Rows of a dask array, computed by range."""

    def __init__(self, array: Any) -> None:
        self.array = array
        if not np.isfinite(array.shape[0]):
            raise InputError("a dask array of unknown length: call compute_chunk_sizes() first")
        self.n_rows, self.width = (int(size) for size in array.shape)

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self.array[start:stop].compute())


def is_stored(value: Any) -> bool:
    """Return whether a value refers to rows that are stored outside memory."""
    module = type(value).__module__
    return (
        isinstance(value, (str, Path, np.memmap, PartsSource))
        or module.startswith("zarr.")
        or module.startswith("dask.array")
    )


def source_of(value: Any) -> Source:
    """Return a source for a path, an array of any kind, or a source itself.

    >>> source_of(np.zeros((4, 2))).n_rows
    4
    """
    module = type(value).__module__
    if isinstance(value, (str, Path)):
        return _opened(Path(value))
    if isinstance(value, np.memmap) and (part := _mapped(value)) is not None:
        return PartsSource([part])
    if isinstance(value, (ArraySource, ColumnsSource, PartsSource, ZarrSource, DaskSource)):
        return value
    value = plain_values(value, "rows")
    if len(getattr(value, "shape", ())) != 2:
        raise InputError(f"rows x columns are needed, got {getattr(value, 'shape', value)}")
    if value.dtype.kind not in "biuf":
        raise InputError(f"numbers are needed, got {value.dtype}")
    if module.startswith("zarr."):
        return ZarrSource(value)
    return DaskSource(value) if module.startswith("dask.array") else ArraySource(value)


def _opened(path: Path) -> Source:
    if (path / "zarr.json").exists() or (path / ".zarray").exists():
        try:
            import zarr
        except ImportError:
            raise InputError(f"{path} is zarr: pip install 'mkclust[zarr]'") from None
        try:
            return source_of(zarr.open_array(path, mode="r"))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} cannot be read as a zarr array: {error}") from None
    return PartsSource(open_parts(path))


def _mapped(array: np.memmap) -> Part | None:
    """Return the file behind a memory map of a whole .npy file, so that blocks are read.

    Mapped pages count as memory in use until the system reclaims them.
    """
    if array.filename is None or not str(array.filename).endswith(".npy"):
        return None
    try:
        part = npy_part(Path(array.filename))
    except InputError:
        return None
    whole = (part.n_rows, part.width) == array.shape and array.offset == part.offset
    return part if whole and part.dtype == array.dtype else None
