"""The estimator: invariances, edge cases that get an answer, and errors that say where."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from mkclust import MKCDNM, MultiView, cluster, metrics, read
from mkclust.datasets import load_mfeat, make_views
from mkclust.errors import (
    DegenerateWarning,
    InfeasibleError,
    InfeasibleWarning,
    InputError,
    MkclustWarning,
)
from mkclust.kernels import KERNELS
from mkclust.overlap import overlap
from planted import brute_force, orthonormal, planted_spectra, projector

SOLVERS = ("authors", "paper", "exact")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@pytest.fixture(scope="module")
def digits():
    return load_mfeat()[::10]


@pytest.fixture(scope="module")
def fitted(digits):
    return {s: MKCDNM(10, solver=s, n_init=2, random_state=0).fit(digits) for s in SOLVERS}


def fit_digits(views, solver, **settings):
    return MKCDNM(10, solver=solver, n_init=2, random_state=0, **settings).fit(views)


def kernels_with(spectra, values=None):
    """Kernels whose leading eigenvectors are the given bases, in this order."""
    kernels = []
    for spectrum in spectra:
        V = spectrum.vectors
        weights = np.linspace(2, 1, V.shape[1]) if values is None else values
        kernels.append((V * weights) @ V.T)
    return kernels


def fit_kernels(kernels, k, **settings):
    model = MKCDNM(k, kernel="precomputed", center=False, normalize=False, n_init=1, random_state=0)
    return model.set_params(**settings).fit(kernels)


# ---------------------------------------------------------------- what is found


@every_solver
def test_clean_clusters_are_recovered_and_everything_is_reported(solver):
    views = make_views(120, n_clusters=4, n_views=3, noise=0.5, random_state=1)
    model = MKCDNM(4, solver=solver, random_state=0).fit(views)
    assert metrics.accuracy(views.labels, model.labels_) == 1
    assert model.embedding_.shape == (120, 4)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(4), atol=1e-10)
    assert model.objective_ == model.dimensions_.sum() == model.certificate_.objective
    assert model.lower_bound_ == model.certificate_.lower_bound <= model.objective_
    assert (model.dimensions_ >= 4).all()
    assert model.agreement_.shape == (3, 3)
    assert model.agreement_.min() > 0.5
    assert model.unrelated_views_ == []
    assert model.threshold_ == 4
    assert model.n_iter_ == max(1, len(model.history_))
    assert list(model.view_names_in_) == ["view1", "view2", "view3"]
    for part in (model.noise_.null, model.noise_.column, model.noise_.cross):
        assert part.shape == (3,)
    total = model.noise_.null + model.noise_.column
    np.testing.assert_allclose(total, model.dimensions_ - 4, atol=1e-10)


def test_the_solvers_agree_on_what_they_prove(fitted):
    proven = fitted["exact"]
    assert proven.certificate_.optimal
    for solver in ("authors", "paper"):
        assert fitted[solver].objective_ >= proven.objective_
        if not proven.certificate_.whole_spectrum:
            assert fitted[solver].lower_bound_ >= proven.objective_
    assert proven.history_ == ()
    assert fitted["authors"].history_[-1].d == tuple(fitted["authors"].dimensions_)


def test_the_constraints_hold_at_the_dimensions_returned(digits, fitted):
    from mkclust.kernels import KernelBank, KernelRecipe
    from mkclust.spectrum import leading

    kernels = list(KernelBank(digits, KernelRecipe()))
    for model in fitted.values():
        U = [leading(K, d).vectors[:, :d] for K, d in zip(kernels, model.dimensions_, strict=True)]
        for p in range(len(U)):
            for q in range(p):
                assert np.linalg.norm(U[p].T @ U[q]) ** 2 >= 10 * (1 - 1e-8)


def test_one_call_does_it_all(digits):
    model = cluster(digits, 10, recipe="published", n_init=2, random_state=0)
    np.testing.assert_array_equal(model.labels_, fit_digits(digits, "authors").labels_)
    default = cluster(digits, 10, n_init=2, random_state=0)
    same = MKCDNM(10, kernel="auto", n_init=2, random_state=0).fit(digits)
    np.testing.assert_array_equal(default.labels_, same.labels_)
    with pytest.raises(InputError, match="recipe must be one of auto, published"):
        cluster(digits, 10, recipe="secret")


def test_a_lower_threshold_keeps_no_more_directions(digits, fitted):
    lower = fit_digits(digits, "exact", threshold="k-1")
    assert lower.threshold_ == 9
    assert lower.objective_ < fitted["exact"].objective_
    number = fit_digits(digits, "exact", threshold=9.0)
    np.testing.assert_array_equal(number.dimensions_, lower.dimensions_)


def test_growing_the_spectrum_extends_the_proof():
    """D = 2k is enough to be feasible, but a proof over the whole spectrum needs more."""
    rng = np.random.default_rng(5)
    spectra = planted_spectra(rng, 60, [40] * 3, shared=2, noise=1.0)
    model = fit_kernels(kernels_with(spectra), 3, solver="exact")
    assert model.certificate_.optimal
    assert model.certificate_.whole_spectrum
    assert model.objective_ == brute_force(overlap(spectra), 3, 3)[0][0]


# ---------------------------------------------------------------- what must not matter


@every_solver
@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3)])
def test_the_order_of_views_does_not_matter(digits, fitted, solver, order):
    names = [digits.names[p] for p in order]
    turned = fit_digits(digits.select(names), solver)
    np.testing.assert_array_equal(turned.dimensions_, fitted[solver].dimensions_[list(order)])
    gap = projector(turned.embedding_) - projector(fitted[solver].embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-9)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10**9), st.integers(2, 4))
def test_exact_is_independent_of_view_order_for_any_bases(seed, m):
    rng = np.random.default_rng(seed)
    kernels = kernels_with(planted_spectra(rng, 14, [8] * m, shared=1, noise=0.5))
    order = rng.permutation(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        before = fit_kernels(kernels, 2, solver="exact")
        after = fit_kernels([kernels[p] for p in order], 2, solver="exact")
    np.testing.assert_array_equal(before.dimensions_[order], after.dimensions_)


def test_a_tie_between_two_views_is_broken_the_same_way_in_either_order():
    """(a, b) and (b, a) have the same sum and the same sum of squares."""
    ties = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        spectra = planted_spectra(rng, 12, [8, 8], shared=1, noise=1.0)
        if len(brute_force(overlap(spectra), 2, 2)[1]) < 2:
            continue
        ties += 1
        kernels = kernels_with(spectra)
        before, after = (fit_kernels(pair, 2, solver="exact") for pair in (kernels, kernels[::-1]))
        np.testing.assert_array_equal(before.dimensions_, after.dimensions_[::-1])
        if ties == 12:
            break
    assert ties == 12


@every_solver
def test_the_order_of_samples_does_not_matter(digits, fitted, solver):
    order = np.random.default_rng(3).permutation(len(digits))
    turned = fit_digits(digits[order], solver)
    np.testing.assert_array_equal(turned.dimensions_, fitted[solver].dimensions_)
    H = np.empty_like(turned.embedding_)
    H[order] = turned.embedding_
    gap = projector(H) - projector(fitted[solver].embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["authors", "paper"])
def test_all_views_twice_is_the_same(digits, fitted, solver):
    twice = MultiView(digits.views * 2, names=[*digits.names, *(f"{n}2" for n in digits.names)])
    model = fit_digits(twice, solver)
    np.testing.assert_array_equal(model.dimensions_, np.tile(fitted[solver].dimensions_, 2))
    gap = projector(model.embedding_) - projector(fitted[solver].embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-9)


def test_all_views_twice_cost_exact_at_most_twice(digits, fitted):
    """The copies may differ, as d and d-hat do in the relaxation, so it may be less."""
    model = fit_digits(MultiView(digits.views * 2), "exact")
    assert model.certificate_.optimal
    assert model.objective_ <= 2 * fitted["exact"].objective_


def test_threads_and_repetition_do_not_change_labels():
    views = load_mfeat()[:850].select(["fou", "zer"])  # large enough for the iterative solver
    found = []
    for threads in (1, 2, 1):
        with threadpool_limits(threads, user_api="blas"):
            found.append(MKCDNM(5, n_init=3, random_state=7).fit(views))
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels_, found[0].labels_)
        np.testing.assert_array_equal(other.dimensions_, found[0].dimensions_)
    np.testing.assert_array_equal(found[2].embedding_, found[0].embedding_)


def test_the_order_of_samples_does_not_matter_to_the_iterative_solver():
    views = load_mfeat()[:850].select(["fou", "zer"])
    order = np.random.default_rng(1).permutation(850)
    straight, turned = (MKCDNM(5, n_init=1, random_state=0).fit(v) for v in (views, views[order]))
    np.testing.assert_array_equal(turned.dimensions_, straight.dimensions_)
    H = np.empty_like(turned.embedding_)
    H[order] = turned.embedding_
    gap = projector(H) - projector(straight.embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-8)


@every_solver
def test_threads_do_not_change_dimensions(digits, fitted, solver):
    with threadpool_limits(2, user_api="blas"):
        model = fit_digits(digits, solver)
    np.testing.assert_array_equal(model.dimensions_, fitted[solver].dimensions_)
    np.testing.assert_array_equal(model.labels_, fitted[solver].labels_)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_users_arrays_are_not_changed(kernel):
    views = make_views(30, n_views=2, random_state=0)
    before = [view.copy() for view in views.views]
    for view in views.views:
        view.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        MKCDNM(3, kernel=kernel, random_state=0).fit(views)
    for view, copy in zip(views.views, before, strict=True):
        np.testing.assert_array_equal(view, copy)


def test_kernels_given_in_any_form_are_the_same():
    rng = np.random.default_rng(0)
    kernels = [X @ X.T for X in rng.standard_normal((3, 40, 12))]
    expected = MKCDNM(3, kernel="precomputed", random_state=0).fit(kernels)
    forms = [
        np.stack(kernels),
        dict(zip("abc", kernels, strict=True)),
        [sp.csr_array(K) for K in kernels],
        MultiView(kernels, kernels=True),
        [np.asfortranarray(K) for K in kernels],
    ]
    for form in forms:
        model = MKCDNM(3, kernel="precomputed", random_state=0).fit(form)
        np.testing.assert_array_equal(model.dimensions_, expected.dimensions_)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    # A MultiView that says it holds kernels is believed whatever `kernel` is.
    model = MKCDNM(3, random_state=0).fit(MultiView(kernels, kernels=True))
    np.testing.assert_array_equal(model.dimensions_, expected.dimensions_)


# ---------------------------------------------------------------- an answer, not a crash


def table(n, f, seed=0):
    return np.random.default_rng(seed).standard_normal((n, f))


@every_solver
def test_one_cluster(solver):
    model = MKCDNM(1, solver=solver).fit([table(20, 3), table(20, 2, 1)])
    np.testing.assert_array_equal(model.labels_, 0)


@every_solver
def test_one_view_is_kernel_k_means(solver):
    model = MKCDNM(3, solver=solver, random_state=0).fit([table(30, 4)])
    np.testing.assert_array_equal(model.dimensions_, [3])
    assert model.certificate_.optimal
    np.testing.assert_allclose(model.singular_values_, 1)
    np.testing.assert_allclose(model.agreement_, 1)


@every_solver
@pytest.mark.filterwarnings("ignore::mkclust.errors.MkclustWarning")
def test_as_many_clusters_as_samples(solver):
    for n in (2, 3, 7):
        model = MKCDNM(n, solver=solver, random_state=0).fit([table(n, 3), table(n, 4, 1)])
        assert len(np.unique(model.labels_)) == n


@every_solver
@pytest.mark.filterwarnings("ignore::mkclust.errors.InfeasibleWarning")
def test_duplicated_rows_share_a_label(solver):
    X, Y = table(6, 3), table(6, 2, 1)
    rows = np.repeat(np.arange(6), 5)
    for k in (3, 6):
        model = MKCDNM(k, solver=solver, random_state=0).fit([X[rows], Y[rows]])
        labels = model.labels_.reshape(6, 5)
        np.testing.assert_array_equal(labels, labels[:, :1] * np.ones(5, dtype=int))
        assert len(np.unique(labels)) == k


@every_solver
@pytest.mark.parametrize("copies", [2, 5])
def test_one_view_many_times_keeps_k_directions(solver, copies):
    X = make_views(40, n_views=1, random_state=0).views[0]
    model = MKCDNM(3, solver=solver, random_state=0).fit([X] * copies)
    if solver != "paper":  # whose answer depends on its first penalty
        np.testing.assert_array_equal(model.dimensions_, 3)
    alone = MKCDNM(3, random_state=0).fit([X])
    if solver != "paper":
        gap = projector(model.embedding_) - projector(alone.embedding_)
        np.testing.assert_allclose(gap, 0, atol=1e-9)
    np.testing.assert_allclose(model.agreement_, 1)


@every_solver
def test_two_columns_for_four_clusters(solver):
    """Rank two: no overlap of four is possible, and the answer says so."""
    views = make_views(60, n_clusters=4, n_views=2, n_features=2, noise=0.2, random_state=0)
    with pytest.warns(InfeasibleWarning, match="cannot reach an overlap of 4") as caught:
        model = MKCDNM(4, kernel="linear", solver=solver, random_state=0).fit(views)
    assert "view1-view2" in str(caught[0].message)
    assert (model.dimensions_ <= 3).all()
    assert (model.dimensions_ >= 2).all()
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.labels_)) == 4


def test_too_few_directions_in_all_are_reported():
    views = [table(40, 1), table(40, 1, 1)]
    with pytest.warns(DegenerateWarning, match="span only"), pytest.warns(InfeasibleWarning):
        model = MKCDNM(5, kernel="linear", normalize=False, random_state=0).fit(views)
    assert np.count_nonzero(model.singular_values_) == 2
    np.testing.assert_allclose(model.noise_.null + model.noise_.column, -1, atol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "cosine", "knn", "self-tuning"])
def test_extreme_units_do_not_matter(kernel):
    views = make_views(60, n_views=3, n_features=8, noise=0.7, random_state=2)
    fits = []
    for units in ((1, 1, 1), (1e-300, 1, 1e300), (1e-5, 1e-20, 1e9)):
        scaled = [view * unit for view, unit in zip(views.views, units, strict=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleWarning)
            fits.append(MKCDNM(3, kernel=kernel, random_state=0).fit(scaled))
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.dimensions_, fits[0].dimensions_)
        gap = projector(fit.embedding_) - projector(fits[0].embedding_)
        np.testing.assert_allclose(gap, 0, atol=1e-6)


def test_constant_columns_do_not_matter():
    views = make_views(40, n_views=2, random_state=0)
    padded = [np.column_stack([view, np.full(40, 7.0)]) for view in views.views]
    first, second = (MKCDNM(3, random_state=0).fit(v) for v in (views, padded))
    np.testing.assert_array_equal(first.dimensions_, second.dimensions_)
    np.testing.assert_array_equal(first.labels_, second.labels_)


def test_sparse_and_dense_views_give_the_same_clusters():
    rng = np.random.default_rng(0)
    X = [rng.poisson(1.0, (50, 30)).astype(float) for _ in range(2)]
    dense, sparse = (MKCDNM(3, random_state=0).fit(v) for v in (X, [sp.csr_array(x) for x in X]))
    np.testing.assert_array_equal(dense.dimensions_, sparse.dimensions_)
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)


# ---------------------------------------------------------------- constraints out of reach


@pytest.mark.parametrize(("name", "samples"), [("CCV", 900), ("ProteinFold", 400)])
def test_kernels_of_rank_k_are_answered_with_a_warning(data_dir, name, samples):
    views = read(data_dir / f"{name}.mat")
    views = views[np.random.default_rng(0).permutation(len(views))[:samples]]
    k = len(np.unique(views.labels))
    rank = views.widths[0]
    with pytest.warns(InfeasibleWarning) as caught:
        model = MKCDNM(k, kernel="linear", n_init=1, random_state=0).fit(views)
    message = str(caught[0].message)
    assert f"overlap of {k}" in message
    assert "-".join(views.names[:2]) in message or any(n in message for n in views.names)
    assert (model.dimensions_ >= min(k, rank - 1)).all()
    assert len(np.unique(model.labels_)) == k
    assert metrics.nmi(views.labels, model.labels_) > 0.05
    with pytest.raises(InfeasibleError, match=f"overlap of {k}"):
        MKCDNM(k, kernel="linear", on_infeasible="raise").fit(views)


@every_solver
def test_an_unrelated_view_is_flagged_and_the_clean_ones_stay_near_k(solver):
    rng = np.random.default_rng(0)
    k, D = 4, 12
    spectra = planted_spectra(rng, 700, [D] * 4, shared=k, noise=0.3, unrelated=[1])
    kernels = dict(zip(["a", "stray", "b", "c"], kernels_with(spectra), strict=True))
    with pytest.warns(InfeasibleWarning, match="stray") as caught:
        model = fit_kernels(kernels, k, solver=solver, max_dimension=D)
    message = str(caught[0].message)
    assert "a-stray" in message
    assert "3 of 6 pairs" in message or "6 of 6 pairs" in message
    assert model.unrelated_views_ == ["stray"]
    clean = model.dimensions_[[0, 2, 3]]
    assert (clean >= k).all()
    assert (clean <= k + 1).all()
    assert abs(model.agreement_[0, 1]) < 0.1 < 0.5 < model.agreement_[0, 2]
    shared = np.linalg.svd(np.hstack([spectra[p].vectors[:, :k] for p in (0, 2, 3)]))[0][:, :k]
    captured = np.linalg.norm(model.embedding_.T @ shared) ** 2
    assert captured > 0.95 * k  # the stray view has not pulled the consensus away
    with pytest.raises(InfeasibleError, match="a-stray"):
        fit_kernels(kernels, k, solver=solver, max_dimension=D, on_infeasible="raise")


def test_feasible_views_are_neither_warned_about_nor_changed(digits, fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_digits(digits, "authors", on_infeasible="raise")
    np.testing.assert_array_equal(model.dimensions_, fitted["authors"].dimensions_)


# ---------------------------------------------------------------- bad input, said clearly


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "at least 1, got 0"),
        (-2, "at least 1, got -2"),
        (2.0, "whole number, got 2.0"),
        ("3", "whole number, got '3'"),
        (None, "whole number, got None"),
        (True, "whole number, got True"),
        (21, "21 is more than the 20 samples"),
    ],
)
def test_a_wrong_number_of_clusters(k, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(k).fit([table(20, 3)])


def test_whole_numbers_of_any_type_are_numbers_of_clusters():
    model = MKCDNM(np.int64(2), random_state=0).fit([table(20, 3)])
    assert len(np.unique(model.labels_)) == 2


@pytest.mark.filterwarnings("ignore::mkclust.errors.MkclustWarning")
def test_fewer_distinct_rows_than_clusters():
    X, Y = np.repeat(table(3, 2), 4, axis=0), np.repeat(table(3, 2, 1), 4, axis=0)
    for views in ([X, Y], [sp.csr_array(X), Y]):
        with pytest.raises(InputError, match="n_clusters = 4 is more than the 3 distinct"):
            MKCDNM(4).fit(views)
    assert len(np.unique(MKCDNM(3).fit([X, Y]).labels_)) == 3
    # Rows that repeat in one view may differ in another.
    Z = table(12, 2, 2)
    assert len(np.unique(MKCDNM(4, random_state=0).fit([X, Z]).labels_)) == 4
    zeros = np.array([[0.0, 1], [-0.0, 1], [5, 5]])
    with pytest.raises(InputError, match="2 distinct"):
        MKCDNM(3).fit([zeros])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "best"}, "solver must be one of authors, paper, exact, got 'best'"),
        ({"solver": None}, "solver must be"),
        ({"solver": ["exact"]}, "solver must be"),
        ({"threshold": "2k"}, "threshold must be.*got '2k'"),
        ({"threshold": -1}, "threshold must be.*got -1"),
        ({"threshold": np.nan}, "threshold must be.*got nan"),
        ({"threshold": [3]}, "threshold must be"),
        ({"threshold": True}, "threshold must be"),
        ({"on_infeasible": "ignore"}, "on_infeasible must be.*got 'ignore'"),
        ({"max_dimension": 2}, "max_dimension.*3"),
        ({"max_dimension": 7.5}, "max_dimension"),
        ({"max_dimension": "many"}, "max_dimension"),
        ({"indefinite": "fix"}, "indefinite must be.*got 'fix'"),
        ({"n_init": 0}, "n_init"),
        ({"n_init": "x"}, "n_init"),
        ({"random_state": "x"}, "random_state"),
        ({"kernel": "sigmoid"}, "unknown kernel 'sigmoid'"),
        ({"kernel_params": {"gamma": 2}}, "gamma"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(3, **settings).fit([table(20, 3), table(20, 2, 1)])


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([table(20, 3), table(19, 3)], "view1 20, view2 19"),
        ([table(20, 3), np.full((20, 2), 4.0)], "'view2'.*constant"),
        ([table(20, 3), np.full((20, 2), np.nan)], "'view2' holds 0 of the 20 samples"),
        ([table(20, 3), np.ones((20, 0))], "'view2' is empty"),
        ([table(1, 3)], "at least two samples"),
        (table(20, 3)[:, :, None], "kernels"),
        ([], "views"),
        ({}, "no views"),
        ("nowhere.mat", "nowhere"),
        (None, "views"),
        ([[[1, 2], [3]], [[1, 2], [3, 4]]], "'view1'"),
    ],
)
def test_wrong_views_are_named(views, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(2).fit(views)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        (np.ones((4, 4, 2)), "moveaxis"),
        ([np.eye(4), np.ones((4, 3))], "'view2' must be square"),
        ([np.eye(4), np.triu(np.ones((4, 4)))], "'view2' is not symmetric"),
        ([np.eye(4), np.diag([1.0, 1, 1, -3])], "'view2' is indefinite"),
        ([np.eye(4), np.ones((4, 4))], "'view2' is constant"),
        ([np.eye(4), np.full((4, 4), np.inf)], "'view2' has 16 values"),
    ],
)
def test_wrong_kernels_are_named(kernels, message):
    with pytest.raises(InputError, match=message):
        MKCDNM(2, kernel="precomputed").fit(kernels)


def test_an_indefinite_kernel_can_be_shifted_or_ignored():
    V = orthonormal(np.random.default_rng(0), 30, 30)
    K = (V * np.linspace(5, -1, 30)) @ V.T
    good = table(30, 9) @ table(30, 9).T
    for policy in ("shift", "ignore"):
        model = MKCDNM(3, kernel="precomputed", indefinite=policy, random_state=0).fit([K, good])
        assert np.isfinite(model.embedding_).all()
    with pytest.raises(InputError, match="indefinite"):
        MKCDNM(3, kernel="precomputed").fit([K, good])


def test_a_kernel_without_a_positive_eigenvalue_is_refused_by_name():
    X = table(30, 9)
    with pytest.raises(InputError, match="view2"):
        fit_kernels([X @ X.T, -X @ X.T], 3, indefinite="ignore")


def test_a_failed_fit_leaves_no_labels():
    model = MKCDNM(3)
    with pytest.raises(InputError):
        model.fit([table(20, 3), np.ones((20, 2))])
    assert not hasattr(model, "labels_")
