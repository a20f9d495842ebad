"""Kernels and spectra that are computed once per data set and memory-mapped by all units."""

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
from ..linalg.centering import centering_of
from ..linalg.spectrum import Pairs
from .registry import Dataset, class_numbers, row_order
from .suite import Unit

FACTS = "kernels.json"  # written last: a folder without it is incomplete


class MappedKernels(KernelBank):
    """Centered and normalized kernels in files, memory-mapped and read-only."""

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._paths = paths
        self._mapped = [np.asarray(np.load(path, mmap_mode="r")) for path in paths]
        views = MultiView(dict(zip(names, self._mapped, strict=True)), kernels=True)
        super().__init__(views, KernelRecipe("precomputed", {}, False, False, "ignore"))
        self.at_once = 1
        nothing = centering_of(np.eye(2), center=False, normalize=False)
        self.centerings = dict.fromkeys(range(len(paths)), nothing)

    def __getitem__(self, position: Any) -> Any:
        return self._mapped[position]

    def path_of(self, matrix: np.ndarray) -> Path | None:
        """Return the file of a matrix, or None if it is none of these kernels."""
        found = (path for path, K in zip(self._paths, self._mapped, strict=True) if K is matrix)
        return next(found, None)

    def select(self, names: Sequence[str]) -> MappedKernels:
        """Return a bank of some of the kernels."""
        return MappedKernels([self._paths[self.names.index(name)] for name in names], names)


class SharedSpectra:
    """Leading eigenpairs of the shared kernels, computed once and kept in files beside them.

    `used` is the CPU time of all eigenpairs that a fit requested, whenever they were computed;
    `spent` is the part that was computed during the fit. Both are in seconds.
    """

    def __init__(self, kernels: MappedKernels) -> None:
        self._kernels = kernels
        self.used = self.spent = 0.0

    def __call__(self, matrix: np.ndarray, k: int, compute: Callable[[], Pairs]) -> Pairs:
        path = self._kernels.path_of(matrix)
        if path is None:  # another matrix, such as a sum of kernels: part of the method itself
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
    """The folder of one data set in one order of rows, and the CPU time that it took.

    It holds `kernel-p.npy` (n, n) with rows in that order, and `classes.npy` (n,) in the order of
    the data set.
    """

    folder: Path

    @staticmethod
    def of(cache: Path, unit: Unit) -> Shared:
        """Return the folder of the kernels that a unit uses."""
        slug = re.sub(r"[^A-Za-z0-9.-]+", "-", unit.dataset)
        content = unit.content.rpartition(":")[2][:12]
        return Shared(cache / f"{slug}-{content}-{unit.order}-{unit.seed}-{__version__}")

    @property
    def ready(self) -> bool:
        """Whether all files are written."""
        return (self.folder / FACTS).exists()

    def build(self, entry: Dataset, data: Path | None, unit: Unit) -> None:
        """Compute and write all kernels; another process may write the same files meanwhile."""
        self.folder.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        views = entry.load(data)
        classes = class_numbers(views)
        bank = KernelBank(*entry.kernels(views[row_order(classes, unit.order, unit.seed)]))
        spent = time.process_time() - began
        for p in range(len(bank)):
            began = time.process_time()
            K = bank[p]
            spent += time.process_time() - began
            with replacing(self.folder / f"kernel-{p}.npy") as file:
                np.save(file, K, allow_pickle=False)
        with replacing(self.folder / "classes.npy") as file:
            np.save(file, classes, allow_pickle=False)
        facts = {"names": list(bank.names), "cpu": spent}
        with replacing(self.folder / FACTS) as file:
            file.write(json.dumps(facts).encode())

    def classes(self) -> np.ndarray:
        """Return the classes (n,) in the order of the data set."""
        return np.asarray(np.load(self.folder / "classes.npy"))

    def kernels(self) -> MappedKernels:
        """Return the memory-mapped kernels."""
        names = tuple(self._facts()["names"])
        return MappedKernels([self.folder / f"kernel-{p}.npy" for p in range(len(names))], names)

    def cpu(self) -> float:
        """Return the CPU seconds that reading the data and building the kernels took."""
        return float(self._facts()["cpu"])

    def remove(self) -> None:
        """Delete the folder; processes that have mapped its files keep their data.

        Another runner may delete it at the same time.
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
    """Delete a folder if it is empty; another runner may delete or fill it at the same time.

    It is deleted without a check before, because a check would leave a race.
    """
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise
