"""Read MATLAB files up to v7 with scipy.io, after checking their headers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from ..exceptions import FileFormatError
from ._guards import mat4_tags, mat5_tags
from ._guards.limits import Limits, native, parsing, sound_sparse
from .variables import Variable

ADVICE = "save it again from MATLAB with -v7 or -v7.3"


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the variables of the file without reading their arrays."""
    with path.open("rb") as file:
        version4 = 0 in file.read(4)
    with _scipy_parsing():
        found = (mat4_tags if version4 else mat5_tags).scan(path, limits)
    names = [variable.name for variable in found]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise FileFormatError(f"it has several variables named {', '.join(twice)}: {ADVICE}")
    return [variable for variable in found if variable.name and not variable.name.startswith("__")]


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    """Load the wanted variables.

    Cells become lists, sparse matrices csc arrays, and texts str.
    """
    names = [variable.name for variable in wanted]
    with _scipy_parsing():
        # an open file: scipy appends .mat to a name that it does not find
        with path.open("rb") as file:
            contents = scipy.io.loadmat(file, variable_names=list(names))
        return {name: _value(contents[name]) for name in names}


@contextmanager
def _scipy_parsing() -> Iterator[None]:
    """Treat warnings of scipy as errors: they mean that it guessed or skipped something."""
    with parsing("MATLAB file", ADVICE), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def _value(raw: Any) -> Any:
    if sp.issparse(raw):
        return sound_sparse(raw)
    if not isinstance(raw, np.ndarray):  # scipy returns its own error as the value
        raise FileFormatError(str(raw))
    if raw.dtype == object:
        return [_item(item) for item in raw.ravel(order="F")]
    return native(raw)


def _item(raw: Any) -> Any:
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "U":
        return " ".join(raw.ravel().tolist())
    return _value(raw)
