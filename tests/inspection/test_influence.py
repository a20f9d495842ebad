"""Which views: the answer without each of them, and noise views named with what they cost."""

import numpy as np
import pytest

from mkclust import MKCDNM, view_influence
from mkclust.data.datasets import make_views
from mkclust.metrics import ari


@pytest.fixture(scope="module")
def noisy():
    return make_views(150, 3, 3, noise=0.8, n_noise_views=1, random_state=0)


@pytest.mark.parametrize("solver", ["authors", "exact"])
def test_leaving_a_view_out_equals_fitting_the_others(noisy, solver):
    model = MKCDNM(3, solver=solver, random_state=0).fit(noisy)
    found = model.view_influence(noisy)
    for p, left in enumerate(found.without):
        assert left.views == (noisy.names[p],)
        rest = [name for name in noisy.names if name != noisy.names[p]]
        fresh = MKCDNM(3, solver=solver, random_state=0).fit(noisy.select(rest))
        np.testing.assert_array_equal(left.labels, fresh.labels_)
        assert left.kept == fresh.objective_
        assert left.noise == pytest.approx(fresh.noise_.null.sum())
        assert left.ari == pytest.approx(ari(model.labels_, fresh.labels_))
        assert left.kept_before == model.objective_ - model.dimensions_[p]


def test_a_noise_view_is_named_first_with_what_it_costs(noisy):
    found = view_influence(noisy, 3, recipe="published")
    assert found.unrelated == ("noise1",)
    left = found.without_unrelated
    assert left.views == ("noise1",) and left.kept < left.kept_before
    assert left.noise < left.noise_before
    assert found.chance[3] > 0.01 and (found.chance[:3] < 1e-9).all()
    text = str(found)
    assert text.startswith("noise1 agrees with no other view beyond chance. Without it")
    assert f"keep {left.kept} directions instead of {left.kept_before}" in text


def test_a_noise_view_costs_a_fused_graph_nothing(noisy):
    found = view_influence(noisy, 3)
    left = found.without_unrelated
    assert found.unrelated == ("noise1",) and left.ari == 1.0
    assert "Without it the answer is nearly the same" in str(found)


def test_related_views_are_not_flagged():
    views = make_views(150, 3, 3, noise=0.8, random_state=0)
    found = view_influence(views, 3)
    assert found.unrelated == () and found.without_unrelated is None
    assert str(found).startswith("Leaving out")


def test_views_that_change_the_answer_alike_are_not_ranked():
    found = view_influence(make_views(60, 3, 2, noise=0.3, random_state=0), 3)
    assert [left.ari for left in found.without] == [1.0, 1.0]
    assert str(found) == (
        "Leaving out any one view changes the answer alike (ARI 1.00 to the answer from all views)."
    )


def test_where_all_views_are_noise_none_can_be_dropped():
    found = view_influence(make_views(100, 3, 0, n_noise_views=3, random_state=0), 3)
    assert len(found.unrelated) == 3 and found.without_unrelated is None
    assert "agree with no other view beyond chance" in str(found)


def test_a_single_view_has_nothing_to_leave_out():
    views = make_views(60, 2, 1, random_state=0)
    found = view_influence(views, 2)
    assert found.without == () and np.isnan(found.chance).all()
    assert str(found) == "A single view: nothing to leave out."
