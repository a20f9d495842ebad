"""A model that checks itself: right fits pass, and every kind of tampering is caught by name."""

from dataclasses import replace

import numpy as np
import pytest

from mkclust import MKCDNM, MultiView, datasets
from mkclust.exceptions import InputError


def planted(**settings):
    return datasets.make_views(120, 3, 3, noise=1.2, random_state=0, **settings)


def failed(model, views):
    return [check.claim for check in model.verify(views).checks if not check.holds]


@pytest.mark.parametrize("solver", ["authors", "paper", "exact"])
@pytest.mark.parametrize("threshold", ["k", "k-1", 1.5])
def test_a_fit_holds(solver, threshold):
    views = planted()
    found = MKCDNM(3, solver=solver, threshold=threshold, random_state=0).fit(views).verify(views)
    assert found.holds, str(found)
    assert len(found.checks) == 7


def test_a_fit_by_the_iterative_solver_holds():
    views = datasets.make_views(700, 4, 2, noise=1.5, random_state=1)
    found = MKCDNM(4, random_state=0).fit(views).verify(views)
    assert found.holds, str(found)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_relaxed_constraints_hold_too():
    views = datasets.make_views(150, 3, 2, n_noise_views=1, noise=0.5, random_state=0)
    model = MKCDNM(3, max_dimension=6, random_state=0).fit(views)
    assert model.notes_
    assert model.verify(views).holds


TAMPERED = {
    "H* has orthonormal columns": lambda m: {"embedding_": m.embedding_ * 1.001},
    "every constraint is met": lambda m: {"dimensions_": m.dimensions_ - 1},
    "no partition is closer to the kept subspaces": lambda m: {
        "embedding_": np.linalg.qr(m.embedding_ + 0.01 * np.eye(*m.embedding_.shape))[0]
    },
    "the dimensions are those the solver finds": lambda m: {"dimensions_": m.dimensions_ + 1},
    "the bound is below the sum of dimensions": lambda m: {
        "certificate_": replace(m.certificate_, lower_bound=m.objective_ + 1),
        "lower_bound_": m.objective_ + 1,
    },
    "the noise is as reported": lambda m: {"noise_": replace(m.noise_, null=m.noise_.null * 1.01)},
    "every label is that of the nearest center": lambda m: {"labels_": np.roll(m.labels_, 1)},
}


@pytest.mark.parametrize("claim", TAMPERED)
def test_tampering_is_caught(claim):
    views = planted()
    model = MKCDNM(3, random_state=0).fit(views)
    for name, value in TAMPERED[claim](model).items():
        setattr(model, name, value)
    assert claim in failed(model, views)
    assert f"FAILS: {claim}" in str(model.verify(views))


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
@pytest.mark.parametrize("claim", ["nothing", "least squares", "nearest center", "dimensions"])
def test_a_fit_to_views_that_lack_samples(claim):
    whole = planted()
    present = np.random.default_rng(0).random((len(whole), whole.n_views)) > 0.2
    present[:, 0] |= ~present.any(axis=1)
    views = MultiView(whole.views, present=present)
    model = MKCDNM(3, random_state=0).fit(views)
    if claim == "least squares":
        shifted = model.embedding_ + 0.02 * np.eye(*model.embedding_.shape)
        model.embedding_ = np.linalg.qr(shifted)[0]
    elif claim == "nearest center":
        model.labels_ = np.roll(model.labels_, 1)
    elif claim == "dimensions":
        model.dimensions_ = model.dimensions_ + 1
    found = failed(model, views)
    assert not found if claim == "nothing" else any(claim in each for each in found)


def test_equal_eigenvalues_at_the_cut_are_named():
    # Two blocks of equal size: the eigenvalues inside the blocks are all alike.
    K = np.kron(np.eye(2), np.ones((5, 5))) + np.eye(10)
    model = MKCDNM(2, kernel="precomputed", center=False, normalize=False, random_state=0)
    model.fit([K])
    model.dimensions_ = np.array([4])
    ties = model.verify([K]).near_ties
    assert any("eigenvalues 4 and 5" in tie for tie in ties)


def test_a_constraint_met_within_rounding_is_named():
    X = planted().views[0]
    views = [X, X]
    model = MKCDNM(3, random_state=0).fit(views)
    assert model.dimensions_.tolist() == [3, 3]
    assert any("meet the threshold at 3 and 3" in tie for tie in model.verify(views).near_ties)


def test_what_cannot_be_verified_says_so():
    views = planted()
    drawn = MKCDNM(3, n_samples_fit=60, random_state=0).fit(views)
    with pytest.raises(InputError, match="drawn sample"):
        drawn.verify(views)
    with pytest.raises(InputError, match="120 samples, but views has 60"):
        MKCDNM(3, random_state=0).fit(views).verify(views[:60])
