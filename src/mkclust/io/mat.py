"""MATLAB files of any version: v7.3 is HDF5, the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py

from . import mat5, mat73
from ._guards.limits import Limits
from .variables import Variable

STACK_AXIS = 2  # MATLAB stacks matrices along the last axis


def variables(path: Path, limits: Limits) -> list[Variable]:
    return _reader(path).variables(path, limits)


def load(path: Path, wanted: Sequence[Variable], limits: Limits) -> dict[str, Any]:
    return _reader(path).load(path, wanted, limits)


def _reader(path: Path) -> Any:
    return mat73 if h5py.is_hdf5(path) else mat5
