"""Memory size of this machine and of matrices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def physical_memory() -> float:
    """Return the bytes of memory of this machine or container; infinite where unknown."""
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        total = np.inf
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return min(total, float(allowed)) if allowed != "max" else total
    except (OSError, ValueError):
        return total


def size_of(matrix: Any) -> int:
    """Return the bytes that a matrix takes in double precision; a sparse one stays sparse.

    >>> size_of(np.zeros((10, 3))), size_of(sp.csr_array((10, 1000)))
    (240, 44)
    """
    if sp.issparse(matrix):
        indices = getattr(matrix, "indices", np.empty(0, dtype=np.int64))
        pointers = getattr(matrix, "indptr", np.empty(0, dtype=np.int64))
        return int(8 * matrix.nnz + indices.nbytes + pointers.nbytes)
    return 8 * int(np.prod(matrix.shape, dtype=np.int64))
