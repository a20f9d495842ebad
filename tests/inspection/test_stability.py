"""Stability: what halves of the samples keep, and who flips."""

import numpy as np
import pytest

from mkclust import MKCDNM, MultiView, plot, stability
from mkclust.agreement.cache import opened, sharing
from mkclust.data.datasets import make_views
from mkclust.dual_noise.selection import select
from mkclust.exceptions import InputError
from mkclust.inspection.stability import Halves, compared
from mkclust.linalg.spectrum import Spectra
from mkclust.metrics import ari


@pytest.fixture(scope="module")
def views():
    return make_views(120, 3, 2, noise=0.5, random_state=0)


def test_clear_clusters_stay(views):
    found = stability(views, 3, n_splits=3)
    assert found.agreement == 1.0 and found.flips == []
    assert (found.samples == 1).all() and (found.clusters == 1).all()
    assert (found.rivals == found.labels).all()


def test_noise_has_no_stable_clusters():
    noise = make_views(150, 3, 0, n_noise_views=3, random_state=0)
    found = stability(noise, 5, n_splits=3)
    assert found.agreement < 0.2
    assert found.flips and found.flips[0].kept <= found.flips[-1].kept < 0.5


def test_a_sample_between_two_clusters_flips_and_is_named():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    centres = np.array([[-4.0, 0], [4.0, 0]])
    tables = []
    for _ in range(2):
        X = centres[labels] + rng.standard_normal((80, 2))
        X[17] = [0.05, 0.0]
        tables.append(X)
    views = MultiView(tables, index=[f"patient {i}" for i in range(80)])
    model = MKCDNM(2, random_state=0).fit(views)
    found = model.stability(views)
    assert found.index[np.argmin(found.samples)] == "patient 17"
    assert found.samples[17] < 0.8 and np.delete(found.samples, 17).min() > 0.9
    assert found.rivals[17] != model.labels_[17]


def test_more_clusters_than_there_are_split_arbitrarily(views):
    right, wrong = stability(views, 3, n_splits=4), stability(views, 6, n_splits=4)
    assert wrong.agreement < right.agreement - 0.2
    assert wrong.clusters.min() < 0.6


def test_the_same_seed_gives_the_same_answer(views):
    model = MKCDNM(4, random_state=0).fit(views)
    one, two = model.stability(views, n_splits=2), model.stability(views, n_splits=2)
    np.testing.assert_array_equal(one.samples, two.samples)
    np.testing.assert_array_equal(one.splits, two.splits)
    other = model.stability(views, n_splits=2, random_state=1)
    assert (one.samples != other.samples).any()


def test_labels_of_an_answer_may_have_other_names():
    labels = np.repeat([0, 1, 2], 10)
    answer = np.array([2, 0, 1])[labels]
    moved = answer.copy()
    moved[0] = answer[10]
    found = compared(labels, [answer, moved], np.arange(30))
    assert found.samples[0] == 0.5 and found.samples[1:].min() == 1
    assert found.rivals[0] == 1
    np.testing.assert_allclose(found.clusters, [0.95, (1 + 10 / 11) / 2, 1])
    assert found.agreement == pytest.approx(ari(answer, moved))


def test_halves_are_close_to_clustering_the_halves_anew():
    """The short cut over leading directions against new kernels of the rows of each half."""
    noisy = make_views(200, 4, 3, noise=1.6, random_state=1)
    model = MKCDNM(4, random_state=0).fit(noisy)
    found = opened(model, noisy)
    select(found.spectra, model._goal(4, 200))
    halves = Halves(found.spectra, 3, 0)
    alike = []
    for pair, answers in zip(halves.splits, halves.answers(model, 4), strict=True):
        for rows, answer in zip(pair, answers, strict=True):
            anew = MKCDNM(4, random_state=0).fit(noisy[rows]).labels_
            alike.append(ari(anew, answer[rows]))
    assert np.mean(alike) > 0.85


def test_nothing_is_computed_twice_inside_a_block(views, monkeypatch):
    computed = []
    find = Spectra._find
    monkeypatch.setattr(
        Spectra, "_find", lambda self, name, size: (computed.append(name), find(self, name, size))
    )
    with sharing():
        model = MKCDNM(3, random_state=0).fit(views)
        model.stability(views, n_splits=1)
        model.view_influence(views)
    assert sorted(computed) == ["view1", "view2"]


def test_the_plot_has_a_bar_for_every_cluster(views):
    pytest.importorskip("matplotlib").use("Agg")
    found = stability(views, 3, n_splits=1)
    bars = plot.stability(found).patches
    np.testing.assert_allclose([bar.get_width() for bar in bars], found.clusters)


def test_what_the_words_say(views):
    text = str(stability(views, 3, n_splits=2))
    assert "agree to 1.00 (ARI, mean of 2 splits)" in text and "0 of 120 samples flip" in text


def test_other_views_than_fitted_are_refused(views):
    model = MKCDNM(3, random_state=0).fit(views)
    with pytest.raises(InputError, match="120 samples, but views has 60"):
        model.stability(views[:60])
    with pytest.raises(InputError, match="view1, view2, but views has view1"):
        model.stability(views.select(["view1"]))
    with pytest.raises(ValueError, match="not fitted"):
        MKCDNM(3).stability(views)


def test_other_samples_than_fitted_are_refused_whatever_is_drawn(views, monkeypatch):
    monkeypatch.setattr("mkclust.agreement.cache.DRAWN", 20)
    model = MKCDNM(3, random_state=0).fit(views)
    with pytest.raises(InputError, match="120 samples, but views has 60"):
        model.stability(views[:60])


@pytest.mark.parametrize("seed", [None, -1, 1.5, np.random.RandomState(0)])
def test_splits_need_a_seed_that_can_be_repeated(views, seed):
    with pytest.raises(InputError, match="random_state must be a whole number from 0 on"):
        MKCDNM(3, random_state=0).fit(views).stability(views, random_state=seed)


def test_a_sample_of_data_too_large_for_kernels(monkeypatch):
    monkeypatch.setattr("mkclust.agreement.cache.IN_MEMORY_UP_TO", 300)
    monkeypatch.setattr("mkclust.agreement.cache.DRAWN", 200)
    views = make_views(400, 3, 2, noise=0.5, random_state=0)
    model = MKCDNM(3, approximation="nystroem", n_components=60, random_state=0).fit(views)
    found = model.stability(views, n_splits=2)
    assert len(found.samples) == 200 and found.agreement == 1.0
    np.testing.assert_array_equal(found.labels, model.labels_[found.index])
