"""What every method must do: the same interface, sensible answers on tiny data, clear errors."""

import numpy as np
import pytest

from _support.fits import estimator, fit_quietly
from mkclust import METHODS, metrics
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.graph_fusion.diffusion_map import n_components_for

pytestmark = pytest.mark.versions

every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def planted():
    return make_views(60, 3, 3, noise=0.3, separation=6.0, random_state=0)


def assert_valid(model, n, k):
    assert model.labels_.shape == (n,) and model.labels_.dtype.kind == "i"
    found = np.unique(model.labels_)
    assert found.tolist() == list(range(len(found)))  # no number without a sample
    for attribute in ("embedding_", "graph_", "weights_", "objective_history_"):
        if hasattr(model, attribute):
            assert np.isfinite(getattr(model, attribute)).all(), attribute
    if hasattr(model, "embedding_"):
        width = n_components_for(n, k) if model.name == "graph-fusion" else k
        assert model.embedding_.shape == (n, width)


@every_method
def test_precomputed_kernels_are_left_alone_and_equal_features(name, planted):
    kernels = np.stack([view @ view.T for view in planted.views])
    before = kernels.copy()
    model = fit_quietly(name, kernels, 3, kernel="precomputed")
    np.testing.assert_array_equal(kernels, before)
    if name in ("graph-fusion", "snf"):  # a kernel has other metrics than the view it comes from
        assert metrics.accuracy(planted.labels, model.labels_) == 1.0
        return
    linear = fit_quietly(name, planted, 3, kernel="linear")
    assert metrics.ari(model.labels_, linear.labels_) == 1.0


@every_method
def test_planted_clusters_are_recovered_from_views_one_view_and_copies(name, planted):
    first = planted.views[0]
    for views in (planted, [first], [*planted.views, first], [first] * 3):
        model = fit_quietly(name, views, 3)
        assert_valid(model, 60, 3)
        assert metrics.accuracy(planted.labels, model.labels_) == 1.0


@every_method
def test_every_sample_its_own_cluster(name):
    model = fit_quietly(name, make_views(6, 3, 2, random_state=0), 6)
    assert_valid(model, 6, 6)


@every_method
def test_registry_entry_is_complete(name):
    method = METHODS[name]
    assert method.title and method.reference
    accepted = method(2).get_params()
    assert set(method.grid) <= set(accepted)
    assert method.__doc__ and "References" in method.__doc__


def with_entry(view, value):
    changed = np.array(view)
    changed[3, 2] = value
    return changed


BAD = {
    "nan": (lambda v: [v[0], with_entry(v[1], np.nan)], 3, {}, "view2.*row 3, column 2"),
    "too few distinct rows": (
        lambda v: [np.repeat(x[:2], 30, axis=0) for x in v], 3, {}, "2 distinct"),
    "constant view": (lambda v: [v[0], np.full((60, 4), 7.0)], 3, {}, "view2.*constant"),
    "indefinite kernel": (
        lambda v: [-(x @ x.T) for x in v], 3, {"kernel": "precomputed"}, "indefinite"),
}  # fmt: skip


@every_method
def test_bad_input_is_refused_with_the_place(name, planted):
    """One check per kind; tests/test_refusals.py has the messages of the shared checks."""
    for change, k, settings, message in BAD.values():
        with pytest.raises(InputError, match=f"(?s){message}"):
            estimator(name, k, **settings).fit(change(list(planted.views)))
