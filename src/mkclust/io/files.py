"""Files: their kinds by name, checks before they are opened, and errors that name them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import FileFormatError, InputError

OMICS = (".h5mu", ".h5ad")  # matrices with names of samples
PLAIN_TEXTS = (".csv", ".tsv", ".txt")
TEXTS = (*PLAIN_TEXTS, *(f"{ending}.gz" for ending in PLAIN_TEXTS))
TABLES = (*TEXTS, ".parquet", ".xlsx")
KNOWN = (".mat", ".npz", *OMICS, *TABLES)
RESULT, FORMAT = "result.json", "mkclust result"  # beside results of mkclust
EXPORTS = {  # how R writes its own files as tables
    ".rds": 'write.csv(readRDS("{0.name}"), "{0.stem}.csv")',
    ".rda": 'for (name in load("{0.name}")) write.csv(get(name), paste0(name, ".csv"))',
    ".rdata": 'for (name in load("{0.name}")) write.csv(get(name), paste0(name, ".csv"))',
}


def kind_of(path: Path) -> str:
    """Return the ending that says how a file is read.

    >>> kind_of(Path("a.CSV.gz")), kind_of(Path("b.tar"))
    ('.csv.gz', '.tar')
    """
    ending = "".join(path.suffixes[-2:]).lower()
    return ending if ending in KNOWN else path.suffix.lower()


def view_name(path: Path) -> str:
    """Return the name of the view in a file: its name without the ending.

    >>> view_name(Path("rna.csv.gz")), view_name(Path("rna.v2.csv"))
    ('rna', 'rna.v2')
    """
    kind = kind_of(path)
    return path.name[: -len(kind)] if kind in KNOWN and path.name != kind else path.stem


def as_path(path: str | os.PathLike[str]) -> Path:
    """Convert to a Path; refuse other types, empty paths and null bytes."""
    try:
        encoded = os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        encoded = b""
    if not encoded or b"\0" in encoded or isinstance(path, bytes):
        raise InputError(f"not a usable path: {path!r}")
    return Path(path)


def check_regular(path: Path) -> None:
    """Refuse folders, devices, pipes, empty and unreadable files."""
    size = path.stat().st_size
    if not path.is_file():
        raise FileFormatError("not a regular file")
    if size == 0:
        raise FileFormatError("the file is empty")
    with path.open("rb"):  # reports a missing permission here, not as damage later
        pass


def is_result(path: Path) -> bool:
    """Return whether a file lies in a folder of results of mkclust."""
    listing = path.absolute().parent / RESULT
    return listing.is_file() and FORMAT.encode() in listing.read_bytes()


def check_readable(path: Path) -> None:
    """Refuse what is no file of a known kind, and results of mkclust, which are not input."""
    check_regular(path)
    kind = kind_of(path)
    if is_result(path):
        raise FileFormatError(f"a result of mkclust, by its {RESULT}: copy it to use it as data")
    if kind in EXPORTS:
        raise FileFormatError(f"a file of R: export it in R with {EXPORTS[kind].format(path)}")
    if kind not in KNOWN:
        raise FileFormatError(f"unknown extension {kind!r}; known are {', '.join(KNOWN)}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Prefix errors from inside the block with the name of the file."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}", parameter=error.parameter) from error.__cause__
    except MemoryError as error:
        raise FileFormatError(f"{path}: damaged, or too large for the memory here") from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def collect(problems: list[str]) -> Iterator[None]:
    """Add an error from inside the block to a list, with its parameter."""
    try:
        yield
    except InputError as error:
        known = error.parameter is None or f"{error.parameter}=" in str(error)
        problems.append(str(error) if known else f"{error} (see {error.parameter}=...)")


@contextmanager
def parsing(kind: str, advice: str) -> Iterator[None]:
    """Convert any error of a library that parses a file to a `FileFormatError` with advice.

    Libraries raise nearly every built-in exception on damaged bytes, so all are caught. Put only
    their calls inside the block.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except ImportError as error:
        raise InputError(f"{error} It comes with pip install 'mkclust[excel,parquet]'.") from None
    except Exception as error:
        said = f"{type(error).__name__}: {str(error).strip()}"
        why = f"not a readable {kind} ({said}); it may be damaged, cut off or of another format"
        raise FileFormatError(f"{why}: {advice}") from error


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


def hdf5_member(inside: Any, name: str) -> Any:
    """Return a member of an HDF5 group; what is stored in other files is not followed."""
    import h5py

    if not isinstance(inside.get(name, getlink=True), h5py.HardLink):
        raise FileFormatError(f"{name} is a link, or missing: links are not followed")
    found = inside[name]
    if isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
        raise FileFormatError(f"{name} is stored in other files, which are not followed")
    return found


def hdf5_attribute(thing: Any, name: str) -> Any:
    """Return an attribute of an HDF5 object, or None if there is none; bytes are decoded."""
    value = thing.attrs.get(name)
    return value.decode("latin1") if isinstance(value, bytes) else value


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces the target if the block ends without error."""
    target = Path(path)
    temporary = target.with_name(f".{target.name[:30]}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
