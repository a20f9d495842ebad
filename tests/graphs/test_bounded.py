"""Edges from distances with a bounded error: the same as in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import euclidean_distances

from mkclust.graphs import affinity, bounded
from mkclust.graphs.affinity import knn_affinity, self_tuning_affinity, symmetric_affinity
from mkclust.graphs.bounded import BoundedSearch, bounded_edges
from mkclust.graphs.metrics import Metric, SummedMetric, joint_metric
from mkclust.graphs.neighbors import neighborhood

COUNT = 8


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def clusters(rng, n, f):
    return rng.standard_normal((n, f)) + 3 * rng.standard_normal((5, f))[np.arange(n) % 5]


def check_same_graphs(metric):
    """Compare both graphs with those of a search in double precision; return the edges."""
    edges = bounded_edges(metric, COUNT, 6 * COUNT)
    assert edges is not None
    near = neighborhood(metric, 6 * COUNT)
    for found, make in zip(edges, (knn_affinity, self_tuning_affinity), strict=True):
        one, two = symmetric_affinity(*found), make(near, COUNT)
        assert one.nnz == two.nnz
        assert abs(one - two).max() < 1e-6
        assert (np.diff(found[0], axis=1) > 0).all()
    return edges


@pytest.mark.parametrize("f", [64, 70, 300])
def test_edges_are_those_of_double_precision(rng, f):
    check_same_graphs(Metric("x", clusters(rng, 700, f)))


def test_a_joint_metric_of_dense_views(rng):
    parts = [Metric("x", clusters(rng, 700, f)) for f in (40, 50)]
    check_same_graphs(joint_metric(parts, [0.3, 0.7]))


def test_unit_rows_far_from_the_origin(rng):
    X = clusters(rng, 700, 80) + 30
    check_same_graphs(Metric("x", X / np.linalg.norm(X, axis=1, keepdims=True), angular=True))


@pytest.mark.parametrize("f", [64, 100])
def test_duplicates_are_chosen_as_in_double_precision(rng, f):
    X = clusters(rng, 700, f)
    X[100:160] = X[200:260]
    check_same_graphs(Metric("x", X))


def test_rows_in_doubt_are_searched_again(rng, monkeypatch):
    """With a bound of the error that is a thousand times larger, the edges stay the same."""
    monkeypatch.setattr(bounded, "AGAIN", 1.0)
    made, again = BoundedSearch.__init__, BoundedSearch._again
    searched = []

    def rough(search, points, candidates):
        made(search, points, candidates)
        search.error = 1e3 * search.error

    def counted(search, rows):
        searched.append(len(rows))
        return again(search, rows)

    monkeypatch.setattr(BoundedSearch, "__init__", rough)
    monkeypatch.setattr(BoundedSearch, "_again", counted)
    check_same_graphs(Metric("x", clusters(rng, 700, 100)))
    assert sum(searched[1:]) > 350  # beyond the rows that are judged beforehand


@pytest.mark.parametrize("f", [64, 500])
def test_errors_are_within_the_bound(rng, f):
    X = clusters(rng, 600, f) * rng.uniform(0.1, 10, f)
    search = BoundedSearch(X, 48)
    search.run()
    there = np.isfinite(search.distances)
    exact = np.take_along_axis(euclidean_distances(X) ** 2, search.columns, axis=1)
    assert (np.abs(search.distances - exact) <= search.error[:, None])[there].all()
    assert (there.sum(axis=1) > 48).all()


def test_whole_numbers_need_double_precision(rng, monkeypatch):
    """Different samples are equally near; this is known before all products are computed."""
    monkeypatch.delattr(BoundedSearch, "run")
    X = rng.integers(0, 2, (700, 64)).astype(float)
    assert bounded_edges(Metric("x", X), COUNT, 48) is None


@pytest.mark.parametrize(
    "kind", ["sparse", "inner products", "few", "narrow", "zero row", "right angles"]
)
def test_other_points_need_double_precision(rng, kind):
    X = np.abs(clusters(rng, 450 if kind == "few" else 700, 6 if kind == "narrow" else 80))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "zero row":
        X[3] = 0
    if kind == "right angles":
        X = np.eye(70)[np.arange(700) % 70]
    points = {"sparse": sp.csr_array(X), "inner products": X @ X.T}.get(kind, X)
    metric = Metric(
        "x", points, gram=kind == "inner products", angular=kind not in ("few", "narrow")
    )
    assert bounded_edges(metric, COUNT, 48) is None
    assert bounded_edges(SummedMetric("x", (metric, metric)), COUNT, 48) is None


def test_an_affinity_graph_does_not_depend_on_the_search(rng, monkeypatch):
    metric = Metric("x", clusters(rng, 700, 90))
    found = affinity.affinity_graph([(metric, 1.0)], COUNT)
    monkeypatch.setattr(affinity, "bounded_edges", lambda *_: None)
    assert abs(found - affinity.affinity_graph([(metric, 1.0)], COUNT)).max() < 1e-6
