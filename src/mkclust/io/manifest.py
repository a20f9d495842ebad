"""The manifest of an output folder: which files are results of mkclust, with their checksums.

The command line replaces and removes only files that the manifest names. The readers never take
such a file for data or labels.
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
    "labels.csv", "embedding.npz", "graph.npz", "stability.csv", "markers.csv", "annotations.csv",
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
    """

    run: str
    files: Mapping[str, str]
    earlier: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Return the paths of all results, inside the folder."""
        return {*self.files, *self.earlier}

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
            "complete": not self.earlier,
            "files": dict(self.files),
            "earlier": dict(self.earlier),
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


def is_result(path: Path) -> bool:
    """Return whether a file, or a folder of parts, is a result named in the manifest beside it."""
    path = path.absolute()
    found = read_manifest(path.parent)
    if found is not None:
        return path.name in {NAME, *(name.partition("/")[0] for name in found.names())}
    return path.parent.name in PARTS and is_result(path.parent)


def is_output_folder(path: Path) -> bool:
    """Return whether a folder has a manifest of results."""
    return read_manifest(path) is not None


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
