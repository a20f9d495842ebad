"""Read MATLAB files: up to v7 with scipy.io, v7.3 (HDF5) with h5py.

Cells become lists, sparse matrices csc arrays, and texts str, or arrays of str with several rows.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import FileFormatError
from .files import hdf5_attribute, hdf5_member, native, parsing, sound_sparse
from .npz import Unreadable


def load(path: Path) -> dict[str, Any]:
    """Return all variables of the file, by name."""
    import h5py  # slow to import, and not needed for other formats

    with parsing("MATLAB file", "save it again from MATLAB with -v7 or -v7.3"):
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return {n: _hdf5_value(hdf5_member(file, n), file) for n in file if n[0] != "#"}
        return _load_version5(path)


def _load_version5(path: Path) -> dict[str, Any]:
    import scipy.io

    # an open file: scipy appends .mat to a name that it does not find
    with path.open("rb") as file, warnings.catch_warnings():
        # a warning means that scipy guessed or skipped something, such as a repeated variable
        warnings.simplefilter("error", UserWarning)
        found = scipy.io.loadmat(file)
    return {name: _value(raw) for name, raw in found.items() if not name.startswith("__")}


def _value(raw: Any) -> Any:
    if sp.issparse(raw):
        return sound_sparse(raw)
    if not isinstance(raw, np.ndarray):  # scipy returns its own error as the value
        raise FileFormatError(str(raw))
    if raw.dtype == object and type(raw) is np.ndarray:
        return [_item(item) for item in raw.ravel(order="F")]
    if type(raw) is not np.ndarray or raw.dtype.names or raw.dtype.hasobject:
        return Unreadable("struct" if raw.dtype.names else "function handle or object")
    return native(raw)


def _item(raw: Any) -> Any:
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "U":
        return " ".join(raw.ravel().tolist())
    return _value(raw)


def _hdf5_value(thing: Any, file: Any, nested: bool = False) -> Any:
    import h5py

    if isinstance(thing, h5py.Group):
        rows = hdf5_attribute(thing, "MATLAB_sparse")
        return Unreadable("struct") if rows is None else _hdf5_sparse(thing, int(rows))
    if not isinstance(thing, h5py.Dataset) or thing.shape is None:
        return Unreadable()
    kind = hdf5_attribute(thing, "MATLAB_class")
    if hdf5_attribute(thing, "MATLAB_empty"):
        return {"char": "", "cell": []}.get(str(kind), np.zeros((0, 0)))
    if kind == "cell":
        if nested:
            return Unreadable("cell")
        return [_hdf5_value(file[reference], file, True) for reference in thing[()].ravel()]
    if kind == "char" and thing.dtype.kind in "iu":
        return _text(np.atleast_2d(native(thing[()]).T))
    if thing.dtype.names or thing.dtype.kind == "c":
        return Unreadable("complex")
    return native(thing[()]).T if thing.dtype.kind in "biuf" else Unreadable()


def _hdf5_sparse(group: Any, rows: int) -> Any:
    pointers = hdf5_member(group, "jc")[()].astype(np.int64)
    shape = (rows, len(pointers) - 1)
    if "data" not in group:  # a matrix without nonzero values
        return sp.csc_array(shape)
    values, indices = hdf5_member(group, "data")[()], hdf5_member(group, "ir")[()].astype(np.int64)
    return sound_sparse(sp.csc_array((values, indices, pointers), shape=shape))


def _text(codes: np.ndarray) -> Any:
    """Convert character codes to one string, or to an array with one string per row."""
    words = np.ascontiguousarray(codes, dtype=np.uint32).view(f"U{codes.shape[1]}")[:, 0]
    rows = np.char.rstrip(words)
    return str(rows[0]) if len(rows) == 1 else rows
