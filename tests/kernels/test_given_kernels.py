"""Kernels that are given or made by a user's function, and the input that is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.banks import bank, centered_and_normalized, random_kernel
from _support.fits import table
from mkclust import MKCDNM
from mkclust.data.views import MultiView
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.kernels.functions import fitted_kernel

pytestmark = pytest.mark.versions


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_given_kernels_are_copied_not_changed(center, normalize):
    K = random_kernel()
    before = K.copy()
    frozen = K.copy()
    frozen.flags.writeable = False
    for given in (K, frozen, np.asfortranarray(K)):
        views = MultiView([given], kernels=True)
        bank(views, "precomputed", kernels=True, center=center, normalize=normalize)[0][:] = 0
        bank([table(30, 12)], lambda view, K=given: K, center=center, normalize=normalize)[0][:] = 0
        np.testing.assert_array_equal(given, before)


def test_kernels_by_name_and_position():
    X, Y = table(seed=1), table(seed=2)
    by_name = bank({"x": X, "y": Y}, {"y": "cosine", "x": "linear"})
    by_position = bank([X, Y], ["linear", "cosine"])
    assert len(by_name) == 2
    for p, (K, L) in enumerate(zip(by_name, by_position, strict=True)):
        np.testing.assert_array_equal(K, L)
        np.testing.assert_array_equal(K, by_name[p])
    with pytest.raises(IndexError):
        by_name[2]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("sigmoid", "unknown kernel 'sigmoid'.*gaussian"),
        (None, "unknown kernel None"),
        (["linear", "cosine", "rbf"], "3 kernels given"),
        ({"view1": "linear", "view2": "rbf", "veiw3": "rbf"}, "veiw3"),
        (["linear", "knn"], "unknown kernel 'knn'"),
    ],
)
def test_an_unknown_or_missing_kernel_is_named(kernel, message):
    with pytest.raises(InputError, match=message):
        bank([table(), table()], kernel)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda X: None, "40 x 40"),
        (lambda X: X, "40 x 40"),
        (lambda X: np.zeros(40), "40 x 40"),
        (lambda X: np.full((40, 40), "a"), "real numbers"),
        (lambda X: X @ X.T * 1j, "real numbers"),
        (lambda X: np.full((40, 40), np.nan), "1600 entries.*not finite.*0, 0"),
        (lambda X: np.triu(X @ X.T), "not symmetric"),
        (lambda X: -X @ X.T, "indefinite"),
        (lambda X: np.ones((40, 40)), "constant"),
    ],
)
def test_a_callable_that_returns_no_kernel_is_refused(returned, message):
    with pytest.raises(InputError, match=message) as caught:
        bank({"speech": table()}, returned)[0]
    assert "speech" in str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("linear", {"gamma": 1}, "gamma.*it has none"),
        ("gaussian", {"gama": 1}, "do not fit"),
        ("rbf", {1: 2}, "do not fit.*it has gamma"),
        ("rbf", {"gamma": "a"}, "gamma must be positive, got 'a'"),
        ("rbf", {"gamma": -1}, "gamma must be positive"),
        ("polynomial", {"gamma": 0.0}, "gamma must be positive"),
        ("polynomial", {"coef0": -5.0}, "semi-definite only"),
        ("polynomial", {"degree": 2.5}, "semi-definite only"),
        ("polynomial", {"degree": 0}, "semi-definite only"),
        (lambda X: X @ X.T, {"gamma": 1}, "do not fit.*gamma"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(kernel, params, message):
    with pytest.raises(InputError, match=message):
        KernelBank(MultiView([table()]), KernelRecipe(kernel, params))[0]


@pytest.mark.parametrize("params", [5, "gamma=1", [("gamma", 1)]])
def test_parameters_that_are_not_a_mapping_are_refused(params):
    with pytest.raises(InputError, match=r"kernel_params must be a dict.*got"):
        MKCDNM(2, kernel="rbf", kernel_params=params).fit([table(), table()])


def test_asymmetry_is_refused_with_the_place_and_within_rounding_evened_out():
    K = random_kernel()
    noisy = K * (1 + 1e-13 * np.random.default_rng(0).standard_normal(K.shape))
    found = bank([noisy], "precomputed", kernels=True)[0]
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, bank([K], "precomputed", kernels=True)[0], atol=1e-9)
    K[4, 9] += 0.5
    with pytest.raises(InputError, match=r"'view1' is not symmetric.*\((4, 9|9, 4)\)"):
        bank([K], "precomputed", kernels=True)[0]


def test_single_precision_kernels_are_judged_by_their_own_rounding():
    X = table(200, 5).astype(np.float32)
    correlations = np.corrcoef(X, dtype=np.float32)
    for K in (X @ X.T, correlations):
        assert K.dtype == np.float32
        expected = centered_and_normalized(K.astype(float))
        found = bank([K], "precomputed", kernels=True)[0]
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_an_indefinite_kernel_is_refused_shifted_or_used_as_asked():
    V = np.linalg.qr(table(20, 20))[0]
    K = (V * np.linspace(3, -1, 20)) @ V.T
    K = (K + K.T) / 2
    J = np.eye(20) - 1 / 20
    lowest = np.linalg.eigvalsh(J @ K @ J)[0]
    with pytest.raises(InputError, match=rf"'view1' is indefinite.*{lowest:.3g}.*shift.*ignore"):
        bank([K], "precomputed", kernels=True)[0]
    shifted = bank([K], "precomputed", kernels=True, indefinite="shift", normalize=False)[0]
    assert abs(np.linalg.eigvalsh(shifted)[:2].min()) < 1e-10
    # A multiple of the identity moves no eigenvector.
    commutator = shifted @ (J @ K @ J) - (J @ K @ J) @ shifted
    np.testing.assert_allclose(commutator, 0, atol=1e-10)
    ignored = bank([K], "precomputed", kernels=True, indefinite="ignore", normalize=False)[0]
    np.testing.assert_allclose(ignored, J @ K @ J, atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("indefinite", ["raise", "ignore"])
def test_a_distance_matrix_is_refused_as_such(center, normalize, indefinite):
    X = table(30, 3)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    settings = {"center": center, "normalize": normalize, "indefinite": indefinite}
    message = r"'view1'.*diagonal is zero.*distance matrix"
    for given in (np.sqrt(D), D.astype(np.float32), sp.csr_array(D)):
        with pytest.raises(InputError, match=message) as found:
            bank([given], "precomputed", kernels=True, **settings)[0]
        assert "constant" not in str(found.value)


def test_an_affinity_without_self_similarity_is_refused_as_such():
    A = fitted_kernel("gaussian", {}, table(30, 3)).matrix()
    np.fill_diagonal(A, 0.0)
    ring = np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)
    X = table(30, 3)
    near_distances = ((X[:, None] - X[None]) ** 2).sum(-1) + 1e-3 * np.eye(30)
    ignored = {"indefinite": "ignore"}
    for given, settings, message in (
        (A, {}, "diagonal is zero.*affinity without self-similarity"),
        (ring, ignored, "diagonal is zero.*affinity without self-similarity"),
        (near_distances, ignored, "no sample has a positive similarity to itself after"),
        (-np.eye(4), ignored | {"center": False}, "similarity to itself, the largest is -1"),
    ):
        with pytest.raises(InputError, match=message):
            bank([given], "precomputed", kernels=True, **settings)[0]
