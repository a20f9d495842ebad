"""How far the labels depend on which samples were there: the estimator refitted to halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from ..data.views import MultiView
from ..exceptions import InputError
from ..metrics import ari
from ..predict.new_samples import OutOfSample
from ..progress import step
from .difference import counts, matching
from .fitting import fitted, refit_all, sample_names, unfitted, views_of

SPLITS = 5  # into halves; each gives two refits
STARTS = 3  # of k-means in each half
MOVES = 0.5  # share of refits that keep a sample in its cluster; below it the sample is listed


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
    for name, value, least in (("n_splits", n_splits, 2), ("random_state", random_state, 0)):
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name} must be a whole number from {least} on, got {value!r}")
    return compare_halves(estimator, views, n_splits, random_state)


def compare_halves(
    estimator: Any, views: Any, n_splits: int, random_state: int, only: np.ndarray | None = None
) -> Stability:
    """Return the stability, of some samples `only`, by position, if given."""
    model = fitted(estimator, views)
    data, rows = views_of(model, views, random_state)
    if only is not None:
        data, rows = data[only], rows[only]
    k, n = int(model.n_clusters), len(data)
    if n // 2 < max(k, 2):
        raise InputError(f"halves of {n} samples are too few for {k} clusters")
    fresh = unfitted(model, random_state=random_state, n_init=STARTS, columns=None)
    halves = _halves(n, n_splits, random_state)
    found = refit_all(partial(_labels_from, fresh, data), halves, n // 2)
    refits = list(zip(halves, found, strict=True))
    return compared(np.asarray(model.labels_)[rows], refits, sample_names(data, rows), rows)


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
    labels: np.ndarray,
    refits: Sequence[tuple[np.ndarray, np.ndarray]],
    index: np.ndarray,
    rows: np.ndarray | None = None,
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
        rows=np.arange(n) if rows is None else rows,
    )


def _halves(n: int, n_splits: int, random_state: int) -> list[np.ndarray]:
    draws = [np.random.default_rng([random_state, b]).permutation(n) for b in range(n_splits)]
    return [np.sort(part) for draw in draws for part in (draw[: n // 2], draw[n // 2 :])]
