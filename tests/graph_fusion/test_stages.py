"""Diffusion map, the rule for the neighbor search, and the stages of a run with anchors."""

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import MultiView
from mkclust.agreement.chance import overlap_p_values, unrelated_positions
from mkclust.agreement.weights import view_weights
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.graph_fusion import view_graphs as search
from mkclust.graph_fusion.anchors import (
    anchor_links,
    sample_size,
    trial_matrix,
    weights_from_sample,
)
from mkclust.graph_fusion.diffusion_map import (
    DiffusionMap,
    diffusion_map,
    diffusion_scales,
    n_components_for,
)
from mkclust.graph_fusion.fusion import joint_weights
from mkclust.graph_fusion.view_graphs import ViewGraphs, check_memory, graph_memory, neighbor_search
from mkclust.graphs.anchors import anchor_groups
from mkclust.graphs.metrics import joint_metric
from mkclust.progress import listening


class TestDiffusionMap:
    def test_scales_are_squared_and_at_least_a_millionth(self):
        found = diffusion_scales(np.array([2.0, 1.0, 0.004, 0.001, -1.0]))
        np.testing.assert_allclose(found, [1.0, 0.25, 4e-6, 1e-6, 1e-6])
        assert np.isfinite(diffusion_scales(np.zeros(2))).all()

    def test_the_embedding_is_eigenvectors_times_scales(self):
        H = np.arange(6.0).reshape(3, 2)
        found = DiffusionMap(H, np.array([1.0, 0.5]))
        np.testing.assert_array_equal(found.embedding, H * [1.0, 0.25])

    def test_eigenpairs_have_fixed_signs(self):
        A = np.random.default_rng(0).random((9, 9))
        found = diffusion_map(sp.csr_array(A + A.T), 4)
        np.testing.assert_allclose((A + A.T) @ found.H, found.H * found.eigenvalues, atol=1e-12)
        np.testing.assert_allclose(
            found.eigenvalues, np.linalg.eigvalsh(A + A.T)[::-1][:4], atol=1e-12
        )
        assert (found.H[np.abs(found.H).argmax(axis=0), np.arange(4)] > 0).all()

    @pytest.mark.parametrize(
        ("n", "k", "size"), [(100, 3, 7), (14, 3, 7), (12, 3, 6), (8, 3, 4), (5, 3, 4), (3, 3, 3)]
    )
    def test_number_of_components(self, n, k, size):
        assert n_components_for(n, k) == size


class TestSearch:
    def test_memory_of_graphs_and_views(self):
        views = MultiView([np.eye(40), np.ones((40, 2)) + np.eye(40)[:, :2]])
        assert graph_memory(views) == 16 * 200 * 40 * 3 + 6 * 8 * (40 * 40 + 40 * 2)
        assert graph_memory(MultiView(views)) == 16 * 200 * 40 * 3 + 6 * 8 * 42 * 40
        sparse = sp.csr_array(np.eye(40))
        stored = sparse.data.nbytes + sparse.indices.nbytes + sparse.indptr.nbytes
        assert graph_memory(MultiView([sparse])) == 16 * 200 * 40 * 2 + 6 * stored

    @pytest.mark.parametrize(("n", "found"), [(40, "exact"), (39, "anchors")])
    def test_the_largest_number_of_samples(self, monkeypatch, n, found):
        monkeypatch.setattr(search, "EXACT_UP_TO", n)
        assert neighbor_search(MultiView([np.eye(40)])) == found

    @pytest.mark.parametrize(("less", "fits"), [(0, True), (1, False)])
    def test_half_the_memory(self, monkeypatch, less, fits):
        views = MultiView([np.eye(40)])
        memory = 2 * graph_memory(views) - less
        monkeypatch.setattr("mkclust.data.memory.physical_memory", lambda: memory)
        assert neighbor_search(views) == ("exact" if fits else "anchors")
        assert neighbor_search(views, "exact") == "exact"
        if fits:
            check_memory(views)
        else:
            with pytest.raises(InputError, match="exact graphs of 40 samples in 1 views"):
                check_memory(views)

    def test_the_message_says_how_much(self, monkeypatch):
        monkeypatch.setattr("mkclust.data.memory.physical_memory", lambda: 2.0**30)
        monkeypatch.setattr(search, "graph_memory", lambda views: 1.5 * 2**30)
        with pytest.raises(InputError) as error:
            check_memory(MultiView([np.eye(40), np.eye(40)]))
        assert str(error.value) == (
            "exact graphs of 40 samples in 2 views need about 1.5 GiB, more than half of this "
            'machine\'s memory; use neighbors="anchors", or fit a sample of the rows'
        )

    def test_what_is_asked_for_is_checked(self):
        views = MultiView([np.eye(40)])
        assert [neighbor_search(views, asked) for asked in search.SEARCHES] == [
            "exact",
            "exact",
            "anchors",
        ]
        message = r'^neighbors must be "auto", "exact" or "anchors", got \'fast\'$'
        with pytest.raises(InputError, match=message):
            neighbor_search(views, "fast")
        kernels = MultiView([np.eye(40)], kernels=True)
        assert neighbor_search(kernels, "exact") == neighbor_search(kernels) == "exact"
        message = r'^kernels have no anchors: use neighbors="auto" or "exact"$'
        with pytest.raises(InputError, match=message):
            neighbor_search(kernels, "anchors")


def words(rng, n, f=80):
    return sp.csr_array(rng.poisson(0.07, (n, f)))


class TestAnchors:
    @pytest.mark.parametrize(
        ("n", "k", "row_bytes", "sparse", "found"),
        [
            (10**6, 20, 8, False, 10_000),
            (10**6, 200, 8, False, 20_000),
            (10**6, 20, 8, True, 2000),
            (10**6, 200, 8, True, 4000),
            (10**6, 20, 2**16, False, 4096),
            (10**6, 20, 2**18, False, 2000),
            (10**6, 20, 0, False, 10_000),
            (1500, 20, 8, False, 1500),
        ],
    )
    def test_number_of_rows_in_the_sample(self, n, k, row_bytes, sparse, found):
        assert sample_size(n, k, row_bytes, sparse) == found
        if not sparse:
            assert sample_size(n, k, row_bytes) == found

    def test_weights_are_those_of_exact_graphs(self):
        sample = make_views(60, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
        told = []
        with listening(told.append):
            found = weights_from_sample(sample, 3, 5, 0)
        assert told[0] == "view weights from 60 samples"
        graphs = ViewGraphs(sample, 5)
        subspaces = graphs.subspaces(6)
        p_values = overlap_p_values(subspaces.heads(6), 3)
        expected = view_weights(subspaces.overlap(3), 6, graphs.redundancy(), p_values)
        np.testing.assert_allclose(found.chosen.weights, expected.weights, rtol=1e-12)
        np.testing.assert_allclose(found.chosen.agreement, expected.agreement, rtol=1e-12)
        assert found.chosen.unrelated == tuple(unrelated_positions(p_values)) == (2,)
        assert found.graphs.n_neighbors == 5 and found.graphs.views is sample

    def linked(self, sample, count=3, anchors=10, n_neighbors=5):
        fusion = weights_from_sample(sample, 2, n_neighbors, 0)
        told = []
        with listening(told.append):
            links = anchor_links(sample, fusion, anchors, count, 7)
        return fusion, links, told

    def test_blocks_of_tables(self):
        sample = make_views(60, 2, 2, noise=0.5, n_noise_views=1, random_state=0)
        fusion, links, told = self.linked(sample)
        w = fusion.chosen.weights
        assert w[2] == 0
        assert links.count == 3 and links.names == sample.names and links.held.all()
        assert links.held.shape == (60, 3)
        joint = joint_weights(fusion.graphs, w)
        shares = [0.7 * w[0] * 2 / 3, 0.7 * w[0] / 3, 0.7 * w[1] * 2 / 3, 0.7 * w[1] / 3, 0.2, 0.1]
        assert [block.share for block in links.blocks] == pytest.approx(shares)
        assert [block.slot for block in links.blocks] == [0, 1, 0, 1, 0, 1]
        for block, p in zip(links.blocks[:4], (0, 0, 1, 1), strict=True):
            assert block.scales.tolist() == np.eye(3)[p].tolist()
            expected = anchor_groups(links.metric(p, block.slot), 10, 7)
            np.testing.assert_array_equal(block.groups, expected)
        for block in links.blocks[4:]:
            parts = [links.metric(p, block.slot) for p in (0, 1)]
            spreads = [part.spread for part in parts]
            np.testing.assert_allclose(block.scales, [*(joint[:2] / spreads), 0.0])
            metric = joint_metric(parts, joint[:2])
            np.testing.assert_array_equal(block.groups, anchor_groups(metric, 10, 7))
        names = [metric.name for metric, _ in links.metrics[0]]
        views = [f"anchors in {view}: {name}" for view in sample.names[:2] for name in names]
        assert [line for line in told if line.startswith("anchors")] == [
            *views,
            "anchors in all views",
            "anchors in all views",
        ]

    def test_blocks_with_counts_have_three_metrics(self):
        rng = np.random.default_rng(0)
        sample = MultiView([rng.standard_normal((50, 3)), words(rng, 50)])
        fusion, links, _ = self.linked(sample)
        w = fusion.chosen.weights
        shares = [0.7 * w[0] * 2 / 3, 0.7 * w[0] / 3, *[0.7 * w[1] / 3] * 3, *[0.1] * 3]
        assert [block.share for block in links.blocks] == pytest.approx(shares)
        assert [block.slot for block in links.blocks] == [0, 1, 0, 1, 2, 0, 1, 2]

    def test_samples_that_views_lack_are_in_no_group(self):
        sample = make_views(60, 2, 2, noise=0.5, random_state=0)
        present = np.ones((60, 2), dtype=bool)
        present[:7, 0] = present[50:, 1] = False
        some = MultiView(sample, present=present)
        _, links, _ = self.linked(some)
        np.testing.assert_array_equal(links.held, present)
        assert [len(view) for view in links.views] == [53, 50]
        expected = [present[:, 0]] * 2 + [present[:, 1]] * 2 + [present.all(axis=1)] * 2
        for block, held in zip(links.blocks, expected, strict=True):
            np.testing.assert_array_equal(block.groups >= 0, held)
            assert set(block.groups[~held]) == {-1}
            assert block.groups.dtype == np.int32
        both = present.all(axis=1)
        parts = [links.metrics[p][0][0].subset(both[present[:, p]]) for p in range(2)]
        assert (links.blocks[4].scales > 0).all()
        ratio = links.blocks[4].scales * [part.spread for part in parts]
        assert ratio.sum() == pytest.approx(1)

    def test_views_without_a_weight_limit_no_joint_block(self):
        sample = make_views(60, 2, 2, noise=0.5, n_noise_views=1, random_state=0)
        fusion = weights_from_sample(sample, 2, 5, 0)
        assert fusion.chosen.weights[2] == 0
        present = np.ones((60, 3), dtype=bool)
        present[:9, 2] = False
        links = anchor_links(MultiView(sample, present=present), fusion, 10, 3, 7)
        assert (links.blocks[4].groups >= 0).all()

    def test_rows_without_links_have_no_part_in_the_trial_matrix(self):
        sample = make_views(60, 2, 2, noise=0.5, n_noise_views=1, random_state=0)
        fusion = weights_from_sample(sample, 2, 5, 0)
        present = np.ones((60, 3), dtype=bool)
        present[:4, :2] = False  # in the view without a weight only
        some = MultiView(sample, present=present)
        links = anchor_links(some, fusion, 10, 3, 7)
        assert (links(list(some.views), present)[1][:4] == 0).all()
        with np.errstate(all="raise"):
            X = trial_matrix(links, some, 4)
        assert np.isfinite(X).all()
        rest = trial_matrix(links, some[4:], 4)
        np.testing.assert_allclose(X @ np.linalg.pinv(X), rest @ np.linalg.pinv(rest), atol=1e-6)

    @pytest.mark.parametrize(("common", "blocks"), [(1, 4), (2, 6)])
    def test_no_joint_block_of_a_single_sample(self, common, blocks):
        sample = make_views(60, 2, 2, noise=0.5, random_state=0)
        present = np.ones((60, 2), dtype=bool)
        present[common:30, 0] = present[30:, 1] = False
        fusion = weights_from_sample(sample, 2, 5, 0)
        links = anchor_links(MultiView(sample, present=present), fusion, 10, 3, 7)
        assert len(links.blocks) == blocks

    def test_a_metric_without_spread_has_no_joint_block(self):
        rng = np.random.default_rng(0)
        line = np.outer(rng.uniform(1, 2, 40), [1.0, 2.0])  # all rows in one direction
        sample = MultiView([line, np.outer(rng.uniform(1, 2, 40), [1.0, 3.0])])
        fusion = weights_from_sample(sample, 2, 5, 0)
        links = anchor_links(sample, fusion, 10, 3, 7)
        assert [block.slot for block in links.blocks if len(block.used) == 2] == [0]

    @pytest.mark.parametrize("missing", [False, True])
    def test_the_trial_matrix_has_right_singular_vectors(self, monkeypatch, missing):
        sample = make_views(150, 3, 2, noise=0.5, random_state=0)
        if missing:
            present = np.ones((150, 2), dtype=bool)
            present[::7, 0] = False
            sample = MultiView(sample, present=present)
        monkeypatch.setattr("mkclust.graphs.anchors.DISTANCES", 64 * 10)  # blocks of 64 rows
        _, links, _ = self.linked(sample)
        told = []
        with listening(told.append):
            X = trial_matrix(links, sample, 4)
        assert told[0] == "eigenvectors of the sample"
        assert links.height == 64
        Z, degree = links(list(sample.views), sample.present)
        Z = Z.toarray().astype(float)
        mass = Z.sum(axis=0)
        shares = np.repeat([block.share for block in links.blocks], np.diff(links.starts))
        C = np.sqrt(np.divide(shares, mass, out=np.zeros_like(mass), where=mass > 0))
        B = Z * C / np.sqrt(degree)[:, None]
        V = np.linalg.svd(B)[2]
        assert X.shape == (Z.shape[1], 14)
        right = np.divide(X, C[:, None], out=np.zeros_like(X), where=C[:, None] > 0)
        np.testing.assert_allclose(np.abs(np.sum(right * V[:14].T, axis=0)), 1, atol=1e-5)
        np.testing.assert_allclose(right.T @ right, np.eye(14), atol=1e-6)

    def test_the_trial_matrix_leaves_out_what_is_rounding(self):
        sample = make_views(30, 2, 1, noise=0.5, random_state=0)
        _, links, _ = self.linked(sample, anchors=2, count=1)
        X = trial_matrix(links, sample, 50)
        size = int(links.starts[-1])
        assert X.shape[0] == size and 1 <= X.shape[1] <= size
        assert np.isfinite(X).all()
