"""Read matrices, sample names and classes from MuData (.h5mu) and AnnData (.h5ad) files.

Only h5py is needed. Nothing outside the file is read, and sizes are checked before allocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from ..data.adapters import join_by_name
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ._guards.hdf5 import attribute, group, member, opened, sound
from ._guards.limits import ITEM_BYTES, Limits, check_texts, native, parsing, sound_sparse
from .choose import Request
from .variables import Variable, as_labels

ADVICE = "write it again with .write() of MuData or AnnData"
NAMES_AT_ONCE = 256 << 20  # bytes; one name may be as long as the file, so blocks shrink with it
SLOTS = ("layers", "obsm")  # groups of matrices with a row per sample, beside X
SPARSE = ("csr_matrix", "csc_matrix")


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the matrices of the file by their paths; X of each modality is a view."""
    with parsing(f"{path.suffix} file", ADVICE), opened(path, limits) as file:
        found = dict(_matrices(file, limits))
        return [_described(thing, place, limits) for place, thing in found.items()]


def read_views(path: Path, request: Request, limits: Limits) -> MultiView:
    """Read X of every modality, or the requested matrices, aligned by sample names."""
    if request.kernels or request.transpose:
        raise InputError("its matrices have samples as rows and features as columns")
    with parsing(f"{path.suffix} file", ADVICE), opened(path, limits) as file:
        places = dict(_matrices(file, limits))
        chosen = request.views or [p for p, thing in places.items() if _is_x(thing)]
        unknown = [place for place in chosen if place not in places]
        if unknown:
            raise InputError(f"no matrix {unknown[0]!r}; it has {', '.join(places)}")
        described = [_described(places[place], place, limits) for place in chosen]
        limits.allow("bytes", sum(variable.bytes for variable in described), "it")
        found, columns = {}, []
        for variable in described:
            thing = places[variable.name]
            owner = thing.parent if _is_x(thing) else thing.parent.parent
            found[variable.name] = (_value(thing, variable, limits), _names(owner, "obs", limits))
            in_obsm = thing.parent.name.rsplit("/", 1)[-1] == "obsm"
            named = not in_obsm and "var" in owner
            columns.append(_names(owner, "var", limits) if named else None)
        labels = None
        if isinstance(request.labels, str):
            obs = group(member(file, "obs"), "obs")
            labels = as_labels(_column(obs, request.labels, limits))
        views = join_by_name(found, _names(file, "obs", limits), columns)
    notes = [f"Views are {', '.join(chosen)}."]
    return MultiView(views, labels=labels, notes=notes)


def _matrices(file: Any, limits: Limits) -> Iterator[tuple[str, Any]]:
    """Yield every matrix with its path: X, layers/..., obsm/..., after the modality in .h5mu."""
    if "mod" not in file:
        yield from _of_anndata(file, "", limits)
        return
    modalities = group(member(file, "mod"), "mod")
    limits.allow("views", len(modalities), "it")
    listed = [str(name) for name in np.ravel(attribute(modalities, "mod-order"))]
    for name in listed if sorted(listed) == sorted(modalities) else modalities:
        yield from _of_anndata(member(modalities, name), name, limits)


def _of_anndata(owner: Any, modality: str, limits: Limits) -> Iterator[tuple[str, Any]]:
    if "X" in group(owner, modality):
        yield modality or "X", member(owner, "X")
    for slot in SLOTS:
        inside = group(member(owner, slot), slot) if slot in owner else {}
        limits.allow("views", len(inside), slot)
        for name in inside:
            yield "/".join(filter(None, (modality, slot, name))), member(inside, name)


def _is_x(thing: Any) -> bool:
    return bool(thing.name.rsplit("/", 1)[-1] == "X")


def _described(thing: Any, place: str, limits: Limits) -> Variable:
    role = "views" if _is_x(thing) else ""
    if isinstance(thing, h5py.Dataset):
        shape = thing.shape or ()
        kind = "matrix" if len(shape) == 2 and thing.dtype.kind in "biuf" else "object"
        size = prod(shape) * thing.dtype.itemsize
        if kind == "matrix":
            limits.allow("columns", thing.shape[1], place)
        return Variable(
            place, kind, shape, thing.dtype.name, size, role if kind == "matrix" else ""
        )
    encoding = str(attribute(thing, "encoding-type"))
    if encoding not in SPARSE:
        return Variable(place, encoding or "object", ())
    shape = tuple(int(size) for size in np.ravel(attribute(thing, "shape")))
    if len(shape) != 2 or min(shape) < 0:
        raise FileFormatError(f"the sparse matrix {place} has shape {shape}: {ADVICE}")
    limits.allow("columns", shape[1], place)
    parts = [sound(member(thing, name), limits) for name in ("data", "indices", "indptr")]
    stored = sum(part.size * part.dtype.itemsize for part in parts)
    return Variable(place, "sparse", shape, "float64", 2 * int(stored) + 8 * sum(shape), role)


def _value(thing: Any, variable: Variable, limits: Limits) -> Any:
    if variable.kind == "matrix":
        return native(sound(thing, limits)[()])
    if variable.kind != "sparse":
        raise FileFormatError(f"{variable.name} is not a matrix of numbers but {variable.kind}")
    kind = str(attribute(thing, "encoding-type"))
    parts = tuple(native(sound(member(thing, name), limits)[()]) for name in
                  ("data", "indices", "indptr"))  # fmt: skip
    if kind == "csc_matrix":
        return sp.csr_array(sound_sparse(sp.csc_array(parts, shape=variable.shape)))
    return sound_sparse(sp.csc_array(parts, shape=variable.shape[::-1])).T


def _names(owner: Any, axis: str, limits: Limits) -> list[str]:
    """Return the names of samples (`axis` "obs") or features ("var") of a modality or the file."""
    frame = group(member(owner, axis), axis)
    index = str(attribute(frame, "_index") or "_index")
    return [str(name) for name in _column(frame, index, limits)]


def _column(obs: Any, name: str, limits: Limits) -> Sequence[Any] | np.ndarray:
    """Read one column of obs: numbers, text or categories."""
    if name not in obs:
        where = obs.name.rsplit("/", 1)[-1]
        raise InputError(f"no column {name!r} in {where}; it has {', '.join(list(obs)[:20])}")
    column = member(obs, name)
    if isinstance(column, h5py.Dataset):
        return _entries(column, limits)
    if "codes" in group(column, name):
        codes = np.asarray(_entries(member(column, "codes"), limits))
        categories = np.asarray(_entries(member(column, "categories"), limits))
        if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= len(categories):
            raise FileFormatError(f"the column {name} has samples without a category")
        limits.allow("bytes", categories.itemsize * len(codes), f"the column {name}")
        return np.asarray(categories[codes])
    if "values" in column:
        return _entries(member(column, "values"), limits)
    raise FileFormatError(f"the column {name} has an unknown encoding: {ADVICE}")


def _entries(dataset: Any, limits: Limits) -> Sequence[Any] | np.ndarray:
    """Read a vector: numbers as an array, texts as a list."""
    checked = sound(dataset, limits)
    if len(checked.shape) != 1:
        raise FileFormatError(f"{dataset.name} is not one column: {ADVICE}")
    if h5py.check_string_dtype(checked.dtype) is None:
        return np.asarray(native(checked[()]))
    limits.allow("bytes", ITEM_BYTES * checked.shape[0], str(dataset.name))
    size = max(1, checked.file.id.get_filesize())
    height = max(1, min(4096, NAMES_AT_ONCE // size))
    found: list[str] = []
    total = 0
    for start in range(0, checked.shape[0], height):
        texts = checked[start : start + height]
        found += [text.decode("utf-8") if isinstance(text, bytes) else str(text) for text in texts]
        total += sum(map(len, texts))
        limits.allow("bytes", total, str(dataset.name))
    check_texts(found, limits)
    return found
