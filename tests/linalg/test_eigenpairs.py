from functools import cache

import numpy as np
import pytest

from _support.planted import orthonormal, projector
from mkclust.linalg.eigenpairs import leading, top_eigenpairs, with_fixed_signs

pytestmark = pytest.mark.versions

LARGE = 601  # beyond the size at which a full decomposition is the obvious choice


@cache
def basis_of(n):
    return orthonormal(np.random.default_rng(n), n, n)


def kernel_of(values):
    """A kernel of n = len(values) samples with the given eigenvalues."""
    V = basis_of(len(values))
    K = (V * values) @ V.T
    return (K + K.T) / 2


def check(found, kernel, expected):
    """Eigenpairs by their definition, and the leading ones by the values they were made with."""
    V, values = found.vectors, found.values
    np.testing.assert_allclose(V.T @ V, np.eye(len(values)), atol=1e-12)
    np.testing.assert_allclose(kernel @ V, V * values, atol=1e-11)
    np.testing.assert_allclose(values[: len(expected)], expected, atol=1e-12)


def few_directions(noise):
    """What is left after the few directions is nearly all rounding."""
    return np.concatenate([np.linspace(5, 1, 9), noise * np.linspace(1, 0.1, LARGE - 9)])


@pytest.mark.parametrize(
    ("values", "size"),
    [(1.0 / np.arange(1, 61), size) for size in (5, 30)]
    + [(1.0 / np.arange(1, LARGE + 1), size) for size in (5, 30, 60, 300)]
    + [(few_directions(noise), 20) for noise in (1e-6, 1e-9)]
    + [(decay ** np.arange(LARGE), 12) for decay in (0.5, 0.9999)],  # almost a multiple of I
)
def test_leading_pairs_are_eigenpairs_and_the_largest(values, size):
    kernel = kernel_of(values)
    found = leading(kernel, size)
    assert found.size >= size
    check(found, kernel, values[:size])


@pytest.mark.parametrize("n", [60, LARGE])
@pytest.mark.parametrize("spread", [0.0, 1e-11, 1e-5])
def test_repeated_and_nearly_repeated_eigenvalues_are_all_found(n, spread):
    """A space grown from a few vectors holds only as many copies of a value."""
    values = 0.1 / np.arange(1, n + 1)
    values[:24] = 3.0 - spread * np.arange(24)
    values[24:28] = [2.0, 1.5, 1.2, 1.0]
    kernel = kernel_of(values)
    check(leading(kernel, 12), kernel, values[:12])
    found = leading(kernel, 28)
    check(found, kernel, values[:28])
    group = projector(basis_of(n)[:, :24])
    np.testing.assert_allclose(projector(found.vectors[:, :24]), group, atol=1e-11)


@pytest.mark.parametrize("n", [60, LARGE])
def test_directions_below_rounding_and_negative_ones_are_left_out(n):
    """Algebraically largest, not largest in magnitude."""
    values = np.concatenate([np.linspace(5, 1, 9), np.zeros(n - 9)])
    kernel = kernel_of(values)
    found = leading(kernel, 20)
    assert found.complete and found.size == 9
    check(found, kernel, values[:9])
    values = np.concatenate([[3.0, 2.0, 1.0], np.zeros(n - 5), [-4.0, -9.0]])
    kernel = kernel_of(values)
    found = leading(kernel, 3)
    check(found, kernel, values[:3])
    assert (found.values > 0).all()


@pytest.mark.parametrize("n", [60, LARGE])
def test_top_eigenpairs_and_the_kernel_left_as_it_was(n):
    kernel = kernel_of(0.95 ** np.arange(n))
    copy = kernel.copy()
    kernel.flags.writeable = False
    values, vectors = top_eigenpairs(kernel, 4)
    np.testing.assert_allclose(values, 0.95 ** np.arange(4), atol=1e-12)
    np.testing.assert_allclose(kernel @ vectors, vectors * values, atol=1e-11)
    leading(kernel, 4)
    np.testing.assert_array_equal(kernel, copy)


def test_signs_are_fixed_by_the_largest_entry():
    V = np.array([[0.6, -0.8], [-0.8, -0.6]])
    np.testing.assert_array_equal(with_fixed_signs(V), with_fixed_signs(-V))
    assert (with_fixed_signs(V)[[1, 0], [0, 1]] > 0).all()
