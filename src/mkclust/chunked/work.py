"""The work folder: finished results of a long run with checksums, to resume it later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError, MkclustWarning, warn
from ..io.atomic import replacing, write_text_atomic
from ..io.manifest import checksum

Arrays = dict[str, np.ndarray]


class Work:
    """Finished results of one run: ``results/NAME.npz``, each with a seal in a file.

    A seal is a SHA-256 of the result, its name, the run and, once `bind` was called, the data.
    Every file is written to a temporary name and renamed, the seal last. A run killed at any
    time leaves a complete result or none. A result whose seal differs is damaged or of another
    run; it is computed again, with a warning. `run` describes the computation: a folder with
    another run is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Work(folder, {"k": 3}).save("means", {"n": np.array(7)})
    ...     Work(folder, {"k": 3}).load("means")
    {'n': array(7)}
    """

    def __init__(self, folder: str | Path, run: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._results = self.folder / "results"
        run = json.loads(json.dumps(run, default=str))
        self.key = _digest(json.dumps(run, sort_keys=True))
        manifest = self.folder / "run.json"
        try:
            self._results.mkdir(parents=True, exist_ok=True)
            if not manifest.exists():
                content = {"sha256": self.key, "run": run}
                write_text_atomic(manifest, json.dumps(content, indent=1, sort_keys=True))
            self._check_same(manifest, run)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def _check_same(self, manifest: Path, run: dict[str, Any]) -> None:
        try:
            content = json.loads(manifest.read_bytes())
            before, key = dict(content["run"]), content["sha256"]
        except (ValueError, TypeError, KeyError, RecursionError):
            before, key = {}, None
        if key != _digest(json.dumps(before, sort_keys=True)):
            raise InputError(
                f"{manifest} is damaged, or not a file of mkclust: what the results in "
                f"{self.folder} belong to is not known; give an empty work folder"
            )
        changed = sorted(name for name in {*before, *run} if before.get(name) != run.get(name))
        if changed:
            raise InputError(
                f"the work folder {self.folder} holds another run (different: "
                f"{', '.join(changed)}); give the same data and settings to continue it, or an "
                "empty folder"
            )

    def bind(self, data: bytes) -> None:
        """Bind all results saved and loaded from now on to the data, given by their checksums."""
        self.key = _digest(f"{self.key} {hashlib.sha256(data).hexdigest()}")

    def check_data(
        self, name: str, checksums: np.ndarray, where: Callable[[int, int], str]
    ) -> None:
        """Save the checksums (pieces, m, 32) of the data, or compare them with those saved.

        Raises InputError for other data; ``where(piece, view)`` describes the place.
        """
        kept = self.load(name)
        if kept is None:
            self.save(name, {"checksums": checksums})
            return
        before, place = kept["checksums"], "the size of their rows"
        if before.shape == checksums.shape:
            differ = np.argwhere((before != checksums).any(axis=2))
            if not len(differ):
                return
            place = where(*map(int, differ[0]))
        raise InputError(
            f"the work folder {self.folder} holds a run of other data: they differ in {place}; "
            "give the same data to continue it, or an empty folder"
        )

    def load(self, name: str) -> Arrays | None:
        """Return a finished result, or None where there is none with a valid seal."""
        path = self._results / f"{name}.npz"
        try:
            data = path.read_bytes()
            if not _is_sealed(path, hashlib.sha256(data).hexdigest(), self.key):
                return None
        except OSError:
            return None
        with np.load(BytesIO(data), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}

    def save(self, name: str, arrays: Arrays) -> None:
        """Save a finished result; the seal is written last."""
        path = self._results / f"{name}.npz"
        try:
            with replacing(path) as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            write_text_atomic(_seal(path), _sealed(path, checksum(path), self.key))
        except OSError as error:
            raise _unwritable(path, error) from None


def save_part(path: Path, rows: np.ndarray, key: str = "") -> None:
    """Write one .npy part and its seal atomically; without a `key` the seal is its SHA-256."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.save(file, rows, allow_pickle=False)
        write_text_atomic(_seal(path), _sealed(path, checksum(path), key))
    except OSError as error:
        raise _unwritable(path, error) from None


def part_is_sound(path: Path, key: str = "") -> bool:
    """Return whether a part exists and its seal is valid."""
    try:
        return _is_sealed(path, checksum(path), key)
    except OSError:
        return False


def _seal(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _sealed(path: Path, content: str, key: str) -> str:
    """Return the seal of a file with a SHA-256: it is valid under this name and key only."""
    return _digest(f"{key} {path.name} {content}") if key else content


def _is_sealed(path: Path, content: str, key: str) -> bool:
    if _seal(path).read_bytes() == _sealed(path, content, key).encode():
        return True
    warn(
        f"{path} is damaged, or belongs to another run or other data; it was computed again",
        MkclustWarning,
    )
    return False


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _unwritable(path: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    return OSError(
        error.errno,
        f"{reason}: results cannot be written there. Once this is resolved, the same call "
        "continues from the finished results",
        str(path),
    )
