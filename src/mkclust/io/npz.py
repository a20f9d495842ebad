"""Read NumPy archives without pickle, checking every header before its array is allocated."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError
from ._guards.limits import Limits, native, parsing
from .npy import read_header
from .variables import Variable

ADVICE = "write it with np.savez(path, X1=..., X2=..., y=...)"
STACK_AXIS = 0  # NumPy stacks matrices along the first axis
STORED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # the methods NumPy writes
KINDS = {0: "matrix", 1: "matrix", 2: "matrix", 3: "stack"}


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the arrays of the archive from the headers of its members."""
    with parsing(".npz file", ADVICE), zipfile.ZipFile(path) as archive:
        limits.allow("views", len(archive.infolist()), "it")
        names = [member.filename for member in archive.infolist()]
        if len(set(names)) < len(names):
            raise FileFormatError(f"it has several members of one name: {ADVICE}")
        return [_described(archive, member) for member in archive.infolist()]


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    """Load the wanted arrays."""
    with parsing(".npz file", ADVICE), zipfile.ZipFile(path) as archive:
        return {variable.name: _value(archive, variable) for variable in wanted}


def _described(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Variable:
    name = member.filename.removesuffix(".npy")
    if name == member.filename or member.compress_type not in STORED or member.flag_bits & 1:
        return Variable(member.filename, "object", (), bytes=member.file_size)
    with archive.open(member) as file:
        shape, _, dtype = read_header(file)
        header = file.tell()
    if dtype.hasobject or dtype.names or not dtype.itemsize:
        return Variable(name, "object", shape, str(dtype), member.file_size)
    size = prod(shape) * dtype.itemsize
    if size != member.file_size - header:
        raise FileFormatError(
            f"{name} claims shape {shape} of {dtype}, {size} bytes, but the archive has "
            f"{member.file_size - header}: {ADVICE}"
        )
    kind = KINDS.get(len(shape), "tensor") if dtype.kind in "biuf" else _other(dtype)
    return Variable(name, kind, shape, dtype.name, size)


def _other(dtype: np.dtype[Any]) -> str:
    return {"U": "text", "S": "text", "c": "complex"}.get(dtype.kind, "object")


def _value(archive: zipfile.ZipFile, variable: Variable) -> Any:
    with archive.open(f"{variable.name}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.shape != variable.shape or array.dtype.name != variable.dtype:
        raise FileFormatError(f"{variable.name} changed while it was read")
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return native(array)
