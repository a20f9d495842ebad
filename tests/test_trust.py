"""Which views to believe: chance is recognised, and a pure-noise view is named."""

import numpy as np
import pytest

from mkclust import MKCDNM
from mkclust.datasets import load_mfeat, make_views
from mkclust.trust import beyond_chance, lone_views, mean_agreement, ranking, unrelated


def test_random_subspaces_agree_no_better_than_chance():
    rng = np.random.default_rng(0)
    n, k, m = 400, 5, 6
    bases = [np.linalg.qr(rng.standard_normal((n, k)))[0] for _ in range(m)]
    S = np.array([[np.sum((a.T @ b) ** 2) for b in bases] for a in bases])
    agreement = (S - k**2 / n) / (k - k**2 / n)
    assert not np.triu(beyond_chance(agreement, n), 1).any()
    assert lone_views(agreement, n) == list(range(m))


def test_a_single_view_is_not_unrelated():
    assert lone_views(np.ones((1, 1)), 100) == []
    assert np.isnan(mean_agreement(np.ones((1, 1)))).all()


def test_mean_agreement_leaves_the_view_itself_out():
    agreement = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.0], [0.4, 0.0, 1.0]])
    np.testing.assert_allclose(mean_agreement(agreement), [0.3, 0.1, 0.2])


@pytest.mark.parametrize("solver", ["authors", "exact"])
@pytest.mark.parametrize("seed", range(5))
def test_the_noise_view_is_named_and_no_other(solver, seed):
    views = make_views(300, 4, 3, noise=1.5, n_noise_views=1, random_state=seed)
    model = MKCDNM(4, solver=solver, random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == ["noise1"]
    assert unrelated(model) == [3] and ranking(model)[-1] == 3


def test_real_views_are_not_flagged_until_one_is_noise():
    views = load_mfeat()[::4]
    model = MKCDNM(10, random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == []
    noise = np.random.default_rng(0).standard_normal((len(views), 30))
    mixed = dict(zip(views.names, views.views, strict=True)) | {"static": noise}
    model = MKCDNM(10, random_state=0, n_init=1).fit(mixed)
    assert model.unrelated_views_ == ["static"]
