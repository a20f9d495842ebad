"""A fitted model in one .npz file: arrays, and a JSON document that says what they are. No pickle.

Only the classes named here are ever made from a file, and no code in it is run. The file holds
the fitted views, as new samples are compared with them.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._version import __version__
from ..agreement.spectra import Evidence
from ..agreement.weights import ViewWeights
from ..chunked.sources import PartsSource
from ..dual_noise.dimensions import Certificate, Round
from ..dual_noise.noise import Noise
from ..exceptions import FileFormatError, InputError
from ..graph_fusion.fusion import Fusion
from ..kernels.cross import GRAPH_WEIGHTS, KERNEL_ROWS
from ..kernels.features import Columns, Features, Fourier, Gaussian, Nystroem, Product
from ..linalg.centering import Centring
from ..out_of_sample.neighbors import FusedProjection, FusedView
from ..out_of_sample.nystroem import FeatureProjection, Projection, ViewMap
from . import npz
from ._guards.limits import (
    DEFAULT_LIMITS,
    Limits,
    as_path,
    check_regular,
    naming,
    parsing,
    sound_sparse,
)
from .atomic import write_npz_atomic

FORMAT = "mkclust model"
SCHEMA = 1
ADVICE = "write it with model.save(path)"
PARTS = (
    Centring, Certificate, Columns, Evidence, FeatureProjection, Features, Fourier, FusedProjection,
    FusedView, Fusion, Gaussian, Noise, Nystroem, Product, Projection, Round, ViewMap, ViewWeights,
)  # fmt: skip
OF_THE_RUN = ("work", "dask")  # where the fit was computed: not kept, nor taken from a file
PLAIN = (type(None), bool, int, str)


def save_model(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model, whole or not at all."""
    from ..methods import METHODS

    target = as_path(path)
    names = {kind: name for name, kind in METHODS.items()}
    if type(model) not in names:
        raise InputError(f"{type(model).__name__} is none of the methods of mkclust")
    parameters = model.get_params(deep=False) | dict.fromkeys(OF_THE_RUN)
    fitted = {
        name: value
        for name, value in vars(model).items()
        if name not in parameters and not isinstance(value, PartsSource)
    }
    packer = Packer()
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": __version__,
        "method": names[type(model)],
        "parameters": {n: packer.pack(value, f"parameter {n}") for n, value in parameters.items()},
        "fitted": {name: packer.pack(value, name) for name, value in fitted.items()},
    }
    text = json.dumps(document, allow_nan=False).encode("utf-8")
    write_npz_atomic(target, document=np.frombuffer(text, dtype=np.uint8), **packer.arrays)
    return target


def load(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Any:
    """A model written by ``model.save(path)``: as fitted, ready to predict and to report.

    Sizes are checked against `limits` before anything is allocated; nothing is unpickled.

    >>> import pathlib, tempfile
    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = cluster(views, 2, random_state=0).save(pathlib.Path(folder, "model.npz"))
    ...     model = load(saved)
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """
    file = as_path(path)
    with naming(file):
        check_regular(file)
        if not zipfile.is_zipfile(file):
            raise FileFormatError(f"not a saved model: {ADVICE}")
        found = npz.variables(file, limits)
        limits.allow("bytes", sum(variable.bytes for variable in found), "it")
        if not any(variable.name == "document" for variable in found):
            raise FileFormatError(f"not a saved model: it has no document; {ADVICE}")
        odd = [variable.name for variable in found if variable.kind == "object"]
        if odd:
            raise FileFormatError(f"{odd[0]} holds Python objects, which are not read: {ADVICE}")
        arrays = npz.load(file, found, limits)
        with parsing("saved model", ADVICE):
            document = json.loads(bytes(arrays.pop("document")).decode("utf-8"))
        _check_document(document)
        with parsing("saved model", ADVICE):
            return _model(document, arrays)


def _check_document(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f"not a saved model: {ADVICE}")
    if document.get("schema") != SCHEMA:
        raise FileFormatError(
            f"it has schema {document.get('schema')!r}, written by mkclust "
            f"{document.get('version')!r}; this is mkclust {__version__} and reads schema {SCHEMA}"
        )


def _model(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    from ..methods import METHODS

    method = document["method"]
    if method not in METHODS:
        raise FileFormatError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    unpacker = Unpacker(arrays)
    given = document["parameters"].items()
    parameters = {name: unpacker.unpack(v) for name, v in given if name not in OF_THE_RUN}
    model = METHODS[method](**parameters)
    settings = model.get_params(deep=False)
    for name, value in document["fitted"].items():
        if name in settings or hasattr(type(model), name) or not name.isidentifier():
            raise FileFormatError(f"{name!r} cannot be a fitted attribute: {ADVICE}")
        setattr(model, name, unpacker.unpack(value))
    _check_fitted(model)
    return model


def _check_fitted(model: Any) -> None:
    """That the parts fit each other, so that damage is not found out by a wrong answer."""
    n, found = len(model.labels_), getattr(model, "_projection", None)
    if isinstance(found, Projection):
        for view in found.maps:
            _check_map(view, n, model.cluster_centers_.shape)
    elif isinstance(found, FeatureProjection):
        expected = int(found.features.starts[-1]), model.cluster_centers_.shape[1]
        _same(found.W.shape, expected, "the map of its features")
    elif isinstance(found, FusedProjection):
        _same(found.embedding.shape, (n, model.cluster_centers_.shape[1]), "its embedding")
        for part in found.views:
            _check_fused(part, n)
    elif found is not None:
        raise FileFormatError(f"its map is none: {ADVICE}")


def _check_map(view: ViewMap, n: int, square: tuple[int, int]) -> None:
    rows = n if view.held is None else int(view.held.sum())
    given = view.kernel == "precomputed"
    if not given and view.kernel not in (*KERNEL_ROWS, *GRAPH_WEIGHTS):
        raise FileFormatError(f"unknown kernel {view.kernel!r} of the view {view.name}")
    _same(view.Q.shape, (rows, square[1]), f"the map of {view.name}")
    _same(view.G.shape, square, f"the map of {view.name}")
    if not given:
        _same(view.view.shape, (rows, view.width), f"the view {view.name}")
    parts = () if view.centring is None else (view.centring.half, view.centring.scale)
    for values in parts:
        if values is not None:
            _same(values.shape, (rows,), f"the centring of {view.name}")


def _check_fused(view: FusedView, n: int) -> None:
    _same(view.held.shape, (n,), f"the samples of {view.name}")
    rows = int(view.held.sum())
    if view.view is None:
        _same(getattr(view.diagonal, "shape", ()), (rows,), f"the diagonal of {view.name}")
    else:
        _same(view.view.shape, (rows, view.width), f"the view {view.name}")


def _same(shape: tuple[int, ...], expected: tuple[int, ...], what: str) -> None:
    if shape != expected:
        raise FileFormatError(f"{what} has shape {shape} instead of {expected}: it is damaged")


class Packer:
    """Values to JSON; arrays are put aside under a number."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def pack(self, value: Any, where: str) -> Any:
        """What a value is in JSON: itself if plain, else an object with one key, its kind."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"float": str(value)}
        if is_dataclass(value) and type(value) in PARTS:
            inside = {f.name: getattr(value, f.name) for f in fields(value)}
            packed = {name: self.pack(v, f"{where}.{name}") for name, v in inside.items()}
            return {type(value).__name__: packed}
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
            parts = [self._array(a) for a in (stored.data, stored.indices, stored.indptr)]
            return {"sparse": [list(stored.shape), *parts]}
        if isinstance(value, np.ndarray):
            return self._of_array(value, where)
        raise InputError(_refusal(value, where))

    def _pair(self, key: Any, item: Any, where: str) -> list[Any]:
        if not isinstance(key, (str, int)):
            raise InputError(f"{where} has the key {key!r}, which cannot be saved")
        return [key, self.pack(item, f"{where}[{key!r}]")]

    def _of_array(self, value: np.ndarray, where: str) -> Any:
        if not value.dtype.hasobject:
            return {"array": self._array(value)}
        if value.ndim == 1 and all(isinstance(item, str) for item in value):
            return {"names": value.tolist()}
        raise InputError(f"{where} holds Python objects, which cannot be saved without pickle")

    def _array(self, value: np.ndarray) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = value
        return name


class Unpacker:
    """JSON to values, with the arrays at hand; whatever is not known is an error."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self._parts = {part.__name__: part for part in PARTS}

    def unpack(self, packed: Any) -> Any:
        if isinstance(packed, (*PLAIN, float)):
            return packed
        if not isinstance(packed, dict) or len(packed) != 1:
            raise FileFormatError(f"not a value: {str(packed)[:80]}")
        (kind, inside), *_ = packed.items()
        if kind in self._parts:
            return self._part(self._parts[kind], inside)
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
            return np.array([str(name) for name in inside], dtype=object)
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
    if callable(value):
        return (
            f"{where} is the function {kind}, which cannot be saved without pickle: fit on kernels "
            'computed with it (kernel="precomputed"), or keep the model with joblib'
        )
    if where.startswith("parameter"):
        name = where.removeprefix("parameter ")
        return (
            f"{where} is a {kind}, which cannot be saved without pickle; it is not needed any more "
            f"once fitted: model.set_params({name}=None), then save"
        )
    return f"{where} is a {kind}, which cannot be saved without pickle"
