"""H* to labels: rows on the unit sphere, then k-means with restarts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.utils import check_random_state

from .errors import DegenerateWarning
from .lloyd import Run, runs
from .progress import step
from .scaling import squared_norms
from .threads import one_thread

SAME = 1e-10  # relative; inertias as close are those of one clustering
AT_ONCE = 4 << 20  # distances in memory while starts are drawn, as far as one start allows


def unit_rows(H: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; a zero row stays zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    length = np.linalg.norm(H, axis=1, keepdims=True)
    return np.divide(H, length, out=np.zeros_like(H), where=length > 0)


@dataclass(frozen=True)
class Clusters:
    """Labels (n,) and the centres (k, r) of the unit rows; each row's label is its nearest."""

    labels: np.ndarray
    centres: np.ndarray


def nearest_centres(H: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre (k, r) of every row of H (b, r), once it has length one: (b,).

    >>> nearest_centres(np.array([[9.0, 1.0], [0.1, 0.2]]), np.eye(2)).tolist()
    [0, 1]
    """
    scores = unit_rows(H) @ (-2 * centres.T)
    scores += np.einsum("ij,ij->i", centres, centres)
    return np.asarray(scores.argmin(axis=1).astype(np.int32))


def kmeans_labels(
    H: np.ndarray,
    k: int,
    n_init: int = 10,
    random_state: Any = None,
    init: str = "k-means++",
) -> np.ndarray:
    """Labels (n,) of the rows of H (n, r): those of `kmeans_clusters`."""
    return kmeans_clusters(H, k, n_init, random_state, init).labels


def kmeans_clusters(
    H: np.ndarray,
    k: int,
    n_init: int = 10,
    random_state: Any = None,
    init: str = "k-means++",
) -> Clusters:
    """Labels and centres of the rows of H (n, r) by k-means, the best of `n_init` starts.

    One thread: the sums of a parallel Lloyd step depend on who finishes first, and labels
    must not. O(n k r) per step.
    """
    step("k-means")
    X = unit_rows(np.ascontiguousarray(H))  # sums of columns round differently in other orders
    unchecked = config_context(assume_finite=True, skip_parameter_validation=True)
    with one_thread(), unchecked, warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        if init == "k-means++":
            best = _best_of(X, spread_starts(X, k, n_init, check_random_state(random_state)))
            labels, centres = best.labels, best.centres
        else:
            model = KMeans(k, n_init=n_init, init=init, random_state=random_state).fit(X)
            labels, centres = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
    found = len(np.unique(labels))
    if found < k:
        warnings.warn(
            f"only {found} clusters found where {k} were asked for: the embedding has no more "
            "distinct rows",
            DegenerateWarning,
            stacklevel=2,
        )
    return Clusters(labels, centres)


def _best_of(X: np.ndarray, starts: np.ndarray) -> Run:
    """The run of least inertia; among runs equal but for rounding the first one.

    Those are the same clustering under other numbers.
    """
    found = runs(X, starts)
    best = next(found)
    for run in found:
        if run.inertia < best.inertia * (1 - SAME):
            best = run
    return best


def spread_starts(X: np.ndarray, k: int, n_init: int, random: np.random.RandomState) -> np.ndarray:
    r"""Rows of X (n, r) to start k-means from, for all starts at once: (n_init, k).

    Greedy k-means++: the next centre is drawn with chance $\propto$ squared distance to those
    before it, the best of $2 + \lfloor\log k\rfloor$ draws. The numbers drawn are those that
    scikit-learn would draw; the distances of all starts are one product per step.

    >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> np.sort(spread_starts(X, 2, 3, np.random.RandomState(0)) // 2)
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    n, trials = len(X), 2 + int(np.log(k))
    first = np.empty(n_init, dtype=int)
    drawn = np.empty((n_init, k - 1, trials))
    for start in range(n_init):
        first[start] = random.choice(n, p=np.full(n, 1 / n))
        drawn[start] = random.uniform(size=(k - 1, trials))
    together = max(1, AT_ONCE // (n * trials))
    groups = [slice(at, at + together) for at in range(0, n_init, together)]
    X = X - X.mean(axis=0)
    return np.concatenate([_spread(X, first[group], drawn[group]) for group in groups])


def _spread(X: np.ndarray, first: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Starts from the rows `first` (s,) and the numbers `drawn` (s, k - 1, trials): (s, k)."""
    starts, steps, trials = drawn.shape
    each = np.arange(starts)
    norms = squared_norms(X)
    chosen = np.empty((starts, steps + 1), dtype=int)
    chosen[:, 0] = first
    closest = _distances(X, norms, first)
    for step_ in range(steps):
        sums = closest.cumsum(axis=1)
        targets = drawn[:, step_] * closest.sum(axis=1)[:, None]
        tried = np.array([np.searchsorted(sums[s], targets[s]) for s in each])
        tried = np.minimum(tried, len(X) - 1)
        distances = _distances(X, norms, tried.ravel()).reshape(starts, trials, -1)
        np.minimum(distances, closest[:, None], out=distances)
        best = distances.sum(axis=2).argmin(axis=1)
        closest, chosen[:, step_ + 1] = distances[each, best], tried[each, best]
    return chosen


def _distances(X: np.ndarray, norms: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared distances of some rows of X to all: (len(rows), n)."""
    distances = X[rows] @ (-2 * X.T)
    distances += norms[rows, None]
    distances += norms
    distances[np.arange(len(rows)), rows] = 0.0
    return np.maximum(distances, 0.0, out=distances)
