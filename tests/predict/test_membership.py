"""Membership: shares of every sample, consistent with labels and with predict."""

import numpy as np
import pytest

from _support.fits import fit_quietly
from mkclust import METHODS, MKCDNM, GraphFusion, metrics
from mkclust.data.datasets import make_views
from mkclust.linalg.kmeans import membership, temperature

WITHOUT = ("cagl", "oplf", "swmc")  # labels without centers in an embedding, CAGL on clear data


@pytest.fixture(scope="module")
def views():
    return make_views(90, 3, 3, noise=1.5, random_state=0)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_with_an_embedding_has_probabilities(name, views):
    model = fit_quietly(name, views, 3)
    if name in WITHOUT:
        assert not hasattr(model, "cluster_centers_")
        assert not hasattr(model, "membership_")
        with pytest.raises(AttributeError, match="cluster centers"):
            model.membership_  # noqa: B018
        return
    P = model.membership_
    assert P.shape == (90, 3) and (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P.argmax(axis=1), model.labels_)


@pytest.mark.parametrize("method", [GraphFusion, MKCDNM])
def test_predict_proba_agrees_with_predict_and_with_the_fit(method, views):
    model = method(3, random_state=0).fit(views[:80])
    new = model.predict_proba(views[80:])
    np.testing.assert_array_equal(new.argmax(axis=1), model.predict(views[80:]))
    np.testing.assert_allclose(new.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(views[:80]), model.membership_, atol=1e-9)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.5, 0.99, 1.0), (3, 0.6, 0.95)])
def test_the_mean_of_the_largest_follows_the_purity_of_planted_clusters(noise, low, high):
    views = make_views(300, 6, 3, noise=noise, random_state=0)
    model = GraphFusion(6, random_state=0).fit(views)
    purity = metrics.purity(views.labels, model.labels_)
    assert low <= purity <= high
    assert model.membership_.max(axis=1).mean() == pytest.approx(purity, abs=0.15)


def test_rows_at_their_centers_are_certain_and_small_clusters_less_so():
    np.testing.assert_array_equal(membership(np.eye(3), np.eye(3), 0.0), np.eye(3))
    many, few = (temperature(0.2 * n, n, 5, 1.0) for n in (5000, 50))  # equal inertia per row
    assert few > many == pytest.approx(0.2, rel=0.01)
