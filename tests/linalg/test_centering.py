"""Kernels centred in feature space and scaled to unit diagonal."""

import numpy as np

from _support.banks import centred_and_normalised, random_kernel


def test_centring_is_the_projection_off_the_constant_vector():
    K = random_kernel()
    J = np.eye(30) - 1 / 30
    centred = centred_and_normalised(K.copy(), normalize=False)
    np.testing.assert_allclose(centred, J @ K @ J, atol=1e-11)
    np.testing.assert_allclose(centred.sum(axis=0), 0, atol=1e-11)
    again = centred_and_normalised(centred.copy(), normalize=False)
    np.testing.assert_allclose(again, centred, atol=1e-11)


def test_normalising_gives_cosines_in_feature_space():
    K = random_kernel()
    scale = 1 / np.sqrt(np.diagonal(K))
    found = centred_and_normalised(K.copy(), center=False)
    np.testing.assert_allclose(found, scale[:, None] * K * scale, atol=1e-10)


def test_both_are_done_in_this_order():
    K = random_kernel()
    centred = centred_and_normalised(K.copy(), normalize=False)
    expected = centred_and_normalised(centred, center=False)
    both = centred_and_normalised(K.copy())
    np.testing.assert_allclose(both, expected, atol=1e-10)
    np.testing.assert_array_equal(np.diagonal(both), 1)
    np.testing.assert_array_equal(both, both.T)


def test_neither_leaves_the_kernel_alone():
    K = random_kernel()
    np.testing.assert_array_equal(centred_and_normalised(K.copy(), False, False), K)


def test_a_sample_without_similarity_gives_no_nan():
    """One sample in the middle of the others: nothing is left of it after centring."""
    X = np.array([[1.0], [-1.0], [0.0], [2.0], [-2.0]])
    K = centred_and_normalised(X @ X.T)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K[2, [0, 1, 3, 4]], 0)
    K = centred_and_normalised(np.diag([1.0, 0, 1]), center=False)
    assert np.isfinite(K).all()
