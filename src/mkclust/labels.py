"""H* to labels: rows on the unit sphere, then k-means with restarts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from threadpoolctl import threadpool_limits

from .errors import DegenerateWarning
from .progress import step


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
    model = KMeans(n_clusters=k, n_init=n_init, init=init, random_state=random_state)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        labels = np.asarray(model.fit(unit_rows(H)).labels_)
    centres = np.asarray(model.cluster_centers_)
    found = len(np.unique(labels))
    if found < k:
        warnings.warn(
            f"only {found} clusters found where {k} were asked for: the embedding has no more "
            "distinct rows",
            DegenerateWarning,
            stacklevel=2,
        )
    return Clusters(labels, centres)
