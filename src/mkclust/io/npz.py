"""Read NumPy archives without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import FileFormatError
from .files import native, parsing

ADVICE = "write it with np.savez(path, X1=..., X2=..., y=...)"


class Unreadable(NamedTuple):
    """Stands for a variable that holds no numbers or texts; `kind` says what it is."""

    kind: str = "object"


def load(path: Path) -> dict[str, Any]:
    """Return all arrays of the archive; Python objects are `Unreadable`."""
    with parsing(".npz file", ADVICE), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members):
            raise FileFormatError(f"it has several members of one name: {ADVICE}")
        return {member.filename.removesuffix(".npy"): _value(archive, member) for member in members}


def _value(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    if not member.filename.endswith(".npy"):
        return Unreadable()
    with archive.open(member) as file:
        try:
            array = np.lib.format.read_array(file, allow_pickle=False)
        except ValueError as error:
            if "Object arrays" in str(error):
                return Unreadable()
            raise
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return native(array) if array.dtype.kind in "biufcU" else Unreadable()
