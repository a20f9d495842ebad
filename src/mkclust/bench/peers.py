"""Other ways to the same end: plain baselines, and the packages of others in their default use."""

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

from ..dual_noise.estimator import cluster
from ..exceptions import InputError
from ..linalg.kmeans import kmeans_labels
from ..methods import METHODS

Views = Sequence[np.ndarray]
Labeller = Callable[[Views, int, int], Any]


@dataclass(frozen=True)
class Peer:
    """A way to labels: called with dense views (or kernels), the number of clusters and a seed.

    `package` is the name it is imported by, empty if nothing beyond mkclust's own needs is.
    `whole` says that it takes the views as they were read, whatever they are.
    """

    title: str
    package: str
    label: Labeller
    needs_labels: bool = False
    kernels: bool = False
    whole: bool = False

    @property
    def installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


def concatenated(views: Views) -> np.ndarray:
    """All columns side by side, each of mean 0 and variance 1 (a constant one stays 0)."""
    return np.hstack([StandardScaler().fit_transform(dense(view)) for view in views])


def dense(view: Any) -> np.ndarray:
    """A view as a dense float64 array."""
    return np.asarray(view.toarray() if sp.issparse(view) else view, dtype=np.float64)


def automatic(views: Any, k: int, seed: int) -> Any:
    """What `mkclust.cluster` does unless told otherwise."""
    return cluster(views, k, random_state=seed).labels_


def concat_kmeans(views: Views, k: int, seed: int) -> Any:
    """k-means on all columns side by side."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(concatenated(views))


def concat_spectral(views: Views, k: int, seed: int) -> Any:
    """Spectral clustering of the neighbour graph of all columns side by side."""
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
    """Similarity network fusion as its manual has it, then spectral clustering of the network."""
    snf = import_module("snf")
    tables = [dense(view) for view in views]
    affinities = snf.make_affinity(tables, metric="euclidean", K=20, mu=0.5)
    fused = snf.snf(affinities, K=20)
    return SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(fused)


def _mkkm_mr(kernels: Views, k: int, seed: int) -> Any:
    """The package asks for kernels that are centred and normalised; it has no default lambda."""
    module = import_module("mkkm_mr")
    K = np.stack(kernels)
    H = module.mkkm_mr(K, import_module("mkkm_mr.lib").calM(K), k, 1.0)[0]
    return kmeans_labels(np.ascontiguousarray(H.real), k, 10, seed)


def _best_view(kernels: Views, k: int, seed: int) -> Any:
    raise InputError("the best view is chosen among the fits of single kernels")


PEERS: dict[str, Peer] = {
    "auto": Peer("mkclust, automatic", "", automatic, whole=True),
    "concat-kmeans": Peer("concatenation, k-means", "", concat_kmeans),
    "concat-spectral": Peer("concatenation, spectral", "", concat_spectral),
    "best-view": Peer("best single view", "", _best_view, needs_labels=True, kernels=True),
    "mvlearn-kmeans": Peer("mvlearn k-means", "mvlearn", _mvlearn("MultiviewKMeans")),
    "mvlearn-coreg": Peer(
        "mvlearn co-regularised", "mvlearn", _mvlearn("MultiviewCoRegSpectralClustering")
    ),
    "mvlearn-spectral": Peer(
        "mvlearn co-trained spectral", "mvlearn", _mvlearn("MultiviewSpectralClustering")
    ),
    "polyview-kmeans": Peer("polyview k-means", "polyview", _polyview("MultiViewKMeans")),
    "polyview-coreg": Peer(
        "polyview co-regularised", "polyview", _polyview("MultiViewCoRegSpectralClustering")
    ),
    "imml-nemo": Peer("imml NEMO", "imml", _imml("NEMO")),
    "imml-lfimvc": Peer("imml LF-IMVC", "imml", _imml("LFIMVC")),
    "snfpy": Peer("snfpy", "snf", _snf),
    "mkkm-mr-pypi": Peer("mkkm-mr (package)", "mkkm_mr", _mkkm_mr, kernels=True),
}


def peer(name: str) -> Peer:
    """A peer by name, or any function (views, k, seed) -> labels as ``module:function``."""
    if name in PEERS:
        return PEERS[name]
    module, _, function = name.partition(":")
    try:
        return Peer(name, "", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"no method {name!r}: {error}") from None


def takes_anything(method: str) -> bool:
    """Whether a method takes views as they were read: features or kernels."""
    return method in PEERS and PEERS[method].whole


def uses_kernels(method: str) -> bool:
    """Whether a method works on the kernels that are computed once for all of a data set."""
    return method in METHODS or (method in PEERS and PEERS[method].kernels)
