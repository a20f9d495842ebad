"""View weights, against a plain computation, and the sentences that describe them."""

import numpy as np
import pytest

from mkclust.agreement.subspace_overlap import Overlap
from mkclust.agreement.weights import ViewWeights, discounted_agreement, view_weights


def symmetric(rng, m, diagonal=1.0):
    found = rng.random((m, m))
    found = (found + found.T) / 2
    np.fill_diagonal(found, diagonal)
    return found


def overlap_with(squared, n, size, common=None):
    """An overlap in which the first `size` columns of views p and q share ``squared[p, q]``."""
    m = len(squared)
    cross = np.zeros((m * size, m * size))
    for p in range(m):
        for q in range(m):
            cross[p * size, q * size] = np.sqrt(squared[p, q])
    return Overlap(cross, np.arange(m + 1) * size, n, common)


def by_hand(agreement, redundancy, limit):
    m = len(agreement)
    copies = [sum(row) for row in redundancy]
    raw = []
    for p in range(m):
        others = [q for q in range(m) if q != p]
        votes = [(1 - redundancy[p][q]) / copies[q] for q in others]
        agreed = [a if (a := agreement[p][q]) > limit else 0.0 for q in others]
        mean = sum(v * a for v, a in zip(votes, agreed, strict=True)) / sum(votes)
        raw.append(mean / copies[p])
    return np.array(raw) / sum(raw)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_discounted_mean_agreement(seed):
    rng = np.random.default_rng(seed)
    n, k, m = 60, 3, 4
    shared = symmetric(rng, m, float(k))
    shared[0, 1] = shared[1, 0] = 0.0
    redundancy = symmetric(rng, m) ** 2
    chance = k * k / n
    agreement = (shared - chance) / (k - chance)
    p_values = np.where(agreement > 0, 1e-9, 0.5)
    np.fill_diagonal(p_values, np.nan)
    found = view_weights(overlap_with(shared, n, k), k, redundancy, p_values)
    np.testing.assert_allclose(found.weights, by_hand(agreement, redundancy, 0.0))
    np.fill_diagonal(agreement, 1.0)
    np.testing.assert_allclose(found.agreement, agreement)
    assert found.redundancy is redundancy
    assert found.equal is False and found.unrelated == ()


@pytest.mark.parametrize(("chance", "used"), [(0.00051, False), (0.00049, True)])
def test_one_rule_decides_on_weight_and_flag(chance, used):
    p_values = np.full((3, 3), 0.5)
    p_values[0, 1] = p_values[1, 0] = chance
    np.fill_diagonal(p_values, np.nan)
    found = view_weights(overlap_with(np.ones((3, 3)), 80, 2), 2, np.eye(3), p_values)
    np.testing.assert_allclose(found.weights, [0.5, 0.5, 0.0] if used else [1 / 3] * 3)
    assert found.unrelated == ((2,) if used else (0, 1, 2))
    assert found.equal is not used


def test_copies_share_equal_weights_where_nothing_agrees():
    redundancy = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = view_weights(overlap_with(np.zeros((3, 3)), 50, 2), 2, redundancy, np.ones((3, 3)))
    assert found.equal
    np.testing.assert_allclose(found.weights, [0.25, 0.25, 0.5])


def test_agreement_of_as_many_vectors_as_samples_is_none():
    shared = np.full((2, 2), 4.0)
    found = view_weights(overlap_with(shared, 4, 4), 4, np.eye(2), np.full((2, 2), np.nan))
    np.testing.assert_array_equal(found.agreement, np.eye(2))
    assert found.equal


def test_pairs_without_common_samples_do_not_count():
    n, k = 60, 2
    common = np.array([[60, 40, 0], [40, 50, 45], [0, 45, 50]])
    shared = np.full((3, 3), 1.5)
    p_values = np.where(common > 0, 1e-9, np.nan)
    np.fill_diagonal(p_values, np.nan)
    found = view_weights(overlap_with(shared, n, k, common), k, np.eye(3), p_values)
    one, two = ((1.5 - 4 / c) / (2 - 4 / c) for c in (40, 45))
    np.testing.assert_allclose(found.agreement, [[1, one, 0], [one, 1, two], [0, two, 1]])
    raw = np.array([one, one + two, two]) / 2
    np.testing.assert_allclose(found.weights, raw / raw.sum())


def test_a_view_that_cannot_be_compared_has_the_mean_weight():
    p_values = np.full((3, 3), np.nan)
    p_values[0, 1] = p_values[1, 0] = 1e-9
    found = view_weights(overlap_with(np.ones((3, 3)), 50, 2), 2, np.eye(3), p_values)
    np.testing.assert_allclose(found.weights, 1 / 3)
    assert found.unrelated == ()


def test_unknown_and_negative_agreement_count_as_none():
    agreement = np.array([[1.0, np.nan, 0.3], [np.nan, 1.0, -0.5], [0.3, -0.5, 1.0]])
    found, copies = discounted_agreement(agreement, np.eye(3))
    np.testing.assert_allclose(found, [0.15, 0.0, 0.15])
    np.testing.assert_array_equal(copies, 1.0)


def test_copies_only_confirm_nothing():
    found, copies = discounted_agreement(np.ones((2, 2)), np.ones((2, 2)))
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_array_equal(copies, 2.0)


def test_every_view_has_a_sentence():
    agreement = np.array(
        [[1.0, 0.8, 0.1, np.nan], [0.8, 1.0, 0.2, 0.0], [0.1, 0.2, 1.0, 0.0], [np.nan, 0, 0, 1.0]]
    )
    redundancy = np.eye(4)
    redundancy[0, 1] = redundancy[1, 0] = 0.51
    redundancy[0, 2] = redundancy[2, 0] = 0.5
    weights = np.array([0.6, 0.376, 0.024, 0.0])
    names = ["a", "b", "c", "d"]
    assert ViewWeights(weights, agreement, redundancy, False, (3,)).describe(names) == (
        "a: weight 0.60, agrees most with b (0.80 beyond chance), shares its weight with b",
        "b: weight 0.38, agrees most with a (0.80 beyond chance), shares its weight with a",
        "c: weight 0.02, agrees most with b (0.20 beyond chance); hardly used",
        "d: weight 0.00, agrees with no other view beyond chance; not used",
    )
    edge = ViewWeights(np.array([0.95, 0.05]), np.eye(2), np.eye(2), True).describe(["x", "y"])
    assert edge == (
        "x: weight 0.95, agrees most with y (0.00 beyond chance)",
        "y: weight 0.05, agrees most with x (0.00 beyond chance)",
        "all views are copies: the weights follow from redundancy alone",
    )
