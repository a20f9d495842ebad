"""How many clusters: chance-corrected modularity of the estimator's own partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..agreement.cache import shared_views
from ..base import MultiViewClusterer, Partitions
from ..exceptions import InputError
from ..metrics import contingency
from .fitting import quiet, unfitted, views_of
from .structure import (
    LEVEL,
    StructureTest,
    drawn,
    modularity_of,
    null_modularity,
    structure_test,
)

RANGE = (2, 20)
ROWS = 1500  # samples that are compared, at most
FLOOR = 0.05  # added to the eigengap: one small gap does not rule out a number
HIGH = 1.64  # standard deviations from the null model's mean to its upper limit (95 %)
STARTS = 3  # of k-means, for every number of clusters
TIE = 0.95  # share of the largest score from which another number is as good
SHARPNESS = 8  # power of the score in the evidence for a number
FACTOR = 5 / 4  # between the median of the evidence and the answer, at most
PART = 0.1  # share of a cluster from which a part of it counts as split off


@dataclass(frozen=True)
class Candidate:
    """The evidence for one number of clusters.

    Attributes
    ----------
    k : int
    modularity : float
        Modularity of the partition into k clusters.
    gap : float
        Relative eigengap of the graph after the k-th eigenvalue.
    score : float
        Modularity corrected for chance, times the root of the gap plus 0.05: the largest one
        near the median of the evidence is chosen.
    null : float
        Mean modularity of data without structure.
    null_high : float
        Its upper limit: the mean plus 1.64 standard deviations.
    sizes : tuple of int
        Cluster sizes, descending.
    flow : tuple of tuple of int
        For every cluster of the candidate before, how many of its samples each cluster of this
        one holds; empty for the first candidate. Clusters are ordered by size.
    """

    k: int
    modularity: float
    gap: float
    score: float
    null: float
    null_high: float
    sizes: tuple[int, ...]
    flow: tuple[tuple[int, ...], ...] = ()

    def splits(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return which clusters of the candidate before are split: their sizes and parts.

        Parts below a tenth of the cluster are not listed.
        """
        found = []
        for row in self.flow:
            parts = sorted((n for n in row if n >= PART * sum(row)), reverse=True)
            if len(parts) > 1:
                found.append((sum(row), tuple(parts)))
        return found


@dataclass(frozen=True)
class ChoiceOfK:
    """A recommended number of clusters and the evidence for all candidates.

    Attributes
    ----------
    k : int
        The recommended number; 1 where there is no cluster structure.
    structure : bool
        Whether the data have cluster structure: `p_value` is at most 0.05.
    low, high : int
        Range around k of numbers that are about as good (see `choose_k`).
    p_value : float
        Probability of modularity so far beyond the null model without cluster structure.
    table : tuple of Candidate
        One entry for every number tried, ascending.
    drawn : int or None
        Number of samples that were drawn at random and compared; None where all were.
    """

    k: int
    structure: bool
    low: int
    high: int
    p_value: float
    table: tuple[Candidate, ...]
    drawn: int | None = None

    def __str__(self) -> str:
        tried = f"{self.table[0].k} to {self.table[-1].k} tried"
        if len(self.table) == 1:
            tried = "the only number tried"
        if self.drawn is not None:
            tried += f" on {self.drawn} samples drawn at random"
        if not self.structure:
            return f"no cluster structure (p = {self.p_value:.2g}; {tried})"
        around = "" if self.low == self.high else f"{self.low} to {self.high}, best "
        return f"{around}{self.k} clusters ({tried})"

    def tree(self) -> str:
        """Return what splits from one number of clusters to the next, one line each."""
        lines = []
        for row in self.table:
            sizes = " ".join(map(str, row.sizes))
            parts = "; ".join(f"{n} into {' + '.join(map(str, p))}" for n, p in row.splits())
            lines.append(f"{row.k:>3} clusters: {sizes}" + (f" (split: {parts})" if parts else ""))
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame with one row for every number of clusters."""
        import pandas as pd

        columns = ("k", "modularity", "gap", "score", "null", "null_high", "sizes")
        rows = [{name: getattr(row, name) for name in columns} for row in self.table]
        return pd.DataFrame(rows, columns=columns).set_index("k")


def choose_k(
    estimator: MultiViewClusterer,
    views: Any,
    k_range: tuple[int, int] | Iterable[int] | str = "auto",
    *,
    random_state: int = 0,
) -> ChoiceOfK:
    r"""Choose the number of clusters by the estimator's own partitions on its own graph.

    $$\max_k \; \frac{Q_k - \mu_k}{1 - \mu_k}
    \sqrt{\frac{\lambda_k - \lambda_{k+1}}{\lambda_k} + 0.05}$$

    $Q_k$ is the modularity of the estimator's partition into k clusters on one sparse graph of
    all views, and $\lambda_k$ are that graph's eigenvalues. For graph fusion it is the fused
    graph, else the kNN graph of the average kernel. $\mu_k$ is the mean modularity of a null
    model without clusters (`NullModel`: a Gaussian with the means and covariances of all views
    together), so that the first factor is 0 by chance and 1 at best, as the adjusted Rand index.

    One number with a chance gap may have the largest score far from all other good ones. The
    maximum is therefore taken over numbers within a factor of 5/4 of the median of the evidence,
    which is the score to the power of 8 on a logarithmic scale of k.

    Whether there are clusters at all is tested as well: 300 samples are compared with six draws
    of the null model, or, where this is not clear, 1000 samples with 15 draws. Where the
    modularity is not beyond the null model's at a level of 5 %, the answer is 1.

    The default number of neighbors depends on k. The scan uses those of the number in the middle
    of the range for all numbers, so that all partitions are compared on one graph and share one
    eigenproblem. The model fitted afterwards has neighbors of its own: they differ only where
    clusters have fewer than 20 samples on average.

    The mean of ``abs(log(k / classes))`` is 0.20 on the 27 data sets that the rule was made on,
    and 0.59 on 35 others: treat k as a suggestion.

    Parameters
    ----------
    estimator : MultiViewClusterer
        The estimator that will cluster, such as ``GraphFusion(2)``; its n_clusters is not used.
    views : MultiView, list or dict of views, or one table
        As for the estimator's `fit`. Of more than 1500 samples 1500 are drawn.
    k_range : pair, iterable of int, or "auto"
        Numbers to try: a pair is a range that includes both ends; ``"auto"`` is 2 to 20, at most
        half the samples.
    random_state : int
        Seed of k-means, of the samples drawn and of the null model.

    Returns
    -------
    ChoiceOfK
        `low` and `high` bound the plateau: consecutive candidates around k whose modularity
        differs from that of k by less than one standard deviation of the null model's, and any
        candidate whose score is at least 95 % of the largest.

    Examples
    --------
    >>> from mkclust import GraphFusion, choose_k, datasets
    >>> views = datasets.make_views(120, n_clusters=4, n_views=3, noise=0.5, random_state=0)
    >>> print(choose_k(GraphFusion(2), views, (2, 6)))
    4 clusters (2 to 6 tried)
    >>> noise = datasets.make_views(120, 2, 0, n_noise_views=3, random_state=0)
    >>> choose_k(GraphFusion(2), noise, (2, 6)).k
    1
    """
    with quiet():
        data, _ = views_of(estimator, views, random_state)
        ks = checked_range(k_range, len(data))
        n, data = len(data), drawn(data, max(ROWS, 2 * ks[-1]), np.random.default_rng(random_state))
        with shared_views():
            scan = unfitted(estimator, n_clusters=ks[0]).partitions(data, ks, random_state, STARTS)
        test = structure_test(estimator, data, ks, random_state)
        null = null_modularity(estimator, data, ks, test, random_state)
    return replace(_choice(scan, test, null, ks), drawn=len(data) if len(data) < n else None)


def checked_range(asked: Any, n: int) -> list[int]:
    """Return the numbers of clusters to try, ascending."""
    if isinstance(asked, str):
        if asked != "auto":
            raise InputError(f'the range of k must be a pair, numbers or "auto", got {asked!r}')
        asked = (RANGE[0], max(RANGE[0], min(RANGE[1], n // 2)))
    ks = list(asked)
    if isinstance(asked, tuple) and len(ks) == 2 and all(isinstance(k, Integral) for k in ks):
        if ks[0] > ks[1]:
            raise InputError(f"the range of clusters {ks[0]} to {ks[1]} is empty")
        ks = list(range(ks[0], ks[1] + 1))
    if not ks or not all(isinstance(k, Integral) and int(k) >= 2 for k in ks):
        raise InputError(f"numbers of clusters to try must be whole and from 2 on, got {ks}")
    if max(ks) > n // 2:
        raise InputError(
            f"{max(ks)} clusters of {n} samples have fewer than two samples each on average: try "
            f"up to {n // 2}"
        )
    return sorted({int(k) for k in ks})


def _choice(scan: Partitions, test: StructureTest, null: np.ndarray, ks: list[int]) -> ChoiceOfK:
    deviation = test.deviation(ks)
    ordered = {k: _by_size(scan.labels[k]) for k in ks}
    table = []
    for i, k in enumerate(ks):
        Q, gap = modularity_of(scan, k), _relative_gap(scan.eigenvalues, k)
        corrected = max(Q - null[i], 0.0) / (1 - null[i])
        before = ordered[ks[i - 1]] if i else None
        table.append(
            Candidate(
                k, Q, gap, float(corrected * np.sqrt(gap + FLOOR)), float(null[i]),
                float(null[i] + HIGH * deviation[i]), tuple(np.bincount(ordered[k]).tolist()),
                () if before is None else _flow(before, ordered[k]),
            )
        )  # fmt: skip
    p_value = test.p_value
    if p_value > LEVEL:
        return ChoiceOfK(1, False, 1, 1, p_value, tuple(table))
    best = _best(np.array(ks), np.array([row.score for row in table]))
    equal = [abs(row.modularity - table[best].modularity) < deviation[best] for row in table]
    largest = max(row.score for row in table)
    tied = [i for i, row in enumerate(table) if row.score >= TIE * largest]
    low, high = _run_around(equal, best)
    low, high = min([low, *tied]), max([high, *tied])
    return ChoiceOfK(ks[best], True, ks[low], ks[high], p_value, tuple(table))


def _best(ks: np.ndarray, scores: np.ndarray) -> int:
    """Return the place of the largest score within a factor of 5/4 of the median of the evidence.

    Every number counts by the interval of log k that it stands for.

    >>> _best(np.arange(2, 10), np.array([0.8, 0.9, 0.8, 0.7, 0.6, 0.6, 0.6, 1.0]))
    1
    """
    if len(ks) < 3 or not scores.max() > 0:
        return int(np.argmax(scores))
    evidence = np.cumsum((scores / scores.max()) ** SHARPNESS * np.gradient(np.log(ks)))
    median = ks[np.searchsorted(evidence, evidence[-1] / 2)]
    near = np.abs(np.log(ks / median)) <= np.log(FACTOR) + 1e-9
    return int(np.argmax(np.where(near, scores, -1.0)))


def _relative_gap(values: np.ndarray, k: int) -> float:
    """Return (value k - value k + 1) / value k of descending eigenvalues, at least 0."""
    if k >= len(values) or values[k - 1] <= 0:
        return 0.0
    return float(min(max(values[k - 1] - values[k], 0.0) / values[k - 1], 1.0))


def _by_size(labels: np.ndarray) -> np.ndarray:
    """Number the clusters by size, the largest first."""
    counts = np.bincount(labels)
    rank = np.empty(len(counts), dtype=int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.asarray(rank[labels])


def _flow(before: np.ndarray, after: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in contingency(before, after).tolist())


def _run_around(equal: Sequence[bool], at: int) -> tuple[int, int]:
    """Return the first and last place of the run of True around a place.

    >>> _run_around([True, False, True, True, True], 3)
    (2, 4)
    """
    low = high = at
    while low > 0 and equal[low - 1]:
        low -= 1
    while high < len(equal) - 1 and equal[high + 1]:
        high += 1
    return low, high
