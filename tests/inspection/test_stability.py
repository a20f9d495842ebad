"""Stability: what refits to halves of the samples keep, and which samples move."""

import numpy as np
import pytest

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, stability
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.inspection.stability import compared
from mkclust.metrics import ari

pytestmark = pytest.mark.versions


@pytest.fixture(scope="module")
def views():
    return make_views(120, 3, 2, noise=0.5, random_state=0)


@pytest.mark.parametrize("estimator", [GraphFusion(5, random_state=0), MKCDNM(5, random_state=0)])
def test_noise_has_no_stable_clusters(estimator):
    noise = make_views(300, 3, 0, n_noise_views=3, random_state=0)
    found = stability(estimator, noise, n_splits=3)
    assert found.agreement < 0.2
    kept = found.samples[found.moved]
    assert len(kept) and (np.diff(kept) >= 0).all() and kept[-1] < 0.5


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_can_be_asked(method):
    views = make_views(100, 2, 3, noise=0.3, separation=6.0, random_state=0)
    found = stability(METHODS[method](2, random_state=0), views, n_splits=2)
    assert found.agreement == 1.0


def test_a_sample_between_two_clusters_moves_and_is_named():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    centers = np.array([[-4.0, 0], [4.0, 0]])
    tables = []
    for _ in range(2):
        X = centers[labels] + rng.standard_normal((80, 2))
        X[17] = [0.05, 0.0]
        tables.append(X)
    views = MultiView(tables, index=[f"patient {i}" for i in range(80)])
    found = stability(MKCDNM(2, random_state=0).fit(views), views, n_splits=10)
    assert found.index[np.argmin(found.samples)] == "patient 17"
    assert found.samples[17] < 0.9 and np.delete(found.samples, 17).min() > 0.9


def test_more_clusters_than_there_are_split_arbitrarily(views):
    right, wrong = (stability(GraphFusion(k, random_state=0), views) for k in (3, 6))
    assert wrong.agreement < right.agreement - 0.2
    assert wrong.clusters.min() < 0.7


def test_clusters_of_a_refit_may_be_numbered_differently():
    labels = np.repeat([0, 1, 2], 10)
    every = np.arange(30)
    refit = np.array([2, 0, 1])[labels]
    moved = refit.copy()
    moved[0] = refit[10]
    found = compared(labels, [(every, refit), (every, moved)], every)
    assert found.samples[0] == 0.5 and found.samples[1:].min() == 1
    assert found.rivals[0] == 1
    np.testing.assert_allclose(found.clusters, [0.95, (1 + 10 / 11) / 2, 1])
    assert found.agreement == pytest.approx(ari(refit, moved))


def test_refits_are_fits_of_the_same_estimator_to_the_halves(views, monkeypatch):
    fits, fit = [], GraphFusion.fit

    def recorded(self, X):
        fits.append((len(X), self.n_neighbors))
        return fit(self, X)

    monkeypatch.setattr(GraphFusion, "fit", recorded)
    stability(GraphFusion(3, n_neighbors=7, random_state=0).fit(views), views, n_splits=2)
    assert fits == [(120, 7)] + [(60, 7)] * 4


@pytest.mark.parametrize("kind", [GraphFusion, MKCDNM])
def test_samples_that_some_views_lack(kind):
    views = make_views(150, 3, 3, noise=0.5, random_state=0)
    present = np.random.default_rng(0).random((150, 3)) > 0.2
    present[~present.any(axis=1), 0] = True
    incomplete = MultiView(views, present=present)
    found = stability(kind(3, random_state=0), incomplete, n_splits=2)
    assert found.agreement > 0.95 and len(found.samples) == 150


@pytest.mark.parametrize(
    ("k", "settings", "message"),
    [
        *(
            (3, {"random_state": seed}, "random_state must be a whole number from 0 on")
            for seed in (None, -1, 1.5, np.random.RandomState(0))
        ),
        *((3, {"n_splits": n}, "n_splits must be a whole number from 2 on") for n in (0, 1, 2.5)),
        (61, {}, "halves of 120 samples are too few for 61 clusters"),
    ],
)
def test_what_cannot_be_split_is_refused(views, k, settings, message):
    with pytest.raises(InputError, match=message):
        stability(GraphFusion(k), views, **settings)


def test_other_views_than_fitted_are_refused(views):
    with pytest.raises(InputError, match="view1, view2, but got view1"):
        stability(GraphFusion(3, random_state=0).fit(views), views.select(["view1"]))
    with pytest.raises(InputError, match="must be an estimator"):
        stability(views, 3)


def test_a_sample_is_drawn_from_many_rows(monkeypatch):
    monkeypatch.setattr("mkclust.inspection.fitting.EXACT_UP_TO", 300)
    monkeypatch.setattr("mkclust.inspection.fitting.DRAWN", 200)
    views = make_views(400, 3, 2, noise=0.5, random_state=0)
    model = MKCDNM(3, n_samples_fit=150, random_state=0).fit(views)
    with pytest.warns(MkclustWarning, match="400 samples: .* were of 200 of them"):
        found = stability(model, views, n_splits=2)
    assert len(found.samples) == 200 and found.agreement == 1.0
    np.testing.assert_array_equal(found.labels, model.labels_[found.index])
