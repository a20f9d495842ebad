"""The estimator: what it finds and reports, and edge cases that get an answer."""

import warnings

import numpy as np
import pytest

from _support.fits import every_solver, fit_digits, fit_kernels, kernels_with, table
from _support.planted import brute_force, planted_spectra
from mkclust import MKCDNM, metrics, read
from mkclust.agreement.subspace_overlap import overlap
from mkclust.agreement.subspaces import Subspaces
from mkclust.data.datasets import make_views
from mkclust.exceptions import DegenerateWarning, InfeasibleError, InfeasibleWarning

pytestmark = pytest.mark.versions

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


def test_the_solvers_agree_on_what_they_prove(solved):
    proven = solved["exact"]
    assert proven.certificate_.optimal
    for solver in ("authors", "paper"):
        assert solved[solver].objective_ >= proven.objective_
        if not proven.certificate_.whole_spectrum:
            assert solved[solver].lower_bound_ >= proven.objective_
    assert proven.history_ == ()
    assert solved["authors"].history_[-1].d == tuple(solved["authors"].dimensions_)


def test_a_lower_threshold_keeps_no_more_directions(digits, solved):
    lower = fit_digits(digits, "exact", threshold="k-1")
    assert lower.threshold_ == 9
    assert lower.objective_ < solved["exact"].objective_
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


# ---------------------------------------------------------------- an answer, not a crash


@every_solver
def test_one_view_is_kernel_k_means(solver):
    model = MKCDNM(3, solver=solver, random_state=0).fit([table(30, 4)])
    np.testing.assert_array_equal(model.dimensions_, [3])
    assert model.certificate_.optimal
    np.testing.assert_allclose(model.singular_values_, 1)
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


def test_feasible_views_are_neither_warned_about_nor_changed(digits, solved):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_digits(digits, "authors", on_infeasible="raise")
    np.testing.assert_array_equal(model.dimensions_, solved["authors"].dimensions_)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_the_eigenvectors_that_a_threshold_needs_are_predicted_from_the_first(monkeypatch):
    """What unrelated subspaces share grows by the square of their dimension; 15 % are added."""
    sizes, grow = [], Subspaces.grow
    monkeypatch.setattr(Subspaces, "grow", lambda self, D: (sizes.append(D), grow(self, D)))
    spectra = planted_spectra(np.random.default_rng(0), 200, [200] * 2, shared=0, noise=1.0)
    fit_kernels(kernels_with(spectra), 4)
    A, B = (spectrum.vectors for spectrum in spectra)
    four, eight = (np.linalg.norm(A[:, :D].T @ B[:, :D]) ** 2 for D in (4, 8))
    needed = np.sqrt(8**2 + (4 - eight) * (8**2 - 4**2) / (eight - four))
    assert sizes == [8, 4 * np.ceil(1.15 * needed / 4)]


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.UnrelatedWarning")
def test_the_warning_lists_the_weakest_pairs_and_what_holds_instead():
    rng = np.random.default_rng(0)
    spectra = planted_spectra(rng, 300, [12, 12, 9, 12], shared=4, noise=1, unrelated=range(4))
    kernels = dict(zip("abcd", kernels_with(spectra), strict=True))
    weakest = r"\((\w-\w [\d.]+, ){4}\w-\w [\d.]+ and 1 more\)"
    message = (
        rf"^6 of 6 pairs of views cannot reach an overlap of 4 with 9 to 12 eigenvectors {weakest}"
        r"\. 6 pairs agree no better than chance and are exempted\. Unrelated to every other view: "
        "a, b, c, d.$"
    )
    with pytest.warns(InfeasibleWarning, match=message):
        fit_kernels(kernels, 4, max_dimension=12)
    spectra = planted_spectra(rng, 300, [12] * 3, shared=4, noise=0.3, unrelated=[2])
    message = (
        r"with 12 eigenvectors \(a-c [\d.]+, b-c [\d.]+, a-b [\d.]+\)\. 2 pairs agree no better "
        r"than chance and are exempted; the others are held to 2.99 beyond chance\. .* view: c.$"
    )
    with pytest.warns(InfeasibleWarning, match=message):
        fit_kernels(dict(zip("abc", kernels_with(spectra), strict=True)), 4, max_dimension=12)
