"""The output folder: guarded before the work, written as one set of files after it.

Only files that mkclust wrote itself, as the manifest lists them, are replaced or removed. A run's
files are first written to a temporary folder on the same disk and then renamed into place.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..exceptions import InputError
from ..io.atomic import SHOWN, passing
from ..io.manifest import NAME as MANIFEST
from ..io.manifest import PARTS, RESULTS, Manifest, checksum, read_manifest
from ..io.models import FORMAT

Write = Callable[[Path], object]
AFTER_A_FIT = ("report", "stability", "alternatives", "markers", "annotations")  # may be left out


@dataclass(frozen=True)
class Written:
    """The names of the results of this run, and of an earlier run's that were removed."""

    names: tuple[str, ...]
    removed: tuple[str, ...] = ()

    def describe(self, folder: Path) -> str:
        """Return one line that names the files."""
        text = f"Written to {folder}: {', '.join(self.names)}"
        if self.removed:
            text += f"; removed, of an earlier run: {', '.join(self.removed)}"
        return text


@dataclass(frozen=True)
class StagedModel:
    """A saved model under a temporary name beside its target; it is renamed with the results."""

    temporary: Path
    target: Path

    @classmethod
    def written(cls, save: Callable[[Path], object], target: Path) -> StagedModel:
        """Write the model that ``save(path)`` writes under a temporary name."""
        target = Path(os.path.abspath(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{secrets.token_hex(8)}.{target.name[:SHOWN]}")
        passing(temporary)
        save(temporary)
        return cls(temporary, target)

    def entry(self, folder: Path) -> tuple[str, str]:
        """Return the model's path for the manifest of a folder, and its checksum."""
        inside = self.target.parent.resolve() == folder.resolve()
        return self.target.name if inside else str(self.target), checksum(self.temporary)

    def place(self) -> None:
        """Rename the model to its target."""
        os.replace(self.temporary, self.target)


@dataclass(frozen=True)
class OutputFolder:
    """A folder for results.

    Parameters
    ----------
    path : Path
        The folder; it need not exist.
    overwrite : bool
        Whether files that mkclust did not write may be replaced.
    inputs : collection of Path
        Files that the run reads, resolved. They are never replaced.
    """

    path: Path
    overwrite: bool = False
    inputs: Collection[Path] = field(default=(), repr=False)

    def check(self, **wanted: bool) -> None:
        """Refuse, before the work, a folder that cannot be written to or holds other files.

        `wanted` says which of `AFTER_A_FIT` will be written; by default all.
        """
        check_writable(self.path)
        names = [name for name in RESULTS if wanted.get(name.partition(".")[0], True)]
        self._refuse_others(names)

    def write(self, write: Write, model: StagedModel | None = None) -> Written:
        """Place the files that ``write(folder)`` writes and a model, as one set with a manifest.

        Where the folder cannot be written to, the results go to a new temporary folder, and the
        OSError names it. A folder that was deleted during the run is created again.
        """
        try:
            try:
                return self._placed(write, model)
            except FileNotFoundError:
                return self._placed(write, model)
        except (OSError, InputError) as error:
            raise _rescued(self.path, write, model, error) from None
        finally:
            if model is not None:
                model.temporary.unlink(missing_ok=True)

    def _placed(self, write: Write, model: StagedModel | None) -> Written:
        path = Path(os.path.abspath(self.path))
        top = _first_missing(path)
        base, name = (path, "mkclust") if top is None else (top.parent, top.name)
        staging = base / f".{name[:SHOWN]}.{secrets.token_hex(8)}.tmp"
        staged = staging if top is None else staging / path.relative_to(top)
        passing(staging)  # removed, too, if this process is killed
        try:
            staged.mkdir(parents=True)
            write(staged)
            files = {file: checksum(staged / file) for file in _files_in(staged)}
            saved = None if model is None else model.entry(path)
            whole = Manifest(secrets.token_hex(8), files, model=saved)
            replace(whole, complete=model is None).write(staged)
            if top is not None and _renamed(staging, top):
                if model is not None:
                    model.place()
                    whole.write(path)
                return Written(_shown(files))
            with alone_in(self.path):
                return self._moved(staged, whole, model)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _moved(self, staged: Path, found: Manifest, model: StagedModel | None) -> Written:
        """Move the files of a run into an existing folder, in place of an earlier run's.

        The manifest lists both runs until the new one is complete, so that files left by an
        interruption are still known as mkclust's.
        """
        self._refuse_others(list(found.files))
        old = read_manifest(self.path)
        earlier = {} if old is None else {**old.earlier, **old.files}
        replace(found, earlier=earlier, complete=False).write(self.path)
        for name in found.files:
            (self.path / name).parent.mkdir(exist_ok=True)
            os.replace(staged / name, self.path / name)
        stale = [name for name in earlier if name not in found.files]
        stale = [name for name in stale if (self.path / name).is_file()]
        if old is not None and old.model and old.model_inside not in (None, found.model_inside):
            name, digest = old.model
            saved = self.path / name
            stale += [name] if saved.is_file() and checksum(saved) == digest else []
        for name in stale:
            (self.path / name).unlink()
        for folder in (self.path / name for name in PARTS):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        if model is not None:
            model.place()
        found.write(self.path)
        return Written(_shown(found.files), _shown(stale))

    def _refuse_others(self, names: Collection[str]) -> None:
        """Raise InputError for files that mkclust did not write and would replace or remove."""
        if not self.path.is_dir():
            return
        found = read_manifest(self.path)
        known = set() if found is None else {*found.files, *found.earlier}
        parts = [f"{p}/{e.name}" for p in PARTS for e in (self.path / p).glob("*")]
        there = [n for n in {*names, *known, *parts} if os.path.lexists(self.path / n)]
        others = [n for n in there if found is None or not found.wrote(self.path, n)]
        if found is None and os.path.lexists(self.path / MANIFEST):
            others.append(MANIFEST)
        read = [name for name in others if (self.path / name).resolve() in self.inputs]
        if read:
            raise InputError(
                f"{self.path} holds input of this run that the results would replace: "
                f"{_listed(read)}; choose another folder with -o"
            )
        folders = [name for name in others if (self.path / name).is_dir()]
        if others and (folders or not self.overwrite):
            raise InputError(
                f"{self.path} holds files that mkclust did not write, or that changed since: "
                f"{_listed(others)}; choose another folder with -o"
                + ("" if folders else ", or replace them with --overwrite")
            )


def check_writable(folder: Path) -> None:
    """Refuse, before the work, a folder that cannot be written to; nothing is created."""
    place = Path(os.path.abspath(folder))
    try:
        while not os.path.lexists(place):
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"results cannot be written to {folder}: {reason}") from None


def check_model_path(path: Path, folder: OutputFolder, inputs: Collection[Path]) -> None:
    """Refuse, before the work, a target of --save that is a folder or another file."""
    if path.is_dir():
        raise InputError(f"--save {path} is a folder; name a file, such as {path / 'model.npz'}")
    if path.exists() and not path.is_file():
        raise InputError(f"--save {path} is no regular file; name another")
    target = path.resolve()
    if target in inputs:
        raise InputError(f"--save {path} is input of this run; name another file")
    if target.parent == folder.path.resolve() and path.name in (*RESULTS, MANIFEST, *PARTS):
        raise InputError(f"--save {path} has the name of another result; name another file")
    if path.exists() and not folder.overwrite and not _is_model(path):
        raise InputError(
            f"--save {path} exists and is no model of mkclust; name another file, or replace it "
            "with --overwrite"
        )
    check_writable(path.parent)


def _is_model(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive, archive.open("document.npy") as document:
            return FORMAT.encode() in document.read(1000)
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def _first_missing(folder: Path) -> Path | None:
    """Return the topmost folder that must be created; None where the folder exists."""
    missing = None
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            break
        missing = place
    return missing


def _renamed(staging: Path, target: Path) -> bool:
    """Rename a folder to one that does not exist; False where another process has created it."""
    try:
        os.rename(staging, target)
    except OSError:
        if target.is_dir():
            return False
        raise
    return True


def _rescued(folder: Path, write: Write, model: StagedModel | None, error: Exception) -> OSError:
    reason = f"results cannot be written to {folder}: {getattr(error, 'strerror', None) or error}"
    try:
        other = Path(tempfile.mkdtemp(prefix="mkclust-out-"))
    except OSError:
        return OSError(f"{reason}; nor to a temporary folder")
    try:
        write(other)
        if model is not None and model.temporary.exists():
            shutil.move(model.temporary, other / model.target.name)
    except OSError:
        kept = _shown([name for name in _files_in(other) if name in RESULTS])
        if "labels.csv" in kept:  # every file is written completely or not at all
            return OSError(f"{reason}; {other} holds only {', '.join(kept)}")
        shutil.rmtree(other, ignore_errors=True)
        return OSError(f"{reason}; nor to {other}")
    return OSError(f"{reason}; they are in {other} instead")


def _files_in(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(file.relative_to(folder).as_posix() for file in files)


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)
    return ", ".join([*shown[:5], *([f"{len(shown) - 5} more"] if len(shown) > 5 else [])])


def _shown(names: Collection[str]) -> tuple[str, ...]:
    """Return files in the order of `RESULTS`, and folders of parts by their names alone."""
    tops = dict.fromkeys(name.partition("/")[0] for name in names)
    order = (*PARTS, *RESULTS)
    return tuple(sorted(tops, key=lambda name: order.index(name) if name in order else 99))


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process writes results to a folder, and make others wait.

    Two runs with the same output leave the files of one of them. The lock belongs to the system
    and is on the folder itself: it leaves no file and ends with the process.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
