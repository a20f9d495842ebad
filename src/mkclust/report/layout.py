"""Pictures of an embedding as numbers: two dimensions, sorted blocks, a sample of the rows."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..linalg.kmeans import unit_rows
from ..linalg.spectrum import with_fixed_signs

FEWEST = 20  # samples of a cluster that a picture shows in any case, if it has them


def sample_rows(labels: np.ndarray, limit: int, seed: int = 0) -> np.ndarray:
    """At most `limit` rows, ascending: each cluster in proportion, small ones not lost.

    >>> labels = np.repeat([0, 1], [990, 10])
    >>> np.bincount(labels[sample_rows(labels, 100)])
    array([90, 10])
    """
    if len(labels) <= limit:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    least = np.minimum(sizes, min(FEWEST, limit // len(sizes)))
    rest = (limit - least.sum()) * (sizes - least) // (sizes - least).sum()
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(np.flatnonzero(labels == label), size, replace=False)
        for label, size in enumerate(least + rest)
    ]
    return np.sort(np.concatenate(rows))


def principal_plane(H: np.ndarray) -> np.ndarray:
    """The two directions along which the unit rows of H (n, r) vary most: (n, 2)."""
    Z = unit_rows(np.asarray(H, dtype=float))
    Z = Z - Z.mean(axis=0)
    vectors = scipy.linalg.eigh(Z.T @ Z)[1]
    plane = Z @ with_fixed_signs(vectors[:, ::-1])[:, :2]
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def turned(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Points (n, 2) turned or mirrored, not stretched, to lie closest to the reference."""
    U, _, Vt = scipy.linalg.svd(points.T @ reference)
    return np.asarray(points @ U @ Vt)


def corners(labels: np.ndarray, H: np.ndarray) -> np.ndarray:
    """One corner of a regular polygon for each cluster (k, 2), neighbours in H side by side."""
    k = int(labels.max()) + 1
    plane = principal_plane(H)
    centers = np.zeros((k, 2))
    for c in np.unique(labels):  # a cluster that ran empty keeps its corner
        centers[c] = plane[labels == c].mean(axis=0)
    turn = np.arctan2(*(centers - centers.mean(axis=0)).T[::-1])
    place = np.empty(k)
    place[np.argsort(turn, kind="stable")] = np.arange(k)
    angle = np.pi / 2 - 2 * np.pi * place / k
    return np.column_stack([np.cos(angle), np.sin(angle)])


def between_corners(H: np.ndarray, labels: np.ndarray, ends: np.ndarray) -> np.ndarray:
    r"""Each sample at the mean of the corners, weighed by likeness to the clusters: (n, 2).

    Likeness is $\max(0, \cos)^2$ between the sample's row of H and a cluster's mean row, the
    sample itself left out of that mean: a view that knows nothing of the clusters shows one heap
    in the middle.
    """
    Z = unit_rows(np.asarray(H, dtype=float))
    member = np.eye(len(ends))[labels]
    sums = member.T @ Z
    likeness = Z @ unit_rows(sums).T
    own = sums[labels] - Z
    likeness[np.arange(len(Z)), labels] = np.sum(Z * unit_rows(own), axis=1)
    weight = np.maximum(likeness, 0.0) ** 2
    total = weight.sum(axis=1, keepdims=True)
    weight = np.divide(weight, total, out=np.full_like(weight, 1 / len(ends)), where=total > 0)
    return np.asarray(weight @ ends)


def block_means(H: np.ndarray, labels: np.ndarray, cells: int) -> np.ndarray:
    r"""Cosines of all pairs of rows of H, sorted by cluster, as means over a grid of cells.

    A mean of cosines is the product of mean unit rows, so all n^2 pairs count at O(n r) cost.
    (cells, cells), or (n, n) for n below that.
    """
    Z = unit_rows(np.asarray(H, dtype=float))[_sorted(labels)]
    means = _cell_means(Z, cells)
    return np.asarray(means @ means.T)


def graph_means(graph: np.ndarray, labels: np.ndarray, cells: int) -> np.ndarray:
    """The same for a graph (n, n): mean weights, the strongest hundredth of the cells at 1."""
    order = _sorted(labels)
    symmetric = (graph + graph.T)[np.ix_(order, order)] / 2
    means = _cell_means(_cell_means(symmetric, cells).T, cells)
    top = np.quantile(means, 0.99) or means.max()
    return np.asarray(np.clip(means / top, 0, 1) if top > 0 else means)


def block_edges(labels: np.ndarray) -> np.ndarray:
    """Where each cluster begins in the sorted order, and where the last ends, from 0 to 1."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels))]) / len(labels)


def _sorted(labels: np.ndarray) -> np.ndarray:
    return np.argsort(labels, kind="stable")


def _cell_means(rows: np.ndarray, cells: int) -> np.ndarray:
    if len(rows) <= cells:
        return rows
    starts = np.linspace(0, len(rows), cells, endpoint=False).astype(int)
    sizes = np.diff(np.append(starts, len(rows)))
    return np.asarray(np.add.reduceat(rows, starts, axis=0) / sizes[:, None])
