"""Layouts of samples, similarity matrices, and numbers about clusters."""

import numpy as np
import pytest

from mkclust.report import layout, words
from mkclust.report.groups import class_table, silhouettes


def test_blocks_are_means_of_all_pairs():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)[rng.permutation(120)]
    H = rng.standard_normal((120, 3))
    Z = H / np.linalg.norm(H, axis=1, keepdims=True)
    order = np.argsort(labels, kind="stable")
    full = (Z @ Z.T)[np.ix_(order, order)]
    expected = full.reshape(12, 10, 12, 10).mean(axis=(1, 3))
    np.testing.assert_allclose(layout.block_means(H, labels, 12), expected, atol=1e-12)
    np.testing.assert_allclose(layout.block_means(H, labels, 500), full, atol=1e-12)


def test_layouts_depend_on_the_embedding_alone():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(4), 25)
    H = np.eye(4)[clusters] + 0.1 * rng.standard_normal((100, 4))
    plane = layout.principal_plane(H)
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(layout.aligned(plane @ turn, plane), plane, atol=1e-10)
    near = layout.tsne(H)
    np.testing.assert_array_equal(near, layout.tsne(H))
    centers = np.array([near[clusters == c].mean(axis=0) for c in range(4)])
    nearest = np.linalg.norm(near[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == clusters).all()
    assert layout.tsne(H[:5]) is None


def test_a_view_without_information_is_drawn_near_the_center():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(4), 25)
    near = 10 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])[clusters]
    near = near + rng.standard_normal((100, 2))
    informed = layout.predicted(near, np.eye(4)[clusters])
    lost = layout.predicted(near, rng.standard_normal((100, 4)))
    assert np.abs(informed - near).max() < 4
    assert np.linalg.norm(lost, axis=1).mean() < 3


def test_absent_samples_do_not_dim_the_blocks():
    H = np.repeat(np.eye(2), 100, axis=0)
    labels, present = np.repeat([0, 1], 100), np.tile([True, False], 100)
    blocks = layout.block_means(H * present[:, None], labels, 20, present)
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


def test_numbers_are_rounded_once():
    assert words.number(0.9952, 3) == "0.995" and words.number(-0.0004, 2) == "0.00"
