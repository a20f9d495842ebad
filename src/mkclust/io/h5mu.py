"""Read matrices, sample names and classes from MuData (.h5mu) and AnnData (.h5ad) files with h5py.

A file is opened as an object with the attributes of a MuData or an AnnData, from which `views_of`
takes the views. Nothing outside the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from ..data.adapters import modalities, views_of
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from .files import hdf5_attribute, hdf5_member, native, parsing, sound_sparse
from .roles import Request, Variable, as_labels

ADVICE = "write it again with .write() of MuData or AnnData"


def variables(path: Path) -> list[Variable]:
    """Describe the matrices of the file by their paths; X of each modality is a view."""
    with parsing(f"{path.suffix} file", ADVICE), h5py.File(path, "r") as file:
        return [
            Variable(place, found.kind, found.shape, found.dtype, "views" if is_x else "")
            for place, found, is_x in _matrices(_open(file))
        ]


def read_views(path: Path, request: Request) -> MultiView:
    """Read X of every modality, or the requested matrices, aligned by sample names."""
    if request.kernels or request.transpose:
        raise InputError("its matrices have samples as rows and features as columns")
    with parsing(f"{path.suffix} file", ADVICE), h5py.File(path, "r") as file:
        opened, labels = _open(file), None
        chosen = request.views or [place for place, _, is_x in _matrices(opened) if is_x]
        views = views_of(opened, chosen)
        if isinstance(request.labels, str):
            labels = as_labels(_column(hdf5_member(file, "obs"), request.labels))
    return MultiView(views, labels=labels, notes=[f"Views are {', '.join(chosen)}."])


class Matrix:
    """A matrix in the file, which `to_memory` reads."""

    def __init__(self, thing: Any) -> None:
        self.thing, self.encoding = thing, str(hdf5_attribute(thing, "encoding-type"))
        self.kind, self.dtype = self.encoding, ""
        self.shape: tuple[int, ...] = ()
        if isinstance(thing, h5py.Dataset):
            self.shape, self.dtype = thing.shape or (), thing.dtype.name
            matrix = len(self.shape) == 2 and thing.dtype.kind in "biuf"
            self.kind = "matrix" if matrix else "object"
        elif self.encoding in ("csr_matrix", "csc_matrix"):
            self.shape = tuple(map(int, np.ravel(hdf5_attribute(thing, "shape"))))
            self.kind, self.dtype = "sparse", "float64"

    def to_memory(self) -> Any:
        if self.kind == "matrix":
            return native(self.thing[()])
        if self.kind != "sparse":
            raise FileFormatError(f"{self.thing.name} is not a matrix of numbers but {self.kind}")
        names = ("data", "indices", "indptr")
        parts = tuple(native(hdf5_member(self.thing, name)[()]) for name in names)
        if self.encoding == "csc_matrix":
            return sound_sparse(sp.csc_array(parts, shape=self.shape))
        return sound_sparse(sp.csc_array(parts, shape=self.shape[::-1])).T


def _open(file: Any) -> Any:
    """Return an object with the attributes of a MuData or an AnnData that `views_of` uses."""
    if "mod" not in file:
        return _open_anndata(file)
    inside = hdf5_member(file, "mod")
    listed = [str(name) for name in np.ravel(hdf5_attribute(inside, "mod-order"))]
    names = listed if sorted(listed) == sorted(inside) else list(inside)
    mod = {name: _open_anndata(hdf5_member(inside, name)) for name in names}
    return SimpleNamespace(mod=mod, obs_names=_names(file, "obs"), obs=None, obsm={}, uns={})


def _open_anndata(owner: Any) -> Any:
    made = SimpleNamespace(obs_names=_names(owner, "obs"), obs=None, uns={})
    made.X = Matrix(hdf5_member(owner, "X")) if "X" in owner else None
    for slot in ("layers", "obsm"):  # groups of matrices with a row per sample
        inside = hdf5_member(owner, slot) if slot in owner else {}
        setattr(made, slot, {name: Matrix(hdf5_member(inside, name)) for name in inside})
    if "var" in owner:
        made.var_names = _names(owner, "var")
    return made


def _matrices(opened: Any) -> Iterator[tuple[str, Matrix, bool]]:
    """Yield every matrix with its path, and whether it is X of the file or of a modality."""
    for name, part in (modalities(opened) or {"": opened}).items():
        if part.X is not None:
            yield name or "X", part.X, part.X.kind in ("matrix", "sparse")
        for slot in ("layers", "obsm"):
            for own, matrix in getattr(part, slot).items():
                yield "/".join(filter(None, (name, slot, own))), matrix, False


def _names(owner: Any, axis: str) -> list[str]:
    """Return the names of samples (`axis` "obs") or features ("var") of a modality or the file."""
    frame = hdf5_member(owner, axis)
    index = str(hdf5_attribute(frame, "_index") or "_index")
    return [str(name) for name in _column(frame, index)]


def _column(obs: Any, name: str) -> np.ndarray:
    """Read one column of obs: numbers, text or categories."""
    if name not in obs:
        raise InputError(f"no column {name!r} in {obs.name}; it has {', '.join(list(obs)[:20])}")
    column = hdf5_member(obs, name)
    if isinstance(column, h5py.Dataset):
        return _entries(column)
    if "codes" not in column:
        return _entries(hdf5_member(column, "values"))
    codes = _entries(hdf5_member(column, "codes"))
    if codes.min() < 0:
        raise FileFormatError(f"the column {name} has samples without a category")
    return np.asarray(_entries(hdf5_member(column, "categories"))[codes])


def _entries(dataset: Any) -> np.ndarray:
    """Read a vector of numbers or texts."""
    if h5py.check_string_dtype(dataset.dtype) is None:
        return np.asarray(native(dataset[()])).ravel()
    return np.array([str(text) for text in dataset.asstr()[()]])
