"""Confidence: the reproducibility of every sample's cluster under refits to halves."""

import numpy as np
import pytest

from mkclust import METHODS, GraphFusion, MultiView, stability
from mkclust.data.datasets import make_views
from mkclust.inspection import confidence


@pytest.fixture(scope="module")
def overlapping():
    return make_views(200, 4, 2, noise=2.5, random_state=0)


def test_it_is_the_share_of_ten_refits_shrunk_towards_the_cluster(overlapping):
    model = GraphFusion(4, random_state=0).fit(overlapping)
    found, refits = confidence(model, overlapping), stability(model, overlapping)
    means = np.array([refits.samples[model.labels_ == c].mean() for c in range(4)])
    assert found.refits == 10 and (refits.counted == 10).all()
    assert found.samples == pytest.approx((10 * refits.samples + 3 * means[model.labels_]) / 13)
    assert found.mean == pytest.approx(refits.samples.mean())


def test_it_agrees_with_fresh_halves(overlapping):
    model = GraphFusion(4, random_state=0).fit(overlapping)
    fresh = stability(model, overlapping, random_state=7).samples
    found = confidence(model, overlapping).samples
    bins = np.minimum((found * 5).astype(int), 4)
    gaps = [abs(fresh[bins == b].mean() - found[bins == b].mean()) for b in np.unique(bins)]
    assert np.average(gaps, weights=np.unique(bins, return_counts=True)[1]) < 0.05


def test_the_least_certain_samples_come_first_by_name(overlapping):
    named = MultiView(overlapping, index=[f"patient {i}" for i in range(200)])
    found = confidence(GraphFusion(4, random_state=0), named, n_splits=2)
    first, *_ = listed = found.least(5)
    row = int(np.argmin(found.samples))
    assert [each.confidence for each in listed] == sorted(each.confidence for each in listed)
    assert first.sample == f"patient {row}" and first.rival != first.cluster
    assert "not that the cluster is a biological class" in str(found)


def test_a_method_that_does_not_predict_counts_refits_with_the_sample():
    views = make_views(100, 2, 3, noise=0.3, separation=6.0, random_state=0)
    found = stability(METHODS["swmc"](2), views, n_splits=2)
    assert (found.counted == 2).all()
    assert confidence(METHODS["swmc"](2), views, n_splits=2).mean == 1


def test_given_kernels_are_predicted(overlapping):
    kernels = MultiView([X @ X.T for X in overlapping.views], kernels=True)
    found = stability(GraphFusion(4, precomputed=True, random_state=0), kernels, n_splits=2)
    assert (found.counted == 4).all()
