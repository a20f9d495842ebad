"""Kernels and spectra computed once per data set, in files that whoever needs them maps."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..data.views import MultiView
from ..io.atomic import replacing
from ..kernels.bank import KernelBank, KernelRecipe
from ..linalg.centering import centring
from ..linalg.spectrum import Pairs
from .registry import Dataset, class_numbers

FACTS = "kernels.json"  # written last: a folder without it is unfinished


class MappedKernels(KernelBank):
    """Kernels in files, centred and normalised, mapped into memory and read-only."""

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._paths = paths
        self._mapped = [np.asarray(np.load(path, mmap_mode="r")) for path in paths]
        views = MultiView(dict(zip(names, self._mapped, strict=True)), kernels=True)
        super().__init__(views, KernelRecipe("precomputed", {}, False, False, "ignore"))
        self.at_once = 1
        nothing = centring(np.eye(2), center=False, normalize=False)
        self.centrings = dict.fromkeys(range(len(paths)), nothing)

    def __getitem__(self, position: Any) -> Any:
        return self._mapped[position]

    def path_of(self, matrix: np.ndarray) -> Path | None:
        """The file of a matrix that is one of these kernels."""
        found = (path for path, K in zip(self._paths, self._mapped, strict=True) if K is matrix)
        return next(found, None)

    def only(self, position: int) -> MappedKernels:
        """One of the kernels, as a bank of its own."""
        return MappedKernels([self._paths[position]], [self.names[position]])


class SharedSpectra:
    """Leading eigenpairs of the shared kernels: computed once, kept in files beside them.

    `used` is what those a fit asked for took to compute, whenever that was, and `spent` what of it
    was computed during the fit: seconds of processor time.
    """

    def __init__(self, kernels: MappedKernels) -> None:
        self._kernels = kernels
        self.used = self.spent = 0.0

    def __call__(self, matrix: np.ndarray, k: int, compute: Callable[[], Pairs]) -> Pairs:
        path = self._kernels.path_of(matrix)
        if path is None:  # a sum of kernels, or something further on: the method's own work
            return compute()
        stored = path.with_name(f"{path.stem}-top-{k}.npz")
        if stored.exists():
            with np.load(stored, allow_pickle=False) as found:
                self.used += float(found["cpu"])
                return found["values"], found["vectors"]
        began = time.process_time()
        values, vectors = compute()
        cpu = time.process_time() - began
        with replacing(stored) as file:
            np.savez(file, values=values, vectors=vectors, cpu=cpu)
        self.used += cpu
        self.spent += time.process_time() - began
        return values, vectors


@dataclass(frozen=True)
class Shared:
    """The folder of one data set: `kernel-p.npy` (n x n), `classes.npy` (n,), and what it cost."""

    folder: Path

    @staticmethod
    def of(cache: Path, dataset: str, content: str) -> Shared:
        slug = re.sub(r"[^A-Za-z0-9.-]+", "-", dataset)
        return Shared(cache / f"{slug}-{content.rpartition(':')[2][:12]}-{__version__}")

    @property
    def ready(self) -> bool:
        return (self.folder / FACTS).exists()

    def build(self, entry: Dataset, data: Path | None) -> None:
        """Compute and write all kernels; what another process wrote meanwhile is the same."""
        self.folder.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        views = entry.load(data)
        bank = KernelBank(*entry.kernels(views))
        spent = time.process_time() - began
        for p in range(len(bank)):
            began = time.process_time()
            K = bank[p]
            spent += time.process_time() - began
            with replacing(self.folder / f"kernel-{p}.npy") as file:
                np.save(file, K, allow_pickle=False)
        with replacing(self.folder / "classes.npy") as file:
            np.save(file, class_numbers(views), allow_pickle=False)
        facts = {"names": list(bank.names), "cpu": spent}
        with replacing(self.folder / FACTS) as file:
            file.write(json.dumps(facts).encode())

    def classes(self) -> np.ndarray:
        return np.asarray(np.load(self.folder / "classes.npy"))

    def kernels(self) -> MappedKernels:
        names = tuple(self._facts()["names"])
        return MappedKernels([self.folder / f"kernel-{p}.npy" for p in range(len(names))], names)

    def cpu(self) -> float:
        """Seconds of processor time that reading the data and building the kernels took."""
        return float(self._facts()["cpu"])

    def remove(self) -> None:
        """Delete the folder's files; processes that mapped them keep what they have.

        Another runner may be doing the same just now: what is gone already is as wanted.
        """
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return
        for name in sorted(names, key=lambda name: name != FACTS):
            (self.folder / name).unlink(missing_ok=True)
        remove_empty(self.folder)

    def _facts(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / FACTS).read_text()))


def remove_empty(folder: Path) -> None:
    """Delete a folder unless something is in it; another runner may be doing the same just now.

    Looking first would leave a moment between the look and the deed, so the deed itself is the
    question: a folder that is gone already, or that has been filled again, is left as it is.
    """
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise
