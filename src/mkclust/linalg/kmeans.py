"""k-means on the rows of an embedding, scaled to unit length, and memberships of its clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from ..exceptions import DegenerateWarning, warn
from .threads import one_thread


def unit_rows(H: np.ndarray) -> np.ndarray:
    """Scale rows to length one; a zero row stays zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    length = np.linalg.norm(H, axis=1, keepdims=True)
    return np.divide(H, length, out=np.zeros_like(H), where=length > 0)


@dataclass(frozen=True)
class Clusters:
    """Labels (n,) and centers (k, r) of the unit rows; each label is that of the nearest center.

    `inertia` is the sum of the squared distances of all rows to their centers.
    """

    labels: np.ndarray
    centers: np.ndarray
    inertia: float


def nearest_centers(H: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the nearest of `centers` (k, r) for every row of H (b, r), scaled to unit length.

    >>> nearest_centers(np.array([[9.0, 1.0], [0.1, 0.2]]), np.eye(2)).tolist()
    [0, 1]
    """
    scores = unit_rows(H) @ (-2 * centers.T)
    scores += np.einsum("ij,ij->i", centers, centers)
    return np.asarray(scores.argmin(axis=1).astype(np.int32))


def inertia(H: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> float:
    """Return the sum of squared distances of the unit rows of H (n, r) to their centers (k, r).

    >>> inertia(np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([0, 0]), np.array([[1.0, 0.0]]))
    2.0
    """
    return float(np.sum((unit_rows(H) - centers[labels]) ** 2))


def kmeans_labels(
    H: np.ndarray, k: int, n_init: int = 10, random_state: Any = None, init: str = "k-means++"
) -> np.ndarray:
    """Return the labels (n,) of `kmeans_clusters`."""
    return kmeans_clusters(H, k, n_init, random_state, init).labels


def kmeans_clusters(
    H: np.ndarray, k: int, n_init: int = 10, random_state: Any = None, init: str = "k-means++"
) -> Clusters:
    """Cluster the unit rows of H (n, r) by k-means, the best of `n_init` starts.

    It runs on one thread: the order of a parallel sum is not fixed, and labels must not depend
    on it. O(n k r) per step.
    """
    X = unit_rows(np.ascontiguousarray(H))  # sums of columns round differently in other layouts
    with one_thread(), warnings.catch_warnings(action="ignore", category=SklearnConvergenceWarning):
        model = KMeans(k, n_init=n_init, init=init, random_state=random_state).fit(X)
    labels = np.asarray(model.labels_)
    found = len(np.unique(labels))
    if found < k:
        warn(
            f"only {found} clusters found where {k} were requested: the embedding has no more "
            "distinct rows",
            DegenerateWarning,
        )
    return Clusters(labels, np.asarray(model.cluster_centers_), float(model.inertia_))


# Fitted to known classes on half of the benchmark data sets. Membership is not calibrated on
# others: confidence is (docs/confidence.md).
DIFFUSION = 1.2  # sharpness for diffusion maps, whose components shrink
ORTHONORMAL = 0.35  # times sqrt(k), for embeddings of k components of equal length
FEW_SAMPLES = 4.0  # centers of small clusters lie too close to their own samples


def temperature(inertia: float, n: int, k: int, sharpness: float) -> float:
    r"""Return the scale T of squared distances: $T = \frac{I}{n}(1 + 4k/n)\,/\,\beta$.

    I / n is the mean squared distance of n fitted rows to their centers, so that membership
    depends on how well separated all clusters are. $\beta$ is the sharpness.

    >>> temperature(inertia=30.0, n=120, k=3, sharpness=1.1)
    0.25
    """
    return inertia / n * (1 + FEW_SAMPLES * k / n) / sharpness


def membership(H: np.ndarray, centers: np.ndarray, scale: float) -> np.ndarray:
    r"""Return $p_{ij} \propto \exp(-\|h_i/|h_i| - c_j\|^2/T)$ (b, k); rows sum to 1.

    The largest entry of a row is that of the nearest center. With T = 0, where every fitted row
    equals its center, it is 1. O(b k r).

    Parameters
    ----------
    H : (b, r) array
        Rows of the embedding.
    centers : (k, r) array
        Centers of its unit rows.
    scale : float
        The temperature T.

    >>> membership(np.array([[2.0, 0.0], [1.0, 1.0]]), np.eye(2), 1.0).round(2)
    array([[0.88, 0.12],
           [0.5 , 0.5 ]])
    """
    scores = unit_rows(H) @ (2 * centers.T)
    scores -= np.einsum("ij,ij->i", centers, centers)
    scores -= scores.max(axis=1, keepdims=True)
    scores /= max(scale, np.finfo(float).tiny)
    return np.asarray(softmax(scores, axis=1))
