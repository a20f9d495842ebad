"""Results find a place: one writer at a time, and another folder where the wanted one fails."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Write = Callable[[Path], list[Path]]


def kept(folder: Path, write: Write) -> list[Path]:
    """The files that ``write(folder)`` wrote; results of a long run are not lost to a bad disk.

    A folder that vanishes on the way is made again. Where it cannot be written to, the results
    go to a new folder among the system's temporary ones, and the OSError names it.
    """
    try:
        return _written(folder, write)
    except FileNotFoundError:
        try:
            return _written(folder, write)
        except OSError as error:
            raise _rescued(folder, write, error) from None
    except OSError as error:
        raise _rescued(folder, write, error) from None


def _written(folder: Path, write: Write) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        return write(folder)


def _rescued(folder: Path, write: Write, error: OSError) -> OSError:
    reason = f"results cannot be written to {folder}: {error.strerror or error}"
    try:
        other = Path(tempfile.mkdtemp(prefix="mkclust-out-"))
    except OSError:
        return OSError(f"{reason}; nor to a temporary folder")
    try:
        write(other)
    except OSError:
        shutil.rmtree(other, ignore_errors=True)
        return OSError(f"{reason}; nor to {other}")
    return OSError(f"{reason}; they are in {other} instead")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process writes results to a folder, and have others wait.

    Two runs with the same output leave the files of one of them, not some of each. The lock is
    the system's, on the folder itself: it leaves no file, and ends with the process.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
