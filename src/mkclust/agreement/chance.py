"""Test the agreement between views against chance, and find the views that do not exceed it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.special import betaincc

from .subspace_overlap import orthonormal_prefixes

ALPHA = 0.001  # rate at which a view unrelated to all others is taken for related

DEVIATIONS = 5.0  # standard deviations of chance overlap that agreement must exceed


def mean_agreement(agreement: np.ndarray) -> np.ndarray:
    """Return the mean agreement with the other views (m,); NaN for a view without a comparison.

    >>> mean_agreement(np.array([[1.0, 0.4], [0.4, 1.0]]))
    array([0.4, 0.4])
    """
    known = ~np.isnan(agreement)
    others = np.where(known, agreement, 0.0).sum(axis=1) - agreement.diagonal()
    count = known.sum(axis=1) - 1
    return np.where(count > 0, others / np.maximum(count, 1), np.nan)


def permutation_p_values(heads: Sequence[np.ndarray]) -> np.ndarray:
    r"""Return the p-values (m, m) of the overlaps of all pairs, under permutation of the samples.

    For $U_p$, the leading eigenvectors of view p (n, k), the upper tail of
    $S = \|U_p^T\Pi U_q\|_F^2$ over all permutations $\Pi$ of the samples, at $\Pi = I$. S lies
    between 0 and k, and its mean and variance over permutations are known exactly: with
    $A_p = U_pU_p^T$, columns centered,

    $$E = \frac{T_pT_q}{n-1}, \quad V = \frac{2 r_pr_q}{(n-1)^2(n+1)(n-2)}
      + \frac{s_ps_q}{(n+1)n(n-1)(n-2)(n-3)}$$

    where $T = Tr A$, $r = (n-1)Tr A^2 - T^2$ and
    $s = n(n+1)\sum_i A_{ii}^2 - (n-1)(T^2 + 2Tr A^2)$. The last is large where a few outliers
    dominate the eigenvectors: two such views may share an outlier by chance. The tail is that of
    the beta distribution with these moments. It is NaN where there is no test: on the diagonal,
    for fewer than four samples, and for eigenvectors that span the whole space. O(n m^2 k^2).

    F. Kazi-Aoual, S. Hitier, R. Sabatier, J.-D. Lebreton. Refined approximations to permutation
    tests for multivariate inference. Computational Statistics & Data Analysis 20, 1995.

    >>> rng = np.random.default_rng(0)
    >>> one, two = (np.linalg.qr(rng.standard_normal((50, 2)))[0] for _ in range(2))
    >>> permutation_p_values([one, one, two]) < ALPHA
    array([[False,  True, False],
           [ True, False, False],
           [False, False, False]])
    """
    U = [np.asarray(head, dtype=float) for head in heads]
    U = [head - head.mean(axis=0) for head in U]
    n, m = len(U[0]), len(U)
    found = np.full((m, m), np.nan)
    if n < 4:
        return found
    T, r, s = np.transpose([_moments(head) for head in U])
    for p, q in combinations(range(m), 2):
        variance = 2 * r[p] * r[q] / ((n - 1) ** 2 * (n + 1) * (n - 2))
        variance += s[p] * s[q] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
        S, most = np.sum((U[p].T @ U[q]) ** 2), min(T[p], T[q])
        tail = _tail(S / most, T[p] * T[q] / (n - 1) / most, variance / most**2)
        found[p, q] = found[q, p] = tail
    return found


def overlap_p_values(heads: Sequence[np.ndarray], k: int) -> np.ndarray:
    """Return the smaller p-value of the first k and the first 2k eigenvectors, times two: (m, m).

    Views may contain the same clusters in different orders of the eigenvalues, and usually more
    than k eigenvectors of each are kept. `heads` are (n, 2k), or fewer columns where there are no
    more.
    """
    sizes = [k] if max(head.shape[1] for head in heads) <= k else [k, 2 * k]
    tails = [permutation_p_values([head[:, :size] for head in heads]) for size in sizes]
    return np.minimum(len(sizes) * np.fmin.reduce(tails), 1.0)


def p_values_on_common_rows(
    heads: Sequence[np.ndarray], k: int, present: np.ndarray | None
) -> np.ndarray:
    """Return the p-values (m, m) of `overlap_p_values`, each over the samples of both views.

    `present` (n, m) says which samples each view holds. Pairs with at most k samples in common
    have no test.
    """
    if present is None:
        return overlap_p_values(heads, k)
    found = np.full((len(heads), len(heads)), np.nan)
    for p, q in combinations(range(len(heads)), 2):
        rows = np.flatnonzero(present[:, p] & present[:, q])
        if len(rows) > k:
            pair = [orthonormal_prefixes(heads[view][rows]) for view in (p, q)]
            found[p, q] = found[q, p] = overlap_p_values(pair, k)[0, 1]
    return found


def related_pairs(p_values: np.ndarray) -> np.ndarray:
    """Return which pairs of views agree beyond chance (m, m), from their p-values.

    A p-value is multiplied by the number of comparisons of either view, whichever is larger
    (Bonferroni), so that a view of pure noise is taken for related with probability `ALPHA` at
    most.

    >>> nan = np.nan
    >>> related_pairs(np.array([[nan, 1e-9, 0.3], [1e-9, nan, 0.5], [0.3, 0.5, nan]]))
    array([[False,  True, False],
           [ True, False, False],
           [False, False, False]])
    """
    known = np.sum(~np.isnan(p_values), axis=1)
    return np.asarray(np.nan_to_num(p_values, nan=1.0) * np.maximum.outer(known, known) < ALPHA)


def unrelated_positions(p_values: np.ndarray) -> list[int]:
    """Return the positions of the views whose agreement with every other view is due to chance.

    The p-values of a view's pairs are corrected for their number (Bonferroni), so that a pure
    noise view is taken for related with probability `ALPHA` for any number of views.

    >>> nan = np.nan
    >>> unrelated_positions(np.array([[nan, 1e-9, 0.3], [1e-9, nan, 0.5], [0.3, 0.5, nan]]))
    [2]
    """
    known = np.sum(~np.isnan(p_values), axis=1)
    least = np.where(np.isnan(p_values), np.inf, p_values).min(axis=1)
    return [p for p in range(len(p_values)) if known[p] and known[p] * least[p] >= ALPHA]


def _moments(head: np.ndarray) -> tuple[float, float, float]:
    n = len(head)
    gram = head.T @ head
    T, T2 = np.trace(gram), np.sum(gram**2)
    spikes = np.sum(np.sum(head**2, axis=1) ** 2)
    return T, (n - 1) * T2 - T**2, n * (n + 1) * spikes - (n - 1) * (T**2 + 2 * T2)


def _tail(share: float, mean: float, variance: float) -> float:
    """Return the probability that a beta variable of this mean and variance is >= `share`."""
    if not 1e-12 < variance < mean * (1 - mean):
        return np.nan
    size = mean * (1 - mean) / variance - 1
    return float(betaincc(mean * size, (1 - mean) * size, min(share, 1.0)))
