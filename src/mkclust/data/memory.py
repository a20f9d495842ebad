"""Memory size of this machine and of matrices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError


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


def fits_in_memory(needed: float) -> bool:
    """Return whether this many bytes are at most half of the memory."""
    return needed <= physical_memory() / 2


def require_memory(needed: float, what: str, advice: str) -> None:
    """Refuse, before the work, what would not fit in half the memory."""
    if not fits_in_memory(needed):
        raise InputError(
            f"{what} need about {needed / 2**30:.1f} GiB, more than half of this machine's memory; "
            f"{advice}, or fit a sample of the rows"
        )


def size_of(matrix: Any) -> int:
    """Return the bytes that a matrix takes in double precision; a sparse one stays sparse.

    >>> size_of(np.zeros((10, 3))), size_of(sp.csr_array((10, 1000)))
    (240, 44)
    """
    if sp.issparse(matrix):
        rows = sp.csr_array(matrix)
        return int(8 * rows.nnz + rows.indices.nbytes + rows.indptr.nbytes)
    return 8 * int(np.prod(matrix.shape, dtype=np.int64))
