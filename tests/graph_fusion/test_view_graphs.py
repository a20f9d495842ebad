"""Graphs of all views and their fusion, against plain computations from the metrics."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import MultiView
from mkclust.data.memory import shared_views
from mkclust.exceptions import InputError
from mkclust.graph_fusion import view_graphs as module
from mkclust.graph_fusion.fusion import (
    blend,
    fuse,
    in_all_used,
    joint_graph,
    joint_weights,
    mean_graph,
)
from mkclust.graph_fusion.view_graphs import ViewGraphs
from mkclust.graphs.affinity import (
    affinity_graph,
    degree_normalized,
    knn_affinity,
    self_tuning_affinity,
)
from mkclust.graphs.metrics import joint_metric, view_metrics
from mkclust.graphs.neighbors import neighborhood
from mkclust.progress import listening

N = 24


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def tables(rng, n=N, widths=(3, 5)):
    return [rng.standard_normal((n, f)) for f in widths]


def counts(rng, n=N, f=80):
    return sp.csr_array(rng.poisson(0.07, (n, f)))


def partly(rng, n=N):
    present = np.ones((n, 2), dtype=bool)
    present[:4, 0] = present[-3:, 1] = False
    return MultiView(tables(rng, n), present=present)


class TestViewGraphs:
    def test_every_graph_is_the_affinity_of_its_metrics(self, rng):
        X = tables(rng)
        graphs = ViewGraphs(MultiView(X, names=["a", "b"]), 4)
        assert len(graphs) == 2 and graphs.names == ("a", "b")
        for p, view in enumerate(X):
            expected = affinity_graph(view_metrics(view, "a"), 4).toarray()
            np.testing.assert_allclose(graphs[p].toarray(), expected, atol=1e-12)

    def test_samples_that_a_view_lacks_have_no_edges(self, rng):
        views = partly(rng)
        graphs = ViewGraphs(views, 4)
        for p in range(2):
            held = views.present[:, p]
            np.testing.assert_array_equal(graphs.views.held[:, p], held)
            expected = affinity_graph(view_metrics(views.views[p][held], "a"), 4).toarray()
            dense = graphs[p].toarray()
            np.testing.assert_allclose(dense[np.ix_(held, held)], expected, atol=1e-12)
            assert not dense[~held].any() and not dense[:, ~held].any()
        assert ViewGraphs(MultiView(tables(rng)), 4).views.held[:, 1].tolist() == [True] * N

    def test_cells_that_are_missing_are_refused(self, rng):
        X = tables(rng)
        X[1][3, 2] = np.nan
        with pytest.raises(InputError, match="'view2'"):
            ViewGraphs(MultiView(X), 4)

    def test_redundancy_is_that_of_first_metrics_and_graphs(self, rng):
        from mkclust.agreement.weights import redundancy

        X = rng.standard_normal((N, 3)) + 20  # far from the origin, where cosines say little
        present = partly(rng).present
        views = MultiView([X, X + 0.3 * rng.standard_normal((N, 3))], present=present)
        graphs = ViewGraphs(views, 4)
        parts = [
            view_metrics(view[held], "a")[0][0]
            for view, held in zip(views.views, views.present.T, strict=True)
        ]
        expected = redundancy(list(graphs), parts, list(views.present.T))
        np.testing.assert_allclose(graphs.redundancy(), expected, atol=1e-12)
        assert expected[0, 1] > 0.5

    def test_metrics_are_named_once_and_have_their_spreads(self, rng):
        X = [tables(rng)[0], counts(rng)]
        graphs = ViewGraphs(MultiView(X), 4)
        assert graphs.metric_names() == (
            ("z-scored Euclidean", "cosine"),
            ("z-scored Euclidean", "Hellinger", "tf-idf Hellinger"),
        )
        for p, found in enumerate(graphs.spreads()):
            expected = [metric.spread for metric, _ in view_metrics(X[p], "a")]
            assert found == pytest.approx(expected)

    @pytest.mark.parametrize(("limit", "gram"), [(N, True), (N - 1, False)])
    def test_wide_views_of_few_samples_become_inner_products(self, rng, monkeypatch, limit, gram):
        monkeypatch.setattr(module, "EXACT_UP_TO", limit)
        graphs = ViewGraphs(MultiView(tables(rng, widths=(N + 3,))), 4)
        assert graphs.metrics(0)[0][0].gram is gram

    def test_a_block_keeps_graphs_of_equal_settings(self, rng):
        views = MultiView(tables(rng))
        present = np.ones((N, 2), dtype=bool)
        present[0, 0] = False
        kernels = MultiView([X @ X.T for X in views.views], kernels=True)
        with shared_views():
            first = ViewGraphs(views, 4)._graphs
            again = ViewGraphs(views, 4)._graphs
            assert [a is b for a, b in zip(first, again, strict=True)] == [True, True]
            others = [
                ViewGraphs(views, 5)._graphs,
                ViewGraphs(MultiView(views, present=present), 4)._graphs,
                ViewGraphs(kernels, 4)._graphs,
                ViewGraphs(kernels, 4, "ignore")._graphs,
            ]
            for one, two in combinations([first, *others], 2):
                assert one[0] is not two[0]


class TestGivenKernels:
    def kernel(self, rng, lowest=0.0):
        values = np.linspace(1, 3, N)
        values[0] = lowest
        Q = np.linalg.qr(np.column_stack([np.ones(N), rng.standard_normal((N, N - 1))]))[0]
        return (Q * values[::-1]) @ Q.T  # the constant vector has the largest eigenvalue

    def test_its_metrics_are_those_of_the_kernel(self, rng):
        K = self.kernel(rng)
        graphs = ViewGraphs(MultiView([K], kernels=True), 4)
        both = graphs.metrics(0), view_metrics(K, "a", True)
        for (found, share), (expected, same) in zip(*both, strict=True):
            assert found.name == expected.name and found.gram and share == same
            np.testing.assert_allclose(found.points, expected.points, atol=1e-12)

    def test_indefinite_kernels_are_refused_shifted_or_used(self, rng):
        K = self.kernel(rng, lowest=-0.5)
        views = MultiView([K], names=["words"], kernels=True)
        with pytest.raises(InputError, match=r"'words' is indefinite.*-0\.5"):
            ViewGraphs(views, 4)
        shifted = view_metrics(K + 0.5 * np.eye(N), "a", True)[0][0].points
        np.testing.assert_allclose(
            ViewGraphs(views, 4, "shift").metrics(0)[0][0].points, shifted, atol=1e-9
        )
        plain = view_metrics(K, "a", True)[0][0].points
        found = ViewGraphs(views, 4, "ignore").metrics(0)[0][0].points
        np.testing.assert_allclose(found, plain, atol=1e-12)

    def test_only_the_centered_kernel_must_be_semidefinite(self, rng):
        K = self.kernel(rng) - 10.0
        assert np.linalg.eigvalsh(K)[0] < -1
        assert len(ViewGraphs(MultiView([K], kernels=True), 4)) == 1

    def test_asymmetric_kernels_are_refused_by_name(self, rng):
        K = self.kernel(rng)
        K[0, 1] += 0.1
        with pytest.raises(InputError, match=r"'words' is not symmetric"):
            ViewGraphs(MultiView([K], names=["words"], kernels=True), 4)

    @pytest.mark.parametrize("scale", [1e-180, 1e180])
    def test_kernels_of_any_magnitude(self, rng, scale):
        K = self.kernel(rng)
        plain, scaled = (
            ViewGraphs(MultiView([M], kernels=True), 4)[0].toarray() for M in (K, K * scale)
        )
        np.testing.assert_allclose(scaled, plain, atol=1e-6)

    def test_sparse_kernels(self, rng):
        K = self.kernel(rng)
        K[np.abs(K) < 0.01] = 0
        K += np.eye(N)
        dense, sparse = (
            ViewGraphs(MultiView([M], kernels=True), 4)[0].toarray() for M in (K, sp.csr_array(K))
        )
        np.testing.assert_allclose(sparse, dense, atol=1e-12)


class TestFusion:
    def test_the_joint_weights_are_weights_times_roots_of_widths(self, rng):
        graphs = ViewGraphs(MultiView(tables(rng, widths=(4, 9))), 4)
        expected = np.array([0.25 * 2, 0.75 * 3]) / (0.25 * 2 + 0.75 * 3)
        np.testing.assert_allclose(joint_weights(graphs, np.array([0.25, 0.75])), expected)
        X = tables(rng, widths=(4, 9))
        kernels = ViewGraphs(MultiView([x @ x.T for x in X], kernels=True), 4)
        found = joint_weights(kernels, np.array([0.5, 1.5]))
        np.testing.assert_allclose(found, [0.25, 0.75])

    def test_the_blend_is_degree_normalized(self, rng):
        mean, joint = (affinity_graph(view_metrics(X, "a"), 4) for X in tables(rng))
        A = 0.7 * mean.toarray() + 0.3 * joint.toarray()
        scale = 1 / np.sqrt(A.sum(axis=1))
        np.testing.assert_allclose(blend(mean, joint, 0.3).toarray(), A * scale[:, None] * scale)
        one = degree_normalized(joint).toarray()
        np.testing.assert_allclose(blend(mean, joint, 1.0).toarray(), one)

    def joint_by_hand(self, slots, shares, weights, count):
        total = 0.0
        for parts, share in zip(slots, shares, strict=True):
            near = neighborhood(joint_metric(parts, weights), 6 * count)
            both = knn_affinity(near, count) + self_tuning_affinity(near, count)
            total = total + both.toarray() * share / 2
        return total

    def test_the_joint_graph_of_tables(self, rng):
        X = tables(rng)
        metrics = [view_metrics(view, "a") for view in X]
        weights = np.array([0.3, 0.7])
        slots = [[parts[slot][0] for parts in metrics] for slot in (0, 1)]
        expected = self.joint_by_hand(slots, (2 / 3, 1 / 3), weights, 4)
        told = []
        with listening(told.append):
            graphs = ViewGraphs(MultiView(X), 4)
            told.clear()
            found = joint_graph(graphs, weights)
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
        assert told == [f"neighbors in all views: {name}" for name in graphs.metric_names()[0]]

    def test_the_joint_graph_with_counts_has_three_metrics(self, rng):
        X = [tables(rng)[0], counts(rng)]
        metrics = [view_metrics(view, "a") for view in X]
        weights = np.array([0.3, 0.7])
        slots = [[(*parts, parts[0])[slot][0] for parts in metrics] for slot in range(3)]
        expected = self.joint_by_hand(slots, [1 / 3] * 3, weights, 4)
        found = joint_graph(ViewGraphs(MultiView(X), 4), weights)
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)

    def test_views_without_a_weight_have_no_part_in_it(self, rng):
        X = [*tables(rng), counts(rng)]
        graphs = ViewGraphs(MultiView(X), 4)
        weights = np.array([0.3, 0.7])
        expected = joint_graph(ViewGraphs(MultiView(X[:2]), 4), weights).toarray()
        found = joint_graph(graphs, np.array([0.3, 0.7, 0.0])).toarray()
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_the_joint_graph_of_one_view_is_its_own(self, rng):
        graphs, told = ViewGraphs(partly(rng), 4), []
        with listening(told.append):
            found = joint_graph(graphs, np.array([0.0, 1.0]))
        assert np.array_equal(found.toarray(), graphs[1].toarray()) and not told

    def test_the_joint_graph_is_over_samples_in_all_used_views(self, rng):
        views = partly(rng)
        graphs = ViewGraphs(views, 4)
        both = views.present.all(axis=1)
        np.testing.assert_array_equal(in_all_used(graphs, np.array([0.5, 0.5])), both)
        first = in_all_used(graphs, np.array([1.0, 0.0]))
        np.testing.assert_array_equal(first, views.present[:, 0])
        weights = np.array([0.4, 0.6])
        metrics = [
            tuple((part.subset(both[held]), 1) for part, _ in view_metrics(view[held], "a"))
            for view, held in zip(views.views, views.present.T, strict=True)
        ]
        slots = [[parts[slot][0] for parts in metrics] for slot in (0, 1)]
        expected = self.joint_by_hand(slots, (2 / 3, 1 / 3), weights, 4)
        found = joint_graph(graphs, weights).toarray()
        np.testing.assert_allclose(found[np.ix_(both, both)], expected, atol=1e-12)
        assert not found[~both].any()

    @pytest.mark.parametrize(("common", "empty"), [(4, True), (5, False)])
    def test_as_many_common_samples_as_neighbors_are_too_few(self, rng, common, empty):
        present = np.ones((N, 2), dtype=bool)
        present[common:12, 0] = present[12:, 1] = False
        graphs = ViewGraphs(MultiView(tables(rng), present=present), 4)
        found = joint_graph(graphs, np.array([0.5, 0.5]))
        assert found.shape == (N, N)
        assert (found.nnz == 0) is empty

    def test_the_fused_graph_blends_mean_and_joint_graph(self, rng):
        graphs = ViewGraphs(MultiView(tables(rng)), 4)
        weights = np.array([0.2, 0.8])
        told = []
        with listening(told.append):
            found = fuse(graphs, weights)
        joint = joint_graph(graphs, joint_weights(graphs, weights))
        expected = blend(mean_graph(graphs, weights), joint, 0.3)
        np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-14)
        assert told[0] == "fusing the graphs of all views"
