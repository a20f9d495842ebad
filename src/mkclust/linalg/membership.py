"""Membership: how probable each cluster is for each row of an embedding."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from .kmeans import unit_rows

# Fitted on half of the benchmark data sets by benchmarks/calibration.py; docs/research.md has
# the error on the other half.
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
