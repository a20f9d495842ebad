"""Redundancy of views, against plain computations over all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from mkclust.agreement import weights as module
from mkclust.agreement.weights import redundancy
from mkclust.graphs.metrics import Metric


def metrics(*tables):
    return [Metric("x", table) for table in tables]


def empty(n, m):
    return [sp.csr_array((n, n))] * m


def held_by(n, *missing):
    found = np.ones((len(missing), n), dtype=bool)
    for p, rows in enumerate(missing):
        found[p, rows] = False
    return found


def test_of_edges_it_is_the_squared_cosine_of_the_graphs():
    rng = np.random.default_rng(0)
    dense = [rng.random((12, 12)) * (rng.random((12, 12)) < 0.5) for _ in range(3)]
    flat = np.zeros((12, 1))
    held = np.ones((3, 12), dtype=bool)
    found = redundancy([sp.csr_array(graph) for graph in dense], metrics(flat, flat, flat), held)
    for p in range(3):
        for q in range(3):
            cosine = np.sum(dense[p] * dense[q]) / np.sqrt(
                np.sum(dense[p] ** 2) * np.sum(dense[q] ** 2)
            )
            assert found[p, q] == pytest.approx(cosine**2)


def test_the_larger_of_edges_and_distances_counts():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 2))
    eye = sp.csr_array(np.eye(20))
    assert redundancy([eye, eye], metrics(X, X[::-1]), np.ones((2, 20), bool))[0, 1] == (
        pytest.approx(1)
    )
    assert redundancy(empty(20, 2), metrics(X, X), np.ones((2, 20), bool))[0, 1] == (
        pytest.approx(1)
    )


@pytest.mark.parametrize(("common", "found"), [(2, 0.0), (3, 1.0), (4, 1.0)])
def test_three_samples_in_common_can_be_compared(common, found):
    X = np.random.default_rng(2).standard_normal((10, 2))
    held = held_by(10, slice(common, 6), slice(6, 10))
    parts = metrics(X[held[0]], X[held[1]])
    assert redundancy(empty(10, 2), parts, held)[0, 1] == pytest.approx(found)


def test_correlations_are_over_the_common_samples_of_each_pair():
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((15, 2)) for _ in range(2)]
    X.append(X[0] + 0.5 * rng.standard_normal((15, 2)))
    held = held_by(15, [0, 3], [3, 7, 11], [14])
    found = redundancy(empty(15, 3), metrics(*(x[h] for x, h in zip(X, held, strict=True))), held)
    for p, q in ((0, 1), (0, 2), (1, 2)):
        both = held[p] & held[q]
        r = np.corrcoef(pdist(X[p][both], "sqeuclidean"), pdist(X[q][both], "sqeuclidean"))[0, 1]
        assert found[p, q] == found[q, p] == pytest.approx(max(r, 0) ** 2, abs=1e-12)


def test_a_few_samples_are_evenly_spaced_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(module, "MANY", 5)
    X, Y = (np.random.default_rng(seed).standard_normal((9, 2)) for seed in (4, 5))
    found = redundancy(empty(9, 2), metrics(X, Y), np.ones((2, 9), bool))[0, 1]
    rows = [0, 2, 4, 6, 8]
    r = np.corrcoef(pdist(X[rows], "sqeuclidean"), pdist(Y[rows], "sqeuclidean"))[0, 1]
    assert found == pytest.approx(max(r, 0) ** 2, abs=1e-12)
    assert module.spaced(5, 5).tolist() == [0, 1, 2, 3, 4]
    assert module.spaced(6, 5).tolist() == [0, 1, 2, 3, 5]


def test_views_with_opposite_distances_or_none_say_different_things():
    flat, ends, middle = np.zeros((3, 40, 1))
    ends[:20], middle[10:30] = 1, 1
    for pair in ((flat, flat), (ends, middle)):
        assert redundancy(empty(40, 2), metrics(*pair), np.ones((2, 40), bool))[0, 1] < 0.01
