"""Data sets by name: sizes, sources, file names, how kernels are made, and the order of rows.

Samples of views or cells of tables can be removed at random: "MSRC-v1 rows 30 %".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..data.datasets import load_mfeat, make_views
from ..data.datasets.public import public_sets
from ..data.views import MultiView
from ..exceptions import InputError
from ..io import read
from ..kernels.bank import KernelRecipe
from ..linalg.scaling import squared_distances
from .truth import Classes, Truth, truth_in

NAMED = re.compile(r"(?P<name>.+) (?P<kind>rows|cells) (?P<percent>\d+) %")
READABLE = (".mat", ".npz")
GROUPS = ("paper", "views", "kernels", "single", "omics", "large", "bundled", "file")
TRUTHS = ("subtypes", "survival")  # a folder NAME of tables has its truth in NAME-subtypes, ...
SURVIVAL_K = 3  # clusters of an unregistered cohort without classes
SHUFFLED, SORTED = ORDERS = ("shuffled", "sorted")
WIDTHS = (0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0)
POLYNOMIALS = ((0.0, 2), (0.0, 4), (1.0, 2), (1.0, 4))


@dataclass(frozen=True)
class Dataset:
    """One data set: n samples, k classes, the columns of every view, and the kernel of a view.

    `kernel` is a kernel's name, ``"twelve"`` for twelve kernels of a single view, or empty where
    the file holds kernels. `group` is ``paper`` (the six of the paper), ``views``, ``kernels``
    (the file holds kernels), ``single`` (one view), ``omics`` (a folder of tables), ``large``,
    ``bundled`` or ``file`` (found in the folder, not registered). `truth` is the table of classes
    or survival times where the views have none, and `k` is then the number of clusters. `gaps` are
    kind and share of removed values.
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
    truth: str = ""
    gaps: tuple[str, float] | None = None

    @property
    def incomplete(self) -> bool:
        """Whether views may lack samples or cells, so that no kernels are shared by methods."""
        return bool(self.truth or self.gaps)

    @property
    def n_kernels(self) -> int:
        return 12 if self.kernel == "twelve" else len(self.views)

    @property
    def base(self) -> str:
        """The name of the data set without gaps."""
        found = parsed(self.name)
        return self.name if found is None else found[0]

    def find(self, folder: Path | None) -> Path | None:
        """Return the data set's file in the folder; upper and lower case are not distinguished."""
        present = {path.name.lower(): path for path in _inside(folder)}
        return next((present[f.lower()] for f in self.files if f.lower() in present), None)

    def present(self, folder: Path | None) -> bool:
        """Return whether the data set is bundled or its file is in the folder."""
        return self.group == "bundled" or self.base == "Mfeat" or self.find(folder) is not None

    def where(self) -> str:
        """Return an instruction that names the file and its source."""
        return f"put {' or '.join(self.files)} into the folder given with --data ({self.source})"

    def key(self, folder: Path | None) -> str:
        """Identify the content: the checksum of the file, or the name of a bundled set."""
        path = self.find(folder)
        return checksum(path) if path is not None else f"mkclust:{self.name}"

    def load(self, folder: Path | None) -> MultiView:
        """Read the complete views; n and k must be the registered ones."""
        path = self.find(folder)
        if path is None and not self.present(folder):
            raise InputError(f"{self.name} is absent: {self.where()}")
        if path is None:
            return _bundled(self.base)
        views = read(path, labels=False) if self.truth else read(path)
        classes = self.k if self.truth else int(class_numbers(views).max()) + 1
        if (len(views), classes) != (self.n, self.k):
            raise InputError(
                f"{self.name} should have {self.n} samples in {self.k} classes, "
                f"{path} has {len(views)} in {classes}"
            )
        return views

    def known(self, views: MultiView, folder: Path | None) -> Truth:
        """Return what labels of the views are scored against."""
        if not self.truth:
            return Classes(class_numbers(views))
        assert folder is not None
        return truth_in(folder / self.truth, views.index)

    def kernels(self, views: MultiView) -> tuple[MultiView, KernelRecipe]:
        """Return the views that kernels are made of, and the recipe: centered and normalized."""
        if self.kernel == "twelve":
            return twelve_kernels(views), KernelRecipe("precomputed", indefinite="ignore")
        if views.kernels:
            return views, KernelRecipe("precomputed", indefinite="shift")
        return views, KernelRecipe(self.kernel or "gaussian")


@cache
def registered() -> Mapping[str, Dataset]:
    """Return all registered data sets by name: the public ones, then those of the package."""
    lists = ("files", "views")
    public = (
        Dataset(name=name, **{**entry, **{key: tuple(entry[key]) for key in lists}})
        for name, entry in public_sets().items()
    )
    return {dataset.name: dataset for dataset in (*public, *_bundled_sets())}


def dataset(name: str, folder: Path | None = None) -> Dataset:
    """Return a registered data set, or an unregistered file or cohort of the folder, by name.

    A name such as ``"MSRC-v1 rows 30 %"`` or ``"MSRC-v1 cells 5 %"`` is the set with gaps.
    """
    known = registered()
    if name in known:
        return known[name]
    if found := parsed(name):
        return replace(dataset(found[0], folder), name=name, gaps=found[1])
    if folder is not None and name in cohort_names(folder):
        return _cohort(folder, name)
    if folder is not None and (folder / name).is_file() and name.lower().endswith(READABLE):
        return _unregistered(folder / name)
    listed = ", ".join(known)
    raise InputError(f"unknown data set {name!r}: known are {listed}, or a file in --data by name")


def cohort_names(folder: Path | None) -> list[str]:
    """List the unregistered subfolders of tables that have classes or survival times beside them.

    The classes of ``NAME`` are in ``NAME-subtypes``, the survival times in ``NAME-survival``.
    """
    known = {name for entry in registered().values() for name in entry.files}
    beside = {path.name for path in _inside(folder) if path.is_dir()}
    found = {name for name in beside for what in TRUTHS if f"{name}-{what}" in beside}
    return sorted(found - known)


def unregistered(folder: Path | None) -> list[str]:
    """List the readable files of the folder that belong to no registered data set."""
    known = {name.lower() for entry in registered().values() for name in entry.files}
    readable = [path.name for path in _inside(folder) if path.suffix.lower() in READABLE]
    return [name for name in readable if name.lower() not in known]


def _inside(folder: Path | None) -> list[Path]:
    return [] if folder is None or not folder.is_dir() else sorted(folder.iterdir())


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
    """Return the SHA-256 of a file; that of a folder is of the checksums of its files."""
    if path.is_dir():
        lines = [f"{checksum(file)}  {file.name}\n" for file in sorted(path.iterdir())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unregistered(path: Path) -> Dataset:
    views = read(path)
    return Dataset(
        path.name, (path.name,), len(views), int(class_numbers(views).max()) + 1,
        tuple(view.shape[1] for view in views.views), "file",
        "" if views.kernels else "gaussian", str(path), "not stated", "",
    )  # fmt: skip


def _cohort(folder: Path, name: str) -> Dataset:
    """Describe an unregistered folder of tables; the classes are used where both are known."""
    truth = next(f"{name}-{what}" for what in TRUTHS if (folder / f"{name}-{what}").is_dir())
    views = read(folder / name, labels=False)
    known = truth_in(folder / truth, views.index)
    k = int(known.values.max()) + 1 if isinstance(known, Classes) else SURVIVAL_K
    return Dataset(
        name, (name,), len(views), k, views.widths, "omics", "gaussian", str(folder / name),
        "not stated", "", truth=truth,
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
    many = replace(planted, name="planted-30000", n=30_000, k=10)
    return [digits, larger, planted, many]


def _bundled(name: str) -> MultiView:
    if name.startswith("planted"):
        n, k = (150, 3) if name == "planted" else (30_000, 10)
        return make_views(n, k, 3, noise=2.0, n_noise_views=1, random_state=0)
    step = {"Mfeat": 1, "Mfeat-500": 4, "Mfeat-200": 10}[name]
    return load_mfeat()[::step]


def parsed(name: str) -> tuple[str, tuple[str, float]] | None:
    """Split the name of a data set with gaps into that of the whole one, and kind and share.

    >>> parsed("MSRC-v1 rows 30 %")
    ('MSRC-v1', ('rows', 0.3))
    """
    found = NAMED.fullmatch(name)
    if found is None:
        return None
    share = int(found["percent"]) / 100
    if not 0 < share < 1:
        raise InputError(f"{name}: the share must be between 1 and 99 %")
    return found["name"], (found["kind"], share)


def with_gaps(views: MultiView, kind: str, share: float, seed: int) -> MultiView:
    """Remove a share of all (sample, view) pairs, or of the cells of every table.

    A sample keeps at least one view, and at least one cell of every view.

    >>> from mkclust.data.datasets import make_views
    >>> with_gaps(make_views(50, 2, 4, random_state=0), "rows", 0.25, 0).present.mean()
    np.float64(0.75)
    """
    rng = np.random.default_rng(seed)
    if kind == "rows":
        present = _presence(len(views), views.n_views, share, rng)
        return MultiView(views, present=present)
    if views.kernels or any(sp.issparse(view) for view in views.views):
        raise InputError("cells are removed from dense tables, not from kernels or sparse views")
    tables = [_without_cells(view, share, rng) for view in views.views]
    return MultiView(tables, names=views.names, labels=views.labels, index=views.index)


def _presence(n: int, m: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw which of the n m pairs are present, (n, m); pairs are removed in random order."""
    present = np.ones((n, m), dtype=bool)
    left = min(round(share * n * m), n * (m - 1))
    for pair in rng.permutation(n * m):
        if not left:
            break
        i, p = divmod(pair, m)
        if present[i].sum() > 1:
            present[i, p] = False
            left -= 1
    return present


def _without_cells(view: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    removed = rng.random(view.shape) < share
    rows = np.arange(len(view))
    removed[rows, rng.integers(view.shape[1], size=len(view))] = False
    return np.where(removed, np.nan, view)
