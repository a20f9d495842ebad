"""Methods outside METHODS: simple baselines, and other packages with their default settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.preprocessing import StandardScaler

from ..base import KernelClusterer
from ..exceptions import InputError
from ..linalg.kmeans import kmeans_labels
from ..methods import METHODS

Views = Sequence[np.ndarray]
Labeller = Callable[[Views, int, int], Any]


@dataclass(frozen=True)
class Peer:
    """A function (views, k, seed) -> labels, with its title.

    `package` is the module it needs, empty if it needs none beyond the dependencies of mkclust.
    `needs_labels` marks a method whose setting is chosen with the classes. `kernels` says that it
    is given kernel matrices in place of views.
    """

    title: str
    package: str
    label: Labeller
    needs_labels: bool = False
    kernels: bool = False

    @property
    def installed(self) -> bool:
        """Whether the package it needs can be imported."""
        return not self.package or find_spec(self.package) is not None


def concatenated(views: Views) -> np.ndarray:
    """Concatenate all columns, each scaled to mean 0 and variance 1 (a constant one to 0)."""
    return np.hstack([StandardScaler().fit_transform(dense(view)) for view in views])


def dense(view: Any) -> np.ndarray:
    """Return a view as a dense float64 array."""
    return np.asarray(view.toarray() if sp.issparse(view) else view, dtype=np.float64)


def concat_kmeans(views: Views, k: int, seed: int) -> Any:
    """Cluster the concatenated columns by k-means."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(concatenated(views))


def concat_spectral(views: Views, k: int, seed: int) -> Any:
    """Cluster the kNN graph of the concatenated columns by spectral clustering."""
    model = SpectralClustering(k, affinity="nearest_neighbors", random_state=seed)
    return model.fit_predict(concatenated(views))


def _mvlearn(kind: str) -> Labeller:
    def label(views: Views, k: int, seed: int) -> Any:
        model = getattr(import_module("mvlearn.cluster"), kind)(n_clusters=k, random_state=seed)
        return model.fit_predict([dense(view) for view in views])

    return label


def _polyview(kind: str) -> Labeller:
    def label(views: Views, k: int, seed: int) -> Any:
        model = getattr(import_module("polyview"), kind)(n_clusters=k, random_state=seed)
        return model.fit_predict([dense(view) for view in views])

    return label


def _imml(kind: str) -> Labeller:
    def label(views: Views, k: int, seed: int) -> Any:
        frame = import_module("pandas").DataFrame
        model = getattr(import_module("imml.cluster"), kind)(n_clusters=k, random_state=seed)
        return model.fit_predict([frame(dense(view)) for view in views])

    return label


def _snf(views: Views, k: int, seed: int) -> Any:
    """Similarity network fusion as in the manual of snfpy, then spectral clustering."""
    snf = import_module("snf")
    tables = [dense(view) for view in views]
    affinities = snf.make_affinity(tables, metric="euclidean", K=20, mu=0.5)
    fused = snf.snf(affinities, K=20)
    return SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(fused)


def _mkkm_mr(kernels: Views, k: int, seed: int) -> Any:
    """MKKM-MR of the package mkkm-mr, which has no default lambda: lambda is 1."""
    module = import_module("mkkm_mr")
    K = np.stack(kernels)
    H = module.mkkm_mr(K, import_module("mkkm_mr.lib").calM(K), k, 1.0)[0]
    return kmeans_labels(np.ascontiguousarray(H.real), k, 10, seed)


def _best_view(kernels: Views, k: int, seed: int) -> Any:
    raise InputError("the best view is chosen among the fits of single kernels")


PEERS: dict[str, Peer] = {
    "concat-kmeans": Peer("concatenation, k-means", "", concat_kmeans),
    "concat-spectral": Peer("concatenation, spectral", "", concat_spectral),
    "best-view": Peer("best single view", "", _best_view, needs_labels=True, kernels=True),
    "mvlearn-kmeans": Peer("mvlearn k-means", "mvlearn", _mvlearn("MultiviewKMeans")),
    "mvlearn-coreg": Peer(
        "mvlearn co-regularized", "mvlearn", _mvlearn("MultiviewCoRegSpectralClustering")
    ),
    "mvlearn-spectral": Peer(
        "mvlearn co-trained spectral", "mvlearn", _mvlearn("MultiviewSpectralClustering")
    ),
    "polyview-kmeans": Peer("polyview k-means", "polyview", _polyview("MultiViewKMeans")),
    "polyview-coreg": Peer(
        "polyview co-regularized", "polyview", _polyview("MultiViewCoRegSpectralClustering")
    ),
    "imml-nemo": Peer("imml NEMO", "imml", _imml("NEMO")),
    "imml-lfimvc": Peer("imml LF-IMVC", "imml", _imml("LFIMVC")),
    "snfpy": Peer("snfpy", "snf", _snf),
    "mkkm-mr-pypi": Peer("mkkm-mr (package)", "mkkm_mr", _mkkm_mr, kernels=True),
}


def peer(name: str) -> Peer:
    """Return a peer by name, or any function (views, k, seed) -> labels as ``module:function``."""
    if name in PEERS:
        return PEERS[name]
    module, _, function = name.partition(":")
    try:
        return Peer(name, "", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"no method {name!r}: {error}") from None


def uses_kernels(method: str) -> bool:
    """Return whether a method is given the shared kernels of a data set; the others get its views.

    >>> uses_kernels("akkm"), uses_kernels("graph-fusion"), uses_kernels("concat-kmeans")
    (True, False, False)
    """
    if method in METHODS:
        return issubclass(METHODS[method], KernelClusterer)
    return method in PEERS and PEERS[method].kernels
