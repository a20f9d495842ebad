"""Clusters must not follow which views a sample has, or say that they do."""

import numpy as np
import pytest

from mkclust import GraphFusion, MultiView
from mkclust.metrics import accuracy

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")


def half_missing(seed, apart, n=200):
    """Return two views, 30 % of the samples missing from each, never from both, and classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    views = [
        apart * rng.standard_normal((3, 10))[labels] + rng.standard_normal((n, 10))
        for _ in range(2)
    ]
    present, order = np.ones((n, 2), dtype=bool), rng.permutation(n)
    present[order[: n * 3 // 10], 0] = present[order[n * 3 // 10 : n * 6 // 10], 1] = False
    return MultiView(views, present=present), labels


def test_clusters_of_noise_do_not_follow_missing_samples():
    found = [
        GraphFusion(3, random_state=0).fit(half_missing(seed, 0.0)[0]).missingness_p_value_
        for seed in range(20)
    ]
    assert sum(p < 0.01 for p in found) <= 2


def test_clear_clusters_stay_and_the_fit_can_be_verified():
    views, labels = half_missing(0, 2.0)
    model = GraphFusion(3, random_state=0).fit(views)
    assert accuracy(labels, model.labels_) > 0.95 and model.verify(views).holds
    held = views.present * 1.0 - views.present.mean(axis=0)
    assert np.abs(np.corrcoef(model.embedding_[:, 1], held[:, 0])[0, 1]) < 0.2
    assert accuracy(labels, model.predict(views)) > 0.95
    found = model.partitions(views, [3], 0, 1)
    assert accuracy(labels, found.labels[3]) > 0.95 and found.graph.shape == (200, 200)


def test_a_fit_whose_clusters_depend_on_missing_samples_says_so():
    rng, labels = np.random.default_rng(0), np.arange(200) % 3
    views = [3 * rng.standard_normal((3, 10))[labels] + rng.standard_normal((200, 10))] * 2
    present = np.ones((200, 2), dtype=bool)
    present[(labels == 0) & (np.arange(200) % 4 > 0), 1] = False  # mostly one class lacks a view
    model = GraphFusion(3, random_state=0).fit(MultiView(views, present=present))
    assert model.missingness_p_value_ < 0.001
    assert any("depend on which views a sample has" in note for note in model.notes_)
    assert GraphFusion(3, random_state=0).fit(views).missingness_p_value_ is None
