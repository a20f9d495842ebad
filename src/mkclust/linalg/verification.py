"""Claims of a fit that are checked again, with eigenpairs of another solver; near ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .eigenpairs import RANK_TOLERANCE, Pairs, Spectrum, eigenpairs, lanczos
from .kmeans import unit_rows
from .scaling import cross_distances, squared_norms

TIE = 1e-6  # relative; a decision by less than this may turn out differently on another machine
DIRECT_UP_TO = 3000  # rows up to which LAPACK decomposes a matrix; Lanczos beyond


@dataclass(frozen=True)
class Check:
    """One claim of a fit: the `error` found, and the `limit` up to which the claim holds."""

    claim: str
    error: float
    limit: float

    @property
    def holds(self) -> bool:
        return bool(self.error <= self.limit)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{verdict}: {self.claim} (error {self.error:.1e}, limit {self.limit:.0e})"


@dataclass(frozen=True)
class Verification:
    """All claims that were checked, and a sentence for every decision by less than 1e-6."""

    checks: tuple[Check, ...]
    near_ties: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), *(f"near tie: {tie}" for tie in self.near_ties)])


def recomputed_eigenpairs(A: Any, size: int) -> Pairs:
    """Return the `size` leading eigenpairs, descending, by LAPACK; by another Lanczos run beyond.

    A is an array, a sparse array or an operator (n, n). There are n pairs at most.
    """
    n = A.shape[0]
    if n > DIRECT_UP_TO and size < n - 1:
        return lanczos(A, size, 1e-12, seed=1)
    matrix = A if isinstance(A, np.ndarray) else A.toarray()
    values, vectors = eigenpairs(matrix, max(0, n - size), n - 1)
    return values[::-1], vectors[:, ::-1]


def recomputed_spectrum(K: np.ndarray, size: int) -> Spectrum:
    """Return the same of a kernel, without eigenvalues that are rounding."""
    values, vectors = recomputed_eigenpairs(K, size)
    above = int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
    return Spectrum(vectors[:, :above], values[:above], above < size or size >= len(K))


def orthonormality_error(H: np.ndarray) -> float:
    """Return the largest entry of $|H^TH - I|$; columns of zeros do not count."""
    used = H[:, H.any(axis=0)]
    return float(np.abs(used.T @ used - np.eye(used.shape[1])).max())


def kmeans_checks(
    embedding: np.ndarray, labels: np.ndarray, centers: np.ndarray
) -> tuple[Check, Check, Check]:
    """Check that the labels are a local optimum of k-means on the unit rows of the embedding.

    k-means stops where centers move little, so that the distance of a center from the mean of its
    cluster is small but not zero. The other errors are shares of the inertia, the sum of squared
    distances to the cluster means, with all means as centers: what one more step of k-means takes
    away, and what the best move of one sample does. A step of k-means ignores that a sample moves
    its own mean, so that the second may be above zero at an optimum of the first, by about the
    share of one sample.
    """
    X = unit_rows(embedding)
    found, own = np.unique(labels, return_inverse=True)
    sizes = np.bincount(own)
    means = np.array([X[own == c].mean(axis=0) for c in range(len(found))])
    away = float(np.linalg.norm(means - centers[found], axis=1).max())
    squared = cross_distances(X, means, squared_norms(means))  # (n, k)
    mine = squared[np.arange(len(X)), own]
    inertia = max(float(mine.sum()), np.finfo(float).eps * len(X))
    step = float(mine.sum() - squared.min(axis=1).sum()) / inertia
    leave = mine * np.where(sizes[own] > 1, sizes[own] / np.maximum(sizes[own] - 1, 1), 0.0)
    enter = squared * (sizes / (sizes + 1))
    enter[np.arange(len(X)), own] = np.inf
    move = float(np.max(leave - enter.min(axis=1), initial=0.0)) / inertia
    return (
        Check("every center is the mean of its cluster", away, 1e-3),
        Check("no step of k-means lowers the inertia", step, 1e-3),
        Check("no move of one sample lowers the inertia", move, max(1e-3, 2 / len(X))),
    )
