"""What must not matter to a fit: order, copies, threads, layout, and nobody's array is changed."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from _support.fits import every_solver, fit_digits, fit_kernels, kernels_with
from _support.planted import brute_force, planted_spectra, projector
from mkclust import MKCDNM, MultiView
from mkclust.agreement.overlap import overlap
from mkclust.data.datasets import load_mfeat, make_views
from mkclust.exceptions import InfeasibleWarning, MkclustWarning
from mkclust.kernels.bank import KERNELS

pytestmark = pytest.mark.versions


@every_solver
@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3)])
def test_the_order_of_views_does_not_matter(digits, solved, solver, order):
    names = [digits.names[p] for p in order]
    turned = fit_digits(digits.select(names), solver)
    np.testing.assert_array_equal(turned.dimensions_, solved[solver].dimensions_[list(order)])
    gap = projector(turned.embedding_) - projector(solved[solver].embedding_)
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
def test_the_order_of_samples_does_not_matter(digits, solved, solver):
    order = np.random.default_rng(3).permutation(len(digits))
    turned = fit_digits(digits[order], solver)
    np.testing.assert_array_equal(turned.dimensions_, solved[solver].dimensions_)
    H = np.empty_like(turned.embedding_)
    H[order] = turned.embedding_
    gap = projector(H) - projector(solved[solver].embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["authors", "paper"])
def test_all_views_twice_is_the_same(digits, solved, solver):
    twice = MultiView(digits.views * 2, names=[*digits.names, *(f"{n}2" for n in digits.names)])
    model = fit_digits(twice, solver)
    np.testing.assert_array_equal(model.dimensions_, np.tile(solved[solver].dimensions_, 2))
    gap = projector(model.embedding_) - projector(solved[solver].embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-9)


def test_all_views_twice_cost_exact_at_most_twice(digits, solved):
    """The copies may differ, as d and d-hat do in the relaxation, so it may be less."""
    model = fit_digits(MultiView(digits.views * 2), "exact")
    assert model.certificate_.optimal
    assert model.objective_ <= 2 * solved["exact"].objective_


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
