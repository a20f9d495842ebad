"""The default without a knob, stage by stage: geometry, pooled graphs, weights, roll-off."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from mkclust import MKCDNM, MultiView, cluster, datasets, metrics
from mkclust import pooled as pooled_module
from mkclust.errors import InputError
from mkclust.geometry import COUNTS, Geometry, geometries, side_by_side
from mkclust.graph_kernel import leading_of_graph
from mkclust.pooled import counted_graph, neighbourhood, pooled_graph, weighed_graph
from mkclust.rolloff import rolled_off


def planted(n_views=3, n_noise_views=0, noise=1.0, n=150, k=3):
    return datasets.make_views(
        n, k, n_views, noise=noise, n_noise_views=n_noise_views, random_state=0
    )


def automatic(views: MultiView, k: int) -> MKCDNM:
    return cluster(views, k, random_state=0)


def accuracy(found: MKCDNM, classes: np.ndarray) -> float:
    return metrics.accuracy(classes, found.labels_)


def words(rng: np.random.Generator, n: int = 60) -> sp.csr_array:
    return sp.csr_array(rng.poisson(0.05, (n, 80)))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


class TestGeometry:
    def test_side_by_side_adds_squared_distances_each_at_its_own_scale(self, rng):
        parts = [Geometry("x", rng.standard_normal((20, f)) * size) for f, size in ((3, 1), (5, 9))]
        joint = side_by_side(parts, [0.3, 0.7])

        def squared(geometry):
            inner = geometry.products(slice(None))
            return geometry.norms()[:, None] + geometry.norms() - 2 * inner

        expected = sum(
            w * squared(p) / squared(p).mean() for w, p in zip((0.3, 0.7), parts, strict=True)
        )
        assert squared(joint) == pytest.approx(expected)

    def test_inner_products_give_the_distances_of_their_points(self, rng):
        X = rng.standard_normal((20, 4))
        points, inner = Geometry("x", X), Geometry("x", X @ X.T, gram=True)
        assert inner.spread() == pytest.approx(points.spread())
        both = side_by_side([points, points], [1, 2]), side_by_side([inner, inner], [1, 2])
        assert both[0].products(slice(3)) == pytest.approx(both[1].products(slice(3)))

    def test_dense_and_sparse_counts_are_the_same(self, rng):
        counts = words(rng)
        both = geometries(counts.toarray(), "a"), geometries(counts, "a")
        for dense, sparse in zip(*both, strict=True):
            assert dense.name == sparse.name
            assert dense.products(slice(5)) == pytest.approx(sparse.products(slice(5)))

    def test_tf_idf_only_for_what_looks_like_counts(self, rng):
        assert geometries(words(rng), "a")[2].name == COUNTS
        for other in (-words(rng), rng.random((60, 80))):
            first, _, third = geometries(other, "a")
            assert third is first

    @pytest.mark.parametrize("kernel", [False, True])
    def test_a_constant_view_is_named(self, kernel):
        with pytest.raises(InputError, match="'flat' is constant"):
            geometries(np.ones((9, 9)), "flat", kernel)


class TestPooled:
    @pytest.mark.parametrize("kind", ["points", "sparse", "inner products"])
    @pytest.mark.parametrize("block", [1 << 23, 300])
    def test_neighbours_are_those_of_scikit_learn(self, rng, kind, block, monkeypatch):
        monkeypatch.setattr(pooled_module, "BLOCK", block)
        X = rng.standard_normal((70, 4))
        points = {"points": X, "sparse": sp.csr_array(X), "inner products": X @ X.T}[kind]
        near = neighbourhood(Geometry("x", points, gram=kind == "inner products"), 6)
        distance, place = NearestNeighbors(n_neighbors=6).fit(X).kneighbors()
        assert np.array_equal(near.places, place)
        assert np.sqrt(near.squared) == pytest.approx(distance)

    def test_an_index_finds_nearly_the_same(self, rng, monkeypatch):
        pytest.importorskip("usearch")
        geometry = Geometry("x", rng.standard_normal((500, 8)))
        exact = neighbourhood(geometry, 10)
        monkeypatch.setattr(pooled_module, "EXACT_UP_TO", 100)
        found = neighbourhood(geometry, 10)
        pairs = zip(exact.places, found.places, strict=True)
        shared = [np.intersect1d(*rows).size for rows in pairs]
        assert np.mean(shared) > 9.9
        same = exact.places == found.places
        assert found.squared[same] == pytest.approx(exact.squared[same], rel=1e-5)

    @pytest.mark.parametrize("make", [counted_graph, weighed_graph])
    def test_graphs_are_symmetric_and_bounded(self, rng, make):
        graph = make(neighbourhood(Geometry("x", rng.standard_normal((80, 5))), 30), 5)
        dense = graph.toarray()
        assert dense == pytest.approx(dense.T)
        assert (dense.diagonal() == 0).all()
        values = np.linalg.eigvalsh(dense)
        assert values[-1] == pytest.approx(1.0)
        assert values[0] > -1 - 1e-9

    def test_a_row_without_words_has_no_neighbours(self, rng):
        counts = words(rng).toarray()
        counts[3] = 0
        _, directions, tf_idf = geometries(counts, "a")
        for geometry in (directions, tf_idf):
            assert pooled_graph([geometry], 5).toarray()[3].max() == 0

    def test_a_geometry_twice_counts_twice(self, rng):
        one, two = (Geometry("x", rng.standard_normal((40, 3))) for _ in range(2))
        copy = Geometry("x", one.points)
        expected = pooled_graph([one, two, copy], 5).toarray()
        assert pooled_graph([one, two, one], 5).toarray() == pytest.approx(expected)

    def test_equal_samples_are_neighbours_without_a_scale(self):
        X = np.repeat(np.eye(3), 8, axis=0)
        graph = pooled_graph([Geometry("x", X)], 5).toarray()
        assert np.isfinite(graph).all()
        assert graph[:8, 8:].max() < graph[0, 1:8].max() / 5


class TestRollOff:
    def test_lengths_are_how_much_the_graph_supports_a_direction(self, rng):
        graph = pooled_graph([Geometry("x", rng.standard_normal((80, 3)))], 5)
        found = rolled_off(graph, 9)
        support = np.einsum("ij,ij->j", found.H, graph @ found.H)
        assert found.lengths == pytest.approx((support / support[0]) ** 2)
        assert (np.diff(found.lengths) <= 1e-12).all()

    def test_lanczos_agrees_with_the_direct_solver(self, rng):
        centres = 6 * np.repeat(np.eye(4), 300, axis=0)
        X = centres + rng.standard_normal((1200, 4))
        graph = pooled_graph([Geometry("x", X)], 10)
        values, vectors = leading_of_graph(graph, 4)
        direct = np.linalg.eigvalsh(graph.toarray())[::-1][:4]
        assert values == pytest.approx(direct, abs=1e-6)
        assert graph @ vectors == pytest.approx(vectors * values, abs=1e-4)


class TestFusion:
    def test_planted_clusters_are_found_and_noise_is_left_out(self):
        views = planted(n_noise_views=2)
        found = automatic(views, 3)
        assert accuracy(found, views.labels) == 1.0
        assert found.weights_[3:].tolist() == [0.0, 0.0]
        assert "left out, no other view confirms it" in found.fusion_.in_words()[4]

    def test_a_view_with_clusters_of_its_own_is_left_out(self, rng):
        views = planted(n_views=2)
        own = 9 * np.eye(3)[rng.integers(0, 3, len(views))] + rng.standard_normal((len(views), 3))
        found = automatic(MultiView([*views.views, own]), 3)
        assert found.weights_[2] == 0
        assert accuracy(found, views.labels) == 1.0

    def test_copies_of_a_view_share_its_vote(self):
        one, two, three = planted(noise=2.0).views
        once = automatic(MultiView([one, two, three]), 3)
        thrice = automatic(MultiView([one, two, three, one.copy(), one.copy()]), 3)
        counted = thrice.weights_[[0, 3, 4]]
        assert counted == pytest.approx(counted.mean())
        assert once.weights_[0] < counted.sum() < 1.1 * once.weights_[0]
        assert "shares its vote with view4, view5" in thrice.fusion_.in_words()[1]

    def test_all_views_three_times_change_nothing(self):
        views = planted(noise=2.0)
        once = automatic(views, 3)
        thrice = automatic(MultiView([view.copy() for view in views.views * 3]), 3)
        inner = [unit @ unit.T for unit in (once.embedding_, thrice.embedding_)]
        assert inner[0] == pytest.approx(inner[1], abs=1e-8)

    def test_units_and_order_of_rows_do_not_matter(self, rng):
        views = planted(noise=1.5)
        order = rng.permutation(len(views))
        other = MultiView([view[order] * 1000 for view in views.views])
        first, second = automatic(views, 3), automatic(other, 3)
        assert first.weights_ == pytest.approx(second.weights_)
        inner = first.embedding_ @ first.embedding_.T
        assert inner[np.ix_(order, order)] == pytest.approx(
            second.embedding_ @ second.embedding_.T, abs=1e-8
        )

    def test_the_same_input_gives_the_same_bits(self):
        views = planted(n=950, noise=2.0)
        assert np.array_equal(automatic(views, 3).embedding_, automatic(views, 3).embedding_)

    def test_kernels(self):
        views = planted(n_noise_views=1)
        kernels = MultiView([view @ view.T for view in views.views], kernels=True)
        found = automatic(kernels, 3)
        assert found.fusion_.families[0] == ("kernel distances", "kernel angles")
        assert accuracy(found, views.labels) == 1.0
        assert found.weights_[3] == 0

    def test_one_view_and_views_without_anything_in_common(self, rng):
        views = planted()
        alone = automatic(MultiView([views.views[0]]), 3)
        assert alone.fusion_.in_words()[1] == "view1: weight 1.00, the only view"
        assert accuracy(alone, views.labels) == 1.0
        strangers = automatic(MultiView([rng.standard_normal((150, 4)) for _ in range(2)]), 3)
        assert strangers.weights_ == pytest.approx([0.5, 0.5], rel=0.05)
        assert strangers.fusion_.in_words()[-2].startswith("no two views agree beyond chance")

    @pytest.mark.parametrize("kernels", [False, True])
    def test_samples_that_some_views_lack(self, rng, kernels):
        views = planted()
        present = rng.random((150, 3)) > 0.2
        present[~present.any(axis=1), 0] = True
        given = [view @ view.T if kernels else view for view in views.views]
        found = automatic(MultiView(given, kernels=kernels, present=present), 3)
        assert accuracy(found, views.labels) > 0.97

    def test_hardly_any_samples(self, rng):
        found = automatic(MultiView([rng.standard_normal((3, 2)) for _ in range(2)]), 2)
        assert np.isfinite(found.embedding_).all()
        assert sorted(np.bincount(found.labels_)) == [1, 2]

    @pytest.mark.parametrize("n", [2, 5, 12])
    def test_as_many_clusters_as_samples(self, rng, n):
        found = automatic(MultiView([rng.standard_normal((n, 3)) for _ in range(2)]), n)
        assert sorted(found.labels_) == list(range(n))
