"""Explanations of planted disagreements, against the planted truth."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.disagreeing import SIZE, named, planted
from mkclust import AKKM, MKCDNM, SWMC, GraphFusion, datasets, metrics
from mkclust.graphs.affinity import affinity_graph
from mkclust.graphs.metrics import Metric
from mkclust.inspection import Explanation, explain, fitting
from mkclust.inspection.explain import OTHERS, difference, own_split
from mkclust.inspection.view_profile import separation


def fitted(views, kind=GraphFusion):
    return kind(len(set(views.labels)), random_state=0).fit(views)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
class TestPlanted:
    @pytest.mark.parametrize("missing", [0.0, 0.3])
    @pytest.mark.parametrize("kind", [GraphFusion, MKCDNM])
    def test_a_blind_view(self, kind, missing):
        views, _ = planted("blind", missing)
        model = fitted(views, kind)
        a, b, c = named(model, views)
        answer = explain(model, views)
        found = answer.profile
        pair = sorted((a, b))
        assert found.describe() == (
            f"clusters {pair[0]} and {pair[1]}: separated by one, two; one cluster for blind",
        )
        assert found.split(a, c) == {"separated": views.names, "partly": (), "merged": ()}
        assert answer.conflicts == ()

    def test_a_contradicting_view(self):
        views, other = planted("contradicting")
        model = fitted(views)
        a, b, _ = named(model, views)
        (found,) = explain(model, views).conflicts
        assert set(found.clusters) == {a, b}
        assert (found.supporting, found.opposing) == (("one", "two"), ("contradicting",))
        assert found.sizes == found.parts == (SIZE, SIZE)
        both = views.labels < 2
        assert metrics.ari(other[both], found.labels[both]) == 1
        assert (found.labels[~both] == model.labels_[~both]).all()
        assert sorted(found.moved) == np.flatnonzero(found.labels != model.labels_).tolist()
        assert len(found.moved) == SIZE
        low, high = sorted((a, b))
        assert str(found).startswith(
            f"clusters {low} and {high}: one, two keep them apart as in the answer (40 + 40 "
            "samples); contradicting divides the same samples differently, into 40 + 40 (ARI"
        )
        assert "following contradicting would move 40 samples" in str(found)

    @pytest.mark.parametrize(
        ("count", "sentence"),
        [
            (0, "No other answer is both clearly different and nearly as good"),
            (1, "There is 1 other answer that is clearly different and nearly as good"),
            (2, "There are 2 other answers that are clearly different and nearly as good"),
        ],
    )
    def test_the_number_of_other_answers_in_words(self, count, sentence):
        assert str(Explanation(None, (), (None,) * count, 0, None)).endswith(f". {sentence}")

    def test_following_the_contradicting_view_is_an_alternative(self):
        views, other = planted("contradicting", k=8)
        model = fitted(views)
        a, b = sorted(named(model, views)[:2])
        first = explain(model, views).alternatives[0]
        assert first.origin == f"follows contradicting for clusters {a} and {b}"
        assert first.difference == (
            f"divides clusters {a} and {b} differently (40 + 40 instead of 40 + 40)"
        )
        assert metrics.ari(other[views.labels < 2], first.labels[views.labels < 2]) == 1
        assert 0.95 <= first.score < 1
        assert metrics.accuracy(views.labels, model.labels_) == 1  # the default stays

    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_a_noise_view(self, missing):
        views, _ = planted("noise", missing)
        found = explain(fitted(views), views)
        assert found.profile.blind == ("noise",)
        assert found.profile.describe() == (
            "noise separates no cluster beyond chance",
            "every pair of clusters is separated by at least one view and merged by none",
        )
        assert found.conflicts == ()
        assert (found.profile.clusters[:, :2] > 0.9).all()
        assert (np.abs(found.profile.clusters[:, 2]) < 0.2).all()


class TestSeparation:
    def graph(self, n=120):
        X = np.random.default_rng(0).standard_normal((n, 3))
        return affinity_graph([(Metric("x", X), 1.0)], 6)

    def test_chance_is_three_deviations_of_permuted_labels(self):
        graph, rng = self.graph(), np.random.default_rng(1)
        labels = np.repeat([0, 1, 2], [60, 40, 20])
        drawn = [separation(graph, rng.permutation(labels), 3).clusters for _ in range(400)]
        found = separation(graph, labels, 3).chance
        assert np.allclose(found, 3 * np.std(drawn, axis=0), rtol=0.15)
        assert np.abs(np.mean(drawn, axis=0)).max() < 0.02

    def test_one_cluster_and_empty_graphs_have_no_separation(self):
        assert np.isnan(separation(self.graph(), np.zeros(120, dtype=int), 1).clusters).all()
        empty = separation(sp.csr_array((6, 6)), np.array([0, 0, 0, 1, 1, 1]), 2)
        assert np.isnan(empty.clusters).all() and np.isnan(empty.pairs).all()

    def test_samples_that_a_view_lacks_are_left_out(self):
        graph, labels = self.graph().tolil(), np.repeat([0, 1, 2], 40)
        held = np.arange(120) % 3 > 0
        graph[~held] = 0
        graph[:, ~held] = 0
        graph = sp.csr_array(graph)
        whole = separation(graph, labels, 3, held)
        part = separation(sp.csr_array(graph[held][:, held]), labels[held], 3)
        assert np.allclose(whole.clusters, part.clusters)
        assert np.allclose(whole.pair_chance, part.pair_chance, equal_nan=True)


class TestOwnSplit:
    def test_a_continuum_is_less_clear_than_a_gap(self):
        line = np.linspace(0, 1, 150)[:, None]
        even = own_split(affinity_graph([(Metric("x", line), 1.0)], 5))
        gap = own_split(affinity_graph([(Metric("x", line + (line > 0.4)), 1.0)], 5))
        assert abs(even.clarity - 8 / np.pi**2) < 0.03
        assert gap.clarity > 0.97
        assert sorted(np.bincount(gap.parts)) == [60, 90]

    def test_too_few_samples_and_samples_without_edges(self):
        assert own_split(sp.csr_array((3, 3))).clarity == 0
        blocks = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4))
        found = own_split(sp.csr_array(np.pad(blocks, (0, 1))))
        assert found.parts[-1] == -1 and sorted(np.bincount(found.parts[:-1])) == [4, 4]


class TestDifference:
    before = np.repeat([0, 1, 2], 20)

    @pytest.mark.parametrize(
        ("after", "words"),
        [
            (np.repeat([0, 0, 1], 20), "merges clusters 0 and 1"),
            (np.repeat([0, 3, 1, 2], [10, 10, 20, 20]), "splits cluster 0 (10 + 10)"),
            (np.repeat([1, 0, 1, 2], [19, 1, 20, 20]), "divides clusters 0 and 1 diff"),
            (np.repeat([0, 1, 2], [21, 19, 20]), "moves 1 samples between clusters"),
        ],
    )
    def test_words(self, after, words):
        assert difference(self.before, after).startswith(words)

    def test_a_scattered_cluster_is_described(self):
        before, after = np.repeat(np.arange(10), 10), np.tile(np.arange(10), 10)
        assert difference(before, after) == "rearranges 10 clusters into 10"


class TestAlternatives:
    def test_all_are_near_different_and_not_listed_twice(self):
        views = datasets.make_views(120, 4, 3, noise=3.0, random_state=0)
        model = GraphFusion(4, random_state=0).fit(views)
        before = model.labels_.copy()
        explained = explain(model, views)
        found = explained.alternatives
        assert len(found) > 0 and explained.tried >= 11
        assert explain(model, views).describe() == explained.describe()
        for at, one in enumerate(found):
            assert one.score >= 0.95 and one.ari < 0.9
            assert np.isclose(one.ari, metrics.ari(before, one.labels))
            assert all(metrics.ari(one.labels, other.labels) < 0.9 for other in found[:at])
        assert (model.labels_ == before).all()

    def test_compared_methods_have_other_optima_only(self):
        views = datasets.make_views(90, 3, 2, noise=0.5, random_state=0)
        found = explain(AKKM(3, random_state=0), views)
        assert found.tried == 6
        assert found.describe()[OTHERS][0].startswith("none of 6 other partitions is both")

    def test_one_cluster(self):
        views = datasets.make_views(40, 2, 2, random_state=0)
        found = explain(GraphFusion(1, random_state=0), views)
        assert found.profile.describe() == ("one cluster: there is nothing to separate",)
        assert (found.conflicts, len(found.alternatives)) == ((), 0)

    def test_methods_without_embedding_say_that_nothing_was_tried(self):
        views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
        found = explain(SWMC(3, random_state=0), views)
        assert "no other partition was tried" in found.describe()[OTHERS][0]
        assert found.profile.clusters.min() > 0.8

    def test_of_many_samples_some_are_drawn(self, monkeypatch):
        views, _ = planted("contradicting", k=8)
        model = fitted(views)
        monkeypatch.setattr(fitting, "EXACT_UP_TO", 300)
        monkeypatch.setattr(fitting, "DRAWN", 280)
        found = explain(model, views)
        assert len(found.index) == len(found.conflicts[0].labels) == 280
        assert set(found.conflicts[0].moved) <= set(found.index)
        assert len(found.alternatives[0].labels) == 280

    def test_kernels(self):
        views, _ = planted("contradicting")
        kernels = [X @ X.T for X in views.views]
        model = GraphFusion(3, precomputed=True, random_state=0).fit(kernels)
        (found,) = explain(model, kernels).conflicts
        assert found.opposing == (model.view_names_in_[2],)


def test_digits_list_the_answer_that_separates_6_from_9():
    views = datasets.load_mfeat()
    model = GraphFusion(10, random_state=0).fit(views)
    found = explain(model, views)
    conflict = found.conflicts[0]
    assert set(conflict.opposing) == {"fac", "kar", "pix"}
    assert set(conflict.supporting) == {"fou", "zer", "mor"}
    assert metrics.accuracy(views.labels, found.alternatives[0].labels) > 0.95
    digits = views.labels[np.isin(model.labels_, conflict.clusters)]
    assert set(digits.tolist()) == {6, 9}
