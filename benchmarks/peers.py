"""Methods outside mkclust: simple baselines, and other packages with their default settings.

A method of your own is one entry of `PEERS`: a function (views, k, seed) -> labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from .data import dense

Views = Sequence[Any]
NEIGHBORS = 15  # of the graph that Leiden partitions
RESOLUTIONS, BISECTIONS = (1e-3, 1e3), 30


def concatenate(views: Views) -> Any:
    """Concatenate all columns, each scaled to variance 1; the result is sparse if all views are.

    Dense columns are centered and their NaN become 0, the mean. Sparse ones are not centered, which
    changes no distance between rows.
    """
    if all(sp.issparse(view) for view in views):
        scaler = StandardScaler(with_mean=False)
        return sp.hstack([scaler.fit_transform(view.astype(np.float64)) for view in views], "csr")
    tables = (StandardScaler().fit_transform(dense(view)) for view in views)
    return np.nan_to_num(np.hstack(list(tables)), copy=False)


def kmeans(views: Views, k: int, seed: int) -> Any:
    """Cluster the concatenated columns by k-means."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(concatenate(views))


def spectral(views: Views, k: int, seed: int) -> Any:
    """Cluster the kNN graph of the concatenated columns by spectral clustering."""
    model = SpectralClustering(k, affinity="nearest_neighbors", random_state=seed)
    return model.fit_predict(concatenate(views))


def leiden(views: Views, k: int, seed: int) -> Any:
    """Leiden on the kNN graph of the concatenation, with the resolution that gives k clusters.

    The resolution is searched by bisection; where none gives k clusters, the number nearest to k
    is taken.
    """
    leidenalg, X = import_module("leidenalg"), concatenate(views)
    directed = kneighbors_graph(X, min(NEIGHBORS, X.shape[0] - 1))
    links = sp.triu(directed.maximum(directed.T)).tocoo()
    graph = import_module("igraph").Graph(
        n=X.shape[0], edges=np.column_stack([links.row, links.col])
    )
    low, high = RESOLUTIONS
    best: Any = None
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        kind = leidenalg.RBConfigurationVertexPartition
        found = leidenalg.find_partition(graph, kind, resolution_parameter=middle, seed=seed)
        if best is None or abs(len(found) - k) < abs(len(best) - k):
            best = found
        if len(found) == k:
            break
        low, high = (middle, high) if len(found) < k else (low, middle)
    return best.membership


def mofa(views: Views, k: int, seed: int) -> Any:
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


def estimator(package: str, kind: str) -> Callable[[Views, int, int], Any]:
    """Return the function that fits an estimator of another package; imml takes frames."""

    def label(views: Views, k: int, seed: int) -> Any:
        model = getattr(import_module(package), kind)(n_clusters=k, random_state=seed)
        tables = [dense(view) for view in views]
        if package.startswith("imml"):
            tables = [import_module("pandas").DataFrame(table) for table in tables]
        return model.fit_predict(tables)

    return label


BASELINES = {"concat-kmeans": kmeans, "concat-spectral": spectral}  # need no package
PACKAGES = {
    "leiden": leiden,
    "mofa": mofa,
    "mvlearn-kmeans": estimator("mvlearn.cluster", "MultiviewKMeans"),
    "mvlearn-coreg": estimator("mvlearn.cluster", "MultiviewCoRegSpectralClustering"),
    "mvlearn-spectral": estimator("mvlearn.cluster", "MultiviewSpectralClustering"),
    "polyview-coreg": estimator("polyview", "MultiViewCoRegSpectralClustering"),
    "imml-nemo": estimator("imml.cluster", "NEMO"),
    "imml-lfimvc": estimator("imml.cluster", "LFIMVC"),
}
PEERS: dict[str, Callable[[Views, int, int], Any]] = BASELINES | PACKAGES
