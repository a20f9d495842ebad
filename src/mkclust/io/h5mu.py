"""Read matrices, sample names and classes from MuData (.h5mu) and AnnData (.h5ad) files with h5py.

Nothing outside the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from ..data.adapters import join_by_name
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from .files import hdf5_attribute, hdf5_member, native, parsing, sound_sparse
from .roles import Request, Variable, as_labels

ADVICE = "write it again with .write() of MuData or AnnData"
SLOTS = ("layers", "obsm")  # groups of matrices with a row per sample, beside X
SPARSE = ("csr_matrix", "csc_matrix")


def variables(path: Path) -> list[Variable]:
    """Describe the matrices of the file by their paths; X of each modality is a view."""
    with parsing(f"{path.suffix} file", ADVICE), h5py.File(path, "r") as file:
        return [_describe(thing, place) for place, thing in _matrices(file)]


def read_views(path: Path, request: Request) -> MultiView:
    """Read X of every modality, or the requested matrices, aligned by sample names."""
    if request.kernels or request.transpose:
        raise InputError("its matrices have samples as rows and features as columns")
    with parsing(f"{path.suffix} file", ADVICE), h5py.File(path, "r") as file:
        places = dict(_matrices(file))
        chosen = request.views or [p for p, thing in places.items() if _is_x(thing)]
        unknown = [place for place in chosen if place not in places]
        if unknown:
            raise InputError(f"no matrix {unknown[0]!r}; it has {', '.join(places)}")
        found, columns = {}, []
        for place in chosen:
            thing = places[place]
            owner = thing.parent if _is_x(thing) else thing.parent.parent
            found[place] = (_value(thing, place), _names(owner, "obs"))
            in_obsm = thing.parent.name.rsplit("/", 1)[-1] == "obsm"
            columns.append(_names(owner, "var") if not in_obsm and "var" in owner else None)
        labels = None
        if isinstance(request.labels, str):
            labels = as_labels(_column(hdf5_member(file, "obs"), request.labels))
        views = join_by_name(found, _names(file, "obs"), columns)
    return MultiView(views, labels=labels, notes=[f"Views are {', '.join(chosen)}."])


def _matrices(file: Any) -> Iterator[tuple[str, Any]]:
    """Yield every matrix with its path: X, layers/..., obsm/..., after the modality in .h5mu."""
    if "mod" not in file:
        yield from _of_anndata(file, "")
        return
    modalities = hdf5_member(file, "mod")
    listed = [str(name) for name in np.ravel(hdf5_attribute(modalities, "mod-order"))]
    for name in listed if sorted(listed) == sorted(modalities) else modalities:
        yield from _of_anndata(hdf5_member(modalities, name), name)


def _of_anndata(owner: Any, modality: str) -> Iterator[tuple[str, Any]]:
    if "X" in owner:
        yield modality or "X", hdf5_member(owner, "X")
    for slot in SLOTS:
        inside = hdf5_member(owner, slot) if slot in owner else {}
        for name in inside:
            yield "/".join(filter(None, (modality, slot, name))), hdf5_member(inside, name)


def _is_x(thing: Any) -> bool:
    return bool(thing.name.rsplit("/", 1)[-1] == "X")


def _describe(thing: Any, place: str) -> Variable:
    role = "views" if _is_x(thing) else ""
    if isinstance(thing, h5py.Dataset):
        shape = thing.shape or ()
        matrix = len(shape) == 2 and thing.dtype.kind in "biuf"
        kind = "matrix" if matrix else "object"
        return Variable(place, kind, shape, thing.dtype.name, role if matrix else "")
    encoding = str(hdf5_attribute(thing, "encoding-type"))
    if encoding not in SPARSE:
        return Variable(place, encoding or "object", ())
    return Variable(place, "sparse", _shape(thing), "float64", role)


def _shape(thing: Any) -> tuple[int, int]:
    rows, columns = (int(size) for size in np.ravel(hdf5_attribute(thing, "shape")))
    return rows, columns


def _value(thing: Any, place: str) -> Any:
    kind = _describe(thing, place).kind
    if kind == "matrix":
        return native(thing[()])
    if kind != "sparse":
        raise FileFormatError(f"{place} is not a matrix of numbers but {kind}")
    names = ("data", "indices", "indptr")
    parts = tuple(native(hdf5_member(thing, name)[()]) for name in names)
    shape = _shape(thing)
    if hdf5_attribute(thing, "encoding-type") == "csc_matrix":
        return sp.csr_array(sound_sparse(sp.csc_array(parts, shape=shape)))
    return sound_sparse(sp.csc_array(parts, shape=shape[::-1])).T


def _names(owner: Any, axis: str) -> list[str]:
    """Return the names of samples (`axis` "obs") or features ("var") of a modality or the file."""
    frame = hdf5_member(owner, axis)
    index = str(hdf5_attribute(frame, "_index") or "_index")
    return [str(name) for name in _column(frame, index)]


def _column(obs: Any, name: str) -> np.ndarray:
    """Read one column of obs: numbers, text or categories."""
    if name not in obs:
        where = obs.name.rsplit("/", 1)[-1]
        raise InputError(f"no column {name!r} in {where}; it has {', '.join(list(obs)[:20])}")
    column = hdf5_member(obs, name)
    if isinstance(column, h5py.Dataset):
        return _entries(column)
    if "codes" in column:
        codes = _entries(hdf5_member(column, "codes"))
        categories = _entries(hdf5_member(column, "categories"))
        if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= len(categories):
            raise FileFormatError(f"the column {name} has samples without a category")
        return np.asarray(categories[codes])
    if "values" in column:
        return _entries(hdf5_member(column, "values"))
    raise FileFormatError(f"the column {name} has an unknown encoding: {ADVICE}")


def _entries(dataset: Any) -> np.ndarray:
    """Read a vector of numbers or texts."""
    if dataset.ndim != 1:
        raise FileFormatError(f"{dataset.name} is not one column: {ADVICE}")
    if h5py.check_string_dtype(dataset.dtype) is None:
        return np.asarray(native(dataset[()]))
    return np.array([str(text) for text in dataset.asstr()[()]])
