"""Folders of results: what their result.json holds, and whether their files are unchanged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError
from ..io.files import FORMAT, RESULT

MAX_BYTES = 256 << 20  # of result.json


def read_result(folder: Path) -> dict[str, Any]:
    """Return what the result.json of a folder holds; FileFormatError where it is none of ours."""
    path = folder / RESULT
    if not path.is_file():
        raise FileFormatError(f"{folder}: no {RESULT} here; give a folder that mkclust wrote")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError("the file is too large")
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileFormatError(f"{path}: not a result of mkclust")
    if not isinstance(found.get("files"), dict) or not isinstance(found.get("command"), str):
        raise FileFormatError(f"{path}: it does not list the files of the result")
    return found


def changed_files(folder: Path, result: dict[str, Any]) -> list[str]:
    """Return the files of a result that are missing or have other bytes than written."""
    return [
        name
        for name, digest in result["files"].items()
        if not (folder / name).is_file() or file_checksum(folder / name) != digest
    ]


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
