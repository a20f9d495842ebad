"""What may fool a Krylov space: repeated eigenvalues, and remainders that are mostly rounding."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from mkclust import MKCDNM
from mkclust.exceptions import InfeasibleWarning
from mkclust.linalg import krylov
from mkclust.linalg.eigen import eigenpairs
from mkclust.linalg.krylov import WIDTH, KrylovSpace

N = 600  # a space may fill half of it


def values_of(copies, floor):
    """A value `copies` times over, two more, and the rest at a floor."""
    values = floor * np.linspace(1, 0.5, N)
    values[:copies] = 3.0
    values[copies : copies + 2] = 2.0, 1.5
    return values


@pytest.mark.parametrize("floor", [0.3, 0.1, 0.03])
@pytest.mark.parametrize("extra", [1, 3])
def test_more_copies_than_random_columns_are_all_found(floor, extra):
    """Eight columns show eight copies at most, and everything shown may have converged."""
    values = values_of(WIDTH + extra, floor)
    found, vectors = KrylovSpace(N).pairs(np.diag(values), WIDTH + extra + 1)
    np.testing.assert_allclose(found, values[: WIDTH + extra + 1], atol=1e-11)
    # All copies together are the span of the first unit vectors, and no other.
    inside = np.linalg.norm(vectors[: WIDTH + extra, : WIDTH + extra], axis=0)
    np.testing.assert_allclose(inside, 1, atol=1e-11)


@pytest.mark.parametrize("floor", [1e-6, 1e-7, 1e-8, 1e-9])
def test_what_is_left_of_a_small_remainder_is_orthogonal_all_the_same(floor):
    """Once the large directions are taken off, a block is as small as the floor says, and the
    rounding of what was taken off is as large as eps over the floor of it.
    """
    values = values_of(9, floor)
    K = np.diag(values)
    found, vectors = KrylovSpace(N).pairs(K, 11)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(11), atol=1e-12)
    np.testing.assert_allclose(K @ vectors, vectors * found, atol=1e-12)
    np.testing.assert_allclose(found, values[:11], atol=1e-12)


@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 5), (np.float32, 3)])
def test_two_tests_of_a_space_predict_where_it_is_large_enough(dtype, most, monkeypatch):
    """Each costs as much as an expansion of the space."""
    tests = []

    def noted(T, low, high):
        tests.append(len(T))
        return eigenpairs(T, low, high)

    monkeypatch.setattr(krylov, "eigenpairs", noted)
    K = rbf_kernel(np.random.default_rng(0).standard_normal((N, 8)), gamma=0.125).astype(dtype)
    values, vectors = KrylovSpace(N, dtype, 30).pairs(K, 30)
    assert values[-1] > 0.01
    residual = np.linalg.norm(K @ vectors - vectors * values, axis=0).max()
    assert residual < (1e-11 if dtype == np.float64 else 1e-4)
    assert len(tests) <= most


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("values", [np.linspace(9, 4, 12), np.full(20, 3.0)])
def test_a_matrix_of_low_rank_is_known_to_have_no_more(values, dtype):
    """Random columns that it takes to nothing say so; all copies of a value are found first."""
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((N, len(values))))[0]
    K = ((V * values) @ V.T).astype(dtype)
    K = (K + K.T) / 2
    space = KrylovSpace(N, dtype, 60)
    found, vectors = space.pairs(K, 60, fewer=True)
    assert len(values) < len(found) < 60
    assert space.rough(60).shape == (N, len(values))
    exact = dtype == np.float64
    np.testing.assert_allclose(found[: len(values)], values, rtol=1e-12 if exact else 1e-5)
    assert np.abs(found[len(values) :]).max() < (1e-11 if exact else 1e-4)
    inside = np.linalg.norm(V.T @ vectors[:, : len(values)], axis=0)
    np.testing.assert_allclose(inside, 1, rtol=1e-12 if exact else 1e-5)


def test_all_pairs_asked_for_are_there_whatever_the_rank():
    """Beyond three positive values come zeros, of which there are many, and no negative one."""
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((N, 23)))[0]
    K = (V * np.concatenate([[5.0, 4.0, 3.0], np.full(20, -2.0)])) @ V.T
    K = (K + K.T) / 2
    found, vectors = KrylovSpace(N).pairs(K, 25)
    np.testing.assert_allclose(found, [5, 4, 3] + 22 * [0], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(25), atol=1e-12)
    np.testing.assert_allclose(K @ vectors, vectors * found, atol=1e-11)


def test_unrelated_views_of_low_rank_do_not_grow(monkeypatch):
    """Beyond their rank there is nothing two views could share, by chance or otherwise."""
    columns, expand = [], KrylovSpace._expand

    def counted(self, K):
        columns.append(self._known - self._expanded)
        expand(self, K)

    monkeypatch.setattr(KrylovSpace, "_expand", counted)
    random = np.random.default_rng(0)
    views = [random.standard_normal((900, 12)) for _ in range(3)]
    model = MKCDNM(10, kernel="linear", normalize=False, on_infeasible="relax")
    with pytest.warns(InfeasibleWarning):
        model.fit(views)
    assert sum(columns) <= 3 * 5 * WIDTH


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_space_made_smaller_has_what_it_found_and_goes_on_from_there(dtype):
    """More pairs are found with fewer products than from the beginning."""
    K = rbf_kernel(np.random.default_rng(0).standard_normal((N, 5)), gamma=0.2).astype(dtype)
    space, fresh = KrylovSpace(N, dtype, 20), KrylovSpace(N, dtype, 20)
    space.pairs(K, 20)
    space.shrink(30)
    assert space._basis.shape == (N, 30 + WIDTH)
    values, vectors = space.pairs(K, 60)
    fresh.pairs(K, 60)
    assert space._expanded - 30 < fresh._expanded
    exact = dtype == np.float64
    np.testing.assert_allclose(
        values, np.linalg.eigvalsh(K.astype(float))[::-1][:60], atol=1e-11 if exact else 1e-4
    )
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(60), atol=1e-12 if exact else 1e-5)
    residual = np.linalg.norm(K @ vectors - vectors * values, axis=0).max()
    assert residual < (1e-11 if exact else 1e-4)


def test_a_space_that_is_small_already_is_left_as_it_is():
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((N, 12)))[0]
    space = KrylovSpace(N)
    space.pairs((V * 3.0) @ V.T, 40, fewer=True)
    columns = space._basis
    space.shrink(50)
    assert space._basis is columns
    fresh = KrylovSpace(N)
    fresh.shrink(5)
    np.testing.assert_allclose(fresh.pairs(np.diag(values_of(3, 0.1)), 5)[0], [3, 3, 3, 2, 1.5])
