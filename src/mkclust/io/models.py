"""Store an object's state in one .npz file: arrays and a JSON document, without pickle.

The JSON document describes every value. Arrays are separate members of the archive. Only
dataclasses registered with `storable` are built from a file, and no code in the file is run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from inspect import isfunction
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from .._version import __version__
from ..data.values import hash_rows
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import npz
from .files import as_path, check_regular, naming, parsing, replacing, sound_sparse

FORMAT = "mkclust model"
SCHEMA = 3
ADVICE = "write it with model.save(path)"
PLAIN = (type(None), bool, int, str)
BUILT_IN = ("array", "dict", "float", "list", "names", "slice", "sparse", "tuple")

_registered: dict[str, type] = {}
Part = TypeVar("Part", bound=type)


def storable(part: Part) -> Part:
    """Register a dataclass, so that archives may hold and rebuild its instances.

    Use it above ``@dataclass``. The class name identifies the class in the file.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @storable
    ... @dataclass(frozen=True)
    ... class Interval:
    ...     low: float
    ...     high: float
    >>> _unpack(_pack(Interval(0.0, 1.0), "interval", {}), {})
    Interval(low=0.0, high=1.0)
    """
    name = part.__name__
    known = _registered.get(name, part)  # a reloaded module registers its classes again
    if not is_dataclass(part) or name in BUILT_IN or known.__module__ != part.__module__:
        raise TypeError(f"{name} is not a dataclass, or another kind of stored value is named so")
    _registered[name] = part
    return part


class Archive(NamedTuple):
    """The contents of an archive.

    Attributes
    ----------
    kind : str
        Name of what was stored, such as "mkc-dnm".
    parameters, fitted : dict
        Constructor parameters and fitted attributes, by name.
    """

    kind: str
    parameters: dict[str, Any]
    fitted: dict[str, Any]


def write_archive(
    path: str | os.PathLike[str],
    *,
    kind: str,
    parameters: Mapping[str, Any],
    fitted: Mapping[str, Any],
    compress: bool = True,
) -> Path:
    """Write parameters and fitted attributes to an .npz file, completely or not at all.

    Parameters
    ----------
    path : path
        Target file. An existing file is replaced.
    kind : str
        Name of what is stored. The reader uses it to choose a class.
    parameters, fitted : mapping from str to value
        Values may be plain Python values, lists, tuples, dictionaries, slices, arrays, sparse
        matrices and `storable` dataclasses. Anything else raises `InputError` with its name.
    compress : bool

    Returns
    -------
    path : Path
    """
    target = as_path(path)
    arrays: dict[str, Any] = {}
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": __version__,
        "kind": kind,
        "parameters": {n: _pack(v, f"parameter {n}", arrays) for n, v in parameters.items()},
        "fitted": {name: _pack(value, name, arrays) for name, value in fitted.items()},
    }
    text = json.dumps(document, allow_nan=False).encode("utf-8")
    arrays["document"] = np.frombuffer(text, dtype=np.uint8)
    with replacing(target) as file:
        (np.savez_compressed if compress else np.savez)(file, **arrays)
    return target


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read a file written by `write_archive`. Nothing is unpickled.

    Parameters
    ----------
    path : path

    Returns
    -------
    archive : Archive
        The caller checks that `kind` and the names of the attributes are known.
    """
    file = as_path(path)
    with naming(file):
        check_regular(file)
    with rebuilding(file):
        arrays = npz.load(file)
        document = json.loads(bytes(arrays.pop("document", b"{}")).decode("utf-8"))
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FileFormatError(f"not a saved model: {ADVICE}")
        if document.get("schema") != SCHEMA:
            written = f"{document.get('schema')!r} of mkclust {document.get('version')!r}"
            raise FileFormatError(f"schema {written}; mkclust {__version__} reads {SCHEMA}")
        odd = [name for name, value in arrays.items() if isinstance(value, npz.Unreadable)]
        if odd:
            raise FileFormatError(f"{odd[0]} holds Python objects, which are not read: {ADVICE}")
        parts = (
            {name: _unpack(value, arrays) for name, value in document[part].items()}
            for part in ("parameters", "fitted")
        )
        return Archive(str(document["kind"]), *parts)


@contextmanager
def rebuilding(path: str | os.PathLike[str]) -> Iterator[None]:
    """Report errors raised while a model is built from an archive as errors of the file."""
    with naming(as_path(path)), parsing("saved model", ADVICE):
        yield


def check_shape(shape: tuple[int, ...], expected: tuple[int, ...], what: str) -> None:
    """Refuse an array from a file whose shape contradicts the rest of the file."""
    if shape != expected:
        raise FileFormatError(f"{what} has shape {shape} instead of {expected}: it is damaged")


# ---------------------------------------------------------------- values as JSON


def _pack(value: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return plain values unchanged and others as an object with one key, their kind.

    Parameters
    ----------
    value : object
    where : str
        Place of the value in the model, for error messages.
    arrays : dict
        Arrays are added to it under numbered names.
    """

    def store(array: np.ndarray) -> str:
        arrays[name := f"array{len(arrays)}"] = array
        return name

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"float": str(value)}
    name = type(value).__name__
    if is_dataclass(value) and _registered.get(name) is type(value):
        inside = {f.name: getattr(value, f.name) for f in fields(value)}
        return {name: {n: _pack(v, f"{where}.{n}", arrays) for n, v in inside.items()}}
    if isinstance(value, (list, tuple)):
        items = [_pack(item, f"{where}[{i}]", arrays) for i, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if isinstance(value, Mapping) and all(isinstance(key, (str, int)) for key in value):
        pairs = value.items()
        return {"dict": [[key, _pack(v, f"{where}[{key!r}]", arrays)] for key, v in pairs]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if sp.issparse(value):
        stored = sp.csr_array(value)
        parts = [store(part) for part in (stored.data, stored.indices, stored.indptr)]
        return {"sparse": [list(stored.shape), *parts]}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return {"array": store(value)}
    if isinstance(value, np.ndarray) and all(isinstance(item, (str, int)) for item in value):
        return {"names": value.tolist()}
    raise InputError(_refusal(value, where))


def _unpack(packed: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the value that `_pack` described; refuse unknown kinds."""
    if isinstance(packed, (*PLAIN, float)):
        return packed
    (kind, inside), *more = packed.items()
    if kind in _registered and not more:
        part = _registered[kind]
        return part(**{name: _unpack(value, arrays) for name, value in inside.items()})
    if kind in ("list", "tuple"):
        items = [_unpack(item, arrays) for item in inside]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: _unpack(item, arrays) for key, item in inside}
    if kind == "array":
        return arrays[inside]
    if kind == "names" and all(isinstance(name, (str, int)) for name in inside):
        return np.array(inside, dtype=object)
    if kind == "sparse":
        shape, *names = inside
        parts = tuple(arrays[name] for name in names)
        return sound_sparse(sp.csc_array(parts, shape=tuple(shape)[::-1])).T
    if kind == "slice" and all(isinstance(end, PLAIN) for end in inside):
        return slice(*inside)
    if kind == "float" and inside in ("nan", "inf", "-inf"):
        return float(inside)
    raise FileFormatError(f"unknown kind of value {str(kind)[:80]!r}")


def _refusal(value: Any, where: str) -> str:
    """Return why a value cannot be saved, and what to do."""
    kind = f"the function {value.__name__}" if isfunction(value) else f"a {type(value).__name__}"
    advice = "keep the model with joblib"
    if where.startswith("parameter "):  # a fitted model does not need it
        name = where.removeprefix("parameter ").partition("[")[0]
        advice += f", or call model.set_params({name}=None) and save"
    return f"{where} is {kind}, which cannot be saved without pickle; {advice}"


# ---------------------------------------------------------------- checksums


def view_checksums(views: Any) -> dict[str, str]:
    """Return a SHA-256 of the rows of every view and of the sample names, by name of the view.

    Rows outside memory are read in blocks, by their method `blocks`.
    """
    if isinstance(views, MultiView):
        hashes = list(views.row_hashes().T)
    else:
        own = range(views.n_views)
        hashes = [np.concatenate([hash_rows(b) for b in views.blocks(p)]) for p in own]
    samples = "" if views.index is None else "\0".join(map(str, views.index))
    found = {}
    for name, rows, width in zip(views.names, hashes, views.widths, strict=True):
        digest = hashlib.sha256(f"{len(rows)} x {width} ".encode())
        digest.update(np.ascontiguousarray(rows, dtype="<u8").data)
        digest.update(samples.encode("utf-8", "surrogatepass"))
        found[name] = digest.hexdigest()
    return found


def joint_checksum(checksums: Mapping[str, str]) -> str:
    """Return one checksum of all views, which does not depend on their order."""
    text = "\n".join(f"{name} {found}" for name, found in sorted(checksums.items()))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
