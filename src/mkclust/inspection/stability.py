"""How far labels depend on which samples were there: refits to halves, and confidence from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..data.views import MultiView
from ..exceptions import InputError, check_whole
from ..io.models import storable
from ..metrics import ari
from ..predict.new_samples import OutOfSample
from ..progress import step
from .fitting import fitted, refit_all, unfitted, views_of

SPLITS = 5  # into halves; each gives two refits
STARTS = 3  # of k-means in each half
MOVES = 0.5  # share of refits that keep a sample in its cluster; below it the sample is listed
LISTED = 20  # least certain samples that a report and result.json list
CERTAIN = 0.5  # a sample below this is more probably in some other cluster
PRIOR = 3.0  # refits that the mean of the cluster counts for
MEANING = (
    "the probability that a sample stays in its cluster if the study is repeated with other "
    "samples, not that the cluster is a biological class"
)


@dataclass(frozen=True)
class Stability:
    """Stability of the labels under resampling.

    Attributes
    ----------
    agreement : float
        Mean ARI between refits to different halves, over the samples they share.
    samples : (n,) array
        Share of the refits that keep a sample in its cluster. A method that predicts places the
        samples outside the half, too; otherwise only refits with the sample count.
    counted : (n,) int array
        Refits that give a sample a cluster.
    clusters : (k,) array
        Mean Jaccard index of each cluster and its match in a refit.
    rivals : (n,) int array
        The cluster that a sample is put into most often otherwise.
    refits : (r, n) int array
        Labels of every refit; -1 for samples outside its half.
    labels : (n,) int array
        The labels that were compared.
    index : (n,) array
        Names of the samples.
    rows : (n,) int array
        Which samples of the fit they are.
    distinct : bool array
        For every sample of the fit: False for copies of another one, which do not count in means.
    """

    agreement: float
    samples: np.ndarray
    counted: np.ndarray
    clusters: np.ndarray
    rivals: np.ndarray
    refits: np.ndarray
    labels: np.ndarray
    index: np.ndarray
    rows: np.ndarray
    distinct: np.ndarray

    def by_cluster(self, k: int) -> np.ndarray:
        """Return the mean share of refits that keep a sample in its cluster, (k,)."""
        once = self.distinct[self.rows]
        own, kept = self.labels[once], self.samples[once]
        return np.bincount(own, kept, k) / np.maximum(np.bincount(own, minlength=k), 1)

    @property
    def moved(self) -> np.ndarray:
        """Names of samples that fewer than half of the refits keep, least kept first."""
        order = np.argsort(self.samples, kind="stable")
        return np.asarray(self.index)[order[self.samples[order] < MOVES]]

    def __str__(self) -> str:
        worst, least = int(np.argmin(self.clusters)), float(np.min(self.clusters))
        named = f"the least stable cluster is {worst} (Jaccard index {least:.2f})"
        return (
            f"refits to halves of the samples agree with ARI {self.agreement:.3f}; "
            f"{'every cluster is stable' if least >= 0.995 else named}; "
            f"{len(self.moved)} of {len(self.samples)} samples change cluster"
        )


def stability(
    estimator: Any, views: Any, *, n_splits: int = SPLITS, random_state: int = 0
) -> Stability:
    """Refit an estimator to halves of the samples and compare the labels.

    Each split draws two disjoint halves; the estimator itself is refitted to each, with 3 starts
    of k-means, and predicts the other half where it can. A refit to half the samples takes a
    quarter to half of the time of the fit; as many run at once as there are cores. Of more than
    20 000 samples 5000 are drawn first.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
    n_splits : int
        Number of splits; each gives two refits.
    random_state : int
        Seed of the splits and of k-means.

    Returns
    -------
    Stability

    References
    ----------
    C. Hennig. Cluster-wise assessment of cluster stability. Computational Statistics & Data
    Analysis 52, 2007.

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, stability
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = stability(GraphFusion(3, random_state=0), views, n_splits=2)
    >>> found.agreement, len(found.moved)
    (1.0, 0)
    """
    check_whole("random_state", random_state, 0)
    return compare_halves(estimator, views, check_whole("n_splits", n_splits, 2), random_state)


def compare_halves(
    estimator: Any, views: Any, n_splits: int, random_state: int, only: np.ndarray | None = None
) -> Stability:
    """Return the stability, of some samples `only`, by position, if given."""
    model = fitted(estimator, views)
    some = views_of(model, views, random_state)
    some = some if only is None else some.subset(only)
    k, n, data = int(model.n_clusters), len(some.data), some.data
    if n // 2 < max(k, 2):
        raise InputError(f"halves of {n} samples are too few for {k} clusters")
    fresh = unfitted(model, random_state=random_state, n_init=STARTS, columns=None)
    halves = _halves(n, n_splits, random_state)
    found = refit_all(partial(_labels_from, fresh, data), halves, n // 2)
    refits, labels = list(zip(halves, found, strict=True)), np.asarray(model.labels_)[some.rows]
    return some.extend(compared(labels, refits, some.rows))


def _labels_from(fresh: Any, data: MultiView, half: np.ndarray) -> np.ndarray:
    """Refit to a half and label all samples (n,); -1 outside it where the method cannot predict."""
    step("refit to half of the samples")
    refit: Any = unfitted(fresh).fit(data[half])
    labels = np.full(len(data), -1)
    labels[half] = refit.labels_
    if isinstance(refit, OutOfSample):
        rest = np.flatnonzero(labels < 0)
        labels[rest] = _predicted(refit, data, half, rest)
    return labels


def _predicted(refit: Any, data: MultiView, half: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the clusters of the samples outside the half that was fitted."""
    if not data.kernels:
        return np.asarray(refit.predict(data[rest]))
    rows = [np.asarray(K[rest][:, half]) for K in data.views]
    own = [np.diagonal(np.asarray(K))[rest] for K in data.views]
    return np.asarray(refit.predict(rows, self_similarity=own))


def compared(
    labels: np.ndarray, refits: Sequence[tuple[np.ndarray, np.ndarray]], index: np.ndarray
) -> Stability:
    """Compare refits with the labels (n,), clusters matched one to one within each half.

    A refit is its half (positions) and labels of all samples (n,), -1 where there is none.
    """
    n = len(labels)
    k = int(max(labels.max(), *(found.max() for _, found in refits))) + 1
    votes, jaccard, own_halves = np.zeros((n, k)), [], np.full((len(refits), n), -1)
    for own, (half, found) in zip(own_halves, refits, strict=True):
        own[half] = found[half]
        table = counts(labels[half], found[half], k)
        name = matching(table)
        known = np.flatnonzero(found >= 0)
        votes[known, name[found[known]]] += 1
        table = table[:, np.argsort(name)]  # columns in the order of the clusters they match
        shared = np.diag(table)
        union = table.sum(axis=0) + table.sum(axis=1) - shared
        jaccard.append(np.divide(shared, union, out=np.full(k, np.nan), where=union > 0))
    counted = votes.sum(axis=1)
    kept = votes[np.arange(n), labels] / np.maximum(counted, 1)
    votes[np.arange(n), labels] = -1
    agreement = [
        ari(one[both], two[both])
        for one, two in combinations(own_halves, 2)
        if np.count_nonzero(both := (one >= 0) & (two >= 0)) > 1
    ]
    return Stability(
        agreement=float(np.mean(agreement)) if agreement else np.nan,
        samples=kept,
        counted=counted.astype(int),
        clusters=np.nan_to_num(np.nanmean(jaccard, axis=0)[: labels.max() + 1]),
        rivals=np.where(kept < 1, votes.argmax(axis=1), labels),
        refits=own_halves,
        labels=labels,
        index=index,
        rows=np.arange(n),
        distinct=np.ones(n, dtype=bool),
    )


def _halves(n: int, n_splits: int, random_state: int) -> list[np.ndarray]:
    draws = [np.random.default_rng([random_state, b]).permutation(n) for b in range(n_splits)]
    return [np.sort(part) for draw in draws for part in (draw[: n // 2], draw[n // 2 :])]


def matching(table: np.ndarray) -> np.ndarray:
    """Return for every column (k,) the row that it is matched to, by the largest common sum.

    >>> matching(np.array([[0, 5], [3, 1]])).tolist()
    [1, 0]
    """
    own, other = linear_sum_assignment(table, maximize=True)
    return np.asarray(own[np.argsort(other)])


def matched(reference: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Rename clusters so that as many samples as possible keep the label of the reference.

    >>> matched(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0])).tolist()
    [0, 0, 0, 1]
    """
    return np.asarray(matching(counts(reference, labels))[labels])


def counts(one: np.ndarray, two: np.ndarray, k: int = 0) -> np.ndarray:
    """Return how many samples have each pair of labels, from 0 on: a square table, at least k."""
    k = max(k, int(one.max()) + 1, int(two.max()) + 1)
    return np.bincount(one * k + two, minlength=k * k).reshape(k, k)


class Uncertain(NamedTuple):
    """A sample, its cluster, its confidence, and the cluster it is put into most often instead.

    `rival` is None where every refit keeps the sample in its cluster.
    """

    sample: Any
    cluster: int
    confidence: float
    rival: int | None


@storable
@dataclass(frozen=True)
class Confidence:
    """Confidence of every sample: the reproducibility of its cluster.

    Attributes
    ----------
    samples : (n,) array
        Probability that the sample stays in its cluster if the study is repeated.
    clusters : (k,) array
        Mean of the samples of each cluster.
    rivals : (n,) int array
        The cluster that refits put a sample into most often instead; -1 where all keep it.
    refits : int
        Refits that were made.
    labels : (n,) int array
    index : (n,) array
        Names of the samples, or their positions.
    distinct : (n,) bool array
        False for copies of another sample, which do not count in means.
    """

    samples: np.ndarray
    clusters: np.ndarray
    rivals: np.ndarray
    refits: int
    labels: np.ndarray
    index: np.ndarray
    distinct: np.ndarray

    @property
    def mean(self) -> float:
        """Mean over the distinct samples."""
        return float(self.samples[self.distinct].mean())

    def least(self, count: int = LISTED) -> list[Uncertain]:
        """Return the `count` least certain samples, least certain first."""
        order = np.argsort(self.samples, kind="stable")[:count]
        columns = (self.index, self.labels, self.samples, self.rivals)
        found = map(Uncertain, *(np.asarray(column)[order].tolist() for column in columns))
        return [each._replace(rival=None) if each.rival == -1 else each for each in found]

    def __str__(self) -> str:
        few = int(np.count_nonzero(self.samples < CERTAIN))
        text = f"{self.mean:.2f} on average ({MEANING})"
        if len(self.clusters) > 1:
            worst = int(np.argmin(self.clusters))
            text += f"; the least reproducible cluster is {worst} ({self.clusters[worst]:.2f})"
        return f"{text}; {few} of {len(self.samples)} samples are below {CERTAIN:g}"


def confidence(
    estimator: Any, views: Any, *, n_splits: int = SPLITS, random_state: int = 0
) -> Confidence:
    """Estimate how probably each sample stays in its cluster if the study is repeated.

    The samples are divided into halves five times. The estimator is refitted to each half and
    predicts the other one, and its clusters are matched to those of the answer. The confidence
    of a sample is the share of these ten refits that keep it in its cluster, shrunk towards the
    mean of its cluster, which counts for three refits. It says nothing about known classes.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Of more than 20 000 samples 5000 are drawn; the others get the mean of their cluster.
    n_splits : int
        Number of divisions into halves.
    random_state : int
        Seed of the halves and of k-means.

    Returns
    -------
    Confidence

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import confidence
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = confidence(GraphFusion(3, random_state=0), views)
    >>> found.mean, found.least(1)[0].rival
    (1.0, None)
    """
    model = fitted(estimator, views)
    found = stability(model, views, n_splits=n_splits, random_state=random_state)
    return confidence_of(found, model)


def confidence_of(found: Stability, model: Any) -> Confidence:
    """Return the confidence of all samples of a model, from refits that are at hand.

    Samples that were not among those of the refits get the mean of their cluster.
    """
    labels = np.asarray(model.labels_)
    means = found.by_cluster(int(labels.max()) + 1)
    samples, rivals = means[labels], np.full(len(labels), -1)
    own = labels[found.distinct]
    shrunk = found.samples * found.counted + PRIOR * means[found.labels]
    samples[found.rows] = shrunk / (found.counted + PRIOR)
    rivals[found.rows] = np.where(found.samples < 1, found.rivals, -1)
    return Confidence(
        samples=samples,
        clusters=np.bincount(own, samples[found.distinct]) / np.maximum(np.bincount(own), 1),
        rivals=rivals,
        refits=len(found.refits),
        labels=labels,
        index=np.asarray(getattr(model, "sample_names_in_", np.arange(len(labels)))),
        distinct=found.distinct,
    )
