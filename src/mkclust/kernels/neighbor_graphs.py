r"""Define the graph kernels: dense neighbor graphs of one view, used as kernels.

A graph kernel is $K = \frac12(I + \Delta^{-1/2}A\Delta^{-1/2})$, with A a symmetric affinity and
$\Delta$ the diagonal matrix of its row sums. The identity makes the degree-normalized graph
positive semi-definite and changes no eigenvector.

A graph kernel is not a function of two samples, so it has no rows for new samples. Instead,
``weights(fitted)`` returns a function that gives interpolation weights: with U the eigenvectors of
the graph, a new sample has the row $u = \sum_j w_ju_j$, which minimizes
$\sum_j a_j\|u - u_j\|^2$ over its edges a. A fitted sample would be its own nearest neighbor: the
caller has to recognize it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import VALID_METRICS, NearestNeighbors, kneighbors_graph
from sklearn.preprocessing import normalize

from ..exceptions import InputError
from ..linalg.scaling import (
    cross_distances,
    in_units,
    inverse_roots,
    mean_squared_distance,
    squared_distances,
    standardized,
    standardizing,
    unit_of,
    varies,
)

Weights = Callable[[Any], Any]
"""Map new rows (b, f) to weights (b, n) on the fitted samples. Each row sums to 1."""


@dataclass(frozen=True)
class KNNKernel:
    """Kernel of the symmetric k-nearest-neighbor graph, by brute-force search.

    Parameters
    ----------
    n_neighbors : int, default 10
        Number of neighbors, at most n - 1.
    metric : str or callable, default "cosine"
        Distance, as in `sklearn.neighbors.NearestNeighbors`.

    Examples
    --------
    >>> X = np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]])
    >>> (2 * KNNKernel(n_neighbors=1).matrix(X)).round(6)
    array([[1., 1., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [0., 0., 1., 1.]])
    """

    n_neighbors: int = 10
    metric: Any = "cosine"

    def __post_init__(self) -> None:
        _check_count("n_neighbors", self.n_neighbors)
        known = sorted({*VALID_METRICS["brute"]} - {"precomputed"})
        if not callable(self.metric) and self.metric not in known:
            raise InputError(f"metric must be one of {', '.join(known)}, got {self.metric!r}")

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        X = self._scaling(view)(view)
        if not varies(X).any():
            raise InputError("it is constant: all its samples are the same to the neighbor search")
        count = _at_most(self.n_neighbors, X.shape[0])
        graph = kneighbors_graph(X, count, metric=self.metric, include_self=False)
        return _normalized(((graph + graph.T) / 2).toarray())

    def weights(self, fitted: Any) -> Weights:
        """Return equal weights on the nearest fitted samples. Each row costs n distances."""
        scaled = self._scaling(fitted)
        X = scaled(fitted)
        count = _at_most(self.n_neighbors, X.shape[0])
        index = NearestNeighbors(n_neighbors=count, metric=self.metric).fit(X)
        return lambda new: index.kneighbors_graph(scaled(new)) / count

    def _scaling(self, view: Any) -> Callable[[Any], Any]:
        """Return the function that scales rows before the search."""
        unit = unit_of(view.astype(np.float64, copy=False))

        def scaled(rows: Any) -> Any:
            X = in_units(rows.astype(np.float64, copy=False), unit)
            return normalize(X) if self.metric == "cosine" else X

        return scaled


@dataclass(frozen=True)
class SelfTuningKernel:
    r"""Kernel of the self-tuning affinity: $A_{ij} = \exp(-D^2_{ij} / \sigma_i\sigma_j)$.

    The scale $\sigma_i$ is the distance of sample i to its `scale_at`-th neighbor. The columns are
    z-scored.

    Parameters
    ----------
    n_neighbors : int or None, default 20
        Number of largest entries that are kept in each row; None keeps all of them.
    scale_at : int, default 7
        Which neighbor gives the scale.

    References
    ----------
    L. Zelnik-Manor, P. Perona, Self-Tuning Spectral Clustering, NIPS 2004.
    """

    n_neighbors: int | None = 20
    scale_at: int = 7

    def __post_init__(self) -> None:
        if self.n_neighbors is not None:
            _check_count("n_neighbors", self.n_neighbors)
        _check_count("scale_at", self.scale_at)

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        X = standardized(view)
        mean_squared_distance(X)  # raises an InputError where all samples are equal
        D2 = squared_distances(X)
        n = len(D2)
        sigma = _local_scales(D2, _at_most(self.scale_at, n))
        A = np.exp(-D2 / sigma[:, None] / sigma)
        np.fill_diagonal(A, 0.0)
        keep = n - 1 if self.n_neighbors is None else _at_most(self.n_neighbors, n)
        if keep < n - 1:
            _keep_largest(A, keep)
            A = (A + A.T) / 2
        return _normalized(A)

    def weights(self, fitted: Any) -> Weights:
        r"""Return weights proportional to $\exp(-D^2 / \sigma\sigma_j)$, the largest of a row.

        The scale $\sigma$ of a new sample is its distance to the `scale_at`-th fitted sample. The
        scales $\sigma_j$ need n x n memory once, as the fit does.
        """
        X, columns = standardizing(fitted)
        n = X.shape[0]
        at = _at_most(self.scale_at, n)
        sigma = _local_scales(squared_distances(X), at)
        keep = n if self.n_neighbors is None else _at_most(self.n_neighbors, n)

        def weights(new: Any) -> Any:
            D2 = cross_distances(columns(new), X)
            own = np.maximum(np.sqrt(np.partition(D2, at - 1, axis=1)[:, at - 1]), sigma.min())
            exponent = -D2 / own[:, None] / sigma
            exponent -= exponent.max(axis=1, keepdims=True)  # no row of a far sample underflows
            A = np.exp(exponent)
            if keep < n:
                _keep_largest(A, keep)
            return A / A.sum(axis=1, keepdims=True)

        return weights


GRAPH_KERNELS: dict[str, Callable[..., Any]] = {
    "knn": KNNKernel,
    "self-tuning": SelfTuningKernel,
}


def _local_scales(D2: np.ndarray, at: int) -> np.ndarray:
    """Return each sample's distance to its `at`-th neighbor (n,), from squared distances (n, n)."""
    sigma = np.sqrt(np.partition(D2, at, axis=1)[:, at])
    floor = sigma[sigma > 0].min(initial=np.inf)
    # Duplicates have distance 0 to their neighbors: they get the smallest positive scale.
    return np.maximum(sigma, floor if np.isfinite(floor) else np.sqrt(D2[D2 > 0].min()))


def _keep_largest(A: np.ndarray, keep: int) -> None:
    """Set all but the `keep` largest entries of each row to zero, in place."""
    n = A.shape[1]
    A[A < np.partition(A, n - keep, axis=1)[:, n - keep, None]] = 0.0


def _normalized(A: np.ndarray) -> np.ndarray:
    scale = inverse_roots(A.sum(axis=1))
    A *= scale[:, None] * scale / 2
    A.flat[:: len(A) + 1] += 0.5
    return A


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} must be a whole number from 1 on, got {value!r}")


def _at_most(count: int, n: int) -> int:
    return int(min(count, n - 1))
