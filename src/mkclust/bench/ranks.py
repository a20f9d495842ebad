r"""Average ranks of methods over data sets, and significance tests of their differences.

J. Demšar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
Scores are (data sets, methods); larger is better; NaN where a method has no result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from ..exceptions import InputError
from ..inspection.annotations import corrected


def rank_rows(scores: Any, missing: str = "last") -> np.ndarray:
    """Return the rank of every method on every data set; 1 is best; ties share their mean rank.

    A missing result ranks last (several share the mean of the last ranks), or stays NaN with
    ``missing="skip"``, as in the averages of the paper.

    >>> rank_rows([[0.9, 0.5, 0.9], [0.2, np.nan, 0.1]])
    array([[1.5, 3. , 1.5],
           [1. , 3. , 2. ]])
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2:
        raise InputError(f"scores must be (data sets, methods), got {table.ndim} dimensions")
    if missing not in ("last", "skip"):
        raise InputError(f'missing must be "last" or "skip", got {missing!r}')
    ranks = rankdata(np.where(np.isnan(table), np.inf, -table), axis=1)
    return np.where(np.isnan(table), np.nan, ranks) if missing == "skip" else ranks


def average_ranks(scores: Any, missing: str = "last") -> np.ndarray:
    """Return the mean rank of each method over data sets, (methods,).

    >>> average_ranks([[0.9, 0.5], [0.2, 0.3], [0.8, 0.1]]).round(2)
    array([1.33, 1.67])
    """
    return np.asarray(np.nanmean(rank_rows(scores, missing), axis=0))


def friedman(scores: Any) -> float:
    """Return the p-value of equal ranks of all methods (chi-square form, corrected for ties).

    >>> round(friedman([[3, 2, 1]] * 4), 4)  # chi2 = 8 with 2 degrees of freedom: exp(-4)
    0.0183
    """
    ranks = rank_rows(scores)
    if ranks.shape[0] < 2 or ranks.shape[1] < 3:
        raise InputError(f"Friedman's test needs 2 data sets and 3 methods, got {ranks.shape}")
    if (ranks == ranks[:, :1]).all():
        return 1.0  # only ties, where the statistic is 0/0
    return float(friedmanchisquare(*ranks.T).pvalue)


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    r"""Return the critical difference of average ranks (Nemenyi), $q_\alpha \sqrt{k(k+1)/(6N)}$.

    $q_\alpha$ is the studentized range of k methods at infinite degrees of freedom over √2.

    >>> round(critical_difference(5, 30), 3)  # q = 2.728
    1.114
    """
    if n_methods < 2 or n_datasets < 1:
        raise InputError("a critical difference needs 2 methods and a data set")
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def alike(ranks: Any, difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of methods with average ranks within `difference` of each other.

    They are pairs (first, last) of positions in order of rank; runs of one are left out.

    >>> alike([1.0, 1.8, 2.6, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    ordered = np.sort(np.asarray(ranks, dtype=float))
    lasts = [int(np.flatnonzero(ordered - low <= difference)[-1]) for low in ordered]
    runs = [(first, last) for first, last in enumerate(lasts) if last > first]
    return [run for i, run in enumerate(runs) if i == 0 or run[1] > runs[i - 1][1]]


def against(scores: Any, first: int) -> np.ndarray:
    """Test one method against each other by Wilcoxon's signed-rank test; return Holm's p-values.

    A pair is compared over the data sets where both have a result. The p-value is 1 where there
    is no difference, and NaN for the method itself and for one without any result.
    """
    table = np.asarray(scores, dtype=float)
    others = [j for j in np.flatnonzero(with_results(table)) if j != first]
    p = np.full(table.shape[1], np.nan)
    raw = np.array([_signed_rank(table[:, first] - table[:, j]) for j in others])
    p[others] = corrected(raw, "holm")
    return p


def with_results(scores: np.ndarray) -> np.ndarray:
    """Return which methods have any result, (methods,)."""
    return np.asarray(~np.isnan(scores).all(axis=0))


def _signed_rank(differences: np.ndarray) -> float:
    known = differences[~np.isnan(differences)]
    return float(wilcoxon(known).pvalue) if known.any() else 1.0
