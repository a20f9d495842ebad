"""Graph fusion with anchors: the rule, the result, its description, new samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mkclust import GraphFusion, datasets
from mkclust.data import memory
from mkclust.exceptions import InputError
from mkclust.graph_fusion import view_graphs as search
from mkclust.graph_fusion.anchors import AnchorRows, anchor_links, trial_matrix, weights_from_sample

K = 3


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(900, K, 2, noise=0.5, n_noise_views=1, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return GraphFusion(K, neighbors="anchors", random_state=0).fit(views)


def rings(n, seed=0):
    """Return two views of three concentric rings, each turned into other coordinates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    found = []
    for _ in range(2):
        angle = rng.uniform(0, 2 * np.pi, n)
        plane = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 2 * y)[:, None]
        plane += 0.1 * rng.standard_normal((n, 2))
        found.append(plane @ np.linalg.qr(rng.standard_normal((5, 2)))[0].T)
    return found, y


class TestRule:
    def test_by_memory(self, views, monkeypatch):
        monkeypatch.setattr(memory, "physical_memory", lambda: 1e6)
        assert search.neighbor_search(views) == "anchors"
        with pytest.raises(InputError, match=r"exact graphs of 900 .*neighbors=\"anchors\""):
            GraphFusion(K, neighbors="exact").fit(views)


class TestResult:
    def test_planted_clusters_and_noise_views(self, views, model):
        assert adjusted_rand_score(views.labels, model.labels_) > 0.98
        assert model.unrelated_views_ == ["noise1"]
        exact = GraphFusion(K, neighbors="exact", random_state=0).fit(views)
        np.testing.assert_allclose(model.weights_, exact.weights_, atol=1e-12)
        assert model.metrics_ == exact.metrics_

    def test_rings_that_k_means_does_not_find(self):
        some, y = rings(3000)
        model = GraphFusion(3, neighbors="anchors", random_state=0).fit(some)
        assert adjusted_rand_score(y, model.labels_) > 0.98
        assert adjusted_rand_score(y, KMeans(3, n_init=3).fit_predict(np.hstack(some))) < 0.5

    def test_all_samples_give_eigenvectors_of_the_affinity(self, views):
        """With every row in the sample, one step of iteration changes nothing."""
        rows = AnchorRows(views, 0)
        sample = rows.sample(K)
        assert len(sample) == len(views)
        fusion = weights_from_sample(sample, K, 10, 0)
        links = anchor_links(sample, fusion, 100, 5, 0)
        values, W, used = rows.iterate(links, trial_matrix(links, sample, 7))
        assert used == len(views)
        Z, degree = links(list(sample.views))
        C = links.column_scales(np.asarray(Z.sum(axis=0)).ravel())
        B = Z.toarray().astype(float) * C / np.sqrt(degree)[:, None]
        U = np.asarray(Z @ W)[:, :7] / np.sqrt(degree)[:, None]
        np.testing.assert_allclose(U.T @ U, np.eye(7), atol=1e-5)
        np.testing.assert_allclose(B @ (B.T @ U), U * values[:7], atol=1e-5)
        np.testing.assert_allclose(values[:7], np.linalg.svd(B)[1][:7] ** 2, atol=1e-5)
        assert values[0] == pytest.approx(1, abs=1e-6)

    def test_a_sample_is_enough(self, views, model, monkeypatch):
        monkeypatch.setattr("mkclust.graph_fusion.anchors.SAMPLE", 600)
        monkeypatch.setattr("mkclust.graph_fusion.anchors.ANCHORS", 60)
        monkeypatch.setattr("mkclust.graph_fusion.anchors.WEIGHED", 400)
        few = GraphFusion(K, neighbors="anchors", random_state=0).fit(views)
        assert "made from 600 samples; view weights from 400 samples" in few.notes_[0]
        assert few.n_anchors_ <= 60
        assert adjusted_rand_score(model.labels_, few.labels_) > 0.98


class TestNewSamples:
    def test_fitted_samples_keep_their_labels(self, model, views):
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-6)

    def test_new_samples_join_their_clusters(self, views):
        model = GraphFusion(K, neighbors="anchors", random_state=0).fit(views[:600])
        assert adjusted_rand_score(views.labels[600:], model.predict(views[600:])) > 0.95

    def test_a_sample_without_a_view(self, model, views):
        some = [view[:50].copy() for view in views.views]
        some[1][:20] = np.nan
        assert np.mean(model.predict(some) == model.labels_[:50]) > 0.9
