"""Kernels, scaling and graphs: formulas, invariants, and nobody's array touched."""

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust.centring import centred_and_normalised
from mkclust.errors import InputError
from mkclust.graphs import neighbour_graph, self_tuning_graph
from mkclust.kernels import (
    KERNELS,
    KernelBank,
    KernelRecipe,
    cosine,
    gaussian,
    linear,
    polynomial,
    rbf,
)
from mkclust.scaling import squared_distances, standardised
from mkclust.views import MultiView

PARAMS = {"rbf": {"gamma": 0.3}}
every_kernel = pytest.mark.parametrize("name", list(KERNELS))


def table(n=40, f=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, f))


def bank(views, kernel="gaussian", kernels=False, **settings):
    recipe = KernelRecipe(kernel, PARAMS.get(kernel, {}) if isinstance(kernel, str) else {})
    for name, value in settings.items():
        object.__setattr__(recipe, name, value)
    return KernelBank(MultiView(views, kernels=kernels), recipe)


def direct_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(-1)


# ---------------------------------------------------------------- recipes


def test_gaussian_is_the_formula():
    X = table() * [1, 10, 0.1, 3, 1e5] + 7
    Z = (X - X.mean(0)) / X.std(0)
    D2 = direct_distances(Z)
    np.testing.assert_allclose(gaussian(X), np.exp(-2 * D2 / D2.mean()), atol=1e-13)


def test_constant_columns_do_not_count():
    X = table()
    padded = np.column_stack([X, np.full(40, 3.3), np.zeros(40), np.full(40, 1e200)])
    np.testing.assert_allclose(gaussian(padded), gaussian(X), atol=1e-14)
    np.testing.assert_allclose(standardised(padded)[:, 5:], 0)


def test_rbf_linear_cosine_and_polynomial_are_their_formulas():
    X = table()
    np.testing.assert_allclose(rbf(X, gamma=0.2), np.exp(-0.2 * direct_distances(X)), atol=1e-13)
    own = 2 / direct_distances(X).mean()
    np.testing.assert_allclose(rbf(X), np.exp(-own * direct_distances(X)), atol=1e-13)
    np.testing.assert_allclose(linear(X), X @ X.T, atol=1e-13)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(cosine(X), unit @ unit.T, atol=1e-14)
    by_hand = (X @ X.T / 5 + 1) ** 3
    np.testing.assert_allclose(polynomial(X), by_hand, rtol=1e-12, atol=1e-12)
    by_hand = (0.5 * X @ X.T + 2) ** 2
    np.testing.assert_allclose(polynomial(X, degree=2, gamma=0.5, coef0=2), by_hand, atol=1e-12)


def test_neighbour_graph_is_the_normalised_union_of_neighbourhoods():
    X = table(25, 3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :4]
    A = np.zeros((25, 25))
    A[np.arange(25)[:, None], nearest] = 1
    A = (A + A.T) / 2
    scale = 1 / np.sqrt(A.sum(1))
    expected = (np.eye(25) + scale[:, None] * A * scale) / 2
    np.testing.assert_allclose(neighbour_graph(X, n_neighbors=4), expected, atol=1e-14)


def test_self_tuning_graph_is_the_formula_when_nothing_is_cut():
    X = table(25, 3)
    Z = (X - X.mean(0)) / X.std(0)
    D2 = direct_distances(Z)
    sigma = np.sqrt(np.sort(D2, axis=1)[:, 7])
    A = np.exp(-D2 / np.outer(sigma, sigma))
    np.fill_diagonal(A, 0)
    scale = 1 / np.sqrt(A.sum(1))
    expected = (np.eye(25) + scale[:, None] * A * scale) / 2
    np.testing.assert_allclose(self_tuning_graph(X, n_neighbors=None), expected, atol=1e-13)


def test_self_tuning_graph_keeps_the_nearest_and_survives_duplicates():
    X = np.repeat(table(5, 2), 9, axis=0)  # eight others at distance zero
    K = self_tuning_graph(X, n_neighbors=3)
    assert np.isfinite(K).all()
    K = self_tuning_graph(table(30, 2), n_neighbors=4)
    assert (np.count_nonzero(K, axis=1) <= 30).all()
    assert np.count_nonzero(K) < 30 * (2 * 4 + 1) + 1


@every_kernel
def test_every_kernel_is_symmetric_finite_and_positive(name):
    X = np.abs(table(50, 6)) * [1, 5, 0.2, 1, 1, 30]
    X[7] = X[3]  # a duplicate
    X[:, 2] = 4.0  # a constant column
    raw = KERNELS[name](X, **PARAMS.get(name, {}))
    for K in (raw, bank([X], name)[0]):
        assert K.shape == (50, 50)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.abs(K).max()


@every_kernel
def test_sparse_and_dense_agree(name):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(40, 30)) * (rng.uniform(size=(40, 30)) < 0.4)
    X[:, 4] = 0
    X[:, 5] = 2
    params = PARAMS.get(name, {})
    dense = KERNELS[name](X, **params)
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        view = MultiView([form(X)]).views[0]
        np.testing.assert_allclose(KERNELS[name](view, **params), dense, atol=1e-11)


def test_sparse_columns_far_from_zero_keep_their_variance():
    X = table(60, 3) + np.array([0, 1e2, 3e4])
    np.testing.assert_allclose(gaussian(sp.csr_array(X)), gaussian(X), atol=1e-5)


@every_kernel
def test_order_and_type_of_the_array_do_not_matter(name):
    X = np.random.default_rng(0).integers(0, 9, (30, 4))
    params = PARAMS.get(name, {})
    expected = KERNELS[name](X.astype(float), **params)
    wide = np.zeros((60, 8))
    wide[::2, ::2] = X
    others = [X, X.astype(np.float32), np.asfortranarray(X, dtype=float), wide[::2, ::2]]
    for other in others:
        np.testing.assert_allclose(KERNELS[name](other, **params), expected, atol=1e-12)


@every_kernel
def test_the_order_of_samples_only_permutes(name):
    X = table(30, 4)
    order = np.random.default_rng(1).permutation(30)
    params = PARAMS.get(name, {})
    K = KERNELS[name](X, **params)
    np.testing.assert_allclose(
        KERNELS[name](X[order], **params), K[np.ix_(order, order)], atol=1e-12 * np.abs(K).max()
    )


@pytest.mark.parametrize("name", ["gaussian", "linear", "cosine", "knn", "self-tuning"])
@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e-4, 1e4, 1e150, 1e300])
def test_units_do_not_matter(name, unit):
    X = table(30, 4)
    expected = bank([X], name)[0]
    np.testing.assert_allclose(bank([X * unit], name)[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "offset"), [("gaussian", 1e6), ("self-tuning", 1e6), ("linear", 1e4)]
)
def test_offsets_do_not_matter(name, offset):
    X = table(30, 4)
    np.testing.assert_allclose(bank([X + offset], name)[0], bank([X], name)[0], atol=1e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e-4, 1e4, 1e150, 1e300])
def test_units_of_a_given_kernel_do_not_matter(unit):
    K = linear(table(30, 4))
    expected = bank([K], "precomputed", kernels=True)[0]
    assert np.linalg.matrix_rank(expected, tol=1e-8) == 4
    np.testing.assert_allclose(
        bank([K * unit], "precomputed", kernels=True)[0], expected, atol=1e-9
    )


def test_squared_distances_are_never_negative_and_zero_on_the_diagonal():
    X = np.repeat(table(10, 3) + 1e6, 2, axis=0)
    D2 = squared_distances(X)
    assert (D2 >= 0).all()
    np.testing.assert_array_equal(np.diagonal(D2), 0)


# ---------------------------------------------------------------- centring and normalising


def random_kernel(n=30, seed=0):
    X = table(n, 12, seed) + 2
    return X @ X.T


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


# ---------------------------------------------------------------- given kernels and callables


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
        np.testing.assert_array_equal(given, before)


def test_what_a_callable_returns_is_not_changed():
    """It may be kept for the next fit, read-only, or the view itself."""
    X, K = table(30, 12), random_kernel()
    before = K.copy()
    bank([X], lambda view: K)[0]
    np.testing.assert_array_equal(K, before)
    bank([K], lambda view: view)[0]
    np.testing.assert_array_equal(K, before)
    K.flags.writeable = False
    assert np.isfinite(bank([X], lambda view: K)[0]).all()


@every_kernel
def test_views_are_not_changed(name):
    X = table()
    X.flags.writeable = False
    S = sp.csr_array(X)
    S.data.flags.writeable = False
    before = X.copy()
    for view in (X, S):
        bank([view], name)[0]
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(S.toarray(), before)


def test_a_callable_gives_what_the_recipe_of_that_name_gives():
    X = table()
    np.testing.assert_allclose(bank([X], gaussian)[0], bank([X])[0], atol=1e-12)


def test_kernels_by_name_position_and_slice():
    X, Y = table(seed=1), table(seed=2)
    by_name = bank({"x": X, "y": Y}, {"y": "cosine", "x": "linear"})
    by_position = bank([X, Y], ["linear", "cosine"])
    assert len(by_name) == 2
    for p, (K, L) in enumerate(zip(by_name, by_position, strict=True)):
        np.testing.assert_array_equal(K, L)
        np.testing.assert_array_equal(K, by_name[p])
    np.testing.assert_array_equal(by_name[-1], by_name[1])
    assert len(by_name[0:2]) == 2
    with pytest.raises(IndexError):
        by_name[2]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("sigmoid", "unknown kernel 'sigmoid'.*gaussian"),
        (None, "unknown kernel None"),
        (3, "unknown kernel 3"),
        (np.eye(2), "unknown kernel"),
        (["linear"], "1 kernels? given"),
        (["linear", "cosine", "knn"], "3 kernels given"),
        ({"view1": "linear"}, "view2"),
        ({"view1": "linear", "view2": "knn", "veiw3": "knn"}, "veiw3"),
        (["linear", "nonsense"], "nonsense"),
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
def test_a_callable_that_returns_nonsense_is_told_so(returned, message):
    with pytest.raises(InputError, match=message) as caught:
        bank({"speech": table()}, returned)[0]
    assert "speech" in str(caught.value)


def test_parameters_that_do_not_fit_are_told_so():
    for kernel, params in (("linear", {"gamma": 1}), ("rbf", {"gamma": -1})):
        recipe = KernelRecipe(kernel, params)
        with pytest.raises(InputError, match="gamma"):
            KernelBank(MultiView([table()]), recipe)[0]


@pytest.mark.parametrize(
    "params", [{"coef0": -5.0}, {"degree": 2.5}, {"degree": 0}, {"gamma": -1.0}]
)
def test_a_polynomial_that_is_no_kernel_is_refused(params):
    """Such a matrix has negative eigenvalues: it must not pass as positive semi-definite."""
    with pytest.raises(InputError):
        KernelBank(MultiView([table()]), KernelRecipe("polynomial", params))[0]


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5, "a"])
def test_numbers_of_neighbours_are_checked(n_neighbors):
    for name in ("knn", "self-tuning"):
        with pytest.raises(InputError, match="neighbours"):
            KernelBank(MultiView([table()]), KernelRecipe(name, {"n_neighbors": n_neighbors}))[0]


def test_more_neighbours_than_samples_are_all_samples():
    X = table(6, 2)
    np.testing.assert_allclose(neighbour_graph(X, 50), neighbour_graph(X, 5))


@every_kernel
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_constant_view_is_refused_by_name(name, form):
    views = {"good": table(), "flat": form(np.full((40, 3), 2.5))}
    with pytest.raises(InputError, match=r"'flat'.*constant"):
        bank(views, {"good": "linear", "flat": name} if name != "rbf" else name)[1]


def test_a_zero_kernel_is_refused_even_uncentred():
    zero = np.zeros((10, 10))
    for normalize in (True, False):
        with pytest.raises(InputError, match="view1"):
            bank([zero], "precomputed", kernels=True, center=False, normalize=normalize)[0]


def test_an_asymmetric_kernel_is_refused_with_the_place():
    K = random_kernel()
    K[4, 9] += 0.5
    with pytest.raises(InputError, match=r"'view1' is not symmetric.*\((4, 9|9, 4)\)"):
        bank([K], "precomputed", kernels=True)[0]


def test_asymmetry_within_rounding_is_evened_out():
    K = random_kernel()
    noisy = K * (1 + 1e-13 * np.random.default_rng(0).standard_normal(K.shape))
    found = bank([noisy], "precomputed", kernels=True)[0]
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, bank([K], "precomputed", kernels=True)[0], atol=1e-9)


def test_single_precision_kernels_are_judged_by_their_own_rounding():
    X = table(200, 5).astype(np.float32)
    correlations = np.corrcoef(X, dtype=np.float32)
    for K in (X @ X.T, correlations):
        assert K.dtype == np.float32
        expected = centred_and_normalised(K.astype(float))
        found = bank([K], "precomputed", kernels=True)[0]
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, atol=1e-4)


def indefinite_kernel():
    V = np.linalg.qr(table(20, 20))[0]
    return (V * np.linspace(3, -1, 20)) @ V.T


def test_an_indefinite_kernel_is_refused_shifted_or_used_as_asked():
    K = indefinite_kernel()
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


def test_a_graph_with_an_empty_diagonal_can_be_shifted():
    """A ring of twelve: every row sums to two, the diagonal is zero, the kernel not constant."""
    ring = np.roll(np.eye(12), 1, axis=0)
    ring = ring + ring.T
    with pytest.raises(InputError, match="indefinite"):
        bank([ring], "precomputed", kernels=True)[0]
    shifted = bank([ring], "precomputed", kernels=True, indefinite="shift")[0]
    assert np.linalg.eigvalsh(shifted)[0] > -1e-12


def test_negative_eigenvalues_within_rounding_pass():
    K = random_kernel(60) - 1e-12 * np.eye(60)
    assert np.linalg.eigvalsh(K)[0] < 0
    assert np.isfinite(bank([K], "precomputed", kernels=True)[0]).all()


def test_sparse_kernels_are_kernels():
    K = random_kernel()
    np.testing.assert_array_equal(
        bank([sp.csr_array(K)], "precomputed", kernels=True)[0],
        bank([K], "precomputed", kernels=True)[0],
    )
