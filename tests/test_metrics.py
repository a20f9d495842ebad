from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkclust.metrics import accuracy, ari, evaluate, nmi, purity

labelling = st.lists(st.integers(0, 3), min_size=2, max_size=15)
pair = labelling.flatmap(
    lambda a: st.tuples(st.just(a), st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)))
)
quick = settings(deadline=None, derandomize=True, max_examples=40)


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


def test_a_partition_equals_itself_under_other_names():
    truth = ["a", "b", "b", "c", "a"]
    assert evaluate(truth, [7, 3, 3, 5, 7]) == dict.fromkeys(("acc", "nmi", "purity", "ari"), 1.0)


def test_more_clusters_than_classes_cost_accuracy_but_not_purity():
    truth, found = [0, 0, 0, 0], [0, 0, 1, 2]
    assert accuracy(truth, found) == 0.5
    assert purity(truth, found) == 1.0
