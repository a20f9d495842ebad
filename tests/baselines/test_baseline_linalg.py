"""Polar factors, sums of projectors and traces, by what defines them."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from _support.optimality import assert_leading, assert_orthonormal, assert_polar
from _support.planted import orthonormal, projector
from mkclust.baselines.linalg import polar, residuals, top_of_projectors
from mkclust.linalg.eigenpairs import top_eigenpairs


@pytest.mark.parametrize("size", [2, 9, 20])
def test_sum_of_projectors_by_its_thin_factors(size):
    """Also where eigenvalues repeat, and where more is asked for than the factors span."""
    rng = np.random.default_rng(size)
    A, B = orthonormal(rng, 40, 9), orthonormal(rng, 40, 6)
    K = orthonormal(rng, 40, 40) * rng.random(40)
    K = K @ K.T
    U = top_of_projectors([A, B], [0.7, 0.2], size, K)
    assert_leading(0.7 * projector(A) + 0.2 * projector(B), U)


def test_a_tie_is_broken_by_the_kernel():
    """Of 9 - 4 equal directions the 3 of largest energy in K, as K itself would choose them."""
    rng = np.random.default_rng(0)
    A = orthonormal(rng, 30, 9)
    H = np.linalg.qr(A[:, :4] + 0.1 * rng.standard_normal((30, 4)))[0]
    root = rng.standard_normal((30, 30))
    K = root @ root.T
    U = top_of_projectors([A, H], [0.8, 0.5], 4 + 3, K)
    inside = A @ np.linalg.svd(H.T @ A)[2][4:].T  # in the span of A, orthogonal to H
    best = np.linalg.eigvalsh(inside.T @ K @ inside)[::-1][:3].sum()
    kept = inside.T @ U
    values, axes = np.linalg.eigh(kept @ kept.T)
    chosen = inside @ axes[:, values > 0.5]
    assert chosen.shape[1] == 3
    assert np.trace(chosen.T @ K @ chosen) == pytest.approx(best, rel=1e-9)


def test_outside_the_factors_the_kernel_decides():
    rng = np.random.default_rng(1)
    A = orthonormal(rng, 30, 4)
    root = rng.standard_normal((30, 30))
    K = root @ root.T
    U = top_of_projectors([A, A], [1.0, 0.5], 7, K)
    assert_orthonormal(U)
    off = np.eye(30) - projector(A)
    extra = np.trace(off @ projector(U) @ off @ K)
    assert extra == pytest.approx(np.linalg.eigvalsh(off @ K @ off)[::-1][:3].sum(), rel=1e-9)


@pytest.mark.parametrize("rank", [0, 2, 4])
@pytest.mark.parametrize("rows", [4, 9])
@pytest.mark.parametrize("guided", [True, False])
def test_polar_factor_also_of_a_singular_matrix(rank, rows, guided):
    rng = np.random.default_rng(rank)
    A = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, 4))
    assert_polar(A, polar(A, orthonormal(rng, rows, 4) if guided else None))


@pytest.mark.parametrize("rows", [4, 9])
def test_what_a_singular_matrix_leaves_open_is_nearest_to_the_guide(rows):
    rng = np.random.default_rng(rows)
    left, right = orthonormal(rng, rows, 2), orthonormal(rng, 4, 4)
    guide = orthonormal(rng, rows, 4)
    W = polar(left @ np.diag([3.0, 1.0]) @ right[:, :2].T, guide)
    np.testing.assert_allclose(W @ right[:, :2], left, atol=1e-12)
    assert_polar((guide - projector(left) @ guide) @ right[:, 2:], W @ right[:, 2:])


def test_what_a_partition_leaves_is_never_negative():
    K = block_diag(np.ones((3, 3)), np.ones((2, 2)))
    H = top_eigenpairs(K, 2)[1]
    assert residuals([K, 1e6 * K], H).min() >= 0
    np.testing.assert_allclose(residuals([K, np.eye(5)], H), [0, 3], atol=1e-12)
