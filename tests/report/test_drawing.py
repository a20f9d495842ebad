"""Layouts of samples, similarity matrices, and numbers about clusters."""

import numpy as np
import pytest

from mkclust.report import drawing
from mkclust.report.drawing import class_table, co_clustering, silhouettes


def test_blocks_are_means_of_all_pairs():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)[rng.permutation(120)]
    H = rng.standard_normal((120, 3))
    Z = H / np.linalg.norm(H, axis=1, keepdims=True)
    order = np.argsort(labels, kind="stable")
    full = (Z @ Z.T)[np.ix_(order, order)]
    expected = full.reshape(12, 10, 12, 10).mean(axis=(1, 3))
    np.testing.assert_allclose(drawing.block_means(H, labels, 12), expected, atol=1e-12)
    np.testing.assert_allclose(drawing.block_means(H, labels, 500), full, atol=1e-12)


def test_layouts_depend_on_the_embedding_alone():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(4), 25)
    H = np.eye(4)[clusters] + 0.1 * rng.standard_normal((100, 4))
    plane = drawing.principal_plane(H)
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(drawing.rotate_onto(plane @ turn, plane), plane, atol=1e-10)
    near = drawing.tsne(H)
    np.testing.assert_array_equal(near, drawing.tsne(H))
    centers = np.array([near[clusters == c].mean(axis=0) for c in range(4)])
    nearest = np.linalg.norm(near[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == clusters).all()
    assert drawing.tsne(H[:5]) is None


def test_a_view_without_information_is_drawn_near_the_center():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(4), 25)
    near = 10 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])[clusters]
    near = near + rng.standard_normal((100, 2))
    informed = drawing.predict_layout(near, np.eye(4)[clusters])
    lost = drawing.predict_layout(near, rng.standard_normal((100, 4)))
    assert np.abs(informed - near).max() < 4
    assert np.linalg.norm(lost, axis=1).mean() < 3


def test_absent_samples_do_not_dim_the_blocks():
    H = np.repeat(np.eye(2), 100, axis=0)
    labels, present = np.repeat([0, 1], 100), np.tile([True, False], 100)
    blocks = drawing.block_means(H * present[:, None], labels, 20, present)
    np.testing.assert_allclose(blocks, np.kron(np.eye(2), np.ones((10, 10))))


def test_clusters_in_numbers():
    H, labels = np.repeat(np.eye(3), 1000, axis=0), np.repeat(np.arange(3), 1000)
    found = silhouettes(H, labels)
    assert found.n_rows <= 2000 and found.mean == pytest.approx(1.0)
    assert silhouettes(H, np.zeros(3000, dtype=int)) is None
    names, counts = class_table(np.array(["10", "9", "b", "9"]), np.array([0, 0, 1, 1]))
    assert names == ["9", "b", "10"] and counts.tolist() == [[1, 0, 1], [1, 1, 0]]


def test_the_class_table_has_its_matches_on_the_diagonal():
    labels = np.repeat([0, 1, 2], 10)
    names, counts = class_table(np.array(["c", "a", "b"])[labels], labels)
    assert names == ["c", "a", "b"] and (counts == np.diag([10, 10, 10])).all()


def test_co_clustering_counts_the_refits_that_hold_both():
    rng = np.random.default_rng(0)
    labels, refits = rng.integers(0, 3, 40), rng.integers(-1, 3, (7, 40))
    order = np.argsort(labels, kind="stable")
    found = co_clustering(refits, labels, 100)
    for a, b in ((0, 1), (5, 30), (39, 12)):
        one, two = refits[:, order[a]], refits[:, order[b]]
        held = (one >= 0) & (two >= 0)
        assert found[a, b] == pytest.approx(np.mean(one[held] == two[held]))
    assert co_clustering(refits, labels, 12).shape[0] <= 12
