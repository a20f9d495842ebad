"""The work folder: finished results of a long run with checksums, to resume it later."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..io.atomic import replacing, write_text_atomic
from ..io.manifest import checksum

Arrays = dict[str, np.ndarray]


class Work:
    """Finished results of one run: ``results/NAME.npz``, each with its SHA-256 in a file.

    Every file is written to a temporary name and renamed, the checksum last. A run killed at any
    time leaves a complete result or none. A result whose checksum differs is computed again.
    `run` describes the computation: a folder with another run is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Work(folder, {"k": 3}).save("means", {"n": np.array(7)})
    ...     Work(folder, {"k": 3}).load("means")
    {'n': array(7)}
    """

    def __init__(self, folder: str | Path, run: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._results = self.folder / "results"
        described = json.dumps(run, indent=1, sort_keys=True, default=str)
        manifest = self.folder / "run.json"
        try:
            self._results.mkdir(parents=True, exist_ok=True)
            if not manifest.exists():
                write_text_atomic(manifest, described)
            self._check_same(manifest, described)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def _check_same(self, manifest: Path, described: str) -> None:
        kept = manifest.read_text(encoding="utf-8")
        if kept == described:
            return
        try:
            before, now = json.loads(kept), json.loads(described)
            changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
        except (ValueError, AttributeError):
            changed = ["everything"]
        raise InputError(
            f"the work folder {self.folder} holds another run (different: {', '.join(changed)}); "
            "give the same data and settings to continue it, or an empty folder"
        )

    def load(self, name: str) -> Arrays | None:
        """Return a finished result, or None where there is none with a valid checksum."""
        path, seal = self._paths(name)
        try:
            data = path.read_bytes()
            if seal.read_text(encoding="ascii") != hashlib.sha256(data).hexdigest():
                return None
        except OSError:
            return None
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}

    def save(self, name: str, arrays: Arrays) -> None:
        """Save a finished result; the checksum is written last."""
        path, seal = self._paths(name)
        try:
            with replacing(path) as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            write_text_atomic(seal, hashlib.sha256(path.read_bytes()).hexdigest())
        except OSError as error:
            raise _unwritable(path, error) from None

    def _paths(self, name: str) -> tuple[Path, Path]:
        return self._results / f"{name}.npz", self._results / f"{name}.sha256"


def save_part(path: Path, rows: np.ndarray) -> None:
    """Write one .npy part and its checksum atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.save(file, rows, allow_pickle=False)
        write_text_atomic(_seal(path), checksum(path))
    except OSError as error:
        raise _unwritable(path, error) from None


def part_is_sound(path: Path) -> bool:
    """Return whether a part exists and its checksum is valid."""
    try:
        return _seal(path).read_text(encoding="ascii") == checksum(path)
    except OSError:
        return False


def _seal(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _unwritable(path: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    return OSError(
        error.errno,
        f"{reason}: results cannot be written there. Once this is resolved, the same call "
        "continues from the finished results",
        str(path),
    )
