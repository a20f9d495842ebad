"""Rank tests of all columns of a matrix at once, one group against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm, rankdata

BLOCK = 1 << 22  # entries of a dense matrix that are ranked at a time


@dataclass(frozen=True)
class GroupTests:
    """Each of k groups against the rest, in each of f columns; all arrays are (k, f).

    `effect` is the standardized mean difference (Cohen's d), `auc` the probability that a sample
    of the group has the larger value, ties counted half, `p` that of the two-sided Mann-Whitney
    test. A constant column has 0, 0.5 and 1; a group without a sample, or with all, has NaN.
    """

    mean: np.ndarray
    rest: np.ndarray
    effect: np.ndarray
    auc: np.ndarray
    p: np.ndarray


def group_tests(X: Any, labels: np.ndarray, k: int) -> GroupTests:
    r"""Compare every group with the rest by mean and rank.

    With the rank sum $R$ of $n_1$ of n samples, $U = R - n_1(n_1 + 1)/2$,
    $\mathrm{AUC} = U/(n_1n_2)$, and U is normal with mean $n_1n_2/2$ and variance
    $\frac{n_1n_2}{n(n-1)}\sum_i (r_i - \bar r)^2$, which accounts for ties. The test is that of
    ``scipy.stats.mannwhitneyu(method="asymptotic")``. A sparse matrix stays sparse: O(nnz log
    nnz); a dense one is ranked in blocks of columns, O(n f log n).

    Parameters
    ----------
    X : (n, f) array or sparse array
    labels : (n,) int array
        Groups 0 to k - 1.
    k : int

    >>> found = group_tests(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), np.array([0, 0, 1]), 2)
    >>> found.auc
    array([[0. , 0.5],
           [1. , 0.5]])
    """
    belongs = np.eye(k)[labels].T  # (k, n)
    if sp.issparse(X):
        return _tests(belongs, *_sparse_sums(sp.csc_array(X, dtype=np.float64), belongs))
    height = max(1, BLOCK // max(len(X), 1))
    parts = [
        _tests(belongs, *_dense_sums(np.asarray(X[:, start : start + height], float), belongs))
        for start in range(0, X.shape[1], height)
    ]
    names = GroupTests.__dataclass_fields__
    return GroupTests(*(np.hstack([getattr(part, name) for part in parts]) for name in names))


def _dense_sums(X: np.ndarray, belongs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return group sums of values, squares and centered ranks, the ranks' variation, the shift."""
    middle = X.mean(axis=0)
    X = X - middle  # so that squares of a small spread around a large mean can be summed
    ranks = rankdata(X, axis=0) - (len(X) + 1) / 2
    return belongs @ X, belongs @ X**2, belongs @ ranks, np.sum(ranks**2, axis=0), middle


def _sparse_sums(X: sp.csc_array, belongs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the same for a sparse matrix; ranks are taken relative to that of the zeros."""
    X = X.copy()
    X.eliminate_zeros()
    n, f = X.shape
    R = X.copy()
    R.data = _ranks_from_zero(X, n)
    groups = sp.csr_array(belongs)
    total, squares = (np.asarray(part.sum(axis=0)).ravel() for part in (R, R.multiply(R)))
    sums, squared, ranks = ((groups @ part).toarray() for part in (X, X.multiply(X), R))
    sizes = belongs.sum(axis=1, keepdims=True)
    return sums, squared, ranks - sizes * total / n, squares - total**2 / n, np.zeros(f)


def _ranks_from_zero(X: sp.csc_array, n: int) -> np.ndarray:
    """Return the rank of every stored value in its column, minus that of the zeros there."""
    column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    order = np.lexsort((X.data, column))
    values, column = X.data[order], column[order]
    place = np.arange(len(values)) - X.indptr[column] + 1.0  # among the stored values
    new = np.r_[True, (np.diff(values) != 0) | (np.diff(column) != 0)][: len(values)]
    tied = np.cumsum(new) - 1
    place = (np.bincount(tied, place) / np.maximum(np.bincount(tied), 1))[tied]
    below = np.bincount(column[values < 0], minlength=X.shape[1])
    zeros = n - np.diff(X.indptr)
    shifted = place + np.where(values > 0, zeros[column], 0) - (below + (zeros + 1) / 2)[column]
    ranks = np.empty(len(values))
    ranks[order] = shifted
    return ranks


def _tests(
    belongs: np.ndarray,
    sums: np.ndarray,
    squares: np.ndarray,
    ranks: np.ndarray,
    variation: np.ndarray,
    middle: np.ndarray,
) -> GroupTests:
    n = belongs.shape[1]
    own = belongs.sum(axis=1, keepdims=True)
    other = n - own
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, rest = sums / own, (sums.sum(axis=0) - sums) / other
        inside = squares - own * mean**2
        outside = squares.sum(axis=0) - squares - other * rest**2
        spread = np.sqrt(np.maximum(inside + outside, 0) / max(n - 2, 1))
        # Rounding leaves a spread in a constant column, and a difference of the same size.
        size = np.sqrt(squares.sum(axis=0) / n) * 1e-7
        difference = np.where(np.abs(mean - rest) <= size, 0.0, mean - rest)
        effect = np.where(difference == 0, 0.0, difference / np.where(spread > size, spread, 0.0))
        U = ranks  # minus its mean
        deviation = np.sqrt(own * other / (n * max(n - 1, 1)) * variation)
        z = np.where(deviation > 0, np.maximum(np.abs(U) - 0.5, 0) / deviation, 0.0)
        auc = 0.5 + U / (own * other)
    p = np.minimum(2 * norm.sf(z), 1.0)
    empty = np.broadcast_to((own == 0) | (other == 0), p.shape)
    effect, auc, p = (np.where(empty, np.nan, part) for part in (effect, auc, p))
    return GroupTests(mean + middle, rest + middle, effect, auc, p)
