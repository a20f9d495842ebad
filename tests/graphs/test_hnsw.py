"""Sparse neighbor graphs: the eigenvectors of the dense kernel, without the dense kernel."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mkclust import MKCDNM
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.graphs.hnsw import graph_features, neighbors, sparse_neighbor_graph
from mkclust.kernels.bank import KernelRecipe

pytest.importorskip("usearch")


@pytest.fixture(scope="module")
def views():
    return make_views(800, n_clusters=4, n_views=3, noise=0.5, random_state=0)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("center", "normalize"), [(True, True), (True, False), (False, False)])
def test_features_are_the_leading_part_of_the_dense_kernel(views, metric, center, normalize):
    X = views.views[0]
    params = {"metric": metric, "n_neighbors": 8}
    K = KernelRecipe("knn", params, center, normalize).matrix(X, "x", "knn")
    Z = graph_features(sparse_neighbor_graph(X, **params), 6, center, normalize, seed=0)
    values, V = np.linalg.eigh(K)
    best = (V[:, -6:] * values[-6:]) @ V[:, -6:].T
    np.testing.assert_allclose(Z @ Z.T, best, atol=1e-6)


def test_duplicates_are_neighbors_and_no_row_is_its_own():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 5, axis=0).astype(np.float32)
    found = neighbors(X, 4, "euclidean")
    assert found.shape == (50, 4)
    assert (found != np.arange(50)[:, None]).all()
    assert (found // 5 == np.arange(50)[:, None] // 5).all()


def test_the_route_takes_graphs_beside_other_kernels(views, tmp_path):
    kernel = {"view1": "knn", "view2": "gaussian", "view3": "knn"}
    settings = {"kernel": kernel, "approximation": "nystroem", "n_components": 60}
    model = MKCDNM(4, random_state=0, work=tmp_path, **settings).fit(views)
    assert adjusted_rand_score(views.labels, model.labels_) > 0.95
    assert list(model.n_components_[[0, 2]]) == [12, 12]
    again = MKCDNM(4, random_state=0, **settings).fit(views)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    resumed = MKCDNM(4, random_state=0, work=tmp_path, **settings).fit(views)
    np.testing.assert_array_equal(resumed.labels_, model.labels_)


def test_metrics_are_checked(views):
    with pytest.raises(InputError, match="metric must be one of cosine, euclidean"):
        sparse_neighbor_graph(views.views[0], metric="cityblock")
