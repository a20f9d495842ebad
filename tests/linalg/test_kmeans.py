import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

from mkclust.exceptions import DegenerateWarning
from mkclust.linalg.kmeans import kmeans_labels, unit_rows
from mkclust.metrics import accuracy

pytestmark = pytest.mark.versions


def rays(rng, n=90, k=3, width=4):
    """Points along k rays at any distance: one cluster each once rows have length one."""
    truth = rng.integers(0, k, n)
    directions = np.linalg.qr(rng.standard_normal((width, k)))[0].T
    return truth, directions[truth] * rng.uniform(0.01, 10, (n, 1))


def test_unit_rows_have_length_one_and_zero_rows_stay():
    H = np.random.default_rng(0).standard_normal((20, 3))
    H[4] = 0
    lengths = np.linalg.norm(unit_rows(H), axis=1)
    np.testing.assert_allclose(np.delete(lengths, 4), 1)
    assert lengths[4] == 0


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_rays_are_clusters_whatever_the_distance(init):
    truth, H = rays(np.random.default_rng(1))
    labels = kmeans_labels(H, 3, random_state=0, init=init)
    assert accuracy(truth, labels) == 1
    assert labels.dtype.kind == "i"


def test_k_means_has_one_thread_whatever_is_allowed(monkeypatch):
    """Equal labels may be luck: the order of a parallel sum is not fixed, so there is none."""
    seen = []

    class Watched(KMeans):
        def fit(self, X):
            seen.extend(pool["num_threads"] for pool in threadpool_info())
            return super().fit(X)

    monkeypatch.setattr("mkclust.linalg.kmeans.KMeans", Watched)
    with threadpool_limits(2):
        kmeans_labels(np.random.default_rng(2).standard_normal((50, 3)), 3, random_state=0)
        after = [pool["num_threads"] for pool in threadpool_info()]
    assert set(seen) == {1} and max(after) == 2


def test_more_restarts_are_never_worse():
    H = np.random.default_rng(3).standard_normal((200, 5))

    def inertia(labels):
        rows = unit_rows(H)
        return sum(((rows[labels == c] - rows[labels == c].mean(0)) ** 2).sum() for c in range(9))

    one, many = (inertia(kmeans_labels(H, 9, n_init=r, random_state=4)) for r in (1, 20))
    assert many < one


def test_too_few_distinct_rows_warn():
    H = np.repeat(np.eye(2), 10, axis=0)
    with pytest.warns(DegenerateWarning, match="only 2 clusters found where 3"):
        labels = kmeans_labels(H, 3, random_state=0)
    assert len(np.unique(labels)) == 2
