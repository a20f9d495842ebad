"""The least certain samples, by name."""

import numpy as np
import pytest

from _support.fits import fit_quietly
from mkclust import GraphFusion
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.inspection import confidence


@pytest.fixture(scope="module")
def model():
    return GraphFusion(3, random_state=0).fit(make_views(90, 3, 3, noise=2.0, random_state=0))


def test_the_least_certain_samples_come_first_by_name(model):
    found = confidence(model, [f"patient {i}" for i in range(90)])
    listed = found.least()
    assert len(listed) == 20
    values = [sample.confidence for sample in listed]
    assert values == sorted(values) and values[0] == model.confidence_.min()
    row = int(np.argmin(model.confidence_))
    first = listed[0]
    assert first.sample == f"patient {row}" and first.cluster == model.labels_[row]
    P = model.membership_[row]
    assert first.rival == np.argsort(P)[-2] and first.rival_confidence == P[first.rival]


def test_clusters_and_samples_have_the_same_mean(model):
    found = confidence(model)
    sizes = np.bincount(model.labels_)
    assert found.clusters @ sizes / sizes.sum() == pytest.approx(found.mean)
    assert f"{int((found.samples < 0.5).sum())} of 90 samples are below 0.5" in str(found)


def test_one_cluster_has_no_other():
    found = confidence(GraphFusion(1, random_state=0).fit(make_views(30, 2, 2, random_state=0)))
    assert found.mean == 1 and set(found.rivals) == {0}
    assert "least certain cluster" not in str(found)


def test_a_method_without_centers_and_wrong_names_are_refused(model):
    swmc = fit_quietly("swmc", make_views(60, 3, 2, noise=0.3, random_state=0), 3)
    with pytest.raises(InputError, match="SWMC has no confidence"):
        confidence(swmc)
    with pytest.raises(InputError, match="2 names for 90 samples"):
        confidence(model, ["a", "b"])
