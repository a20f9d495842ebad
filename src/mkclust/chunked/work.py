"""The work folder: what a long run has finished, with checksums, so that it can go on later."""

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
    """Finished pieces of one run: ``results/NAME.npz`` each, and its SHA-256 beside it as a seal.

    Everything is written to a temporary name and renamed, the seal last; a run killed at any
    moment leaves either a finished piece or none. A piece whose seal does not fit is made anew.
    `run` says what is being computed: a folder that holds another run is refused.

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
        """A finished piece, or None where there is none to be trusted."""
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
        """Keep a finished piece; the seal is written after what it seals."""
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
    """One .npy part and its seal, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.save(file, rows, allow_pickle=False)
        write_text_atomic(_seal(path), checksum(path))
    except OSError as error:
        raise _unwritable(path, error) from None


def part_is_sound(path: Path) -> bool:
    """Whether a part is there and is what was written."""
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
        f"{reason}: results cannot be written there. Once that is mended, the same call goes on "
        "from what was finished",
        str(path),
    )
