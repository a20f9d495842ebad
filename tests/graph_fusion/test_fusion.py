"""Graph fusion stage by stage: metrics, affinity graphs, redundancy, diffusion map, weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import GraphFusion, MultiView, datasets, metrics
from mkclust.exceptions import InputError
from mkclust.graphs.affinity import affinity_graph, knn_affinity, self_tuning_affinity
from mkclust.graphs.metrics import (
    COSINE,
    EUCLIDEAN,
    TF_IDF,
    Metric,
    joint_metric,
    view_metrics,
    with_gram,
)
from mkclust.graphs.neighbors import neighborhood

pytestmark = pytest.mark.versions


def planted(n_views=3, n_noise_views=0, noise=1.0, n=150, k=3):
    return datasets.make_views(
        n, k, n_views, noise=noise, n_noise_views=n_noise_views, random_state=0
    )


def fused(views: MultiView, k: int) -> GraphFusion:
    return GraphFusion(k, random_state=0).fit(views)


def accuracy(found: GraphFusion, classes: np.ndarray) -> float:
    return metrics.accuracy(classes, found.labels_)


def words(rng: np.random.Generator, n: int = 60) -> sp.csr_array:
    return sp.csr_array(rng.poisson(0.05, (n, 80)))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


EVERY = slice(None)


def squared(metric: Metric) -> np.ndarray:
    inner = metric.products(EVERY, EVERY)
    return metric.norms()[:, None] + metric.norms() - 2 * inner


class TestMetrics:
    def test_side_by_side_adds_squared_distances_each_at_its_own_scale(self, rng):
        parts = [Metric("x", rng.standard_normal((20, f)) * size) for f, size in ((3, 1), (5, 9))]
        joint = joint_metric(parts, [0.3, 0.7])
        expected = sum(
            w * squared(p) / squared(p).mean() for w, p in zip((0.3, 0.7), parts, strict=True)
        )
        assert squared(joint) == pytest.approx(expected)

    @pytest.mark.parametrize("share", [0.05, 0.5])
    def test_sparse_columns_beside_dense_ones_are_the_same_as_dense_ones(self, rng, share):
        one, two = rng.standard_normal((20, 3)), rng.poisson(share, (20, 30)).astype(float)
        both = [Metric("x", one), Metric("x", sp.csr_array(two))]
        joint = joint_metric(both, [0.3, 0.7])
        expected = joint_metric([both[0], Metric("x", two)], [0.3, 0.7])
        assert len(joint.parts) == 2 and isinstance(expected, Metric)
        assert squared(joint) == pytest.approx(squared(expected))

    def test_inner_products_give_the_distances_of_their_points(self, rng):
        X = rng.standard_normal((20, 4))
        points, inner = Metric("x", X), Metric("x", X @ X.T, gram=True)
        assert inner.spread == pytest.approx(points.spread)
        both = joint_metric([points, points], [1, 2]), joint_metric([inner, inner], [1, 2])
        assert squared(both[0]) == pytest.approx(squared(both[1]))

    def test_dense_and_sparse_counts_are_the_same(self, rng):
        counts = words(rng)
        both = view_metrics(counts.toarray(), "a"), view_metrics(counts, "a")
        for (dense, _), (sparse, _) in zip(*both, strict=True):
            assert dense.name == sparse.name
            assert squared(dense) == pytest.approx(squared(sparse))

    def test_tf_idf_only_for_what_looks_like_counts(self, rng):
        assert view_metrics(words(rng), "a")[2][0].name == TF_IDF
        for other in (-words(rng), rng.random((60, 80))):
            shares = {metric.name: share for metric, share in view_metrics(other, "a")}
            assert shares == pytest.approx({EUCLIDEAN: 2 / 3, COSINE: 1 / 3})

    def test_a_sparse_view_that_is_a_tenth_filled_becomes_dense(self, rng):
        X = rng.random((60, 40)) * (rng.random((60, 40)) < 0.3)
        new = sp.csr_array(X[:5])
        dense, sparse = view_metrics(X, "a"), view_metrics(sp.csr_array(X), "a")
        for (one, _), (two, _) in zip(dense, sparse, strict=True):
            assert np.array_equal(one.points, two.points)
            assert np.array_equal(one.map_new(X[:5]), two.map_new(new))
        assert sp.issparse(view_metrics(-words(rng), "a")[0][0].points)

    def test_columns_of_zeros_change_nothing_not_even_for_new_rows(self, rng):
        X, new = rng.standard_normal((30, 4)), rng.standard_normal((5, 4))
        padded, new_padded = (np.insert(rows, 2, 0.0, axis=1) for rows in (X, new))
        new_padded[:, 2] = 7.0
        both = view_metrics(X, "a"), view_metrics(padded, "a")
        for (plain, _), (wide, _) in zip(*both, strict=True):
            assert np.array_equal(plain.points, wide.points)
            assert np.array_equal(plain.map_new(new), wide.map_new(new_padded))

    @pytest.mark.parametrize("f", [39, 40, 60])
    def test_more_columns_than_samples_become_inner_products(self, rng, f):
        parts = view_metrics(rng.standard_normal((40, f)), "a")
        short = with_gram(parts)
        assert [part.gram for part, _ in short] == [f >= 40] * 2
        assert [part.angular for part, _ in short] == [False, True]
        for (part, share), (other, same) in zip(parts, short, strict=True):
            assert squared(other) == pytest.approx(squared(part)) and share == same

    @pytest.mark.parametrize("kernel", [False, True])
    def test_a_constant_view_is_named(self, kernel):
        with pytest.raises(InputError, match="'flat' is constant"):
            view_metrics(np.ones((9, 9)), "flat", kernel)


class TestAffinity:
    @pytest.mark.parametrize("make", [knn_affinity, self_tuning_affinity])
    def test_graphs_are_symmetric_and_bounded(self, rng, make):
        graph = make(neighborhood(Metric("x", rng.standard_normal((80, 5))), 30), 5)
        dense = graph.toarray()
        assert dense == pytest.approx(dense.T)
        assert (dense.diagonal() == 0).all()
        values = np.linalg.eigvalsh(dense)
        assert values[-1] == pytest.approx(1.0)
        assert values[0] > -1 - 1e-9

    def test_a_row_without_words_has_no_neighbors(self, rng):
        counts = words(rng).toarray()
        counts[3] = 0
        _, directions, tf_idf = view_metrics(counts, "a")
        for metric, _ in (directions, tf_idf):
            assert affinity_graph([(metric, 1.0)], 5).toarray()[3].max() == 0

    def test_a_share_of_two_thirds_counts_twice(self, rng):
        one, two = (Metric("x", rng.standard_normal((40, 3))) for _ in range(2))
        expected = affinity_graph([(one, 1 / 3), (two, 1 / 3), (one, 1 / 3)], 5).toarray()
        found = affinity_graph([(one, 2 / 3), (two, 1 / 3)], 5).toarray()
        assert found == pytest.approx(expected)

    def test_equal_samples_are_neighbors_without_a_scale(self):
        X = np.repeat(np.eye(3), 8, axis=0)
        graph = affinity_graph([(Metric("x", X), 1.0)], 5).toarray()
        assert np.isfinite(graph).all()
        assert graph[:8, 8:].max() < graph[0, 1:8].max() / 5


class TestFusion:
    def test_a_view_with_clusters_of_its_own_is_left_out(self, rng):
        views = planted(n_views=2)
        own = 9 * np.eye(3)[rng.integers(0, 3, len(views))] + rng.standard_normal((len(views), 3))
        found = fused(MultiView([*views.views, own]), 3)
        assert found.weights_[2] == 0
        assert accuracy(found, views.labels) == 1.0

    def test_copies_of_a_view_share_its_vote(self):
        one, two, three = planted(noise=2.0).views
        once = fused(MultiView([one, two, three]), 3)
        thrice = fused(MultiView([one, two, three, one.copy(), one.copy()]), 3)
        counted = thrice.weights_[[0, 3, 4]]
        assert counted == pytest.approx(counted.mean())
        assert once.weights_[0] < counted.sum() < 1.1 * once.weights_[0]
        assert "shares its weight with view4, view5" in thrice.describe()[1]

    def test_copies_with_some_noise_share_it_too(self, rng):
        """Close samples have other neighbors in them, but much the same distances."""
        views = planted(noise=1.0, n=600)
        narrow = views.views[0][:, :3]
        once = fused(MultiView([narrow, *views.views[1:]]), 3)
        noise = 0.1 * narrow.std(axis=0) * rng.standard_normal((2, *narrow.shape))
        thrice = fused(MultiView([narrow, *views.views[1:], *(narrow + noise)]), 3)
        assert thrice.weights_[[0, 3, 4]].sum() < 1.1 * once.weights_[0]
        assert "shares its weight with view4, view5" in thrice.describe()[1]

    def test_all_views_three_times_change_nothing(self):
        views = planted(noise=2.0)
        once = fused(views, 3)
        thrice = fused(MultiView([view.copy() for view in views.views * 3]), 3)
        inner = [unit @ unit.T for unit in (once.embedding_, thrice.embedding_)]
        assert inner[0] == pytest.approx(inner[1], abs=1e-8)

    def test_kernels_that_lack_samples(self, rng):
        views = planted()
        present = rng.random((150, 3)) > 0.2
        present[~present.any(axis=1), 0] = True
        kernels = [view @ view.T for view in views.views]
        found = fused(MultiView(kernels, kernels=True, present=present), 3)
        assert found.metrics_[0] == ("kernel distance", "kernel angle")
        assert accuracy(found, views.labels) > 0.97
