"""What a file may claim, and errors that name the file whatever went wrong inside it."""

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

ITEM_BYTES = 512  # what keeping track of one item of a cell costs, however empty the item is


@dataclass(frozen=True)
class Limits:
    """The most a file may claim; checked before memory is allocated for it.

    Parameters
    ----------
    max_bytes : int
        Memory for what is read from one file (8 GiB).
    max_views : int
        Views in one file, and arrays or files looked at to find them.
    max_columns : int
        Columns of one view.
    """

    max_bytes: int = 8 * 2**30
    max_views: int = 10_000
    max_columns: int = 10_000_000

    def allow(self, quantity: Literal["bytes", "views", "columns"], count: int, what: str) -> None:
        """Refuse a claim over the limit.

        >>> Limits(max_views=3).allow("views", 4, "the cell X")
        Traceback (most recent call last):
        mkclust.errors.FileFormatError: the cell X claims 4 views, over the limit of 3; if that ...
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
    """Put the file's name before any error from inside."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error.__cause__
    except MemoryError as error:
        raise FileFormatError(
            f"{path}: not enough memory to read it; it may be damaged, or too large for here"
        ) from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def parsing(kind: str, advice: str) -> Iterator[None]:
    """Turn whatever a parser raises on damaged bytes into one error that says what to do.

    Parsers of hostile bytes raise nearly every built-in exception, so all are taken; keep only
    the parser's own call inside.
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
    try:
        os.fsencode(path)
        text = os.fspath(path)
    except (TypeError, UnicodeEncodeError):
        raise InputError(f"not a path: {path!r}") from None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"not a usable path: {text!r}")
    return Path(text)


def check_regular(path: Path) -> int:
    """The file's size; refuses folders, devices, pipes and empty files, and missing permission."""
    info = path.stat()
    if not stat.S_ISREG(info.st_mode):
        raise FileFormatError("not a regular file")
    if info.st_size == 0:
        raise FileFormatError("the file is empty")
    with path.open("rb"):  # so that a lack of permission is not taken for damage later
        return info.st_size


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """That texts may become an array, where each takes as much room as the longest.

    >>> check_texts(["a", "b" * 500], Limits(max_bytes=1000))
    Traceback (most recent call last):
    mkclust.errors.FileFormatError: a column of 2 texts, one of 500 characters, claims 4,000 ...
    """
    longest = max(map(len, texts), default=0)
    what = f"a column of {len(texts)} texts, one of {longest} characters,"
    limits.allow("bytes", 4 * longest * len(texts), what)


def sound_sparse(matrix: Any) -> Any:
    """A sparse matrix as a csc array whose indices were checked; conversions trust them blindly."""
    array = sp.csc_array(matrix)
    array.check_format(full_check=True)
    # check_format leaves this out when the last pointer is 0
    if (np.diff(array.indptr) < 0).any():
        raise FileFormatError("a sparse matrix has column pointers that decrease")
    return native(array)


def native(array: Any) -> Any:
    """The same numbers in this machine's byte order, which compiled code insists on."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
