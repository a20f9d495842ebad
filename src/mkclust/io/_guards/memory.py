"""Limit the memory of the whole process while a file is parsed, in programs that allow it.

HDF5 allocates as much as the length of a text claims before it checks that the text exists, and
h5py does not show that length. Only the operating system can refuse such an allocation, by a
limit of the whole process. A library must not change its host process, so the limit is off until
a program that owns its process calls `allow_process_limit`. The command line does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...exceptions import FileFormatError

if TYPE_CHECKING:
    from .limits import Limits

COPIES = 3  # multiples of max_bytes: arrays are copied while they are transposed and checked
RESERVE = 512 << 20  # bytes for HDF5 itself and for threads that start meanwhile

_allowed = False
_turn = threading.RLock()  # the limit belongs to the process: one thread at a time sets it


def allow_process_limit(allowed: bool = True) -> None:
    """Let readers lower RLIMIT_AS of this process while an HDF5 file is open (Linux only)."""
    global _allowed
    _allowed = allowed


@contextmanager
def bounded_memory(limits: Limits) -> Iterator[None]:
    """Limit the address space inside the block to what `limits` justify, then restore it.

    Without `allow_process_limit`, or where the system has no such limit, this does nothing.
    Threads take turns; HDF5 itself admits one thread at a time.
    """
    if not _allowed:
        yield
        return
    with _turn:
        yield from _bounded(limits)


def _bounded(limits: Limits) -> Iterator[None]:
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        yield
        return
    most = pages * resource.getpagesize() + COPIES * limits.max_bytes + RESERVE
    if soft != resource.RLIM_INFINITY and soft <= most:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    except MemoryError:
        raise FileFormatError(
            "it claims more memory than the limits allow: it may be damaged; write it again"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
