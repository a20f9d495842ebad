"""Read MATLAB files of any version: v7.3 is HDF5, older versions have their own format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._guards.limits import Limits
from .variables import Variable

STACK_AXIS = 2  # MATLAB stacks matrices along the last axis


def variables(path: Path, limits: Limits) -> list[Variable]:
    """Describe the variables of the file without reading their arrays."""
    return _reader(path).variables(path, limits)


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    """Load the wanted variables."""
    return _reader(path).load(path, wanted, limits)


def _reader(path: Path) -> Any:
    import h5py  # slow to import, and not needed for other formats

    from . import mat5, mat73

    return mat73 if h5py.is_hdf5(path) else mat5
