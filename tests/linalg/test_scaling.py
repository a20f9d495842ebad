"""Kernels centered in feature space and scaled to unit diagonal."""

import numpy as np

from _support.banks import centered_and_normalized, random_kernel


def test_normalizing_gives_cosines_in_feature_space():
    K = random_kernel()
    scale = 1 / np.sqrt(np.diagonal(K))
    found = centered_and_normalized(K.copy(), center=False)
    np.testing.assert_allclose(found, scale[:, None] * K * scale, atol=1e-10)


def test_a_sample_without_similarity_gives_no_nan():
    """One sample in the middle of the others: nothing is left of it after centering."""
    X = np.array([[1.0], [-1.0], [0.0], [2.0], [-2.0]])
    K = centered_and_normalized(X @ X.T)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K[2, [0, 1, 3, 4]], 0)
    K = centered_and_normalized(np.diag([1.0, 0, 1]), center=False)
    assert np.isfinite(K).all()
