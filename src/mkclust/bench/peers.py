"""Methods outside METHODS: simple baselines, and other packages with their default settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from ..base import KernelClusterer
from ..exceptions import InputError
from ..methods import METHODS

Views = Sequence[np.ndarray]
Labeller = Callable[[Views, int, int], Any]
NEIGHBORS = 15  # of the graph that Leiden partitions
RESOLUTIONS, BISECTIONS = (1e-3, 1e3), 30


@dataclass(frozen=True)
class Peer:
    """A function (views, k, seed) -> labels, with its title.

    `package` is the module it needs, empty if it needs none beyond the dependencies of mkclust.
    `kernels` says that it is given kernel matrices in place of views.
    """

    title: str
    package: str
    label: Labeller
    kernels: bool = False

    @property
    def installed(self) -> bool:
        """Whether the package it needs can be imported."""
        return not self.package or find_spec(self.package.partition(".")[0]) is not None


def concatenated(views: Views) -> Any:
    """Concatenate all columns, each scaled to variance 1; the result is sparse if all views are.

    Dense columns are centered and their NaN become 0, the mean. Sparse ones are not centered, which
    changes no distance between rows.
    """
    if all(sp.issparse(view) for view in views):
        scaler = StandardScaler(with_mean=False)
        return sp.hstack([scaler.fit_transform(view.astype(np.float64)) for view in views], "csr")
    tables = (StandardScaler().fit_transform(dense(view)) for view in views)
    return np.nan_to_num(np.hstack(list(tables)), copy=False)


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


def _estimator(title: str, package: str, kind: str) -> Peer:
    """Return the peer that fits an estimator of another package; imml takes pandas tables."""

    def label(views: Views, k: int, seed: int) -> Any:
        model = getattr(import_module(package), kind)(n_clusters=k, random_state=seed)
        tables = [dense(view) for view in views]
        if package.startswith("imml"):
            tables = [import_module("pandas").DataFrame(table) for table in tables]
        return model.fit_predict(tables)

    return Peer(title, package, label)


def _leiden(views: Views, k: int, seed: int) -> Any:
    """Leiden on the kNN graph of the concatenation, with the resolution that gives k clusters.

    The graph has 15 neighbors, as in scanpy. The resolution is searched by bisection; where none
    gives k clusters, the number nearest to k is taken.
    """
    leidenalg, graph = import_module("leidenalg"), neighbor_graph(views)
    kind = leidenalg.RBConfigurationVertexPartition
    low, high = RESOLUTIONS
    best: Any = None
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        found = leidenalg.find_partition(graph, kind, resolution_parameter=middle, seed=seed)
        if best is None or abs(len(found) - k) < abs(len(best) - k):
            best = found
        if len(found) == k:
            break
        low, high = (middle, high) if len(found) < k else (low, middle)
    return best.membership


def neighbor_graph(views: Views) -> Any:
    """Return the symmetric kNN graph of the concatenated columns as an igraph.Graph."""
    X = concatenated(views)
    directed = kneighbors_graph(X, min(NEIGHBORS, X.shape[0] - 1))
    links = sp.triu(directed.maximum(directed.T)).tocoo()
    edges = np.column_stack([links.row, links.col])
    return import_module("igraph").Graph(n=X.shape[0], edges=edges)


def _mofa(views: Views, k: int, seed: int) -> Any:
    """MOFA with its default of 10 factors, then k-means on the factors."""
    model = import_module("mofapy2.run.entry_point").entry_point()
    model.set_data_options()
    model.set_data_matrix([[dense(view)] for view in views])
    model.set_model_options()
    model.set_train_options(seed=seed, quiet=True)
    model.build()
    model.run()
    factors = model.model.getExpectations()["Z"]["E"]
    return KMeans(k, n_init=10, random_state=seed).fit_predict(factors)


def _best_view(kernels: Views, k: int, seed: int) -> Any:
    raise InputError("the best view is chosen among the fits of single kernels")


PEERS: dict[str, Peer] = {
    "concat-kmeans": Peer("concatenation, k-means", "", concat_kmeans),
    "concat-spectral": Peer("concatenation, spectral", "", concat_spectral),
    "best-view": Peer("best single view", "", _best_view, kernels=True),
    "mvlearn-kmeans": _estimator("mvlearn k-means", "mvlearn.cluster", "MultiviewKMeans"),
    "mvlearn-coreg": _estimator(
        "mvlearn co-regularized", "mvlearn.cluster", "MultiviewCoRegSpectralClustering"
    ),
    "mvlearn-spectral": _estimator(
        "mvlearn co-trained spectral", "mvlearn.cluster", "MultiviewSpectralClustering"
    ),
    "polyview-coreg": _estimator(
        "polyview co-regularized", "polyview", "MultiViewCoRegSpectralClustering"
    ),
    "imml-nemo": _estimator("imml NEMO", "imml.cluster", "NEMO"),
    "imml-lfimvc": _estimator("imml LF-IMVC", "imml.cluster", "LFIMVC"),
    "leiden": Peer("Leiden on the concatenation", "leidenalg", _leiden),
    "mofa": Peer("MOFA factors, k-means", "mofapy2.run.entry_point", _mofa),
}


def import_peers() -> None:
    """Import the packages of all installed peers, so that no unit is charged for it.

    A package that cannot be imported fails again in its units, which record the reason.
    """
    for package in {peer.package for peer in PEERS.values() if peer.package and peer.installed}:
        with suppress(ImportError):
            import_module(package)


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
