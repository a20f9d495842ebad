"""Store an object's state in one .npz file: arrays and a JSON document, without pickle.

The JSON document describes every value. Arrays are separate members of the archive. Only
dataclasses registered with `storable` are built from a file, and no code in the file is run.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from .._version import __version__
from ..exceptions import FileFormatError, InputError
from . import npz
from .files import as_path, check_regular, naming, parsing, replacing, sound_sparse

FORMAT = "mkclust model"
SCHEMA = 3
ADVICE = "write it with model.save(path)"
PLAIN = (type(None), bool, int, str)
BUILT_IN = ("array", "dict", "dtype", "float", "list", "names", "slice", "sparse", "tuple")

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
    >>> Unpacker({}).unpack(Packer().pack(Interval(0.0, 1.0), "interval"))
    Interval(low=0.0, high=1.0)
    """
    name = part.__name__
    if not is_dataclass(part):
        raise TypeError(f"{name} is not a dataclass, so it cannot be stored")
    if name in BUILT_IN or _origin(_registered.get(name, part)) != _origin(part):
        raise TypeError(f"another kind of stored value is named {name}")
    _registered[name] = part
    return part


def _origin(part: type) -> tuple[str, str]:
    return part.__module__, part.__qualname__


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
    packer = Packer()
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": __version__,
        "kind": kind,
        "parameters": {n: packer.pack(value, f"parameter {n}") for n, value in parameters.items()},
        "fitted": {name: packer.pack(value, name) for name, value in fitted.items()},
    }
    text = json.dumps(document, allow_nan=False).encode("utf-8")
    arrays: Any = {"document": np.frombuffer(text, dtype=np.uint8), **packer.arrays}
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
        arrays = _arrays(file)
        with parsing("saved model", ADVICE):
            document = json.loads(bytes(arrays.pop("document")).decode("utf-8"))
        _check_document(document)
        with parsing("saved model", ADVICE):
            unpacker = Unpacker(arrays)
            parts = (
                {name: unpacker.unpack(value) for name, value in document[part].items()}
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


def _arrays(file: Path) -> dict[str, Any]:
    check_regular(file)
    if not zipfile.is_zipfile(file):
        raise FileFormatError(f"not a saved model: {ADVICE}")
    found = npz.load(file)
    if "document" not in found:
        raise FileFormatError(f"not a saved model: it has no document; {ADVICE}")
    odd = [name for name, value in found.items() if isinstance(value, npz.Unreadable)]
    if odd:
        raise FileFormatError(f"{odd[0]} holds Python objects, which are not read: {ADVICE}")
    return found


def _check_document(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f"not a saved model: {ADVICE}")
    if document.get("schema") != SCHEMA:
        raise FileFormatError(
            f"it has schema {document.get('schema')!r}, written by mkclust "
            f"{document.get('version')!r}; this is mkclust {__version__} and reads schema {SCHEMA}"
        )


class Packer:
    """Convert values to JSON. Arrays are collected in `arrays` under numbered names."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def pack(self, value: Any, where: str) -> Any:
        """Return plain values unchanged and others as an object with one key, their kind.

        Parameters
        ----------
        value : object
        where : str
            Place of the value in the model, for error messages.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"float": str(value)}
        name = type(value).__name__
        if is_dataclass(value) and _registered.get(name) is type(value):
            inside = {f.name: getattr(value, f.name) for f in fields(value)}
            return {name: {n: self.pack(v, f"{where}.{n}") for n, v in inside.items()}}
        return self._container(value, where)

    def _container(self, value: Any, where: str) -> Any:
        if isinstance(value, (list, tuple)):
            items = [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if isinstance(value, Mapping):
            return {"dict": [self._pair(key, item, where) for key, item in value.items()]}
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"slice": [self.pack(end, where) for end in ends]}
        if isinstance(value, (np.dtype, type)) and value in (np.float32, np.float64):
            return {"dtype": np.dtype(value).name}
        if sp.issparse(value):
            stored = sp.csr_array(value)
            parts = [self._stored(a) for a in (stored.data, stored.indices, stored.indptr)]
            return {"sparse": [list(stored.shape), *parts]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        raise InputError(_refusal(value, where))

    def _pair(self, key: Any, item: Any, where: str) -> list[Any]:
        if not isinstance(key, (str, int)):
            raise InputError(f"{where} has the key {key!r}, which cannot be saved")
        return [key, self.pack(item, f"{where}[{key!r}]")]

    def _array(self, value: np.ndarray, where: str) -> Any:
        if not value.dtype.hasobject:
            return {"array": self._stored(value)}
        if value.ndim == 1 and all(isinstance(item, (str, int)) for item in value):
            return {"names": value.tolist()}
        raise InputError(f"{where} holds Python objects, which cannot be saved without pickle")

    def _stored(self, value: np.ndarray) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = value
        return name


class Unpacker:
    """Convert JSON back to values, using the arrays of the archive; refuse unknown kinds."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays

    def unpack(self, packed: Any) -> Any:
        """Return the value that `Packer.pack` described."""
        if isinstance(packed, (*PLAIN, float)):
            return packed
        if not isinstance(packed, dict) or len(packed) != 1:
            raise FileFormatError(f"not a value: {str(packed)[:80]}")
        (kind, inside), *_ = packed.items()
        if kind in _registered:
            return self._part(_registered[kind], inside)
        if kind == "list":
            return [self.unpack(item) for item in inside]
        if kind == "tuple":
            return tuple(self.unpack(item) for item in inside)
        if kind == "dict":
            return {key: self.unpack(item) for key, item in inside}
        return self._leaf(kind, inside)

    def _leaf(self, kind: str, inside: Any) -> Any:
        if kind == "array":
            return self._arrays[inside]
        if kind == "names":
            if not all(isinstance(name, (str, int)) for name in inside):
                raise FileFormatError(f"names must be texts or numbers: {ADVICE}")
            return np.array(inside, dtype=object)
        if kind == "sparse":
            shape, *names = inside
            parts = tuple(self._arrays[name] for name in names)
            return sound_sparse(sp.csc_array(parts, shape=tuple(shape)[::-1])).T
        if kind == "slice":
            return slice(*(self.unpack(end) for end in inside))
        if kind == "float" and inside in ("nan", "inf", "-inf"):
            return float(inside)
        if kind == "dtype" and inside in ("float32", "float64"):
            return np.dtype(inside).type
        raise FileFormatError(f"unknown kind of value {str(kind)[:80]!r}")

    def _part(self, part: Any, inside: Mapping[str, Any]) -> Any:
        wanted = {f.name for f in fields(part)}
        needed = {f.name for f in fields(part) if f.default is MISSING}
        if not needed <= set(inside) <= wanted:
            raise FileFormatError(f"{part.__name__} has the fields {', '.join(inside)}: {ADVICE}")
        return part(**{name: self.unpack(value) for name, value in inside.items()})


def _refusal(value: Any, where: str) -> str:
    kind = getattr(value, "__name__", type(value).__name__)
    if callable(value) and where == "parameter missing":
        return (
            f"{where} is the function {kind}, which cannot be saved without pickle: fill the "
            'tables with it before the fit, use missing="median" or "knn", or keep the model with '
            "joblib"
        )
    if callable(value):
        return (
            f"{where} is the function {kind}, which cannot be saved without pickle: fit on kernels "
            'computed with it (kernel="precomputed"), or keep the model with joblib'
        )
    if where.startswith("parameter"):
        name = where.removeprefix("parameter ")
        return (
            f"{where} is a {kind}, which cannot be saved without pickle; a fitted model does not "
            f"need it: call model.set_params({name}=None), then save"
        )
    return f"{where} is a {kind}, which cannot be saved without pickle"
