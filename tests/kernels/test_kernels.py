"""Kernels, scaling and graphs of views: formulas and invariants."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.banks import PARAMS, bank, every_kernel
from _support.fits import table
from mkclust.data.views import MultiView
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelRecipe
from mkclust.kernels.functions import (
    KERNELS,
    CosineKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
)
from mkclust.kernels.neighbor_graphs import KNNKernel, SelfTuningKernel
from mkclust.linalg.scaling import PANEL, squared_distances, standardized

pytestmark = pytest.mark.versions


def direct_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(-1)


def test_gaussian_is_the_formula():
    X = table() * [1, 10, 0.1, 3, 1e5] + 7
    Z = (X - X.mean(0)) / X.std(0)
    D2 = direct_distances(Z)
    np.testing.assert_allclose(GaussianKernel().matrix(X), np.exp(-2 * D2 / D2.mean()), atol=1e-13)


def test_constant_columns_do_not_count():
    X = table()
    padded = np.column_stack([X, np.full(40, 3.3), np.zeros(40), np.full(40, 1e200)])
    np.testing.assert_allclose(
        GaussianKernel().matrix(padded), GaussianKernel().matrix(X), atol=1e-14
    )
    np.testing.assert_allclose(standardized(padded)[:, 5:], 0)


def test_rbf_linear_cosine_and_polynomial_are_their_formulas():
    X = table()
    np.testing.assert_allclose(
        RBFKernel(gamma=0.2).matrix(X), np.exp(-0.2 * direct_distances(X)), atol=1e-13
    )
    own = 2 / direct_distances(X).mean()
    np.testing.assert_allclose(
        RBFKernel().matrix(X), np.exp(-own * direct_distances(X)), atol=1e-13
    )
    np.testing.assert_allclose(LinearKernel().matrix(X), X @ X.T, atol=1e-13)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(CosineKernel().matrix(X), unit @ unit.T, atol=1e-14)
    by_hand = (X @ X.T / 5 + 1) ** 3
    np.testing.assert_allclose(PolynomialKernel().matrix(X), by_hand, rtol=1e-12, atol=1e-12)
    by_hand = (0.5 * X @ X.T + 2) ** 2
    np.testing.assert_allclose(
        PolynomialKernel(2, gamma=0.5, coef0=2).matrix(X), by_hand, atol=1e-12
    )


def test_neighbor_graph_is_the_normalized_union_of_neighborhoods():
    X = table(25, 3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :4]
    A = np.zeros((25, 25))
    A[np.arange(25)[:, None], nearest] = 1
    A = (A + A.T) / 2
    scale = 1 / np.sqrt(A.sum(1))
    expected = (np.eye(25) + scale[:, None] * A * scale) / 2
    np.testing.assert_allclose(KNNKernel(n_neighbors=4).matrix(X), expected, atol=1e-14)


def test_self_tuning_graph_is_the_formula_when_nothing_is_cut():
    X = table(25, 3)
    Z = (X - X.mean(0)) / X.std(0)
    D2 = direct_distances(Z)
    sigma = np.sqrt(np.sort(D2, axis=1)[:, 7])
    A = np.exp(-D2 / np.outer(sigma, sigma))
    np.fill_diagonal(A, 0)
    scale = 1 / np.sqrt(A.sum(1))
    expected = (np.eye(25) + scale[:, None] * A * scale) / 2
    np.testing.assert_allclose(SelfTuningKernel(n_neighbors=None).matrix(X), expected, atol=1e-13)


def test_self_tuning_graph_keeps_the_nearest_and_survives_duplicates():
    X = np.repeat(table(5, 2), 9, axis=0)  # eight others at distance zero
    K = SelfTuningKernel(n_neighbors=3).matrix(X)
    assert np.isfinite(K).all()
    K = SelfTuningKernel(n_neighbors=4).matrix(table(30, 2))
    assert (np.count_nonzero(K, axis=1) <= 30).all()
    assert np.count_nonzero(K) < 30 * (2 * 4 + 1) + 1


@every_kernel
def test_every_kernel_is_symmetric_finite_and_positive(name):
    X = np.abs(table(50, 6)) * [1, 5, 0.2, 1, 1, 30]
    X[7] = X[3]  # a duplicate
    X[:, 2] = 4.0  # a constant column
    raw = KERNELS[name](**PARAMS.get(name, {})).matrix(X)
    for K in (raw, bank([X], name)[0]):
        assert K.shape == (50, 50)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.abs(K).max()


@every_kernel
def test_sparse_and_dense_agree(name):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(40, 30)) * (rng.uniform(size=(40, 30)) < 0.4)
    X[:, 4] = 0
    X[:, 5] = 2
    params = PARAMS.get(name, {})
    dense = KERNELS[name](**params).matrix(X)
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        view = MultiView([form(X)]).views[0]
        np.testing.assert_allclose(KERNELS[name](**params).matrix(view), dense, atol=1e-11)


def test_sparse_columns_far_from_zero_keep_their_variance():
    X = table(60, 3) + np.array([0, 1e2, 3e4])
    np.testing.assert_allclose(
        GaussianKernel().matrix(sp.csr_array(X)), GaussianKernel().matrix(X), atol=1e-5
    )


@every_kernel
def test_order_and_type_of_the_array_do_not_matter(name):
    X = np.random.default_rng(0).integers(0, 9, (30, 4))
    params = PARAMS.get(name, {})
    expected = KERNELS[name](**params).matrix(X.astype(float))
    wide = np.zeros((60, 8))
    wide[::2, ::2] = X
    others = [X, X.astype(np.float32), np.asfortranarray(X, dtype=float), wide[::2, ::2]]
    for other in others:
        np.testing.assert_allclose(KERNELS[name](**params).matrix(other), expected, atol=1e-12)


@every_kernel
def test_the_order_of_samples_only_permutes(name):
    X = table(30, 4)
    order = np.random.default_rng(1).permutation(30)
    params = PARAMS.get(name, {})
    K = KERNELS[name](**params).matrix(X)
    np.testing.assert_allclose(
        KERNELS[name](**params).matrix(X[order]),
        K[np.ix_(order, order)],
        atol=1e-12 * np.abs(K).max(),
    )


@pytest.mark.parametrize("name", ["gaussian", "linear", "cosine", "knn", "self-tuning"])
@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e-4, 1e4, 1e150, 1e300])
def test_units_do_not_matter(name, unit):
    X = table(30, 4)
    expected = bank([X], name)[0]
    np.testing.assert_allclose(bank([X * unit], name)[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "offset"), [("gaussian", 1e6), ("self-tuning", 1e6), ("linear", 1e4)]
)
def test_offsets_do_not_matter(name, offset):
    X = table(30, 4)
    np.testing.assert_allclose(bank([X + offset], name)[0], bank([X], name)[0], atol=1e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e-4, 1e4, 1e150, 1e300])
def test_units_of_a_given_kernel_do_not_matter(unit):
    K = LinearKernel().matrix(table(30, 4))
    expected = bank([K], "precomputed", kernels=True)[0]
    assert np.linalg.matrix_rank(expected, tol=1e-8) == 4
    np.testing.assert_allclose(
        bank([K * unit], "precomputed", kernels=True)[0], expected, atol=1e-9
    )


def test_squared_distances_are_never_negative_and_zero_on_the_diagonal():
    X = np.repeat(table(10, 3) + 1e6, 2, axis=0)
    D2 = squared_distances(X)
    assert (D2 >= 0).all()
    np.testing.assert_array_equal(np.diagonal(D2), 0)


@pytest.mark.parametrize("n", [1, 2, PANEL - 1, PANEL, 2 * PANEL + 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_distances_are_the_formula_and_symmetric_to_the_last_digit(n, sparse):
    """Also where only what lies above the diagonal is computed, panel by panel."""
    X = np.random.default_rng(0).standard_normal((n, 7))
    X[n // 2 :] = X[: n - n // 2]  # every second row is there twice
    given = sp.csr_array(X) if sparse else X
    D2 = squared_distances(given)
    np.testing.assert_allclose(D2, direct_distances(X), atol=1e-12)
    np.testing.assert_array_equal(D2, D2.T)
    assert D2.min() == 0
    assert not D2.diagonal().any()
    K = squared_distances(given, -0.5, lambda block: np.exp(block, out=block))
    np.testing.assert_allclose(K, np.exp(-0.5 * D2), rtol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    assert K.max() == 1


def test_equal_samples_are_refused_even_where_nothing_else_would_notice():
    with pytest.raises(InputError, match="constant"):
        KernelRecipe("rbf", {"gamma": 1.0}, center=False, normalize=False).matrix(
            np.ones((5, 3)), "one", "rbf"
        )
