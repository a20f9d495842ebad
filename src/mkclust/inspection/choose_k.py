"""How many clusters: modularity on held-out samples, and whether there are clusters at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy import stats

from ..base import MultiViewClusterer, Partitions
from ..data.memory import shared_views
from ..data.views import MultiView
from ..exceptions import InputError
from ..graph_fusion import GraphFusion
from ..io.models import storable
from ..linalg.scaling import varies
from ..linalg.threads import one_blas_thread
from ..metrics import contingency
from ..progress import step
from .fitting import quiet, unfitted, views_of
from .null_model import NullModel

RANGE = (2, 20)
ROWS = 1500  # samples that are compared, at most
HIGH = 1.64  # standard deviations from the null model's mean to its upper limit (95 %)
SCANNED = (
    "Sizes are those of the comparison, on one graph for all numbers; a fit with one of the "
    "numbers may divide the samples a little differently."
)
PART = 0.1  # share of a cluster from which a part of it counts as split off
# Samples, draws of the null model, p values below and above which these are enough.
STAGES = (100, 6, 0.001, 1.0), (300, 6, 0.001, 0.7), (1000, 15, 1.0, 0.0)
LEVEL = 0.05  # error rate: how often data without structure pass for clustered, at most
TRIED = 7  # numbers of clusters among which they are compared; those between are interpolated
ODDS = 1e-3  # shares of the largest modularity are kept that far from 0 and 1
SHAPE = 0.1  # log-odds of modularity that the shape of a single cluster can add
SMALLEST = 1e-3  # standard deviation of a modularity; a smaller one is taken as this


@storable
@dataclass(frozen=True)
class Candidate:
    """The evidence for one number of clusters.

    Attributes
    ----------
    k : int
    held_out : float
        Modularity on one half of the samples of a partition of the other half, mean of both
        directions: the largest one is chosen. It is 0 where clusters of a half have fewer than
        two samples on average.
    modularity : float
        Modularity of the partition of all samples.
    tested : float
        Modularity of the samples on which cluster structure is tested: 100, 300 or 1000 of them.
    null : float
        Mean modularity of as many samples without structure.
    null_high : float
        Its upper limit: the mean plus 1.64 standard deviations.
    sizes : tuple of int
        Cluster sizes, descending.
    splits : tuple of (int, tuple of int)
        Clusters of the candidate before that are split: their sizes and parts, the largest first.
        Parts below a tenth of the cluster are not listed.
    """

    k: int
    held_out: float
    modularity: float
    tested: float
    null: float
    null_high: float
    sizes: tuple[int, ...]
    splits: tuple[tuple[int, tuple[int, ...]], ...] = ()


@storable
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
        ks = [row.k for row in self.table]
        span = f"{ks[0]} to {ks[-1]}" if len(ks) > ks[-1] - ks[0] else ", ".join(map(str, ks))
        tried = "the only number tried" if len(ks) == 1 else f"{span} tried"
        if self.drawn is not None:
            tried += f" on {self.drawn} samples drawn at random"
        if not self.structure:
            return f"no cluster structure (p = {self.p_value:.2g}; {tried})"
        around = "" if self.low == self.high else f"{self.low} to {self.high}, best "
        return f"{around}{self.k} clusters ({tried})"

    def tree(self) -> str:
        """Return what splits from one number of clusters to the next, one line each."""
        lines = [SCANNED]
        for row in self.table:
            sizes = " ".join(map(str, row.sizes))
            parts = "; ".join(f"{n} into {' + '.join(map(str, p))}" for n, p in row.splits)
            lines.append(f"{row.k:>3} clusters: {sizes}" + (f" (split: {parts})" if parts else ""))
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame with one row for every number of clusters."""
        return pd.DataFrame(list(self.table)).drop(columns="splits").set_index("k")


def choose_k(
    estimator: MultiViewClusterer | Any,
    views: Any = None,
    k_range: tuple[int, int] | Iterable[int] | str = "auto",
    *,
    random_state: int = 0,
) -> ChoiceOfK:
    r"""Choose the number of clusters by modularity on samples that were not clustered.

    $$\max_k \; \tfrac12 \big( Q_k^{A \to B} + Q_k^{B \to A} \big)$$

    A and B are two random halves of the samples. For $Q_k^{A \to B}$ the estimator divides A alone
    into k clusters, every sample of B joins the cluster to which it has most edge weight, and the
    modularity is that of the graph among B. Clusters that exist only in one half thus count less.
    The graph is one sparse graph of all samples and views: for graph fusion the fused graph, else
    the kNN graph of the average kernel.

    Whether there are clusters at all is tested as well: samples are compared with draws of the null
    model, 100 at first, up to 1000 where that is not clear. Where the modularity is not beyond the
    null model's at a level of 5 %, the answer is 1.

    The default number of neighbors depends on k. The scan uses those of the number in the middle
    of the range for all numbers, so that all partitions are compared on one graph and share one
    eigenproblem. The model fitted afterwards has neighbors of its own: they differ only where
    clusters have fewer than 20 samples on average.

    On 33 data sets that the rule was not made on, the mean of ``abs(log(k / classes))`` is 0.53. On
    those whose classes are clusters it is 0.38. Treat k as a suggestion.

    Parameters
    ----------
    estimator : MultiViewClusterer, or views
        The estimator that will cluster, such as ``MKCDNM(2)``; its n_clusters is not used. Views
        alone are clustered by `GraphFusion`: ``choose_k(views, k_range=(2, 8))``.
    views : MultiView, list or dict of views, or one table
        As for the estimator's `fit`. Samples that are equal in every view count once. Of more
        than 1500 samples 1500 are drawn.
    k_range : pair, iterable of int, or "auto"
        Numbers to try: a pair is a range that includes both ends; ``"auto"`` is 2 to 20, at most
        half the samples.
    random_state : int
        Seed of k-means, of the samples drawn, of the halves and of the null model.

    Returns
    -------
    ChoiceOfK
        `low` and `high` span the best number of either half, and the consecutive numbers around
        k whose modularity of all samples differs from that of k by less than one standard
        deviation of the null model's.

    Examples
    --------
    >>> from mkclust import GraphFusion, choose_k, datasets
    >>> views = datasets.make_views(120, n_clusters=4, n_views=3, noise=0.5, random_state=0)
    >>> print(choose_k(views, k_range=(2, 6)))
    4 clusters (2 to 6 tried)
    >>> noise = datasets.make_views(120, 2, 0, n_noise_views=3, random_state=0)
    >>> choose_k(GraphFusion(2), noise, (2, 6)).k
    1
    """
    if not isinstance(estimator, MultiViewClusterer):
        if views is not None:
            raise InputError(
                "the first argument must be an estimator, such as GraphFusion(2), or the views "
                f"alone, got {type(estimator).__name__}; k_range is given by name"
            )
        kernels = isinstance(estimator, MultiView) and estimator.kernels
        estimator, views = GraphFusion(2, precomputed=kernels), estimator
    elif views is None:
        raise InputError("choose_k needs views")
    with quiet():
        data = views_of(estimator, views, random_state).data
        ks = checked_range(k_range, len(data))
        n, data = len(data), drawn(data, max(ROWS, 2 * ks[-1]), np.random.default_rng(random_state))
        model = unfitted(estimator, n_clusters=ks[0])
        with shared_views():
            scan = model.partitions(data, ks, random_state, n_init=1)
        held_out = held_out_modularity(estimator, data, scan.graph, ks, random_state)
        test = structure_test(estimator, data, ks, random_state)
    return replace(_choice(scan, held_out, test, ks), drawn=len(data) if len(data) < n else None)


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
        few = f"{max(ks)} clusters of {n} samples that differ have fewer than two samples each"
        raise InputError(f"{few} on average: try up to {n // 2}")
    return sorted({int(k) for k in ks})


def _choice(
    scan: Partitions, held_out: np.ndarray, test: StructureTest, ks: list[int]
) -> ChoiceOfK:
    Q, held = modularities(scan, ks)[0], held_out.mean(axis=0)
    observed, null, deviation = test.curves(ks)
    labels = [scan.labels[k] for k in ks]
    sizes = [tuple(sorted(np.bincount(each).tolist(), reverse=True)) for each in labels]
    splits = [(), *(_splits(*each) for each in pairwise(labels))]
    curves = np.array([held, Q, observed, null, null + HIGH * deviation]).T.tolist()
    rows = zip(ks, curves, sizes, splits, strict=True)
    table = tuple(Candidate(k, *values, *parts) for k, values, *parts in rows)
    if test.p_value > LEVEL:
        return ChoiceOfK(1, False, 1, 1, test.p_value, table)
    best, *of_halves = (_best(curve, Q) for curve in (held, *held_out))
    around = _run_around(np.abs(Q - Q[best]) < deviation[best], best)
    low, high = min(around[0], *of_halves), max(around[1], *of_halves)
    return ChoiceOfK(ks[best], True, ks[low], ks[high], test.p_value, table)


def _best(curve: np.ndarray, modularity: np.ndarray) -> int:
    """Return the place of the largest value; of the modularity where halves are too small.

    >>> _best(np.array([0.1, 0.2, 0.0]), np.array([0.1, 0.2, 0.3])), _best(np.zeros(2), np.ones(2))
    (1, 0)
    """
    return int(np.argmax(curve if curve.any() else modularity))


def _splits(before: np.ndarray, after: np.ndarray) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the clusters before that are split, the largest first: their sizes and parts."""
    rows = contingency(before, after).tolist()
    parts = [sorted((n for n in row if n >= PART * sum(row)), reverse=True) for row in rows]
    found = [(sum(row), tuple(p)) for row, p in zip(rows, parts, strict=True) if len(p) > 1]
    return tuple(sorted(found, reverse=True))


def _run_around(equal: Sequence[bool], at: int) -> tuple[int, int]:
    """Return the first and last place of the run of True around a place.

    >>> _run_around([True, False, True, True, True], 3)
    (2, 4)
    """
    others = [-1, *np.flatnonzero(~np.asarray(equal)).tolist(), len(equal)]
    return max(i for i in others if i < at) + 1, min(i for i in others if i > at) - 1


@dataclass(frozen=True)
class StructureTest:
    """Modularity of a subsample and of the null model, for some numbers of clusters.

    Attributes
    ----------
    ks : (t,) int array
    observed : (2, t) array
        Modularity of the subsample, and the largest that clusters of these sizes can have.
    null : (B, 2, t) array
        The same of B draws of the null model, of as many samples.
    """

    ks: np.ndarray
    observed: np.ndarray
    null: np.ndarray

    @property
    def p_value(self) -> float:
        r"""Return the probability of so large an excess without structure.

        Clusters with shares $a_c$ of the degrees have a modularity of at most
        $L_k = 1 - \sum_c a_c^2$, so that modularities are compared as log-odds of that limit,
        $q_k = \log Q_k - \log(L_k - Q_k)$: clusters of unequal sizes, however clear, would else
        have less than an even division of noise. The statistic is
        $T = \max_k (q_k - \mu_k) - 0.1$ with the mean of the null model. 0.1 allows for shapes of
        a single cluster that the null model has only in part, such as a cube. T of every draw,
        without that allowance, against the others gives the mean and standard deviation of T, and
        Student's t distribution the probability.
        """
        B, null = len(self.null), _log_odds(self.null)
        mean = null.mean(axis=0)
        drawn = np.max(null - mean, axis=1) * B / (B - 1)
        spread = max(np.std(drawn, ddof=1) * np.sqrt(1 + 1 / B), SMALLEST)
        excess = np.max(_log_odds(self.observed) - mean) - SHAPE - np.mean(drawn)
        return float(stats.t.sf(excess / spread, B - 1))

    def curves(self, ks: Sequence[int]) -> np.ndarray:
        """Return observed modularity, and mean and standard deviation of the null model's.

        Numbers of `ks` between those compared are interpolated on a logarithmic scale.
        """
        null = self.null[:, 0]
        found = (self.observed[0], null.mean(axis=0), null.std(axis=0, ddof=1))
        return np.array([np.interp(np.log(ks), np.log(self.ks), y) for y in found])


def _log_odds(found: np.ndarray) -> np.ndarray:
    """Return modularities (..., 0, t) as log-odds of the largest possible ones (..., 1, t)."""
    share = np.clip(found[..., 0, :] / found[..., 1, :], ODDS, 1 - ODDS)
    return np.asarray(np.log(share / (1 - share)))


@one_blas_thread()  # so that p does not depend on the number of threads
def structure_test(
    estimator: MultiViewClusterer, views: MultiView, ks: Sequence[int], random_state: int
) -> StructureTest:
    """Compare the estimator's partitions of some samples with those of null views.

    Six draws of 100 samples are enough where the p-value is then below 0.001; they cannot show
    that there is no structure, because many clusters have few samples each. Otherwise, six draws
    of 300 samples are enough where it is below 0.001 or above 0.7. Else 15 draws of 1000 samples
    decide.
    """
    model = unfitted(estimator, n_clusters=2)
    for size, draws, low, high in STAGES[len(views) <= STAGES[0][0] :]:
        rng = np.random.default_rng(random_state)
        some = drawn(views, size, rng)
        tried = spread_out([k for k in ks if k <= len(some) // 2] or [2])
        null, found = NullModel(some), []
        for b in range(draws + 1):
            step(f"null model, draw {b} of {draws}")
            scan = model.partitions(null.draw(rng) if b else some, tried, random_state, n_init=1)
            found.append(modularities(scan, tried))
        test = StructureTest(np.array(tried), found[0], np.array(found[1:]))
        if not low < test.p_value < high:
            break
    return test


def modularities(found: Partitions, ks: Sequence[int]) -> np.ndarray:
    """Return modularity and its limit (2, t) of the partition into every k, on the common graph."""
    return np.array([modularity_and_limit(found.graph, found.labels[k]) for k in ks]).T


def modularity(graph: sp.csr_array, labels: np.ndarray) -> float:
    r"""Return $Q = \sum_c \big(\frac{e_c}{2m} - (\frac{d_c}{2m})^2\big)$ of a partition.

    $e_c$ is twice the weight of the edges inside cluster c, $d_c$ the sum of its degrees, and
    2m the sum of all degrees.

    References
    ----------
    M. Newman, M. Girvan. Finding and evaluating community structure in networks. Physical Review
    E 69, 2004.

    Examples
    --------
    >>> pairs = sp.csr_array(np.kron(np.eye(2), 1 - np.eye(2)))
    >>> modularity(pairs, np.array([0, 0, 1, 1]))
    0.5
    """
    return modularity_and_limit(graph, labels)[0]


def modularity_and_limit(graph: sp.csr_array, labels: np.ndarray) -> tuple[float, float]:
    """Return the modularity of a partition, and that without edges between clusters."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    total = degree.sum()
    entries = graph.tocoo()
    inside = entries.data[labels[entries.coords[0]] == labels[entries.coords[1]]].sum()
    chance = float(np.sum((np.bincount(labels, weights=degree) / total) ** 2))
    return float(inside / total) - chance, 1 - chance


def spread_out(ks: Sequence[int]) -> list[int]:
    """Return at most seven of some ascending numbers, in equal ratios, the ends among them.

    >>> spread_out(range(2, 21))
    [2, 3, 4, 6, 9, 14, 20]
    """
    wanted = np.geomspace(ks[0], ks[-1], TRIED)
    return sorted({min(ks, key=lambda k: abs(np.log(k / w))) for w in wanted})


def drawn(views: MultiView, size: int, rng: np.random.Generator) -> MultiView:
    """Draw at most `size` samples, and leave out views that do not vary among them."""
    n = len(views)
    return views if n <= size else subset(views, np.sort(rng.choice(n, size, replace=False)))


def subset(views: MultiView, rows: np.ndarray) -> MultiView:
    """Return some samples, without the views that do not vary among them."""
    some = views[rows]
    if views.kernels:
        return some
    used = [name for p, name in enumerate(some.names) if varies(some.own_rows(p)).any()]
    return some if len(used) == some.n_views else some.select(used)


def held_out_modularity(
    estimator: MultiViewClusterer,
    views: MultiView,
    graph: sp.csr_array,
    ks: Sequence[int],
    random_state: int,
) -> np.ndarray:
    """Return the modularity of every number of clusters on samples that were not clustered.

    The samples are divided into two halves at random. The estimator clusters one half alone. Every
    sample of the other half joins the cluster to which it has most edge weight in `graph`, and the
    modularity is that of the graph among the other half. Then the halves change places.

    Parameters
    ----------
    graph : (n, n) sparse array
        Graph of all samples, as in `Partitions`.

    Returns
    -------
    (2, t) array
        One row for every half; 0 for numbers with fewer than two samples a cluster in a half.

    References
    ----------
    K. Chen, J. Lei. Network cross-validation for determining the number of communities in network
    data. Journal of the American Statistical Association 113, 2018.
    """
    n = len(views)
    order = np.random.default_rng(random_state).permutation(n)
    halves = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    found = np.zeros((2, len(ks)))
    for fold, (own, other) in enumerate((halves, halves[::-1])):
        possible = [k for k in ks if k <= len(own) // 2]
        if not possible:
            break
        step(f"half {fold + 1} of the samples")
        model = unfitted(estimator, n_clusters=2)
        labels = model.partitions(subset(views, own), possible, random_state, n_init=1).labels
        edges, among = graph[other][:, own], graph[other][:, other]
        for i, k in enumerate(possible):
            found[fold, i] = modularity(among, extended(edges, labels[k]))
    return found


def extended(edges: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """Return the cluster to which every row of `edges` (m, n) has most weight.

    Rows without edges join the largest cluster.

    >>> extended(sp.csr_array([[0.2, 0.5, 0.1], [0, 0, 0]]), np.array([1, 0, 1]))
    array([0, 1])
    """
    sizes = np.bincount(labels)
    weights = edges @ np.eye(len(sizes))[labels]
    found = np.argmax(weights, axis=1)
    return np.asarray(np.where(weights.max(axis=1) > 0, found, np.argmax(sizes)))
