"""Write files completely or not at all: to a temporary file beside the target, then renamed."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..exceptions import InputError

SHOWN = 30  # characters of a name in that of its temporary file, which has room for 255 bytes

_temporaries: Temporaries | None = None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces the target if the block ends without error."""
    target = Path(path)
    temporary = target.with_name(f".{target.name[:SHOWN]}.{secrets.token_hex(8)}.tmp")
    _note("+", temporary)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:  # an interrupt must not leave a partial file behind either
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _note("-", temporary)


class Temporaries:
    """A list of the temporary files of a child process, kept where its parent can read it.

    A parent that had to kill the child removes these files.
    """

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create("mkclust-temporaries")
        else:
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())

    def note(self, sign: str, path: Path) -> None:
        """Record that a temporary file was created ("+") or is gone ("-")."""
        os.write(self._file, f"{sign}{path.absolute()}\0".encode(errors="surrogateescape"))

    def remove(self) -> None:
        """Remove all files and folders that were created and are not gone."""
        os.lseek(self._file, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._file), "rb") as file:
            notes = file.read().decode(errors="surrogateescape").split("\0")[:-1]
        ended = {note[1:] for note in notes if note[0] == "-"}
        for path in [Path(note[1:]) for note in notes if note[0] == "+" and note[1:] not in ended]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def note_temporaries_in(temporaries: Temporaries | None) -> None:
    """Record temporary files in this list from now on; None records nothing."""
    global _temporaries
    _temporaries = temporaries


def passing(path: str | os.PathLike[str]) -> None:
    """Record a folder to be removed if this process is killed."""
    _note("+", Path(path))


def _note(sign: str, path: Path) -> None:
    if _temporaries is not None:
        _temporaries.note(sign, path)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8."""
    data = text.encode("utf-8")
    with replacing(path) as file:
        file.write(data)


def write_npz_atomic(path: str | os.PathLike[str], **arrays: Any) -> None:
    """Write arrays to a compressed .npz; object arrays are refused, because they need pickle."""
    import numpy as np  # here, because the command line imports this module before it needs arrays

    converted: Any = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in converted.items():
        if array.dtype.hasobject:
            raise InputError(f"{name} holds Python objects, which cannot be written without pickle")
    with replacing(path) as file:
        np.savez_compressed(file, **converted)


def write_csv_atomic(
    path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a table with one header line; every row must be as wide as the header."""
    with replacing(path) as file:
        text = _Encoded(file)
        writer = csv.writer(text)  # its line end, \r\n, has it quote a name with either sign
        writer.writerow(header)
        for number, row in enumerate(rows, start=1):
            if len(row) != len(header):
                raise InputError(f"row {number} has {len(row)} cells, the header {len(header)}")
            writer.writerow(row)


class _Encoded:
    """A file object for csv: rows as UTF-8, ended by one sign, and nothing buffered."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write((text.removesuffix("\r\n") + "\n").encode("utf-8"))
