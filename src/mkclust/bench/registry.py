"""Data sets by name: what they are, where they come from, which file to put where."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..data.datasets import load_mfeat, make_views
from ..data.views import MultiView
from ..exceptions import InputError
from ..io import read
from ..kernels.bank import KernelRecipe
from .twelve import twelve_kernels

READABLE = (".mat", ".npz")
GROUPS = ("paper", "views", "single", "bundled", "file")


@dataclass(frozen=True)
class Dataset:
    """One data set: n samples, k classes, columns per view, and how a kernel is made of each.

    `kernel` is a kernel's name, ``"twelve"`` for twelve kernels of a single view, or empty where
    the file holds kernels. `group` is ``paper`` (the six of the paper), ``views``, ``single``
    (one view), ``bundled`` or ``file`` (found in the folder, not registered).
    """

    name: str
    files: tuple[str, ...]
    n: int
    k: int
    views: tuple[int, ...]
    group: str
    kernel: str
    source: str
    licence: str
    sha256: str
    note: str = ""

    @property
    def n_kernels(self) -> int:
        return 12 if self.kernel == "twelve" else len(self.views)

    def find(self, folder: Path | None) -> Path | None:
        """The file in the folder, under any of the names it goes by, whatever their case."""
        if folder is None or not folder.is_dir():
            return None
        present = {path.name.lower(): path for path in sorted(folder.iterdir())}
        return next((present[f.lower()] for f in self.files if f.lower() in present), None)

    def present(self, folder: Path | None) -> bool:
        return self.group == "bundled" or self.name == "Mfeat" or self.find(folder) is not None

    def where(self) -> str:
        """What to put where."""
        return f"put {' or '.join(self.files)} into the folder given with --data ({self.source})"

    def key(self, folder: Path | None) -> str:
        """What the results rest on: the content of the file, or the name of a bundled set."""
        path = self.find(folder)
        return checksum(path) if path is not None else f"mkclust:{self.name}"

    def load(self, folder: Path | None) -> MultiView:
        """The views with their classes as labels; checked against what is registered."""
        path = self.find(folder)
        if path is None and not self.present(folder):
            raise InputError(f"{self.name} is not here: {self.where()}")
        views = read(path) if path is not None else _bundled(self.name)
        found = (len(views), int(class_numbers(views).max()) + 1)
        if found != (self.n, self.k):
            raise InputError(
                f"{self.name} should have {self.n} samples in {self.k} classes, "
                f"{path or 'the bundled set'} has {found[0]} in {found[1]}"
            )
        return views

    def kernels(self, views: MultiView) -> tuple[MultiView, KernelRecipe]:
        """What the kernels are built of, and how: centred and normalised, as published."""
        if self.kernel == "twelve":
            return twelve_kernels(views), KernelRecipe("precomputed", indefinite="ignore")
        if views.kernels:
            return views, KernelRecipe("precomputed", indefinite="shift")
        return views, KernelRecipe(self.kernel or "gaussian")


@cache
def registered() -> Mapping[str, Dataset]:
    """Every data set the package knows, in the order of its list."""
    text = files(__package__).joinpath("datasets.toml").read_text("utf-8")
    known = {name: _entry(name, entry) for name, entry in tomllib.loads(text).items()}
    return known | {dataset.name: dataset for dataset in _bundled_sets()}


def dataset(name: str, folder: Path | None = None) -> Dataset:
    """A registered data set, or an unregistered file of the folder by its name."""
    known = registered()
    if name in known:
        return known[name]
    path = folder / name if folder is not None else None
    if path is not None and path.is_file() and path.suffix.lower() in READABLE:
        return _unregistered(path)
    listed = ", ".join(known)
    raise InputError(f"unknown data set {name!r}: known are {listed}, or a file in --data by name")


def unregistered(folder: Path | None) -> list[str]:
    """Files in the folder that can be read and belong to no registered data set."""
    if folder is None or not folder.is_dir():
        return []
    known = {name.lower() for entry in registered().values() for name in entry.files}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in READABLE and path.name.lower() not in known
    ]


def class_numbers(views: MultiView) -> np.ndarray:
    """The known classes as numbers from 0 on, (n,)."""
    if views.labels is None:
        raise InputError("the data hold no classes to compare labels with")
    return np.unique(views.labels, return_inverse=True)[1]


def checksum(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _entry(name: str, entry: Mapping[str, Any]) -> Dataset:
    lists = {key: tuple(entry[key]) for key in ("files", "views")}
    return Dataset(name=name, **{**entry, **lists})


def _unregistered(path: Path) -> Dataset:
    views = read(path)
    return Dataset(
        path.name, (path.name,), len(views), int(class_numbers(views).max()) + 1,
        tuple(view.shape[1] for view in views.views), "file",
        "" if views.kernels else "gaussian", str(path), "not stated", "",
    )  # fmt: skip


def _bundled_sets() -> list[Dataset]:
    digits = Dataset(
        "Mfeat-200", (), 200, 10, (76, 216, 64, 240, 47, 6), "bundled", "gaussian",
        "every tenth row of UCI Multiple Features", "CC BY 4.0", "",
    )  # fmt: skip
    planted = Dataset(
        "planted", (), 150, 3, (10, 10, 10, 10), "bundled", "gaussian",
        "make_views: three views and one of noise", "BSD-3-Clause", "",
    )  # fmt: skip
    larger = replace(digits, name="Mfeat-500", n=500, source="every fourth row of the same")
    return [digits, larger, planted]


def _bundled(name: str) -> MultiView:
    if name == "planted":
        return make_views(150, 3, 3, noise=2.0, n_noise_views=1, random_state=0)
    step = {"Mfeat": 1, "Mfeat-500": 4, "Mfeat-200": 10}[name]
    return load_mfeat()[::step]
