"""Exact neighbors from all inner products: single precision changes no set of neighbors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from mkclust import datasets
from mkclust.graphs import exact, tiles
from mkclust.graphs.exact import nearest_neighbors
from mkclust.graphs.metrics import Metric, view_metrics

pytestmark = pytest.mark.versions


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def searched(monkeypatch):
    """Collects the precisions of all searches that were begun."""
    found = []
    made = exact._Search.__init__

    def recorded(search, K, *arguments):
        found.append(K.dtype.name)
        made(search, K, *arguments)

    monkeypatch.setattr(exact._Search, "__init__", recorded)
    return found


def in_double(metric, count):
    """Return the neighbors from all distances in double precision, by sorting."""
    K, norms = metric.inner(), metric.norms()
    D2 = norms[:, None] + norms - 2 * K
    np.fill_diagonal(D2, np.inf)
    places = np.argsort(D2, axis=1)[:, :count]
    return places, np.take_along_axis(D2, places, axis=1)


def as_sets(places):
    return np.sort(places, axis=1)


@pytest.mark.parametrize("n", [30, 200, 700, 1500])
@pytest.mark.parametrize("kind", ["dense", "sparse", "inner products"])
def test_the_neighbors_are_those_of_scikit_learn(rng, n, kind, searched):
    X = rng.standard_normal((n, 8))
    points = {"dense": X, "sparse": sp.csr_array(X), "inner products": X @ X.T}[kind]
    places, squared = nearest_neighbors(Metric("x", points, gram=kind == "inner products"), 20, [5])
    distance, expected = NearestNeighbors(n_neighbors=20).fit(X).kneighbors()
    assert searched[0] == ("float32" if kind == "dense" else "float64")
    assert np.array_equal(as_sets(places), as_sets(expected))
    assert np.array_equal(as_sets(places[:, :5]), as_sets(expected[:, :5]))
    assert squared == pytest.approx(distance**2, rel=1e-4)


@pytest.mark.parametrize("view", ["fou", "fac", "kar", "pix"])
def test_sets_on_digits_are_those_of_double_precision(view, searched):
    for metric in view_metrics(datasets.load_mfeat()[view], view)[:2]:
        places, squared = nearest_neighbors(metric, 60, [10])
        expected, D2 = in_double(metric, 61)
        for size in (10, 60):
            apart = D2[:, size] - D2[:, size - 1] > 1e-12  # else two sets are right
            found, wanted = as_sets(places[:, :size]), as_sets(expected[:, :size])
            assert apart.mean() > 0.9
            assert np.array_equal(found[apart], wanted[apart])
        error = np.abs(squared - D2[:, :60]).max(axis=1)
        assert np.mean(error > tiles.ROUNDING * D2[:, 59]) <= tiles.UNUSUAL
        assert error.max() < 1e-4 * D2[:, 59].min()
    assert searched == ["float32", "float32"]


def test_a_tie_within_rounding_is_decided_in_double_precision(searched):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((900, 20))
    X[1:3] = X[0] + 0.1 * rng.standard_normal(20) * np.array([[1.0], [1 + 1e-9]])
    places, _ = nearest_neighbors(Metric("x", X), 10, [1])
    assert searched == ["float32"]
    assert places[0, 0] == 1  # nearer by 1e-9


def test_close_neighbors_far_from_the_mean_are_compared_in_double_precision(rng, searched):
    X = rng.standard_normal((600, 3)) * 1e-3 + 100 * rng.integers(0, 2, (600, 1))
    _, squared = nearest_neighbors(Metric("x", X), 8)
    assert searched == ["float32", "float64"]
    assert squared == pytest.approx(in_double(Metric("x", X), 8)[1], abs=1e-9)


def test_right_angles_are_compared_in_double_precision(rng, searched):
    X = np.kron(np.eye(150), np.ones((4, 1)))  # four samples in each of 150 directions
    _, squared = nearest_neighbors(Metric("x", X, angular=True), 10)
    assert searched[-1] == "float64"
    assert (squared[:, 3:] > 2 - 1e-9).all()
    assert (squared[:, :3] == 0).all()


def test_duplicates_have_distance_zero_up_to_rounding(rng):
    X = np.repeat(rng.standard_normal((300, 5)), 3, axis=0)
    places, squared = nearest_neighbors(Metric("x", X), 4)
    assert (squared[:, :2] < 1e-13).all()
    assert (squared[:, 2:] > 1e-3).all()
    assert np.array_equal(places[:, :2] // 3, np.arange(900)[:, None] // [3, 3])


def test_a_draw_that_misses_a_cluster_costs_nothing_but_time(rng):
    X = rng.standard_normal((1024, 4))
    X[:: len(X) // exact.DRAW] += 100.0  # the draw that limits come from is elsewhere
    places, _ = nearest_neighbors(Metric("x", X), 12)
    assert np.array_equal(as_sets(places), as_sets(in_double(Metric("x", X), 12)[0]))


@pytest.mark.parametrize("n", [2, 3, 600])
def test_all_others_may_be_wanted(rng, n):
    X = rng.standard_normal((n, 4))
    places, _ = nearest_neighbors(Metric("x", X), n - 1)
    others = [[j for j in range(n) if j != i] for i in range(n)]
    assert np.array_equal(as_sets(places), others)
