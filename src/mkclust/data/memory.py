"""Memory: how much there is, how much matrices take, and what several fits keep in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError

Made = TypeVar("Made")


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


@dataclass
class _Entry:
    """What was made for a key; the lock is held while it is made."""

    key: Any
    owner: Any
    lock: Lock = field(default_factory=Lock)
    made: list[Any] = field(default_factory=list)


_known: ContextVar[list[_Entry] | None] = ContextVar("known", default=None)
_listing = Lock()  # held while an entry is looked up or added


@contextmanager
def shared_views() -> Iterator[None]:
    """Compute graphs and eigenvectors of the same view only once inside the block.

    A fit, the fits without one view and those for other numbers of clusters need the same ones.
    They stay in memory until the block ends.

    Examples
    --------
    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, 2, 2, random_state=0)
    >>> with shared_views():
    ...     one, two = cluster(views, 2, random_state=0), cluster(views, 3, random_state=0)
    """
    token = None if _known.get() is not None else _known.set([])
    try:
        yield
    finally:
        if token is not None:
            _known.reset(token)


def make_once(key: Any, owner: Any, make: Callable[[], Made]) -> Made:
    """Return what was made for an equal `key` in this block, or make it.

    `key` may hold the `id` of an object; `owner` keeps that object alive as long as the entry.
    A second thread that asks for the same key waits for the first.
    """
    known = _known.get()
    if known is None:
        return make()
    with _listing:
        entry = next((entry for entry in known if entry.key == key), None)
        if entry is None:
            entry = _Entry(key, owner)
            known.append(entry)
    with entry.lock:
        if not entry.made:
            entry.made.append(make())
        found: Made = entry.made[0]
        return found
