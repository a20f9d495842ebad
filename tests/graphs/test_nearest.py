"""Exact neighbors: the same as scikit-learn's, in single and double precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from mkclust.graphs import neighbors
from mkclust.graphs.metrics import Metric, SummedMetric, joint_metric
from mkclust.graphs.neighbors import neighborhood, smallest

pytestmark = pytest.mark.versions
N = 300


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def doubles(monkeypatch):
    """Search by small tiles; the list grows by one for every search in double precision."""
    made, count = neighbors.DoublePrecision.__init__, []

    def counted(search, *arguments):
        count.append(1)
        made(search, *arguments)

    monkeypatch.setattr(neighbors, "WHOLE", 10)
    monkeypatch.setattr(neighbors, "TILE", 128)
    monkeypatch.setattr(neighbors.DoublePrecision, "__init__", counted)
    return count


def nearest(X, count):
    distance, place = NearestNeighbors(n_neighbors=count, algorithm="kd_tree").fit(X).kneighbors()
    return place, distance**2


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (50, 16), (20, 1000), (3, 1601)])
def test_the_smallest_entries_in_order(rng, shape):
    values, count = rng.standard_normal(shape), min(5, shape[1])
    places, found = smallest(values.copy(), count)
    np.testing.assert_array_equal(found, np.sort(values, axis=1)[:, :count])
    np.testing.assert_array_equal(np.take_along_axis(values, places, axis=1), found)


def test_equal_entries_are_taken_once_and_none_beyond_a_bound(rng):
    values = rng.integers(0, 3, (50, 48)).astype(float)
    places, found = smallest(values, 20)
    np.testing.assert_array_equal(found, np.sort(values, axis=1)[:, :20])
    np.testing.assert_array_equal(np.take_along_axis(values, places, axis=1), found)
    assert all(len(set(row)) == 20 for row in places.tolist())
    values = rng.random((3, 64))
    values[2, 3:] = np.inf
    places, found = smallest(values, 5, np.array([1.0, -np.inf, 1.0]))
    assert np.isfinite(found).sum(axis=1).tolist() == [5, 0, 3] and not places[1].any()


@pytest.mark.parametrize("whole", [10, 4096])
@pytest.mark.parametrize("tile", [128, 50, 1])
@pytest.mark.parametrize("kind", ["points", "sparse", "inner products", "sum"])
def test_neighbors_are_those_of_scikit_learn(rng, kind, tile, whole, monkeypatch):
    monkeypatch.setattr(neighbors, "WHOLE", whole)
    monkeypatch.setattr(neighbors, "TILE", tile)
    X = rng.standard_normal((N, 4))
    metric = Metric("x", {"sparse": sp.csr_array(X), "inner products": X @ X.T}.get(kind, X))
    if kind == "inner products":
        metric = Metric("x", metric.points, gram=True)
    if kind == "sum":
        metric = joint_metric([Metric("x", X[:, :2]), Metric("x", sp.csr_array(X[:, 2:]))], [1, 1])
        assert isinstance(metric, SummedMetric)
        X = np.hstack([np.asarray(sp.csr_array(part.points).todense()) for part in metric.parts])
    near = neighborhood(metric, 6)
    place, squared = nearest(X, 6)
    single = kind in ("points", "sum") and whole == 10
    assert np.mean(near.places == place) > (0.998 if single else 1 - 1e-9)
    assert near.squared == pytest.approx(squared, abs=1e-5 if single else 1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_single_precision_finds_the_same_up_to_its_rounding(rng, shift, doubles):
    X = rng.standard_normal((600, 30)) + shift  # points are centered first
    near = neighborhood(Metric("x", X), 10)
    place, squared = nearest(X - shift, 10)
    assert not doubles
    assert np.abs(near.squared - squared).max() < 60 * neighbors.SINGLE
    assert np.mean(near.places == place) > 0.999


def test_points_far_from_their_mean_are_compared_in_double_precision(rng, doubles):
    X = rng.standard_normal((600, 3)) * 1e-3 + 100 * rng.integers(0, 2, (600, 1))
    near = neighborhood(Metric("x", X), 8)
    assert len(doubles) == 1
    rounding = 1e-15 * np.sum(X**2, axis=1).max()  # single precision has 1e-7
    assert near.squared == pytest.approx(nearest(X, 8)[1], abs=rounding)


def test_right_angles_are_no_neighbors_and_compared_in_double_precision(doubles):
    X = np.kron(np.eye(100), np.ones((4, 1)))  # four samples in each of 100 directions
    near = neighborhood(Metric("x", X, angular=True), 10)
    assert len(doubles) == 1
    assert np.array_equal(np.isfinite(near.squared).sum(axis=1), np.full(400, 3))


def test_duplicates_have_distance_zero(rng, doubles):
    X = np.repeat(rng.standard_normal((200, 5)), 3, axis=0)
    near = neighborhood(Metric("x", X), 4)
    assert (near.squared[:, :2] == 0).all() and (near.squared[:, 2:] > 0).all()
    assert set(near.places[0, :2].tolist()) == {1, 2} and set(near.places[1, :2]) == {0, 2}


@pytest.mark.parametrize("n", [129, 300])
def test_almost_all_samples_may_be_wanted(rng, n, doubles):
    X = rng.standard_normal((n, 4))
    near = neighborhood(Metric("x", sp.csr_array(X)), n - 1)
    assert np.array_equal(near.places, nearest(X, n - 1)[0])


def test_equal_distances_everywhere_are_no_candidates(doubles, monkeypatch):
    sizes, by_sample = [], neighbors._TiledSearch._by_sample

    def recorded(search):
        found = by_sample(search)
        sizes.append(found.nnz)
        return found

    monkeypatch.setattr(neighbors._TiledSearch, "_by_sample", recorded)
    near = neighborhood(Metric("x", sp.csr_array(np.repeat(np.eye(2), 300, axis=0))), 5)
    assert (near.squared == 0).all() and sizes[0] < 600 * 20
