"""Data sets by name: sizes, sources, file names, how kernels are made, and the order of rows."""

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
from ..linalg.scaling import squared_distances

READABLE = (".mat", ".npz")
GROUPS = ("paper", "views", "single", "bundled", "file")
SHUFFLED, SORTED = ORDERS = ("shuffled", "sorted")
WIDTHS = (0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0)
POLYNOMIALS = ((0.0, 2), (0.0, 4), (1.0, 2), (1.0, 4))


@dataclass(frozen=True)
class Dataset:
    """One data set: n samples, k classes, the columns of every view, and the kernel of a view.

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
    license: str
    sha256: str
    note: str = ""

    @property
    def n_kernels(self) -> int:
        return 12 if self.kernel == "twelve" else len(self.views)

    def find(self, folder: Path | None) -> Path | None:
        """Return the data set's file in the folder; upper and lower case are not distinguished."""
        if folder is None or not folder.is_dir():
            return None
        present = {path.name.lower(): path for path in sorted(folder.iterdir())}
        return next((present[f.lower()] for f in self.files if f.lower() in present), None)

    def present(self, folder: Path | None) -> bool:
        """Return whether the data set is bundled or its file is in the folder."""
        return self.group == "bundled" or self.name == "Mfeat" or self.find(folder) is not None

    def where(self) -> str:
        """Return an instruction that names the file and its source."""
        return f"put {' or '.join(self.files)} into the folder given with --data ({self.source})"

    def key(self, folder: Path | None) -> str:
        """Identify the content: the checksum of the file, or the name of a bundled set."""
        path = self.find(folder)
        return checksum(path) if path is not None else f"mkclust:{self.name}"

    def load(self, folder: Path | None) -> MultiView:
        """Read the views, with the classes as labels; n and k must be the registered ones."""
        path = self.find(folder)
        if path is None and not self.present(folder):
            raise InputError(f"{self.name} is absent: {self.where()}")
        views = read(path) if path is not None else _bundled(self.name)
        found = (len(views), int(class_numbers(views).max()) + 1)
        if found != (self.n, self.k):
            raise InputError(
                f"{self.name} should have {self.n} samples in {self.k} classes, "
                f"{path or 'the bundled set'} has {found[0]} in {found[1]}"
            )
        return views

    def kernels(self, views: MultiView) -> tuple[MultiView, KernelRecipe]:
        """Return the views that kernels are made of, and the recipe: centered and normalized."""
        if self.kernel == "twelve":
            return twelve_kernels(views), KernelRecipe("precomputed", indefinite="ignore")
        if views.kernels:
            return views, KernelRecipe("precomputed", indefinite="shift")
        return views, KernelRecipe(self.kernel or "gaussian")


@cache
def registered() -> Mapping[str, Dataset]:
    """Return all registered data sets by name, in the order of datasets.toml."""
    text = files(__package__).joinpath("datasets.toml").read_text("utf-8")
    known = {name: _entry(name, entry) for name, entry in tomllib.loads(text).items()}
    return known | {dataset.name: dataset for dataset in _bundled_sets()}


def dataset(name: str, folder: Path | None = None) -> Dataset:
    """Return a registered data set, or an unregistered file of the folder, by name."""
    known = registered()
    if name in known:
        return known[name]
    path = folder / name if folder is not None else None
    if path is not None and path.is_file() and path.suffix.lower() in READABLE:
        return _unregistered(path)
    listed = ", ".join(known)
    raise InputError(f"unknown data set {name!r}: known are {listed}, or a file in --data by name")


def unregistered(folder: Path | None) -> list[str]:
    """List the readable files of the folder that belong to no registered data set."""
    if folder is None or not folder.is_dir():
        return []
    known = {name.lower() for entry in registered().values() for name in entry.files}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in READABLE and path.name.lower() not in known
    ]


def class_numbers(views: MultiView) -> np.ndarray:
    """Return the known classes as integers from 0, (n,)."""
    if views.labels is None:
        raise InputError("the data set has no classes to compare labels with")
    return np.unique(views.labels, return_inverse=True)[1]


def row_order(classes: np.ndarray, order: str, seed: int) -> np.ndarray:
    """Return the positions (n,) in which the rows of a data set are given to a method.

    ``"shuffled"`` is a permutation by the seed. ``"sorted"`` is by class, as many published files
    are, which favors methods that depend on the order of samples.

    >>> row_order(np.array([1, 0, 1, 0]), "sorted", 0).tolist()
    [1, 3, 0, 2]
    """
    if order == SORTED:
        return np.argsort(classes, kind="stable")
    return np.random.default_rng(seed).permutation(len(classes))


def twelve_kernels(views: MultiView) -> MultiView:
    r"""Make seven Gaussian kernels, four polynomial ones and a linear one of a single view.

    $\exp(-D^2 / 2(tD_{max})^2)$ with $t$ from 0.01 to 100, $(a + XX^T)^b$ with a of 0 or 1 and b of
    2 or 4, and $XX^T$; the rows are scaled to unit length for the last five. The set of L. Du et
    al., Robust Multiple Kernel K-means Using l2,1-Norm, IJCAI 2015.

    >>> twelve_kernels(MultiView([np.eye(3)])).n_views
    12
    """
    if views.n_views != 1 or views.kernels:
        raise InputError(f"twelve kernels are made of one view, got {views.n_views}")
    X = views.views[0].astype(np.float64)
    squared = squared_distances(X)
    largest = squared.max()
    built = {f"gaussian {t:g}": np.exp(-squared / (2 * t**2 * largest)) for t in WIDTHS}
    cosine = _cosines(X)
    for a, b in POLYNOMIALS:
        built[f"polynomial {a:g}, {b}"] = (a + cosine) ** b
    return MultiView({**built, "linear": cosine}, kernels=True, labels=views.labels)


def _cosines(X: np.ndarray) -> np.ndarray:
    product = X @ X.T
    K = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
    length = np.sqrt(np.diagonal(K))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return K * scale[:, None] * scale


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
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
