"""Exact neighbors by tiles: the same as scikit-learn's, in single and double precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from mkclust.graphs import exact, tiles
from mkclust.graphs.metrics import Metric, SummedMetric, joint_metric
from mkclust.graphs.neighbors import neighborhood

pytestmark = pytest.mark.versions


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(exact, "WHOLE", 10)
    monkeypatch.setattr(tiles, "TILE", 128)


def metric_of(X, kind):
    if kind == "sum":
        return joint_metric([Metric("x", X[:, :2]), Metric("x", sp.csr_array(X[:, 2:]))], [1, 1])
    points = {"points": X, "sparse": sp.csr_array(X), "inner products": X @ X.T}[kind]
    return Metric("x", points, gram=kind == "inner products")


def nearest(X, count):
    distance, place = NearestNeighbors(n_neighbors=count, algorithm="kd_tree").fit(X).kneighbors()
    return place, distance**2


class Doubles:
    """Counts the searches in double precision."""

    def __init__(self, monkeypatch):
        self.count = 0
        made = tiles.DoublePrecision.__init__

        def counted(search, *arguments):
            self.count += 1
            made(search, *arguments)

        monkeypatch.setattr(tiles.DoublePrecision, "__init__", counted)


@pytest.mark.parametrize("side", [128, 50, 20, 1])
@pytest.mark.parametrize("kind", ["sparse", "inner products", "sum"])
def test_double_precision_finds_the_neighbors_of_scikit_learn(rng, kind, side, monkeypatch):
    monkeypatch.setattr(tiles, "TILE", side)
    X = rng.standard_normal((300, 4))
    metric = metric_of(X, kind)
    if isinstance(metric, SummedMetric):
        X = np.hstack([np.asarray(sp.csr_array(part.points).todense()) for part in metric.parts])
    near = neighborhood(metric, 6)
    place, squared = nearest(X, 6)
    assert np.array_equal(near.places, place)
    assert near.squared == pytest.approx(squared)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_single_precision_finds_the_same_up_to_its_rounding(rng, shift, monkeypatch):
    double = Doubles(monkeypatch)
    X = rng.standard_normal((600, 30)) + shift  # points are centered first
    near = neighborhood(Metric("x", X), 10)
    place, squared = nearest(X - shift, 10)
    assert double.count == 0
    assert np.abs(near.squared - squared).max() < 60 * tiles.SINGLE
    assert np.mean(near.places == place) > 0.999


def test_points_far_from_their_mean_are_compared_in_double_precision(rng, monkeypatch):
    double = Doubles(monkeypatch)
    X = rng.standard_normal((600, 3)) * 1e-3 + 100 * rng.integers(0, 2, (600, 1))
    near = neighborhood(Metric("x", X), 8)
    assert double.count == 1
    rounding = 1e-15 * np.sum(X**2, axis=1).max()  # single precision has 1e-7
    assert near.squared == pytest.approx(nearest(X, 8)[1], abs=rounding)


def test_right_angles_are_compared_in_double_precision(monkeypatch):
    double = Doubles(monkeypatch)
    X = np.kron(np.eye(100), np.ones((4, 1)))  # four samples in each of 100 directions
    near = neighborhood(Metric("x", X, angular=True), 10)
    assert double.count == 1
    assert np.array_equal(np.isfinite(near.squared).sum(axis=1), np.full(400, 3))


def test_duplicates_have_distance_zero_and_come_in_order(rng):
    X = np.repeat(rng.standard_normal((200, 5)), 3, axis=0)
    near = neighborhood(Metric("x", X), 4)
    assert (near.squared[:, :2] == 0).all()
    assert (near.squared[:, 2:] > 0).all()
    assert near.places[0, :2].tolist() == [1, 2]
    assert near.places[1, :2].tolist() == [0, 2]


@pytest.mark.parametrize("n", [129, 300])
def test_almost_all_samples_may_be_wanted(rng, n):
    X = rng.standard_normal((n, 4))
    near = neighborhood(Metric("x", sp.csr_array(X)), n - 1)
    assert np.array_equal(near.places, nearest(X, n - 1)[0])


def test_equal_distances_everywhere_are_no_candidates(monkeypatch):
    added = []
    add = tiles.Candidates.add

    def counted(candidates, *found):
        added.append(len(found[-1]))
        add(candidates, *found)

    monkeypatch.setattr(tiles.Candidates, "add", counted)
    X = np.repeat(np.eye(2), 300, axis=0)
    near = neighborhood(Metric("x", sp.csr_array(X)), 5)
    assert (near.squared == 0).all()
    assert sum(added) < 600 * 20
