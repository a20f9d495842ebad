import warnings
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from mkclust.exceptions import InputError
from mkclust.metrics import accuracy, ari, contingency, evaluate, nmi, purity

pytestmark = pytest.mark.versions

labelling = st.lists(st.integers(0, 3), min_size=1, max_size=15)
pair = labelling.flatmap(
    lambda a: st.tuples(st.just(a), st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)))
)
quick = settings(deadline=None, derandomize=True, max_examples=60)


@quick
@given(pair)
def test_accuracy_is_the_best_renaming(labels):
    truth, found = map(np.array, labels)
    best = max(np.mean(truth == np.array(renamed)[found]) for renamed in permutations(range(4)))
    assert accuracy(truth, found) == pytest.approx(best)


def assert_as_scikit_learn(truth, found):
    for mean in ("max", "arithmetic", "geometric", "min"):
        expected = normalized_mutual_info_score(truth, found, average_method=mean)
        assert nmi(truth, found, mean) == pytest.approx(expected, rel=0, abs=1e-12)
    assert ari(truth, found) == pytest.approx(adjusted_rand_score(truth, found), rel=0, abs=1e-12)
    table = contingency_matrix(truth, found)
    np.testing.assert_array_equal(contingency(truth, found), table)
    assert purity(truth, found) == table.max(axis=0).sum() / table.sum() >= accuracy(truth, found)


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


@quick
@given(pair, kinds, kinds)
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
    for none in (None, 3, "abc", []):
        with pytest.raises(InputError, match="classes must be a sequence"):
            score(none, [0])
    for missing in ([0.0, np.nan], [np.inf, 1.0], np.array([1, np.nan], dtype=object), [None, "a"]):
        with pytest.raises(InputError, match="labels contain missing values or infinity"):
            score([0, 1], missing)


def test_a_normalizer_that_is_none_is_refused():
    with pytest.raises(InputError, match='"geometric" or "min", got \'mean\''):
        nmi([0, 1], [0, 1], "mean")
