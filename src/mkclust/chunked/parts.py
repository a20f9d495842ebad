"""Files with some rows of a view: .npy and .parquet, checked when opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..exceptions import FileFormatError
from ..io._guards.limits import DEFAULT_LIMITS, check_regular, naming, parsing
from ..io._guards.parquet_pages import check_pages
from ..io.npz import read_header

KINDS = (".npy", ".parquet")


class Part(Protocol):
    """One file: rows of equal width and type."""

    path: Path
    n_rows: int
    width: int
    dtype: np.dtype[Any]
    columns: tuple[str, ...] | None

    def read(self, start: int, stop: int) -> np.ndarray: ...

    def stamp(self) -> str:
        """Return a text that usually changes when the file does."""
        status = self.path.stat()
        return f"{self.path.name} {status.st_size} {status.st_mtime_ns}"


class NpyPart(Part):
    """A .npy file; it is read and not mapped, as mapped pages count as memory in use."""

    def __init__(self, path: Path, shape: tuple[int, int], dtype: Any, offset: int, order: str):
        self.path = path
        self.n_rows, self.width = shape
        self.dtype = np.dtype(dtype)
        self.columns: tuple[str, ...] | None = None
        self.offset = offset
        self._order = order

    def read(self, start: int, stop: int) -> np.ndarray:
        size = (stop - start) * self.width
        begin = self.offset + start * self.width * self.dtype.itemsize
        try:
            if self._order == "F":
                return self._of_columns(start, stop)
            values = np.fromfile(self.path, self.dtype, count=size, offset=begin)
        except OSError as error:
            raise FileFormatError(f"{self.path} cannot be read: {error.strerror}") from None
        if len(values) < size:
            raise FileFormatError(f"{self.path} is truncated: it ends before row {stop - 1}")
        return values.reshape(stop - start, self.width)

    def _of_columns(self, start: int, stop: int) -> np.ndarray:
        whole = (self.n_rows, self.width)
        with naming(self.path), parsing(".npy file", "it was whole when it was opened"):
            mapped = np.memmap(self.path, self.dtype, "r", self.offset, whole, "F")
            return np.array(mapped[start:stop])


class ParquetPart(Part):
    """A .parquet file of numeric columns; the last row group is cached for the next block."""

    def __init__(self, path: Path, starts: np.ndarray, columns: Sequence[str], dtype: Any):
        self.path = path
        self.n_rows = int(starts[-1])
        self.width = len(columns)
        self.columns: tuple[str, ...] | None = tuple(columns)
        self.dtype = np.dtype(dtype)
        self._starts = starts
        self._last: tuple[int, np.ndarray] | None = None

    def read(self, start: int, stop: int) -> np.ndarray:
        groups = range(
            int(np.searchsorted(self._starts, start, side="right")) - 1,
            int(np.searchsorted(self._starts, stop, side="left")),
        )
        pieces = []
        for group in groups:
            begin = self._starts[group]
            rows = self._group(group)
            pieces.append(rows[max(start - begin, 0) : stop - begin])
        if not pieces:
            return np.empty((0, self.width), dtype=self.dtype)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _group(self, number: int) -> np.ndarray:
        last = self._last  # another thread may replace it
        if last is not None and last[0] == number:
            return last[1]
        from pyarrow.parquet import ParquetFile

        with naming(self.path), parsing("Parquet file", "it was whole when it was opened"):
            table = ParquetFile(self.path).read_row_group(number, use_threads=False)
            if table.num_rows != self._starts[number + 1] - self._starts[number]:
                raise FileFormatError(
                    f"row group {number} has {table.num_rows} rows, not as stated"
                )
            rows = np.empty((table.num_rows, self.width), dtype=self.dtype)
            for place, column in enumerate(table.columns):
                rows[:, place] = column.to_numpy()  # a missing value becomes NaN
        self._last = number, rows
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}


def open_parts(path: Path) -> list[Part]:
    """Open the parts of a view: one file, or the files of a folder in the order of their numbers.

    The files of a folder must have one format, width and type, the same column names in the same
    order, and consecutive numbers.
    """
    files = _files(path)
    parts = [_part(file) for file in files]
    first = parts[0]
    for part in parts[1:]:
        if part.width != first.width or part.dtype != first.dtype:
            raise FileFormatError(
                f"{part.path} has {part.width} columns of {part.dtype}, but {first.path.name} has "
                f"{first.width} of {first.dtype}"
            )
        if part.columns != first.columns:
            raise FileFormatError(
                f"{part.path} names its columns differently than {first.path.name}, or has them in "
                "another order"
            )
    return parts


def _part(file: Path) -> Part:
    with naming(file):
        check_regular(file)
    return npy_part(file) if file.suffix == ".npy" else _parquet_part(file)


def npy_part(path: Path) -> NpyPart:
    """Open a .npy file by its header and check its length against it."""
    with naming(path), path.open("rb") as file, parsing(".npy file", "write it with np.save"):
        shape, fortran, dtype = read_header(file)
        offset = file.tell()
    if len(shape) != 2 or dtype.kind not in "biuf" or not shape[1]:
        raise FileFormatError(f"{path} must hold rows x columns of numbers, not {dtype} {shape}")
    wanted = offset + prod(shape) * dtype.itemsize
    found = path.stat().st_size
    if found < wanted:
        raise FileFormatError(f"{path} is truncated: {found} of {wanted} bytes for {shape}")
    return NpyPart(path, shape, dtype, offset, "F" if fortran else "C")


def _parquet_part(path: Path) -> ParquetPart:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise FileFormatError(f"{path} is Parquet: pip install 'mkclust[parquet]'") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise FileFormatError(f"{path} is truncated or no Parquet file: {error}") from None
    types = file.schema_arrow.types
    odd = [
        f"{name} ({kind})"
        for name, kind in zip(file.schema_arrow.names, types, strict=True)
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind))
    ]
    if odd or not types:
        raise FileFormatError(f"{path} must hold number columns only, not {', '.join(odd[:5])}")
    with naming(path):
        counts = check_pages(path, DEFAULT_LIMITS, each=True)
    narrow = all(kind == pyarrow.float32() for kind in types)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    return ParquetPart(path, starts, file.schema_arrow.names, np.float32 if narrow else np.float64)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileFormatError(f"{path} does not exist")
    if not path.is_dir():
        if path.suffix not in KINDS:
            raise FileFormatError(f"{path} is neither .npy nor .parquet")
        return [path]
    files = [file for file in path.iterdir() if file.suffix in KINDS and file.name[0] not in "._"]
    kinds = sorted({file.suffix for file in files})
    if len(kinds) != 1:
        found = "both .npy and .parquet parts" if kinds else "no .npy or .parquet parts"
        raise FileFormatError(f"{path} holds {found}")
    names = [re.fullmatch(r"(.*?)(\d*)", file.stem) for file in files]
    order = [(name[1], int(name[2] or -1), name[2]) for name in names if name is not None]
    _check_numbers(path, order)
    return [file for _, file in sorted(zip(order, files, strict=True))]


def _check_numbers(folder: Path, order: Sequence[tuple[str, int, str]]) -> None:
    """Check that the numbers of the parts are consecutive: a gap is a missing part."""
    numbers = sorted(number for _, number, _ in order)
    if len({prefix for prefix, _, _ in order}) > 1 or numbers[0] < 0:
        return
    first = min(numbers[0], 1)
    if len(set(numbers)) < len(numbers):
        raise FileFormatError(f"{folder} holds two parts of the same number")
    if 0 < numbers[-1] + 1 - first - len(numbers) < len(numbers):
        missing = sorted({*range(first, numbers[-1] + 1)} - {*numbers})
        listed = ", ".join(map(str, missing[:5])) + (" ..." if len(missing) > 5 else "")
        raise FileFormatError(f"{folder} lacks part {listed} of {first} to {numbers[-1]}")
