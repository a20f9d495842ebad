"""The manifest of an output folder: which files are results of mkclust, with their checksums.

The command line replaces and removes only files that the manifest names. The readers never take
such a file for data or labels, and refuse a set of results that is not complete.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._version import __version__
from ..exceptions import FileFormatError
from .atomic import write_text_atomic

NAME = "mkclust.json"
FORMAT = "mkclust results"
PARTS = ("labels", "embedding", "confidence")  # folders of parts, for data that come in parts
RESULTS = (
    "labels.csv", "embedding.npz", "graph.npz", "stability.csv", "alternatives.csv",
    "markers.csv", "annotations.csv",
    "result.json", "report.html",
)  # fmt: skip
PART_NAME = re.compile(r"(labels|embedding|confidence)/part-\d{1,9}\.(npy|sha256)")
MAX_BYTES = 64 << 20  # of a manifest


@dataclass(frozen=True)
class Manifest:
    """The results of one run in a folder.

    Attributes
    ----------
    run : str
        Identifier of the run.
    files : dict
        SHA-256 of every result, by its path inside the folder.
    earlier : dict
        The same of the run that is being replaced; empty once the replacement is complete.
    complete : bool
        False while files are being moved.
    model : tuple of str or None
        Path of the saved model, relative to the folder if it is inside, and its SHA-256.
    """

    run: str
    files: Mapping[str, str]
    earlier: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    model: tuple[str, str] | None = None

    def names(self) -> set[str]:
        """Return the paths of all results inside the folder, the model among them."""
        return {
            *self.files,
            *self.earlier,
            *([] if self.model_inside is None else [self.model_inside]),
        }

    @property
    def model_inside(self) -> str | None:
        """Name of the saved model where it is in the folder."""
        return None if self.model is None or not _is_inside(self.model[0]) else self.model[0]

    def problems(self, folder: Path) -> list[str]:
        """Return what is missing from the set or changed since it was written, as sentences."""
        if not self.complete:
            return ["the run that wrote them was interrupted"]
        listed = [*self.files.items(), *([] if self.model is None else [self.model])]
        found = []
        for name, digest in listed:
            if not (folder / name).is_file():
                found.append(f"{name} is missing")
            elif checksum(folder / name) != digest:
                found.append(f"{name} is not the file that the run wrote")
        return found

    def wrote(self, folder: Path, name: str) -> bool:
        """Return whether a file is a result as it was written, byte for byte."""
        known = {self.files.get(name), self.earlier.get(name)} - {None}
        return bool(known) and (folder / name).is_file() and checksum(folder / name) in known

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder."""
        content = {
            "format": FORMAT,
            "version": __version__,
            "run": self.run,
            "complete": self.complete,
            "files": dict(self.files),
            "earlier": dict(self.earlier),
            "model": None if self.model is None else list(self.model),
        }
        write_text_atomic(folder / NAME, json.dumps(content, indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder; None where there is none, or where it is another file."""
    path = folder / NAME
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return None
        return Manifest(
            str(content.get("run")),
            _checked(content.get("files")),
            _checked(content.get("earlier")),
            content.get("complete") is True,
            _checked_model(content.get("model")),
        )
    except (OSError, ValueError, RecursionError):
        return None


def _checked(files: object) -> dict[str, str]:
    """Return the entries that name a result: never a path outside the folder."""
    if not isinstance(files, dict):
        return {}
    return {
        name: digest
        for name, digest in files.items()
        if isinstance(digest, str) and (name in RESULTS or PART_NAME.fullmatch(name))
    }


def _checked_model(found: object) -> tuple[str, str] | None:
    """Return path and checksum of a model: outside the folder, or a plain name inside it."""
    if not isinstance(found, list) or len(found) != 2 or not all(isinstance(x, str) for x in found):
        return None
    path, digest = found
    other = path in (*RESULTS, NAME, *PARTS)
    return None if other or not (_is_inside(path) or Path(path).is_absolute()) else (path, digest)


def _is_inside(path: str) -> bool:
    return bool(path) and Path(path).name == path and path not in (".", "..")


def require_complete_set(path: Path) -> Manifest | None:
    """Return the manifest of a folder, or of the folder of a file; None where there is none.

    Raises FileFormatError where the set that it names, and the file belongs to, is not complete:
    its run was interrupted while it wrote them.
    """
    folder = path if path.is_dir() else path.absolute().parent
    found = read_manifest(folder)
    if found is None or found.complete or (path != folder and path.name not in found.names()):
        return found
    raise FileFormatError(
        f"{path}: the results in {folder} are incomplete, because the run that wrote them was "
        "interrupted; run it again"
    )


def is_result(path: Path) -> bool:
    """Return whether a file, or a folder of parts, is a result named in the manifest beside it."""
    path = path.absolute()
    found = read_manifest(path.parent)
    if found is not None:
        return path.name in {NAME, *(name.partition("/")[0] for name in found.names())}
    return path.parent.name in PARTS and is_result(path.parent)


def refuse_result(path: Path) -> None:
    """Raise FileFormatError for a result of mkclust, which is not input."""
    if is_result(path):
        raise FileFormatError(
            f"{path}: it is a result of mkclust, listed in {path.parent / NAME}, and is not read "
            "as data or labels; copy it elsewhere to use it as such"
        )


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
