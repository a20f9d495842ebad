"""Which views to believe: chance is recognised, and a pure-noise view is named."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

from mkclust import MKCDNM, MultiView
from mkclust.agreement.chance import (
    ALPHA,
    mean_agreement,
    overlap_p_values,
    p_values_on_common_rows,
    permutation_p_values,
    unrelated_positions,
)
from mkclust.data.datasets import load_mfeat, make_views
from mkclust.report.words import ranking, unrelated


def bases(rng, n, k, count):
    return [np.linalg.qr(rng.standard_normal((n, k)))[0] for _ in range(count)]


def spiked(rng, n, k):
    """Directions that a few outliers make up, and the rest hardly anything."""
    base = 0.02 * rng.standard_normal((n, k))
    base[rng.choice(n, k, replace=False), np.arange(k)] = 1.0
    return np.linalg.qr(base - base.mean(axis=0))[0]


@pytest.mark.parametrize("make", [spiked, lambda rng, n, k: bases(rng, n, k, 1)[0]])
def test_chances_are_those_of_permuted_rows(make):
    """Rows paired at random fall below a small level as often as it says, or less."""
    rng = np.random.default_rng(0)
    n, k, draws = 60, 3, 2000
    one, two = make(rng, n, k), make(rng, n, k)
    p_values = np.array(
        [permutation_p_values([one, two[rng.permutation(n)]])[0, 1] for _ in range(draws)]
    )
    for level in (0.01, ALPHA):  # four standard errors of the count
        assert np.mean(p_values < level) < level + 4 * np.sqrt(level / draws)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(("n", "k"), [(4, 2), (6, 6), (7, 6), (40, 6)])
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


def test_a_single_view_is_not_unrelated():
    assert unrelated_positions(permutation_p_values([np.eye(10)[:, :2]])) == []
    assert np.isnan(mean_agreement(np.ones((1, 1)))).all()


@pytest.mark.parametrize(("solver", "seed"), [("authors", 0), ("authors", 1), ("exact", 2)])
def test_the_noise_view_is_named_and_no_other(solver, seed):
    views = make_views(300, 4, 3, noise=1.5, n_noise_views=1, random_state=seed)
    model = MKCDNM(4, solver=solver, random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == ["noise1"]
    assert unrelated(model) == [3] and ranking(model)[-1] == 3


def test_real_views_are_not_flagged_until_one_is_noise():
    views = load_mfeat()[::8]
    model = MKCDNM(10, random_state=0, n_init=1).fit(views)
    assert model.unrelated_views_ == []
    noise = np.random.default_rng(0).standard_normal((len(views), 30))
    mixed = dict(zip(views.names, views.views, strict=True)) | {"static": noise}
    model = MKCDNM(10, random_state=0, n_init=1).fit(mixed)
    assert model.unrelated_views_ == ["static"]


def tail_by_hand(share, mean, variance):
    """The upper tail of the beta distribution with this mean and variance."""
    size = mean * (1 - mean) / variance - 1
    return beta.sf(min(share, 1.0), mean * size, (1 - mean) * size)


def chance_by_trying(U, V):
    """The tail with the mean and variance of the overlap over all permutations of the rows."""
    U, V = U - U.mean(axis=0), V - V.mean(axis=0)
    orders = np.array(list(permutations(range(len(U)))))
    S = np.sum(np.matmul(U.T, V[orders]) ** 2, axis=(1, 2))
    most = min(np.sum(U**2), np.sum(V**2))
    return tail_by_hand(S[0] / most, S.mean() / most, S.var() / most**2)


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8])
def test_chance_is_the_beta_tail_with_the_moments_of_permutations(n):
    rng = np.random.default_rng(0)
    one, two = spiked(rng, n, 2), bases(rng, n, 1, 1)[0]
    three = 0.9 * one + 0.1 * bases(rng, n, 2, 1)[0]  # no basis: its trace is not k
    heads = [one, two, three]
    found = permutation_p_values(heads)
    for p in range(3):
        assert np.isnan(found[p, p])
        for q in range(3):
            if p != q:
                assert found[p, q] == pytest.approx(chance_by_trying(heads[p], heads[q]))


def test_the_smaller_of_two_sizes_counts_twice():
    rng = np.random.default_rng(0)
    n, k = 40, 2
    one, two = bases(rng, n, 2 * k, 2)
    two[:, k:] = one[:, :k]  # the same clusters, later in the second view
    small, large = (
        permutation_p_values([one[:, :size], two[:, :size]])[0, 1] for size in (k, 2 * k)
    )
    assert large < small
    assert overlap_p_values([one, two], k)[0, 1] == pytest.approx(2 * large)
    assert overlap_p_values([one[:, :k], two[:, :k]], k)[0, 1] == pytest.approx(small)
    assert overlap_p_values([one[:, :k], two], k)[0, 1] == pytest.approx(
        2 * min(small, permutation_p_values([one[:, :k], two])[0, 1])
    )
    heads = bases(rng, n, 3 * k, 6)
    found = overlap_p_values(heads, k)
    np.testing.assert_array_equal(found, overlap_p_values([U[:, : 2 * k] for U in heads], k))
    assert np.nanmax(found) == 1.0 and np.isnan(found.diagonal()).all()


@pytest.mark.parametrize(("p", "alone"), [(0.00049, False), (0.0005, True), (0.00051, True)])
def test_the_level_is_divided_by_the_number_of_pairs(p, alone):
    nan = np.nan
    p_values = np.array([[nan, p, 0.9], [p, nan, 1e-9], [0.9, 1e-9, nan]])
    assert unrelated_positions(p_values) == ([0] if alone else [])
    p_values[0, 2] = p_values[2, 0] = nan  # one pair is known
    assert unrelated_positions(p_values) == []


def test_two_views_with_one_outlier_in_common_are_unrelated():
    """A formula for random subspaces would take the shared outlier for agreement."""
    n = 40
    head = np.full((n, 1), -1 / np.sqrt(n * (n - 1)))
    head[0] = np.sqrt((n - 1) / n)
    other = bases(np.random.default_rng(0), n, 1, 1)[0]
    heads = [head, head, other - other.mean()]
    assert unrelated_positions(p_values_on_common_rows(heads, 1, None)) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_views_of_some_samples_are_compared_on_the_samples_in_common():
    views = make_views(200, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    present = np.ones((200, 3), dtype=bool)
    present[:40, 0] = present[30:70, 2] = False
    model = MKCDNM(3, random_state=0, n_init=1).fit(MultiView(views, present=present))
    assert model.unrelated_views_ == ["noise1"]


def test_views_are_ranked_by_agreement_else_weight_else_as_given():
    names = ["a", "b", "c"]
    agreement = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.0], [0.4, 0.0, 1.0]])
    weights = [0.2, 0.5, 0.3]
    assert ranking(SimpleNamespace(view_names_in_=names)).tolist() == [0, 1, 2]
    assert ranking(SimpleNamespace(view_names_in_=names, weights_=weights)).tolist() == [1, 2, 0]
    both = SimpleNamespace(view_names_in_=names, weights_=weights, agreement_=agreement)
    assert ranking(both).tolist() == [0, 2, 1]
    pair = SimpleNamespace(
        view_names_in_=names[:2], weights_=[0.2, 0.8], agreement_=np.full((2, 2), 0.5)
    )
    assert ranking(pair).tolist() == [0, 1]
    one = SimpleNamespace(view_names_in_=["a"], agreement_=np.ones((1, 1)))
    assert ranking(one).tolist() == [0]
