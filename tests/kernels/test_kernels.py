"""Kernel functions of views: formulas, invariants, rows of new samples."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from _support.banks import PARAMS, bank, every_kernel
from _support.fits import table
from mkclust.data.views import MultiView
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelRecipe
from mkclust.kernels.functions import KERNELS, fitted_kernel

pytestmark = pytest.mark.versions


def matrix(name, X, **params):
    return fitted_kernel(name, params or PARAMS.get(name, {}), X).matrix()


def direct_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(-1)


def test_gaussian_is_the_formula_and_constant_columns_do_not_count():
    X = table() * [1, 10, 0.1, 3, 1e5] + 7
    D2 = direct_distances((X - X.mean(0)) / X.std(0))
    np.testing.assert_allclose(matrix("gaussian", X), np.exp(-2 * D2 / D2.mean()), atol=1e-13)
    padded = np.column_stack([X, np.full(40, 3.3), np.zeros(40), np.full(40, 1e200)])
    np.testing.assert_allclose(matrix("gaussian", padded), matrix("gaussian", X), atol=1e-14)


def test_the_other_kernels_are_their_formulas():
    X = table()
    D2, unit = direct_distances(X), X / np.linalg.norm(X, axis=1, keepdims=True)
    for found, expected in (
        (matrix("rbf", X, gamma=0.2), np.exp(-0.2 * D2)),
        (fitted_kernel("rbf", {}, X).matrix(), np.exp(-2 * D2 / D2.mean())),
        (matrix("linear", X), X @ X.T),
        (matrix("cosine", X), unit @ unit.T),
        (matrix("polynomial", X), (X @ X.T / 5 + 1) ** 3),
        (matrix("polynomial", X, degree=2, gamma=0.5, coef0=2), (0.5 * X @ X.T + 2) ** 2),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@every_kernel
def test_every_kernel_is_symmetric_finite_and_positive(name):
    X = np.abs(table(50, 6)) * [1, 5, 0.2, 1, 1, 30]
    X[7] = X[3]  # a duplicate
    X[:, 2] = 4.0  # a constant column
    for K in (matrix(name, X), bank([X], name)[0]):
        assert K.shape == (50, 50) and np.isfinite(K).all()
        np.testing.assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.abs(K).max()


@every_kernel
def test_storage_type_and_order_of_the_samples_do_not_matter(name):
    X = np.random.default_rng(0).integers(0, 3, (30, 20))
    X[:, 4], X[:, 5] = 0, 2
    expected = matrix(name, X.astype(float))
    for form in (np.float32, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array):
        view = MultiView([X.astype(form) if form is np.float32 else form(X)]).views[0]
        np.testing.assert_allclose(matrix(name, view), expected, rtol=1e-9, atol=1e-11)
    order = np.random.default_rng(1).permutation(30)
    turned = expected[np.ix_(order, order)]
    np.testing.assert_allclose(matrix(name, X[order]), turned, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["gaussian", "linear", "cosine", "precomputed"])
@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_units_do_not_matter(name, unit):
    X, given = table(30, 4), name == "precomputed"
    X = X @ X.T if given else X
    expected = bank([X], name, kernels=given)[0]
    np.testing.assert_allclose(bank([X * unit], name, kernels=given)[0], expected, atol=1e-9)


def test_offsets_do_not_matter():
    X = table(30, 4)
    for name, offset in (("gaussian", 1e6), ("linear", 1e4)):
        np.testing.assert_allclose(bank([X + offset], name)[0], bank([X], name)[0], atol=1e-6)
    far = table(60, 3) + np.array([0, 1e2, 3e4])
    sparse = matrix("gaussian", sp.csr_array(far))
    np.testing.assert_allclose(sparse, matrix("gaussian", far), atol=1e-5)


@pytest.mark.parametrize("name", list(KERNELS))
def test_rows_of_fitted_samples_are_those_of_the_kernel(name):
    for scale, form in product((1e-8, 1e120), (np.asarray, sp.csr_array)):
        scale = min(scale, 1.0) if name == "polynomial" else scale  # it overflows
        X = scale * np.random.default_rng(0).random((30, 6)) * (np.arange(6) < 5)
        kernel = fitted_kernel(name, {}, form(X))
        K = kernel.matrix()
        rows, own = kernel.rows(sp.csr_array(X)[10:20])
        np.testing.assert_allclose(rows, K[10:20], rtol=1e-12, atol=1e-12 * np.abs(K).max())
        np.testing.assert_allclose(own, np.diagonal(K)[10:20], rtol=1e-12)


def test_equal_samples_are_refused_even_where_nothing_else_would_notice():
    with pytest.raises(InputError, match="constant"):
        KernelRecipe("rbf", {"gamma": 1.0}, center=False, normalize=False).build(
            np.ones((5, 3)), "one", "rbf"
        )
