"""Neighbours of many samples, sought around each: true ones, or as good; eigenvectors likewise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import cluster, datasets, metrics
from mkclust.graph_fusion import view_graphs
from mkclust.graphs import approximate, neighbors
from mkclust.graphs.affinity import affinity_graph
from mkclust.graphs.approximate import CELL, approximate_neighbors, divided
from mkclust.graphs.exact import nearest_neighbors
from mkclust.graphs.metrics import Metric, SummedMetric, joint_metric, view_metrics
from mkclust.graphs.operator import CenteredGraph
from mkclust.linalg import eigen
from mkclust.linalg.eigen import leading_eigenpairs

pytestmark = pytest.mark.versions


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def kinds(rng: np.random.Generator, n: int = 900) -> dict[str, Metric | SummedMetric]:
    points = Metric("x", rng.standard_normal((n, 6)))
    words = Metric("x", sp.csr_array(rng.poisson(0.2, (n, 40)).astype(float)))
    return {"dense": points, "sparse": words, "joint": joint_metric([points, words], [0.5, 0.5])}


@pytest.mark.parametrize("kind", ["dense", "sparse", "joint"])
class TestNeighbours:
    def test_where_all_samples_are_seen_they_are_the_nearest(self, rng, kind):
        metric = kinds(rng)[kind]
        _, far = approximate_neighbors(metric, 12)  # ties between words: distances tell, not places
        np.testing.assert_allclose(far, nearest_neighbors(metric, 12)[1], rtol=1e-5, atol=1e-5)

    def test_distances_are_those_of_the_places(self, rng, kind, monkeypatch):
        monkeypatch.setattr(approximate, "SEEN", 300)
        metric = kinds(rng)[kind]
        places, far = approximate_neighbors(metric, 12)
        every = slice(None)
        inner, norms = metric.products(every, every), metric.norms()
        D2 = norms[:, None] + norms - 2 * inner
        np.testing.assert_allclose(
            far, np.take_along_axis(D2, places, axis=1), rtol=1e-5, atol=1e-5
        )
        assert (np.diff(far, axis=1) >= 0).all()
        assert (places != np.arange(len(places))[:, None]).all()
        assert all(len(set(row)) == 12 for row in places.tolist())

    def test_few_seen_are_near_enough(self, rng, kind, monkeypatch):
        monkeypatch.setattr(approximate, "SEEN", 300)
        metric = kinds(rng)[kind]
        found = approximate_neighbors(metric, 12)[1]
        true = nearest_neighbors(metric, 12)[1]
        someone = rng.permuted(np.tile(np.arange(900), (900, 1)), axis=1)[:, :12]
        every = slice(None)
        inner, norms = metric.products(every, every), metric.norms()
        chance = np.take_along_axis(norms[:, None] + norms - 2 * inner, someone, axis=1)
        # A third of all samples looked at: nine tenths of the way from anybody to the nearest.
        assert found.mean() < true.mean() + 0.1 * (chance.mean() - true.mean())


class TestCells:
    def test_every_sample_is_in_one_cell_and_none_is_large(self, rng):
        found = divided(Metric("x", rng.standard_normal((5000, 3))))
        assert np.array_equal(np.sort(found.order), np.arange(5000))
        assert found.edges[0] == 0 and found.edges[-1] == 5000
        assert 0 < np.diff(found.edges).min() and np.diff(found.edges).max() <= 2 * CELL

    def test_samples_that_are_all_the_same_are_divided_too(self):
        points = np.zeros((4000, 2))
        points[:100] = 1.0
        metric = Metric("x", points)
        assert np.diff(divided(metric).edges).max() <= 2 * CELL
        places, far = approximate_neighbors(metric, 20)
        assert (far == 0).all()
        assert ((places < 100) == (np.arange(4000) < 100)[:, None]).all()
        # Nobody is everybody's neighbor: a cell's own come before those of its other pieces.
        assert np.bincount(places.ravel()).max() < 4000 / 2

    def test_equal_input_gives_equal_output(self, rng):
        metric = Metric("x", rng.standard_normal((2000, 5)))
        again = Metric("x", np.asfortranarray(metric.points))
        one, two = approximate_neighbors(metric, 5), approximate_neighbors(again, 5)
        assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])

    def test_more_neighbors_than_are_looked_at_by_rule(self, rng, monkeypatch):
        monkeypatch.setattr(approximate, "SEEN", 300)
        places, _ = approximate_neighbors(Metric("x", rng.standard_normal((1000, 2))), 400)
        assert all(len(set(row)) == 400 for row in places.tolist())

    def test_at_a_right_angle_nobody_is_a_neighbor(self, rng, monkeypatch):
        monkeypatch.setattr(neighbors, "EXACT_UP_TO", 500)
        words = np.kron(np.eye(200), np.ones((5, 7))) * rng.uniform(0.1, 1.0, (1000, 1400))
        unit = words / np.linalg.norm(words, axis=1, keepdims=True)
        found = neighbors.neighborhood(Metric("x", sp.csr_array(unit), angular=True), 20)
        alike = found.places // 5 == np.arange(1000)[:, None] // 5
        assert np.array_equal(np.isfinite(found.squared), alike)
        assert (alike.sum(axis=1) == 4).all()


class TestEigenvectors:
    def graph(self, rng: np.random.Generator) -> sp.csr_array:
        points = rng.standard_normal((1500, 3)) + 8 * rng.integers(0, 2, (1500, 3))
        return affinity_graph(view_metrics(points, "x"), 8)

    def test_single_precision_spans_the_same_and_is_orthonormal(self, rng, monkeypatch):
        graph = self.graph(rng)
        values, V = leading_eigenpairs(graph, 12)
        monkeypatch.setattr(eigen, "SINGLE_BEYOND", 1000)
        rough, W = leading_eigenpairs(graph, 12)
        np.testing.assert_allclose(W.T @ W, np.eye(12), atol=1e-12)
        np.testing.assert_allclose(rough, values, atol=1e-6)
        assert np.linalg.norm(V.T @ W) ** 2 == pytest.approx(12, abs=1e-5)
        assert not np.array_equal(rough, values)  # another route was taken

    def test_of_a_centred_kernel_too(self, rng, monkeypatch):
        K = CenteredGraph(self.graph(rng))
        values, V = leading_eigenpairs(K, 10)
        monkeypatch.setattr(eigen, "SINGLE_BEYOND", 1000)
        rough, W = leading_eigenpairs(K, 10)
        np.testing.assert_allclose(rough, values, atol=1e-6)
        assert np.linalg.norm(V.T @ W) ** 2 == pytest.approx(10, abs=1e-5)


class TestWholeFit:
    @pytest.fixture
    def from_500(self, monkeypatch):
        """What is done of more than 20 000 samples, done of more than 500."""
        for module in (neighbors, view_graphs):
            monkeypatch.setattr(module, "EXACT_UP_TO", 500)
        monkeypatch.setattr(eigen, "SINGLE_BEYOND", 500)
        monkeypatch.setattr(approximate, "SEEN", 600)

    def test_clusters_are_found_as_from_all_distances(self, from_500):
        views = datasets.make_views(
            2500, 5, 3, n_features=10, noise=1.0, n_noise_views=1, random_state=0
        )
        model = cluster(views, 5, random_state=0)
        assert metrics.accuracy(views.labels, model.labels_) > 0.97
        assert model.weights_[-1] < 0.02
        assert not model.exact_neighbors_ and "(approximate search)" in model.describe()[0]
        assert "searched approximately" in model.notes_[0]

    def test_up_to_the_limit_nothing_is_said_of_it(self):
        views = datasets.make_views(400, 3, 2, random_state=0)
        model = cluster(views, 3, random_state=0)
        assert model.exact_neighbors_ and "approximate" not in model.describe()[0]
        assert model.notes_ == ()
