r"""Lloyd's steps from each start: $\min_{C, y} \sum_i |x_i - c_{y_i}|^2$, as far as it leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from .scaling import squared_norms

STEPS = 300
SETTLED = 1e-4  # of the mean variance of the columns; centres that move less have arrived
SMALL = 1 << 15  # n k up to which steps of all starts together are quicker than one by one
TOGETHER = 1 << 19  # distances n k s in memory while s starts step together


@dataclass(frozen=True)
class Run:
    """Where one start arrives: labels (n,), centres (k, r), and the sum of squared distances."""

    labels: np.ndarray
    centres: np.ndarray
    inertia: float


def runs(X: np.ndarray, starts: np.ndarray) -> Iterator[Run]:
    """What k-means makes of every start, rows of X (n, r) given by number (s, k), in order.

    Small problems are solved for all starts at once, in the steps of scikit-learn's `KMeans`
    and with its answer: there most of the time would go into calls, not into arithmetic. A start
    that leaves a cluster empty on the way is left to scikit-learn, which finds a place for it.

    >>> X = np.array([[0.0], [0.2], [9.0], [9.2]])
    >>> [run.labels.tolist() for run in runs(X, np.array([[0, 1], [3, 0]]))]
    [[0, 0, 1, 1], [1, 1, 0, 0]]
    """
    n, k = len(X), starts.shape[1]
    if n * k > SMALL or X.dtype != np.float64:
        yield from (_alone(X, rows) for rows in starts)
        return
    X = np.ascontiguousarray(X)
    height = max(1, TOGETHER // (n * k))
    for at in range(0, len(starts), height):
        group = starts[at : at + height]
        for rows, run in zip(group, _together(X, group), strict=True):
            yield run or _alone(X, rows)


def _alone(X: np.ndarray, rows: np.ndarray) -> Run:
    model = KMeans(len(rows), init=X[rows], n_init=1, max_iter=STEPS, tol=SETTLED).fit(X)
    return Run(np.asarray(model.labels_), np.asarray(model.cluster_centers_), model.inertia_)


def _together(X: np.ndarray, starts: np.ndarray) -> list[Run | None]:
    """Steps of all starts at once, each until it arrives.

    None for a start that leaves a cluster empty, or is still on its way after the last step.
    """
    near, mean = SETTLED * X.var(axis=0).mean(), X.mean(axis=0)
    X = X - mean  # distances lose fewer digits
    going, C = np.arange(len(starts)), X[starts]
    y = np.full((len(X), len(starts)), -1)
    centres, labels = C.copy(), y.copy()
    exact, arrived = np.zeros((2, len(starts)), dtype=bool)
    for _ in range(STEPS):
        before, y = y, _nearest(X, C)
        means, filled = _means(X, y, C.shape[1])
        same = (y == before).all(axis=0)
        done = filled & (same | (np.square(means - C).sum(axis=(1, 2)) <= near))
        ends = going[done]
        centres[ends], labels[:, ends], exact[ends] = means[done], y[:, done], same[done]
        arrived[ends] = True
        on = filled & ~done
        going, C, y = going[on], means[on], y[:, on]
        if not len(going):
            break
    late = arrived & ~exact  # the centres have moved since labels were given
    labels[:, late] = _nearest(X, centres[late])
    return [
        _run(X, labels[:, start], centres[start], mean) if arrived[start] else None
        for start in range(len(starts))
    ]


def _nearest(X: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The nearest centre of every row of X (n, r) in every start of C (s, k, r): (n, s)."""
    starts, k, width = C.shape
    centres = C.reshape(-1, width)
    scores = X @ (-2 * centres).T
    scores += squared_norms(centres)
    return np.asarray(scores.reshape(len(X), starts, k).argmin(axis=2))


def _means(X: np.ndarray, labels: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of the clusters of labels (n, s): (s, k, r); and in which starts none is empty: (s,).

    A product with the sparse matrix of who is where, which adds rows in their order.
    """
    n, starts = labels.shape
    who = (labels + k * np.arange(starts)).ravel()
    where = np.arange(0, n * starts + 1, starts)
    sums = sp.csc_array((np.ones(n * starts), who, where), shape=(starts * k, n)) @ X
    sizes = np.bincount(who, minlength=starts * k)
    sums *= (1 / np.maximum(sizes, 1))[:, None]
    return sums.reshape(starts, k, -1), sizes.reshape(starts, k).min(axis=1) > 0


def _run(X: np.ndarray, labels: np.ndarray, centres: np.ndarray, mean: np.ndarray) -> Run:
    inertia = float(np.square(X - centres[labels]).sum())
    return Run(labels.astype(np.int32), centres + mean, inertia)
