import warnings
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from mkclust.exceptions import InputError, MkclustWarning
from mkclust.metrics import accuracy, ari, contingency, evaluate, nmi, purity

pytestmark = pytest.mark.versions

labelling = st.lists(st.integers(0, 3), min_size=2, max_size=15)
pair = labelling.flatmap(
    lambda a: st.tuples(st.just(a), st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)))
)
quick = settings(deadline=None, derandomize=True, max_examples=40)


@quick
@given(pair)
def test_contingency_counts_every_class_in_every_cluster(labels):
    truth, found = map(np.array, labels)
    expected = [
        [np.sum((truth == c) & (found == label)) for label in np.unique(found)]
        for c in np.unique(truth)
    ]
    np.testing.assert_array_equal(contingency(truth, found), expected)


@quick
@given(pair)
def test_accuracy_is_the_best_renaming(labels):
    truth, found = map(np.array, labels)
    best = max(np.mean(truth == np.array(renamed)[found]) for renamed in permutations(range(4)))
    assert accuracy(truth, found) == pytest.approx(best)


def entropy(counts):
    p = counts[counts > 0] / counts.sum()
    return -np.sum(p * np.log(p))


@quick
@given(pair)
def test_nmi_is_information_over_the_larger_entropy(labels):
    truth, found = map(np.array, labels)
    table = np.zeros((4, 4))
    np.add.at(table, (truth, found), 1)
    rows, columns = entropy(table.sum(1)), entropy(table.sum(0))
    information = rows + columns - entropy(table.ravel())
    if max(rows, columns) > 0:
        assert nmi(truth, found) == pytest.approx(information / max(rows, columns), abs=1e-9)
    if min(rows, columns) > 0:
        arithmetic = 2 * information / (rows + columns)
        assert nmi(truth, found, "arithmetic") == pytest.approx(arithmetic, abs=1e-9)


@quick
@given(pair)
def test_purity_counts_the_largest_class_of_each_cluster(labels):
    truth, found = map(np.array, labels)
    right = sum(np.bincount(truth[found == c]).max() for c in set(found.tolist()))
    assert purity(truth, found) == pytest.approx(right / len(truth))
    assert purity(truth, found) >= accuracy(truth, found) - 1e-12


@quick
@given(pair)
def test_ari_counts_pairs(labels):
    truth, found = map(np.array, labels)
    i, j = np.triu_indices(len(truth), 1)
    same, together = truth[i] == truth[j], found[i] == found[j]
    both, expected = (same & together).sum(), same.sum() * together.sum() / len(i)
    most = (same.sum() + together.sum()) / 2
    if most != expected:
        assert ari(truth, found) == pytest.approx((both - expected) / (most - expected), abs=1e-9)


def assert_as_scikit_learn(truth, found):
    for mean in ("max", "arithmetic", "geometric", "min"):
        expected = normalized_mutual_info_score(truth, found, average_method=mean)
        assert nmi(truth, found, mean) == pytest.approx(expected, rel=0, abs=1e-12)
    assert ari(truth, found) == pytest.approx(adjusted_rand_score(truth, found), rel=0, abs=1e-12)
    table = contingency_matrix(truth, found)
    assert purity(truth, found) == table.max(axis=0).sum() / table.sum()
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert accuracy(truth, found) == table[rows, columns].sum() / table.sum()


kinds = st.sampled_from(
    [
        lambda labels: labels,
        tuple,
        np.array,
        lambda labels: np.array(labels, dtype=np.uint8),
        lambda labels: np.array(labels) - 2,
        lambda labels: np.array(labels, dtype=float) * 1e6,
        lambda labels: np.array(labels) % 2 == 0,
        lambda labels: [f"class {label}" for label in labels],
        lambda labels: np.array([str(label) for label in labels], dtype=object),
    ]
)
any_pair = st.tuples(st.integers(1, 25), st.integers(0, 24), st.integers(0, 24)).flatmap(
    lambda t: st.tuples(
        *(st.lists(st.integers(0, most), min_size=t[0], max_size=t[0]) for most in t[1:])
    )
)


@pytest.mark.slow
@settings(deadline=None, derandomize=True, max_examples=150)
@given(any_pair, kinds, kinds)
def test_every_metric_is_that_of_scikit_learn_for_labels_of_any_kind(labels, one, other):
    assert_as_scikit_learn(one(labels[0]), other(labels[1]))


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_labelings_that_split_nothing_or_everything(n):
    nothing, everything, halves = np.zeros(n, int), np.arange(n), np.arange(n) % 2
    for truth in (nothing, everything, halves):
        for found in (nothing, everything, halves):
            assert_as_scikit_learn(truth, found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(everything, everything[::-1])["ari"] == 1
    assert evaluate(nothing, nothing) == dict.fromkeys(("acc", "nmi", "purity", "ari"), 1.0)


def test_products_of_pair_counts_do_not_overflow():
    """Exact fractions are the reference; the products exceed 64 bits from n = 1e5 on."""
    counts = np.array([[160_000, 40_000], [80_000, 120_000]])
    sizes = counts.ravel(), counts.sum(axis=1), counts.sum(axis=0)
    both, same, together = (sum(m * (m - 1) // 2 for m in part.tolist()) for part in sizes)
    n = int(counts.sum())
    expected = Fraction(same * together, n * (n - 1) // 2)
    exact = (both - expected) / (Fraction(same + together, 2) - expected)
    truth, found = np.repeat([0, 0, 1, 1], sizes[0]), np.repeat([0, 1, 0, 1], sizes[0])
    assert n**4 > np.iinfo(np.int64).max
    assert ari(truth, found) == pytest.approx(float(exact), rel=1e-12)


EVERY = [accuracy, nmi, purity, ari, evaluate, contingency]


@pytest.mark.parametrize("score", EVERY)
def test_labels_that_cannot_be_compared_are_refused(score):
    with pytest.raises(InputError, match="2 classes and 3 labels"):
        score([0, 1], [0, 1, 2])
    with pytest.raises(InputError, match=r"labels must be a sequence .* not of shape \(3, 1\)"):
        score([0, 1, 2], np.zeros((3, 1)))
    for none in (None, 3, "abc"):
        with pytest.raises(InputError, match="classes must be a sequence"):
            score(none, [0])
    with pytest.raises(InputError, match=r"classes cannot be compared .* labels of one type"):
        score([None, "a", "b"], [0, 1, 1])


@pytest.mark.parametrize("score", EVERY)
def test_missing_labels_are_refused_and_fractions_are_doubted(score):
    for missing in ([0.0, np.nan], [np.inf, 1.0], np.array([1, np.nan], dtype=object)):
        with pytest.raises(InputError, match="labels contain NaN or infinity"):
            score([0, 1], missing)
    with pytest.warns(MkclustWarning, match="labels are numbers that are not whole") as caught:
        score([0, 1], [0.5, 1.5])
    assert [warning.filename for warning in caught] == [__file__]


def test_no_samples_agree_but_no_share_of_them_is_right():
    assert nmi([], []) == ari([], []) == 1.0
    for score in (accuracy, purity, evaluate):
        with pytest.raises(InputError, match="empty"):
            score([], [])


def test_a_normalizer_that_is_none_is_refused():
    with pytest.raises(InputError, match="'max', 'arithmetic', 'geometric', 'min', not 'mean'"):
        nmi([0, 1], [0, 1], "mean")
