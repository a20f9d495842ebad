"""First-order conditions, and feasible neighbors that must not be better."""

import numpy as np
import pytest

EXACT = 1e-9


def retracted(rng, H, size):
    """An orthonormal matrix `size` away from H."""
    return np.linalg.qr(H + size * rng.standard_normal(H.shape))[0]


def assert_orthonormal(H):
    np.testing.assert_allclose(H.T @ H, np.eye(H.shape[1]), atol=1e-12)


def assert_leading(A, H):
    """H maximises Tr(H'AH): it is stationary, holds the largest eigenvalues, and beats others."""
    assert_orthonormal(H)
    scale = np.linalg.norm(A, 2)
    assert np.abs(A @ H - H @ (H.T @ A @ H)).max() <= EXACT * scale
    reached = np.trace(H.T @ A @ H)
    assert abs(reached - np.linalg.eigvalsh(A)[::-1][: H.shape[1]].sum()) <= EXACT * scale
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        other = retracted(rng, H, size)
        assert np.trace(other.T @ A @ other) <= reached + EXACT * scale


def assert_polar(A, W):
    """W maximises Tr(W'A): W'A is symmetric and positive semi-definite, A = W (W'A)."""
    assert_orthonormal(W)
    scale = max(np.linalg.norm(A, 2), 1e-12)
    stretch = W.T @ A
    assert np.abs(stretch - stretch.T).max() <= EXACT * scale
    assert np.linalg.eigvalsh(stretch + stretch.T).min() >= -EXACT * scale
    assert np.abs(A - W @ stretch).max() <= EXACT * scale
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        assert np.vdot(retracted(rng, W, size), A) <= np.vdot(W, A) + EXACT * scale


def assert_on_simplex(x):
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(1, abs=1e-12)


def assert_simplex_optimal(slope, x, value):
    """No coordinate's slope is below the mean slope under x, and no random point is better."""
    assert_on_simplex(x)
    assert slope(x) @ x - slope(x).min() <= EXACT * np.abs(slope(x)).max()
    for other in np.random.default_rng(0).dirichlet(np.ones(len(x)), size=20):
        for step in (1e-4, 1e-2, 1.0):
            assert value((1 - step) * x + step * other) >= value(x) - EXACT * abs(value(x))


def assert_monotone(values, sign):
    """Every value no worse than the last, up to rounding; sign is +1 for rising."""
    assert len(values) > 1
    assert (sign * np.diff(values) >= -1e-12 * np.abs(values).max()).all()
