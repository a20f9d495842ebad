"""Which views to believe: chance is recognised, and a pure-noise view is named."""

import numpy as np
import pytest

from mkclust import MKCDNM, datasets
from mkclust.agreement.chance import (
    MISSED,
    chance,
    chance_of_agreement,
    mean_agreement,
    ranking,
    unrelated,
    unrelated_positions,
)
from mkclust.data.datasets import load_mfeat, make_views


def bases(rng, n, k, count):
    return [np.linalg.qr(rng.standard_normal((n, k)))[0] for _ in range(count)]


def spiked(rng, n, k):
    """Directions that a few outliers make up, and the rest hardly anything."""
    base = 0.02 * rng.standard_normal((n, k))
    base[rng.choice(n, k, replace=False), np.arange(k)] = 1.0
    return np.linalg.qr(base - base.mean(axis=0))[0]


def agreement_of(heads, n, k):
    S = np.array([[np.sum((a.T @ b) ** 2) for b in heads] for a in heads])
    return (S - k**2 / n) / (k - k**2 / n)


def test_random_subspaces_agree_no_better_than_chance():
    n, k = 400, 5
    heads = bases(np.random.default_rng(0), n, k, 6)
    assert unrelated_positions(chance(heads)) == list(range(6))
    assert unrelated_positions(chance_of_agreement(agreement_of(heads, n, k), n, k)) == list(
        range(6)
    )


@pytest.mark.parametrize("make", [spiked, lambda rng, n, k: bases(rng, n, k, 1)[0]])
def test_chances_are_those_of_permuted_rows(make):
    """Rows paired at random fall below a small level as often as it says, or less."""
    rng = np.random.default_rng(0)
    n, k, draws = 60, 3, 2000
    one, two = make(rng, n, k), make(rng, n, k)
    chances = np.array([chance([one, two[rng.permutation(n)]])[0, 1] for _ in range(draws)])
    for level in (0.01, MISSED):  # four standard errors of the count
        assert np.mean(chances < level) < level + 4 * np.sqrt(level / draws)


def test_moments_are_exact():
    """Mean and variance of the overlap over all permutations of a few rows, by trying all."""
    from itertools import permutations

    from mkclust.agreement.chance import _moments

    rng = np.random.default_rng(1)
    n = 6
    one, two = spiked(rng, n, 2), bases(rng, n, 1, 1)[0]
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    S = [np.sum((one.T @ two[list(order)]) ** 2) for order in permutations(range(n))]
    (T, r, s), (t, u, v) = _moments(one), _moments(two)
    variance = 2 * r * u / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += s * v / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    assert np.mean(S) == pytest.approx(T * t / (n - 1))
    assert np.var(S) == pytest.approx(variance)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(
    ("n", "k"), [(4, 2), (5, 2), (6, 2), (6, 6), (7, 6), (10, 2), (10, 6), (40, 6)]
)
def test_equal_views_are_never_unrelated(n, k):
    X = np.random.default_rng(0).standard_normal((n, 3))
    model = MKCDNM(k, random_state=0, n_init=1).fit([X, X.copy(), X.copy()])
    assert model.unrelated_views_ == []


@pytest.mark.parametrize("center", [True, False])
def test_a_shared_constant_is_no_agreement(center):
    """Uncentred kernels all hold the constant direction; it must not hide a noise view."""
    views = make_views(200, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    model = MKCDNM(3, center=center, random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == ["noise1"]


def test_a_graph_kernel_shows_a_noise_view_too():
    views = make_views(200, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    model = MKCDNM(3, kernel="knn", random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == ["noise1"]


def test_the_large_route_names_the_noise_view():
    views = datasets.make_views(600, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    model = MKCDNM(3, approximation="nystroem", n_components=80, random_state=0).fit(views)
    assert model.unrelated_views_ == ["noise1"]


def test_a_single_view_is_not_unrelated():
    assert unrelated_positions(chance([np.eye(10)[:, :2]])) == []
    assert unrelated_positions(chance_of_agreement(np.ones((1, 1)), 100, 2)) == []
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
