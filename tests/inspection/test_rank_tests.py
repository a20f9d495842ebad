"""Rank tests of all columns at once, against scipy column by column."""

from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from mkclust.inspection.markers import group_tests


def one_by_one(X, labels, k):
    auc, p, effect = (np.empty((k, X.shape[1])) for _ in range(3))
    for c in range(k):
        a, b = X[labels == c], X[labels != c]
        for j in range(X.shape[1]):
            if np.ptp(X[:, j]) == 0:
                auc[c, j], p[c, j], effect[c, j] = 0.5, 1, 0
                continue
            found = mannwhitneyu(a[:, j], b[:, j], method="asymptotic")
            auc[c, j], p[c, j] = found.statistic / (len(a) * len(b)), found.pvalue
            inside = len(a) * a[:, j].var() + len(b) * b[:, j].var()
            effect[c, j] = (a[:, j].mean() - b[:, j].mean()) / np.sqrt(inside / (len(X) - 2))
    return auc, p, effect


@pytest.mark.parametrize("sparse", [False, True])
@given(st.integers(0, 10_000))
def test_they_are_those_of_scipy_with_ties_zeros_and_negative_values(sparse, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (30, 6)) * (rng.random((30, 6)) < 0.6) * 1.5
    X[:, 0] = 4.0  # constant
    X[:, 1] = 0.0
    X[:, 2] += 100.0
    labels = np.r_[0, 0, 1, 1, 2, 2, rng.integers(0, 3, 24)]
    found = group_tests(sp.csr_array(X) if sparse else X, labels, 3)
    auc, p, effect = one_by_one(X, labels, 3)
    np.testing.assert_allclose(found.auc, auc, atol=1e-10)
    np.testing.assert_allclose(found.p, p, atol=1e-10)
    np.testing.assert_allclose(found.effect, effect, atol=1e-10)
    np.testing.assert_allclose(found.mean[1], X[labels == 1].mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(found.rest[1], X[labels != 1].mean(axis=0), atol=1e-10)


def test_blocks_of_columns_change_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 7))
    labels = np.arange(40) % 2
    whole = group_tests(X, labels, 2)
    monkeypatch.setattr(import_module("mkclust.inspection.markers"), "BLOCK", 80)
    np.testing.assert_array_equal(group_tests(X, labels, 2).p, whole.p)


def test_groups_without_samples_without_spread_and_an_empty_sparse_matrix():
    found = group_tests(np.arange(6.0)[:, None], np.array([0, 0, 0, 2, 2, 2]), 3)
    assert np.isnan(found.p[1]).all() and np.isfinite(found.p[[0, 2]]).all()
    found = group_tests(np.array([[1.0], [1.0], [2.0], [2.0]]), np.array([0, 0, 1, 1]), 2)
    assert found.effect.ravel().tolist() == [-np.inf, np.inf]
    found = group_tests(sp.csr_array((4, 2)), np.array([0, 0, 1, 1]), 2)
    assert (found.p == 1).all() and (found.auc == 0.5).all() and (found.effect == 0).all()
