"""The verdict: clusters beyond chance, reproducibility, views to distrust."""

import numpy as np
import pytest

import mkclust
from mkclust import GraphFusion, MultiView, cluster, verdict
from mkclust.data.datasets import make_views
from mkclust.exceptions import DegenerateWarning


def test_clear_clusters_and_an_unrelated_view():
    views = make_views(150, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    model = cluster(views, 3, random_state=0)
    found = model.verdict_
    assert found.structured and found.p_value < 0.001 and found.reproducibility > 0.99
    assert found.distrusted_views == found.unrelated == ("noise1",)
    assert model.describe()[: len(found.sentences)] == found.sentences
    assert found.sentences[0] == "There are clusters beyond chance (p < 0.001)."
    assert "which does not mean that the clusters are biological classes" in found.sentences[1]
    assert found.sentences[2] == "Distrust noise1: agrees with no other view beyond chance."
    np.testing.assert_array_equal(model.to_frame()["confidence"], found.confidence.samples)


@pytest.mark.parametrize("k", [3, "auto"])
def test_noise_is_called_noise_also_with_k_given(k):
    noise = make_views(150, 2, 0, n_noise_views=3, random_state=0)
    model = cluster(noise, k, random_state=0)
    found = model.verdict_
    assert not found.structured and found.p_value > 0.05
    assert model.describe()[0].startswith(f"No cluster structure found (p = {found.p_value:.2g})")
    if k == "auto":  # one cluster: nobody is certain of anything
        assert found.confidence is None and "confidence" not in model.to_frame()
        assert found.p_value == model.choice_of_k_.p_value
    else:
        assert found.reproducibility < 0.9 and "poorly" in found.sentences[1]


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.UnrelatedWarning")
def test_copies_of_noise_are_no_clusters():
    noise = make_views(90, 2, 0, n_noise_views=2, random_state=0)
    with pytest.warns(DegenerateWarning, match="90 of 180 samples are equal"):
        model = cluster(noise[np.repeat(np.arange(90), 2)], 3, random_state=0)
    found, alone = model.verdict_, cluster(noise, 3, random_state=0).verdict_
    assert (found.p_value, found.unrelated) == (alone.p_value, alone.unrelated)
    certain = found.confidence.samples
    assert len(model.notes_) == 1 and (certain[::2] == certain[1::2]).all()
    assert mkclust.choose_k(noise[np.arange(180) % 90]) == mkclust.choose_k(noise)


def test_clusters_that_follow_missing_samples_are_named():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 60)
    tables = [8.0 * labels[:, None] + rng.standard_normal((120, 4)) for _ in range(2)]
    tables[1][labels == 0] = np.where(rng.random((60, 1)) < 0.7, np.nan, tables[1][labels == 0])
    model = cluster(MultiView(tables, names=["rna", "protein"]), 2, random_state=0)
    assert list(model.verdict_.missingness) == ["protein"]
    assert "Distrust protein: the clusters follow which samples it lacks" in str(model.verdict_)


def test_it_is_saved_with_the_model(tmp_path):
    views = make_views(80, 2, 2, noise=0.5, random_state=0)
    model = cluster(views, (2, 4), random_state=0)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    assert again.describe() == model.describe()
    assert again.choice_of_k_.table == model.choice_of_k_.table


def test_it_never_stands_in_the_way():
    model = cluster(np.arange(8.0).reshape(4, 2), 3, random_state=0)
    assert np.isnan(model.verdict_.p_value) and model.verdict_.confidence is None
    assert "too few" in str(model.verdict_)
    assert not hasattr(cluster(np.arange(8.0).reshape(4, 2), 2, verdict=False), "verdict_")


def test_it_says_the_reproducibility_of_stability_and_takes_refits_at_hand():
    views = make_views(120, 3, 2, noise=2.5, random_state=0)
    model = cluster(views, 3, random_state=0)
    same = mkclust.inspection.confidence(model, views)
    assert model.verdict_.confidence.refits == 10 and model.verdict_.reproducibility == same.mean
    model = GraphFusion(3, random_state=0).fit(views)
    refits = mkclust.stability(model, views, n_splits=2)
    assert verdict(model, views, stability=refits).confidence.refits == 4


@pytest.mark.parametrize("method", ["akkm", "mkc-dnm", "snf"])
def test_views_of_every_method_are_tested(method):
    views = make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    found = cluster(views, 3, method=method, random_state=0).verdict_
    assert found.structured and found.distrusted_views == ("noise1",)
