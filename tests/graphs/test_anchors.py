"""Anchor graphs: links, weights, and the affinity they stand for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

from mkclust.graphs.anchors import (
    AXES,
    AnchorBlock,
    AnchorLinks,
    anchor_groups,
    link_weights,
    reduce_width,
)
from mkclust.graphs.metrics import Metric, view_metrics


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def links_of(views, count=3, anchors=12, shares=(0.6, 0.4)) -> AnchorLinks:
    """Return links with one Euclidean block per view, all rows as the sample."""
    n = views[0].shape[0]
    names = tuple(f"view{p + 1}" for p in range(len(views)))
    metrics = [view_metrics(view, name) for view, name in zip(views, names, strict=True)]
    blocks = tuple(
        AnchorBlock(0, np.eye(len(views))[p], anchor_groups(metric[0][0], anchors, 0), share)
        for p, (metric, share) in enumerate(zip(metrics, shares, strict=True))
    )
    return AnchorLinks(tuple(views), np.ones((n, len(views)), dtype=bool), names, blocks, count)


def links_by(block, views, count):
    """Return links of one block, all rows as the sample."""
    present = np.ones((views[0].shape[0], len(views)), dtype=bool)
    names = tuple(f"view{p + 1}" for p in range(len(views)))
    return AnchorLinks(tuple(views), present, names, (block,), count)


def test_a_joint_block_adds_the_distances_of_dense_and_sparse_views(rng):
    table, words = rng.standard_normal((90, 4)), sp.csr_array(rng.poisson(0.3, (90, 30)) * 1.0)
    views, scales, groups = (table, words), np.array([0.7, 0.3]), np.arange(90) % 20
    links = links_by(AnchorBlock(0, scales, groups, 1.0), views, 3)
    points = [view_metrics(view, "x")[0][0].points for view in views]
    dense = [X.toarray() if sp.issparse(X) else X for X in points]
    together = np.hstack([np.sqrt(c) * X for c, X in zip(scales, dense, strict=True)])
    expected = links_by(AnchorBlock(0, np.ones(1), groups, 1.0), [together], 3)
    expected.__dict__["metrics"] = (((Metric("x", together, map_new=lambda rows: rows), 1.0),),)
    Z, _ = links(views)
    np.testing.assert_allclose(Z.toarray(), expected((together,))[0].toarray(), atol=1e-5)


def test_a_row_of_zeros_has_no_links_under_an_angular_metric(rng):
    counts = rng.poisson(0.1, (100, 60)).astype(float)
    counts[:, 0] += 1
    counts[7] = 0
    block = AnchorBlock(1, np.ones(1), np.arange(100) % 25, 1.0)
    Z, degree = links_by(block, [counts], 4)([counts])
    assert degree[7] == 0 and not Z[[7]].toarray().any()
    np.testing.assert_allclose(np.delete(degree, 7), 1)


def test_weights_sum_to_one_decrease_with_distance_and_end_at_a_right_angle():
    weights = link_weights(np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 0.0]]), angular=False)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[0], np.exp([0, -0.25, -1]) / np.exp([0, -0.25, -1]).sum())
    np.testing.assert_allclose(weights[1], 1 / 3)
    weights = link_weights(np.array([[1.0, 2.0], [2.0, 2.0]]), angular=True)
    np.testing.assert_array_equal(weights, [[1, 0], [0, 0]])


def test_every_row_is_linked_to_its_nearest_anchors(rng):
    view = rng.standard_normal((80, 4))
    links = links_of([view], shares=(1.0,))
    points = view_metrics(view, "view1")[0][0].points
    groups = links.blocks[0].groups
    centers = np.array([points[groups == g].mean(axis=0) for g in range(links.blocks[0].size)])
    length = [np.sqrt((points[groups == g] ** 2).sum(axis=1).mean()) for g in set(groups.tolist())]
    centers *= (np.array(length) / np.linalg.norm(centers, axis=1))[:, None]
    D2 = ((points[:, None] - centers) ** 2).sum(axis=2)
    Z, degree = links([view])
    nearest = np.sort(np.argsort(D2, axis=1)[:, :3], axis=1)
    np.testing.assert_array_equal(np.sort(Z.indices.reshape(80, 3), axis=1), nearest)
    expected = link_weights(np.sort(D2, axis=1)[:, :3], angular=False)
    np.testing.assert_allclose(np.sort(Z.data.reshape(80, 3)), np.sort(expected), atol=1e-5)
    np.testing.assert_allclose(degree, 1)


def test_the_affinity_is_doubly_stochastic(rng):
    views = [rng.standard_normal((90, 3)), rng.standard_normal((90, 6))]
    links = links_of(views)
    Z, degree = links(views)
    C = links.column_scales(np.asarray(Z.sum(axis=0)).ravel())
    B = Z.toarray() * C / np.sqrt(degree)[:, None]
    S = B @ B.T
    np.testing.assert_allclose(S.sum(axis=0), 1, atol=1e-5)
    assert np.linalg.eigvalsh(S).max() < 1 + 1e-5
    assert np.diff(Z.indptr).max() == 6
    np.testing.assert_allclose(np.asarray(Z.sum(axis=1)).ravel(), 2, atol=1e-5)


def test_a_row_that_a_view_lacks_has_no_links_there(rng):
    views = [rng.standard_normal((60, 3)), rng.standard_normal((60, 3))]
    links = links_of(views)
    present = np.ones((10, 2), dtype=bool)
    present[4, 1] = False
    some = [view[:10].copy() for view in views]
    some[1][4] = np.nan
    Z, degree = links(some, present)
    assert degree[4] == pytest.approx(0.6) and degree[3] == pytest.approx(1.0)
    assert not Z[[4]].toarray()[0, links.starts[1] :].any()
    whole = links([view[:10] for view in views])[0]
    np.testing.assert_allclose(Z[[3]].toarray(), whole[[3]].toarray(), atol=1e-6)
    alone, _ = links([view[[4]] for view in some], present[[4]])  # the view has none of the rows
    np.testing.assert_allclose(alone.toarray(), Z[[4]].toarray(), atol=1e-6)


def test_sparse_views_stay_sparse(rng):
    counts = sp.csr_array(rng.poisson(0.05, (200, 300)).astype(float))
    metric = view_metrics(counts, "words")[1][0]
    block = AnchorBlock(1, np.ones(1), anchor_groups(metric, 20, 0), 1.0)
    links = links_by(block, [counts], 4)
    Z, _ = links([counts])
    assert sp.issparse(links._anchors[0][0])
    dense = links_by(block, [counts.toarray()], 4)([counts.toarray()])[0]
    np.testing.assert_allclose(Z.toarray(), dense.toarray(), atol=1e-5)


def test_groups_of_wide_points_are_those_of_their_clusters(rng):
    y = np.repeat(np.arange(4), 50)
    points = Metric("x", rng.standard_normal((4, 2000))[y] * 3 + rng.standard_normal((200, 2000)))
    groups = anchor_groups(points, 20, 0)
    assert all(len(set(y[groups == g].tolist())) == 1 for g in set(groups.tolist()))
    np.testing.assert_array_equal(groups, anchor_groups(points, 20, 0))


def test_links_are_sent_without_what_they_can_compute_again(rng):
    views = [rng.standard_normal((50, 3)), rng.standard_normal((50, 2))]
    links = links_of(views)
    before = links(views)[0]
    after = pickle.loads(pickle.dumps(links))(views)[0]
    np.testing.assert_array_equal(before.toarray(), after.toarray())


def wide_view(rng, noise):
    """Return 600 rows of 400 columns, in six clusters that differ in all columns."""
    y = np.repeat(np.arange(6), 100)
    return rng.standard_normal((6, 400))[y] + noise * rng.standard_normal((600, 400)), y


def test_wide_points_keep_the_distances_between_clusters(rng):
    X, y = wide_view(rng, 0.1)
    metric = view_metrics(X, "x")[0][0]
    narrow = reduce_width(metric)
    assert narrow.points.shape == (600, AXES)
    before, after = (
        pdist([points[y == c].mean(axis=0) for c in range(6)])
        for points in (metric.points, narrow.points)
    )
    np.testing.assert_allclose(after, before, rtol=1e-3)


@pytest.mark.parametrize("slot", [0, 1])
def test_new_rows_are_projected_as_fitted_ones(rng, slot):
    X = wide_view(rng, 1.0)[0] + 3
    metric = reduce_width(view_metrics(X, "x")[slot][0])
    np.testing.assert_allclose(metric.map_new(X[40:50]), metric.points[40:50], atol=1e-9)
    if metric.angular:
        np.testing.assert_allclose(np.linalg.norm(metric.points, axis=1), 1.0)


def test_principal_axes_do_not_depend_on_the_threads(rng):
    metric, found = view_metrics(wide_view(rng, 1.0)[0], "x")[0][0], []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(reduce_width(metric).map_new(np.ones((1, 400))))
    np.testing.assert_array_equal(*found)


def test_narrow_and_sparse_points_are_not_projected(rng):
    narrow = view_metrics(rng.standard_normal((300, AXES)), "x")[0][0]
    assert reduce_width(narrow) is narrow
    counts = view_metrics(sp.random_array((300, 400), density=0.02, rng=rng).tocsr(), "words")[0][0]
    assert reduce_width(counts) is counts
