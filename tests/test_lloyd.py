import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from mkclust import lloyd
from mkclust.datasets import load_mfeat
from mkclust.labels import kmeans_clusters, spread_starts, unit_rows


def alone(X, starts):
    """What scikit-learn makes of every start."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [KMeans(len(rows), init=X[rows], n_init=1).fit(X) for rows in starts]


def together(X, starts):
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(lloyd.runs(X, starts))


def assert_same_runs(X, starts):
    expected, found = alone(X, starts), together(X, starts)
    assert len(found) == len(starts)
    for run, model in zip(found, expected, strict=True):
        np.testing.assert_array_equal(run.labels, model.labels_)
        assert run.labels.dtype == model.labels_.dtype
        np.testing.assert_allclose(run.centres, model.cluster_centers_, rtol=0, atol=1e-10)
        assert run.inertia == pytest.approx(model.inertia_, rel=1e-10, abs=1e-12)


def spread(X, k, seed=0, count=6):
    return spread_starts(X, k, count, np.random.RandomState(seed))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("n", "k", "width"),
    [(165, 15, 15), (210, 7, 7), (600, 10, 10), (300, 27, 27), (60, 60, 3), (50, 1, 4), (80, 4, 1)],
)
def test_runs_of_all_starts_together_are_those_of_scikit_learn(n, k, width, seed):
    X = np.random.default_rng(seed).standard_normal((n, width))
    X = unit_rows(X) if width > 1 else X
    assert n * k <= lloyd.SMALL
    assert_same_runs(X, spread(X, k, seed))


def test_starts_anywhere_are_followed_as_scikit_learn_does():
    """Starts side by side in one corner take many steps, and empty some clusters on the way."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    order = np.argsort(X[:, 0])
    starts = np.array([rng.permutation(order[:40])[:12] for _ in range(30)])
    assert_same_runs(X, starts)


def test_rows_that_repeat_and_rows_of_zeros():
    rng = np.random.default_rng(1)
    X = unit_rows(np.repeat(rng.standard_normal((40, 5)), 4, axis=0))
    X[::9] = 0
    for seed in range(3):
        assert_same_runs(X, spread(X, 6, seed))


def test_a_start_with_an_empty_cluster_is_left_to_scikit_learn(monkeypatch):
    left, solved = [], lloyd._alone
    monkeypatch.setattr(lloyd, "_alone", lambda X, rows: left.append(rows) or solved(X, rows))
    X = np.random.default_rng(2).standard_normal((40, 2))
    X[1] = X[0]
    starts = np.array([[0, 5, 9], [0, 1, 9], [3, 4, 5]])
    assert_same_runs(X, starts)
    np.testing.assert_array_equal(left, starts[1:2])


def test_more_clusters_than_different_rows():
    X = np.repeat(np.eye(2), 10, axis=0)
    assert_same_runs(X, np.array([[0, 1, 10], [0, 10, 19]]))


@pytest.mark.parametrize("view", range(6))
def test_runs_on_handwritten_digits_are_those_of_scikit_learn(view):
    """Leading singular vectors of a view, as an embedding is made: near ties are real ones."""
    X = np.asarray(load_mfeat().views[view], dtype=float)
    U, s, _ = np.linalg.svd((X - X.mean(0)) / (X.std(0) + 1e-12), full_matrices=False)
    H = unit_rows(np.ascontiguousarray((U * s)[:, :10]))
    assert len(H) * 10 <= lloyd.SMALL
    assert_same_runs(H, spread(H, 10, view, 3))


def test_centres_that_hardly_move_have_arrived(monkeypatch):
    """Stopped by the tolerance or at the last step, labels are those of the final centres."""
    X = np.random.default_rng(3).standard_normal((2000, 2))
    starts = spread(X, 12, 0, 12)
    assert_same_runs(X, starts)
    still_moving = 0
    for run in together(X, starts):
        distances = ((X[:, None] - run.centres) ** 2).sum(axis=2)
        np.testing.assert_array_equal(run.labels, distances.argmin(axis=1))
        of_labels = [X[run.labels == c].mean(axis=0) for c in range(12)]
        still_moving += np.abs(of_labels - run.centres).max() > 1e-9
    assert 0 < still_moving < len(starts)  # both ends occur
    monkeypatch.setattr(lloyd, "STEPS", 2)
    for rows, run in zip(starts, together(X, starts), strict=True):
        model = KMeans(12, init=X[rows], n_init=1, max_iter=2).fit(X)
        np.testing.assert_array_equal(run.labels, model.labels_)
        np.testing.assert_allclose(run.centres, model.cluster_centers_, atol=1e-10)


def test_few_starts_at_a_time_change_nothing(monkeypatch):
    X = unit_rows(np.random.default_rng(4).standard_normal((200, 6)))
    starts = spread(X, 8, 1, 7)
    whole = together(X, starts)
    for cells in (1, 3 * 200 * 8):
        monkeypatch.setattr(lloyd, "TOGETHER", cells)
        for one, other in zip(whole, together(X, starts), strict=True):
            np.testing.assert_array_equal(one.labels, other.labels)
            np.testing.assert_allclose(one.centres, other.centres, rtol=0, atol=1e-12)


def test_distances_of_all_starts_are_never_in_memory_at_once(monkeypatch):
    seen, nearest = [], lloyd._nearest
    monkeypatch.setattr(lloyd, "TOGETHER", 5000)
    monkeypatch.setattr(
        lloyd, "_nearest", lambda X, C: seen.append(len(X) * C[..., 0].size) or nearest(X, C)
    )
    X = np.random.default_rng(5).standard_normal((200, 3))
    assert_same_runs(X, spread(X, 10, 0, 9))
    assert max(seen) == 4000


@pytest.mark.parametrize("single", [False, True])
def test_the_order_in_memory_does_not_show(single):
    H = np.random.default_rng(6).standard_normal((150, 9))
    H = H.astype(np.float32) if single else H
    by_rows = kmeans_clusters(H, 6, random_state=0)
    by_columns = kmeans_clusters(np.asfortranarray(H), 6, random_state=0)
    np.testing.assert_array_equal(by_rows.labels, by_columns.labels)
    np.testing.assert_array_equal(by_rows.centres, by_columns.centres)
    assert by_rows.centres.dtype == H.dtype


def test_rows_in_single_precision_are_left_to_scikit_learn():
    X = unit_rows(np.random.default_rng(7).standard_normal((150, 9)).astype(np.float32))
    starts = spread(X, 6)
    for run, model in zip(together(X, starts), alone(X, starts), strict=True):
        np.testing.assert_array_equal(run.labels, model.labels_)
        np.testing.assert_array_equal(run.centres, model.cluster_centers_)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_starts_is_the_same_on_either_way(monkeypatch, seed):
    H = np.random.default_rng(seed).standard_normal((400, 8))
    at_once = kmeans_clusters(H, 8, random_state=seed)
    monkeypatch.setattr(lloyd, "SMALL", 0)
    one_by_one = kmeans_clusters(H, 8, random_state=seed)
    np.testing.assert_array_equal(at_once.labels, one_by_one.labels)
    np.testing.assert_allclose(at_once.centres, one_by_one.centres, rtol=0, atol=1e-10)
