"""Any finite input ends in a result or an error of ours; what once did not, by name."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.problems import RESULT, Problem, outcome, problem
from mkclust import METHODS, MKCDNM
from mkclust.data.datasets import make_views
from mkclust.kernels.bank import KERNELS
from mkclust.linalg.eigenpairs import eigenpairs

EACH = dict.fromkeys(METHODS, 30) | {"swmc": 12, "cagl": 12}  # these two take ten times as long


@pytest.mark.parametrize("name", METHODS)
def test_generated_problems_end_well(name):
    first = 100 * list(METHODS).index(name)
    found = {seed: outcome(name, problem(seed)) for seed in range(first, first + EACH[name])}
    assert {seed: end for seed, end in found.items() if not end.expected} == {}
    assert sum(end.kind == RESULT for end in found.values()) > len(found) / 4  # not all are refused


def ends(name, views, k, **settings):
    """How a method ends on views given here."""
    n = views[0].shape[0]
    return outcome(name, Problem(0, views, n, k, {"n_init": 2, **settings}))


@pytest.mark.parametrize("name", METHODS)
def test_kernels_at_the_limits(name):
    """Equal eigenvalues, and values at the ends of the range of numbers."""
    for n in (15, 27, 28):
        found = ends(name, [np.eye(n), np.eye(n)], 3, kernel="precomputed")
        if name == "graph-fusion":
            assert "equally far apart in every view" in found.message
        else:
            assert found.kind == RESULT, found.message
    settings = {"kernel": "polynomial", "kernel_params": {"coef0": 0.0}}
    for scale in (1e40, 1e-40):
        views = [view * scale for view in make_views(20, 2, 2, random_state=0).views]
        found = ends(name, views, 2, center=True, normalize=False, **settings)
        assert found.kind == RESULT, found.message


def test_eigenpairs_where_the_quick_solver_gives_none():
    for n in range(2, 40):
        for A in (np.eye(n), np.eye(n) - 1 / n, np.ones((n, n))):
            for low, high in ((0, 0), (n - 1, n - 1), (0, n - 1), (n // 2, n - 1)):
                values, V = eigenpairs(A, low, high)
                assert values.shape == (high - low + 1,) and V.shape == (n, high - low + 1)
                np.testing.assert_allclose(V.T @ V, np.eye(high - low + 1), atol=1e-12)
                np.testing.assert_allclose(A @ V, V * values, atol=1e-11)
                np.testing.assert_allclose(eigenpairs(A, low, high)[0], values, atol=1e-11)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "cosine", "rbf"])
def test_a_sparse_view_of_the_smallest_numbers_there_are(kernel):
    X = np.random.default_rng(0).integers(0, 900, (12, 4)).astype(float)
    views = [X, sp.csr_array(X * 5e-324)]
    found = ends("akkm", views, 2, kernel=kernel)
    assert found.kind == RESULT, found.message
    model = MKCDNM(2, kernel=kernel, random_state=0).fit(views)
    dense = MKCDNM(2, kernel=kernel, random_state=0).fit([X, X])
    np.testing.assert_array_equal(model.labels_, dense.labels_)


def test_a_kernel_brought_into_range_places_the_fitted_samples_where_they_are():
    views = [view * 1e40 for view in make_views(30, 2, 2, random_state=0).views]
    settings = {"kernel": "polynomial", "kernel_params": {"coef0": 0.0}, "normalize": False}
    model = MKCDNM(2, random_state=0, **settings).fit(views)
    np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-8)


def test_a_kernel_that_rounding_makes_indefinite_gets_a_code():
    near = 1e42 * (1 + np.random.default_rng(1).integers(0, 3, (14, 4)) * 2e-16)
    near[0] = -near[0]
    assert ends("cagl", [near], 1, kernel="rbf", kernel_params={"gamma": 0.01}).kind == RESULT


def test_every_kernel_is_among_the_problems():
    drawn = {problem(seed).settings.get("kernel", "default") for seed in range(300)}
    assert drawn == {"default", "precomputed", *KERNELS}
