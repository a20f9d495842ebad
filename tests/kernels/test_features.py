"""Explicit features: with every row a landmark they give the kernel itself."""

import numpy as np
import pytest

from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelRecipe
from mkclust.kernels.features import Features, Moments, feature_map, feature_means, precision
from mkclust.kernels.functions import KERNELS, GaussianKernel

N = 120


@pytest.fixture(name="X")
def _table():
    return np.random.default_rng(1).normal(size=(N, 4)) * [1, 10, 0.1, 1] + 3


def moments(X):
    return Moments(
        X.mean(axis=0), X.var(axis=0), np.ptp(X, axis=0) > 0, float((X**2).sum(axis=1).max())
    )


def mapped(kernel, X, landmarks=None, params=None, method="nystroem", seed=0):
    landmarks = X if landmarks is None else landmarks
    random = np.random.default_rng(seed)
    return feature_map(kernel, params or {}, moments(X), landmarks, method, np.float64, random)


def gram(found, X):
    Z = found.raw(X)
    Z = Z if found.whitening is None else Z @ found.whitening
    return Z @ Z.T


CASES = [
    ("gaussian", {}),
    ("rbf", {}),
    ("rbf", {"gamma": 0.01}),
    ("linear", {}),
    ("cosine", {}),
    ("polynomial", {}),
    ("polynomial", {"degree": 2, "gamma": 0.5, "coef0": 0.0}),
]


@pytest.mark.parametrize(("kernel", "params"), CASES)
def test_all_landmarks_give_the_kernel(kernel, params, X):
    K = KERNELS[kernel](**params).matrix(X)
    found = gram(mapped(kernel, X, params=params), X)
    np.testing.assert_allclose(found, K, atol=1e-8 * np.abs(K).max())


@pytest.mark.parametrize(("kernel", "params"), CASES)
def test_features_are_centered_and_normalized_as_kernels_are(kernel, params, X):
    K = KernelRecipe(kernel, params).matrix(X, "x", kernel)
    found = mapped(kernel, X, params=params)
    means = feature_means([found], [found.raw(X).mean(axis=0)], np.float64)
    Z, peaks = Features((found,), means, (True,), np.float64)([X])
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-6)
    assert peaks.shape == (1,) and peaks[0] > 0


def test_wide_linear_views_are_reduced_to_landmarks():
    X = np.random.default_rng(0).normal(size=(60, 1000))
    found = mapped("linear", X)
    assert found.width == 60
    np.testing.assert_allclose(gram(found, X), X @ X.T, atol=1e-8)


def test_fewer_landmarks_come_nearer_with_their_number(X):
    K = GaussianKernel().matrix(X)
    errors = [np.abs(gram(mapped("gaussian", X, X[:r]), X) - K).max() for r in (5, 30, 110)]
    assert errors[0] > errors[1] > errors[2]


def test_fourier_features_are_unbiased(X):
    K = GaussianKernel().matrix(X)
    big = np.resize(X, (40_000, 4))
    found = mapped("gaussian", X, big, method="fourier")
    assert found.width == 40_000
    assert np.abs(gram(found, X) - K).max() < 0.05


def test_constant_columns_do_not_matter_and_constant_views_are_refused(X):
    wider = np.column_stack([X, np.full(N, 7.0)])
    np.testing.assert_allclose(
        gram(mapped("gaussian", wider), wider), gram(mapped("gaussian", X), X), atol=1e-10
    )
    with pytest.raises(InputError, match="constant"):
        mapped("gaussian", np.ones((N, 2)))
    with pytest.raises(InputError, match="gamma"):
        mapped("rbf", X, params={"gamma": -1.0})


def test_a_row_without_similarity_stays_zero():
    X = np.array([[1.0, 0], [-1, 0], [0, 0], [2, 1]])
    found = mapped("linear", X)
    Z, _ = Features((found,), (np.zeros(2),), (True,), np.float64)([X])
    np.testing.assert_array_equal(Z[2], 0)
    np.testing.assert_allclose(np.linalg.norm(Z[[0, 1, 3]], axis=1), 1)


def test_precision_is_double_where_the_exact_route_is_open():
    assert precision(20_000) is np.float64
    assert precision(20_001) is np.float32
