"""Read MATLAB v7.3 files: HDF5 with transposed arrays, and cells as references."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from ..exceptions import FileFormatError
from ._guards.hdf5 import attribute, member, opened, sound
from ._guards.limits import ITEM_BYTES, Limits, native, parsing, sound_sparse
from .variables import Variable, kind_of_array

ADVICE = "save it again from MATLAB with -v7.3"
NUMERIC = {"double", "single", "logical"} | {
    f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)
}
OBJECT_BYTES = 16  # smallest size of an object in a file
LAST_CHARACTER = 0x10FFFF


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the variables of the file without reading their arrays."""
    with parsing("MATLAB v7.3 file", ADVICE), opened(path, limits) as file:
        limits.allow("views", len(file), "it")
        names = [name for name in file if not name.startswith("#")]
        return [_described(member(file, name), name, limits, file) for name in names]


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    """Load the wanted variables.

    Cells become lists, sparse matrices csc arrays, and texts str.
    """
    with parsing("MATLAB v7.3 file", ADVICE), opened(path, limits) as file:
        return {v.name: _value(member(file, v.name), v, file, limits) for v in wanted}


def _described(thing: Any, name: str, limits: Limits, file: Any = None) -> Variable:
    """Describe a member; cells are opened only if `file` is given, so not inside other cells."""
    if isinstance(thing, h5py.Group):
        rows = attribute(thing, "MATLAB_sparse")
        if rows is None:
            return Variable(name, "struct", ())
        return _sparse(thing, name, int(rows), limits)
    if not isinstance(thing, h5py.Dataset) or thing.shape is None:
        return Variable(name, "object", ())
    shape, kind, dtype = thing.shape[::-1], attribute(thing, "MATLAB_class"), thing.dtype
    if attribute(thing, "MATLAB_empty"):
        kind = {"char": "text", "cell": "cell"}.get(str(kind), "matrix")
        return Variable(name, kind, (0, 0), "str" if kind == "text" else "float64")
    if kind == "cell":
        inside = [] if file is None else _referred(thing, name, file, limits)
        items = tuple(_described(item, "", limits) for item in inside)
        return Variable(name, "cell", shape, "", sum(item.bytes for item in items), items=items)
    size = prod(shape) * dtype.itemsize
    if kind == "char" and dtype.kind in "iu":
        return Variable(name, "text", shape, "str", 4 * prod(shape))
    if dtype.names or dtype.kind == "c":
        return Variable(name, "complex", shape, "complex", size)
    if (kind is None or kind in NUMERIC) and dtype.kind in "biuf":
        return Variable(name, kind_of_array(shape), shape, dtype.name, size)
    return Variable(name, "object", shape)


def _sparse(group: Any, name: str, rows: int, limits: Limits) -> Variable:
    columns = sound(member(group, "jc"), limits).size - 1
    if rows < 0 or columns < 0:
        raise FileFormatError(f"the sparse matrix {name} has a negative size: {ADVICE}")
    # a matrix without nonzero values has no dataset "data"
    count = sound(member(group, "data"), limits).size if "data" in group else 0
    return Variable(name, "sparse", (rows, columns), "float64", 16 * (count + rows + columns + 2))


def _referred(dataset: Any, name: str, file: Any, limits: Limits) -> list[Any]:
    """Return the objects that a cell refers to, in MATLAB's order."""
    if h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference:
        raise FileFormatError(f"the cell {name} does not hold references: {ADVICE}")
    limits.allow("bytes", ITEM_BYTES * prod(dataset.shape), f"the cell {name}")
    if OBJECT_BYTES * prod(dataset.shape) > file.id.get_filesize():
        raise FileFormatError(f"the cell {name} claims more items than the file has: {ADVICE}")
    references = sound(dataset, limits)[()].ravel()
    if not all(references):
        raise FileFormatError(f"the cell {name} has missing items: {ADVICE}")
    return [file[reference] for reference in references]


def _value(thing: Any, variable: Variable, file: Any, limits: Limits) -> Any:
    if variable.kind == "cell":
        things = _referred(thing, variable.name, file, limits)
        pairs = zip(things, variable.items, strict=True)
        return [_value(item, described, file, limits) for item, described in pairs]
    if variable.kind == "sparse":
        return _sparse_value(thing, variable, limits)
    if 0 in variable.shape:
        return "" if variable.kind == "text" else np.zeros(variable.shape)
    array = native(sound(thing, limits)[()]).T
    if variable.kind == "text":
        return _text(np.atleast_2d(array), variable.name)
    return array


def _text(codes: np.ndarray, name: str) -> Any:
    """Convert character codes to one string, or to an array with one string per row."""
    if codes.min() < 0 or codes.max() > LAST_CHARACTER:
        raise FileFormatError(f"the text {name} has characters that do not exist: {ADVICE}")
    words = np.ascontiguousarray(codes, dtype=np.uint32).view(f"U{codes.shape[1]}")[:, 0]
    rows = np.char.rstrip(words)
    return str(rows[0]) if len(rows) == 1 else rows


def _sparse_value(group: Any, variable: Variable, limits: Limits) -> Any:
    pointers = sound(member(group, "jc"), limits)[()].astype(np.int64)
    if "data" not in group:
        return sp.csc_array(variable.shape)
    values = sound(member(group, "data"), limits)[()]
    indices = sound(member(group, "ir"), limits)[()].astype(np.int64)
    return sound_sparse(sp.csc_array((values, indices, pointers), shape=variable.shape))
