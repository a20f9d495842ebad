"""Limits on what a file may claim, and errors that name the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ...exceptions import FileFormatError, InputError

ITEM_BYTES = 512  # memory to describe one item of a cell, even an empty one


@dataclass(frozen=True)
class Limits:
    """Largest sizes that a file may claim, checked before memory is allocated.

    Parameters
    ----------
    max_bytes : int
        Memory for the contents of one file (8 GiB).
    max_views : int
        Views in one file, and arrays or files examined to find them.
    max_columns : int
        Columns of one view.
    """

    max_bytes: int = 8 * 2**30
    max_views: int = 10_000
    max_columns: int = 10_000_000

    def allow(self, quantity: Literal["bytes", "views", "columns"], count: int, what: str) -> None:
        """Raise an error if `count` is over the limit; `what` names the claimant.

        >>> Limits(max_views=3).allow("views", 4, "the cell X")
        Traceback (most recent call last):
        mkclust.exceptions.FileFormatError: the cell X claims 4 views, over the limit of 3; ...
        """
        most = getattr(self, f"max_{quantity}")
        if count > most:
            raise FileFormatError(
                f"{what} claims {count:,} {quantity}, over the limit of {most:,}; if that is "
                f"right, read it with limits=Limits(max_{quantity}={count}), or on the command "
                f"line with --limit max_{quantity}={count}"
            )


DEFAULT_LIMITS = Limits()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Prefix errors from inside the block with the name of the file."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error.__cause__
    except MemoryError as error:
        raise FileFormatError(
            f"{path}: not enough memory to read it; it may be damaged, or too large here"
        ) from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def parsing(kind: str, advice: str) -> Iterator[None]:
    """Convert any error of a parser to a `FileFormatError` with advice.

    Parsers raise nearly every built-in exception on hostile bytes, so all are caught. Put only
    the call of the parser inside the block.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise FileFormatError(
            f"not a readable {kind} ({type(error).__name__}: {error}); it may be damaged, cut off "
            f"or of another format: {advice}"
        ) from error


def as_path(path: str | os.PathLike[str]) -> Path:
    """Convert to a Path; refuse other types, empty paths and null bytes."""
    try:
        os.fsencode(path)
        text = os.fspath(path)
    except (TypeError, UnicodeEncodeError):
        raise InputError(f"not a path: {path!r}") from None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"not a usable path: {text!r}")
    return Path(text)


def check_regular(path: Path) -> int:
    """Return the size of a file; refuse folders, devices, pipes, empty and unreadable files."""
    info = path.stat()
    if not stat.S_ISREG(info.st_mode):
        raise FileFormatError("not a regular file")
    if info.st_size == 0:
        raise FileFormatError("the file is empty")
    with path.open("rb"):  # reports a missing permission here, not as damage later
        return info.st_size


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """Check the size of an array of texts, in which each is as wide as the longest.

    >>> check_texts(["a", "b" * 500], Limits(max_bytes=1000))
    Traceback (most recent call last):
    mkclust.exceptions.FileFormatError: a column of 2 texts, one of 500 characters, claims 4,000 ...
    """
    longest = max(map(len, texts), default=0)
    what = f"a column of {len(texts)} texts, one of {longest} characters,"
    limits.allow("bytes", 4 * longest * len(texts), what)


def sound_sparse(matrix: Any) -> Any:
    """Return a csc array with checked indices; conversions do not check them."""
    array = sp.csc_array(matrix)
    array.check_format(full_check=True)
    # check_format skips this if the last pointer is 0
    if (np.diff(array.indptr) < 0).any():
        raise FileFormatError("a sparse matrix has column pointers that decrease")
    return native(array)


def native(array: Any) -> Any:
    """Return the array in native byte order, which compiled code requires."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
