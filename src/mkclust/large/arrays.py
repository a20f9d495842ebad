"""Dask arrays of rows that are stored outside memory, by dask's own readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from mmap import mmap
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, InputError
from ..io.files import KNOWN, kind_of

KINDS = (".npy", ".parquet")
BROKEN_HEADER = (OSError, EOFError, ValueError, SyntaxError, TokenError, RecursionError)
NUMBERS = "biuf"  # kinds of dtypes: bool, int, unsigned, float


class FileRows:
    """Rows of an array in a binary file, mapped only while some of them are read or written.

    Pages of a file count as memory in use while they are mapped.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = FileRows(f"{folder}/H", np.float64, (3, 2), create=True)
    ...     rows[1:3] = np.eye(2)
    ...     rows[0:2]
    array([[0., 0.],
           [1., 0.]])
    """

    ndim = 2

    def __init__(
        self,
        path: str | Path,
        dtype: Any,
        shape: tuple[int, int],
        offset: int = 0,
        order: str = "C",
        create: bool = False,
    ) -> None:
        self.path, self.dtype, self.shape = str(path), np.dtype(dtype), shape
        self._offset, self._order = offset, order
        if create:
            self.map("w+")

    def map(self, mode: Any = "r") -> np.memmap:
        """Return all rows as a memory map."""
        try:
            order: Any = self._order
            return np.memmap(self.path, self.dtype, mode, self._offset, self.shape, order)
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{self.path} cannot be read: {error}") from None

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.array(self.map()[rows])

    def __setitem__(self, rows: Any, values: np.ndarray) -> None:
        self.map("r+")[rows] = values


def is_stored(value: Any) -> bool:
    """Return whether a value refers to rows that are stored outside memory."""
    package = type(value).__module__.partition(".")[0]
    return isinstance(value, (str, Path, np.memmap)) or package in ("dask", "dask_expr", "zarr")


def as_dask_array(value: Any) -> tuple[Any, np.ndarray | None]:
    """Return stored rows as a dask array (n, f), and the names of its columns if it has some.

    Parameters
    ----------
    value : dask array or DataFrame, np.memmap, zarr array, or path
        The path of a .npy or .parquet file, of a folder of such parts in the order of their
        numbers, or of a zarr array.
    """
    if isinstance(value, (str, Path)) and kind_of(Path(value)) in set(KNOWN) - {".parquet"}:
        raise InputError(f"a file that is read as a whole: pass mkclust.read({str(value)!r})")
    da = dask_module("dask.array")
    columns: np.ndarray | None = None
    if isinstance(value, (str, Path)):
        value, columns = _open(Path(value))
    elif isinstance(value, np.memmap):
        value = _from_map(value)
    elif type(value).__module__.startswith("zarr."):
        value = da.from_zarr(value)
    elif hasattr(value, "to_dask_array"):  # a DataFrame
        value, columns = value.to_dask_array(lengths=True), _texts(value.columns)
    if not np.isfinite(value.shape[0]):
        raise InputError("a dask array of unknown length: call compute_chunk_sizes() first")
    return value, columns


def dask_module(name: str) -> Any:
    """Import a module of dask, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"rows outside memory and clusters need {error.name}: pip install 'mkclust[large]'"
        ) from None


def _from_rows(rows: Any) -> Any:
    """Return a dask array of an object with shape, dtype and slices of rows."""
    da = dask_module("dask.array")
    return da.from_array(rows, chunks=("auto", -1), name=False, fancy=False, asarray=True)


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a zarr array."""
    return (path / "zarr.json").exists() or (path / ".zarray").exists()


def _open(path: Path) -> tuple[Any, np.ndarray | None]:
    """Return rows on disk, and the names of their columns if they have some."""
    da = dask_module("dask.array")
    if is_zarr(path):
        dask_module("zarr")
        try:
            return da.from_zarr(str(path)), None
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} cannot be read as a zarr array: {error}") from None
    files = _part_files(path)
    if files[0].suffix == ".parquet":
        return _read_parquet(files)
    parts = [_load_npy(file) for file in files]
    for file, part in zip(files, parts, strict=True):
        if part.shape[1] != parts[0].shape[1] or part.dtype != parts[0].dtype:
            raise FileFormatError(
                f"{file} has {part.shape[1]} columns of {part.dtype}, but {files[0].name} has "
                f"{parts[0].shape[1]} of {parts[0].dtype}"
            )
    return da.concatenate([_from_map(part) for part in parts]), None


def _load_npy(file: Path) -> np.memmap:
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    except BROKEN_HEADER as error:
        raise FileFormatError(f"{file} is truncated or no .npy file: {error}") from None
    if not isinstance(found, np.memmap) or found.ndim != 2 or found.dtype.kind not in NUMBERS:
        shape = getattr(found, "shape", type(found).__name__)
        raise FileFormatError(f"{file} must hold rows x columns of numbers, not {shape}")
    return found


def _from_map(array: np.memmap) -> Any:
    """Return a dask array that maps the file block by block, on any worker.

    A part of a map, and a private copy of one, are taken as they are.
    """
    whole = isinstance(array.base, mmap) and array.mode != "c" and array.ndim == 2
    if not whole or array.filename is None:
        return _from_rows(array)
    order = "C" if array.flags.c_contiguous else "F"
    return _from_rows(FileRows(array.filename, array.dtype, array.shape, array.offset, order))


def _read_parquet(files: Sequence[Path]) -> tuple[Any, np.ndarray]:
    """Return the columns of all files, with a chunk for every row group."""
    frames, parquet = dask_module("dask.dataframe"), dask_module("pyarrow.parquet")
    fields: list[Any] = []
    lengths: list[int] = []
    for file in files:
        try:
            found = parquet.ParquetFile(file)
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            raise FileFormatError(f"{file} is truncated or no Parquet file: {error}") from None
        groups = range(found.metadata.num_row_groups)
        lengths += [found.metadata.row_group(group).num_rows for group in groups]
        fields.append([(field.name, field.type) for field in found.schema_arrow])
        if fields[-1] != fields[0]:
            raise FileFormatError(f"{file} has other columns than {files[0].name}")
    frame = frames.read_parquet([str(file) for file in files], split_row_groups=True, index=False)
    odd = [str(name) for name, kind in frame.dtypes.items() if kind.kind not in NUMBERS]
    if odd:
        raise FileFormatError(f"{files[0]} must hold number columns only, not {odd[:5]}")
    return frame.to_dask_array(lengths=tuple(lengths)), _texts(frame.columns)


def _texts(names: Any) -> np.ndarray:
    return np.array([str(name) for name in names], dtype=object)


def _part_files(path: Path) -> list[Path]:
    """Return the parts of a view: one file, or those of a folder in the order of their numbers."""
    if not path.exists():
        raise FileFormatError(f"{path} does not exist")
    if path.is_file():
        if path.suffix not in KINDS:
            raise FileFormatError(f"{path} is neither .npy nor .parquet")
        return [path]
    files = [file for file in path.glob("[!._]*") if file.suffix in KINDS]
    kinds = {file.suffix for file in files}
    if len(kinds) != 1:
        found = "both .npy and .parquet parts" if kinds else "no .npy or .parquet parts"
        raise FileFormatError(f"{path} holds {found}")
    for file in files:
        if not file.is_file():  # reading a named pipe would wait for ever
            raise FileFormatError(f"{file} is no regular file")
    order = dask_module("dask.utils").natural_sort_key  # as dask orders Parquet files
    files.sort(key=lambda file: order(file.name))
    _check_numbers(path, files)
    return files


def _check_numbers(folder: Path, files: Sequence[Path]) -> None:
    """Refuse parts that are numbered and lack a number: a file was lost."""
    found = [re.fullmatch(r"(.*?)(\d+)", file.stem) for file in files]
    if None in found or len({match[1] for match in found if match}) > 1:
        return
    numbers = {int(match[2]) for match in found if match}
    first = min(*numbers, 1)
    lost = sorted({*range(first, max(numbers) + 1)} - numbers)
    if 0 < len(lost) < len(files):  # else the numbers do not count the parts
        listed = ", ".join(map(str, lost[:5])) + (" ..." if len(lost) > 5 else "")
        raise FileFormatError(f"{folder} lacks part {listed} of {first} to {max(numbers)}")
