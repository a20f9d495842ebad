"""View influence: the estimator refitted without each view."""

import numpy as np
import pytest

from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, view_influence
from mkclust.agreement.subspaces import Subspaces
from mkclust.data.datasets import make_views
from mkclust.metrics import ari


@pytest.fixture(scope="module")
def noisy():
    return make_views(150, 3, 3, noise=0.8, n_noise_views=1, random_state=0)


@pytest.mark.parametrize(
    "model", [GraphFusion(3, random_state=0), MKCDNM(3, solver="exact", random_state=0)]
)
def test_leaving_a_view_out_equals_fitting_the_others(noisy, model):
    model = model.fit(noisy)
    found = view_influence(model, noisy)
    for p, left in enumerate(found.without):
        assert left.view == noisy.names[p]
        rest = [name for name in noisy.names if name != noisy.names[p]]
        fresh = type(model)(**model.get_params()).fit(noisy.select(rest))
        np.testing.assert_array_equal(left.labels, fresh.labels_)
        assert left.ari == pytest.approx(ari(model.labels_, fresh.labels_))


@pytest.mark.parametrize("kind", [GraphFusion, MKCDNM])
def test_a_noise_view_is_named_first(noisy, kind):
    found = view_influence(kind(3, random_state=0), noisy)
    assert found.unrelated == ("noise1",)
    assert str(found).startswith("noise1 agrees with no other view beyond chance. Leaving out")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_can_be_asked(method):
    views = make_views(60, 2, 2, noise=0.3, random_state=0)
    found = view_influence(METHODS[method](2, random_state=0), views)
    assert [left.ari for left in found.without] == [1.0, 1.0]


def test_views_without_which_the_labels_stay_the_same_are_not_ranked():
    views = make_views(60, 3, 2, noise=0.3, random_state=0)
    text = str(view_influence(GraphFusion(3, random_state=0), views))
    assert text == "Leaving out any view changes nothing."


def test_where_all_views_are_noise_none_can_be_dropped():
    views = make_views(100, 3, 0, n_noise_views=3, random_state=0)
    found = view_influence(GraphFusion(3, random_state=0), views)
    assert len(found.unrelated) == 3
    assert "agree with no other view beyond chance" in str(found)


def test_a_single_view_has_nothing_to_leave_out():
    found = view_influence(GraphFusion(2), make_views(60, 2, 1, random_state=0))
    assert found.without == ()
    assert str(found) == "A single view: nothing can be left out."


@pytest.mark.parametrize("model", [GraphFusion(3, random_state=0), MKCDNM(3, random_state=0)])
def test_eigenvectors_of_a_view_are_computed_once(noisy, monkeypatch, model):
    computed, find = [], Subspaces.find

    def count(self, p, size):
        computed.append(self.names[p])
        find(self, p, size)

    monkeypatch.setattr(Subspaces, "find", count)
    view_influence(model, noisy)
    assert sorted(computed) == sorted(noisy.names)


def test_samples_that_only_the_view_left_out_has_are_not_compared():
    views = make_views(120, 3, 3, noise=0.5, random_state=0)
    present = np.ones((120, 3), dtype=bool)
    present[:10, 1:] = False
    found = view_influence(GraphFusion(3, random_state=0), MultiView(views, present=present))
    assert [len(left.rows) for left in found.without] == [110, 120, 120]
    assert found.without[0].ari == 1.0
