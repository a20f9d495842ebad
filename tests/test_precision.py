"""Single precision: half the memory, the same answer to about 1e-5."""

import numpy as np
import pytest
import scipy.linalg

from _support.planted import projector
from mkclust import MKCDNM, datasets
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KERNELS, KernelBank, KernelRecipe
from mkclust.linalg.krylov import KrylovSpace
from mkclust.linalg.spectrum import leading


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(900, 5, 3, noise=1.5, random_state=0)


@pytest.fixture(scope="module")
def both(views):
    return [MKCDNM(5, precision=p, random_state=0).fit(views) for p in ("double", "single")]


def test_the_answer_is_the_same(both):
    double, single = both
    assert np.array_equal(double.dimensions_, single.dimensions_)
    assert np.array_equal(double.labels_, single.labels_)
    away = np.abs(projector(double.embedding_) - projector(single.embedding_)).max()
    assert 1e-12 < away < 1e-5


def test_what_is_compared_is_double(both):
    H = both[1].embedding_
    assert H.dtype == np.float64
    assert np.abs(H.T @ H - np.eye(5)).max() < 1e-12


def test_a_single_precision_fit_verifies_itself_but_for_rounding(both, views):
    failed = [check for check in both[1].verify(views).checks if not check.holds]
    assert all(check.error < 1e-5 for check in failed)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_in_single_precision(name):
    views = datasets.make_views(60, 2, 1, random_state=0)
    double, single = (
        KernelBank(views, KernelRecipe(name, single=single))[0] for single in (False, True)
    )
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, atol=2e-5)


def test_residuals_of_the_float32_space_are_those_of_float32(views):
    K = KernelBank(views, KernelRecipe(single=True))[0]
    values, V = KrylovSpace(len(K), K.dtype).pairs(K, 20)
    assert V.dtype == np.float32
    K = K.astype(float)
    residual = np.linalg.norm(K @ V - V * values, axis=0).max() / values[0]
    assert residual < 5e-6
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(K)[::-1][:20], rtol=1e-4)


def test_identical_kernels_need_no_more_than_k_directions(views):
    model = MKCDNM(5, precision="single", random_state=0).fit([views.views[0]] * 2)
    assert model.dimensions_.tolist() == [5, 5]


def test_directions_below_rounding_are_left_out():
    rng = np.random.default_rng(0)
    B = np.linalg.qr(rng.normal(size=(600, 12)))[0] * np.sqrt(np.linspace(2, 1, 12))
    found = leading((B @ B.T).astype(np.float32), 30)
    assert (found.size, found.complete) == (12, True)


def test_a_constant_view_is_still_found():
    views = [np.full((50, 3), 0.1), np.random.default_rng(0).normal(size=(50, 3))]
    with pytest.raises(InputError, match="constant"):
        MKCDNM(2, kernel="linear", precision="single").fit(views)


def test_unknown_precision():
    with pytest.raises(InputError, match='"double" or "single"'):
        MKCDNM(2, precision="half").fit(datasets.make_views(20, 2, 2, random_state=0))
