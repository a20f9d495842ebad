r"""Kernel rows of new samples: $\kappa(x, x_j)$ against the n samples that a kernel was made of.

Each function here stands beside the one of the same name in `kernels` or `graphs`: it takes the
view that was fitted, works out the same scales, and returns what maps rows of new samples (b, f)
to their similarities. For a sample of the view itself these are its row of the kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from ..exceptions import InputError
from ..graphs.dense import checked_neighbours, local_scales
from ..linalg.scaling import (
    cross_distances,
    in_units,
    mean_squared_distance,
    squared_distances,
    squared_norms,
    standardising,
    unit_of,
)

KernelRows = Callable[[Any], tuple[np.ndarray, np.ndarray]]
"""New rows (b, f) to similarities (b, n) and each row's similarity to itself (b,)."""

Weights = Callable[[Any], Any]
"""New rows (b, f) to weights (b, n) of the samples they lie between, each row's sum 1."""


def gaussian(view: Any) -> KernelRows:
    r"""$\exp(-2 D^2 / \overline{D^2})$ with the fitted columns' means and deviations.

    >>> from mkclust import kernels
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 1.0]])
    >>> bool(np.allclose(gaussian(X)(X[:1])[0], kernels.gaussian(X)[:1]))
    True
    """
    X, columns = standardising(view)
    return _exponential(X, 2.0 / mean_squared_distance(X), columns)


def rbf(view: Any, gamma: float | None = None) -> KernelRows:
    X, scaled = _rescaling(view) if gamma is None else (_floats(view), _floats)
    return _exponential(X, 2.0 / mean_squared_distance(X) if gamma is None else gamma, scaled)


def linear(view: Any) -> KernelRows:
    X, scaled = _rescaling(view)

    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        Y = scaled(new)
        return _dense(Y @ X.T), squared_norms(Y)

    return rows


def cosine(view: Any) -> KernelRows:
    X, scaled = _rescaling(view)
    X = normalize(X)

    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        Y = normalize(scaled(new))
        return _dense(Y @ X.T), squared_norms(Y)

    return rows


def polynomial(
    view: Any, degree: int = 3, gamma: float | None = None, coef0: float = 1.0
) -> KernelRows:
    X = _floats(view)
    rate = 1.0 / X.shape[1] if gamma is None else gamma

    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        Y = _floats(new)
        products = _dense(Y @ X.T)
        return (rate * products + coef0) ** degree, (rate * squared_norms(Y) + coef0) ** degree

    return rows


KERNEL_ROWS: dict[str, Callable[..., KernelRows]] = {
    "gaussian": gaussian,
    "rbf": rbf,
    "linear": linear,
    "cosine": cosine,
    "polynomial": polynomial,
}


def neighbour_weights(view: Any, n_neighbors: int = 10, metric: str = "cosine") -> Weights:
    r"""Where a new sample lies in a neighbour graph: equal weights on its nearest samples.

    With U the graph's eigenvectors, $u = \sum_j w_ju_j$ is the smoothest continuation: it
    minimises $\sum_j a_j\|u - u_j\|^2$ over the new sample's edges a. n distances per row, as in
    fitting. A fitted sample would be its own nearest: who it is has to be known (`known_rows`).
    """
    unit = unit_of(_floats(view))

    def scaled(rows: Any) -> Any:
        X = in_units(_floats(rows), unit)
        return normalize(X) if metric == "cosine" else X

    X = scaled(view)
    count = checked_neighbours(n_neighbors, X.shape[0])
    index = NearestNeighbors(n_neighbors=count, metric=metric).fit(X)

    def weights(new: Any) -> Any:
        Y = scaled(new)
        graph = index.kneighbors_graph(Y)
        return graph / count

    return weights


def self_tuning_weights(view: Any, n_neighbors: int | None = 20, scale_at: int = 7) -> Weights:
    r"""The same for affinities $\exp(-D^2 / \sigma\sigma_j)$, of which the largest are kept.

    $\sigma$ is the distance to the `scale_at`-th fitted sample. n x n memory once, as in
    fitting, for the scales $\sigma_j$.
    """
    X, columns = standardising(view)
    n = X.shape[0]
    at = checked_neighbours(scale_at, n)
    sigma = local_scales(squared_distances(X), at)
    keep = n if n_neighbors is None else checked_neighbours(n_neighbors, n)

    def weights(new: Any) -> Any:
        Y = columns(new)
        D2 = cross_distances(Y, X)
        own = np.maximum(np.sqrt(np.partition(D2, at - 1, axis=1)[:, at - 1]), sigma.min())
        exponent = -D2 / own[:, None] / sigma
        exponent -= exponent.max(axis=1, keepdims=True)  # far from everything, not from nothing
        A = np.exp(exponent)
        if keep < n:
            A[A < np.partition(A, n - keep, axis=1)[:, n - keep, None]] = 0.0
        return A / A.sum(axis=1, keepdims=True)

    return weights


GRAPH_WEIGHTS: dict[str, Callable[..., Weights]] = {
    "knn": neighbour_weights,
    "self-tuning": self_tuning_weights,
}


def function_rows(
    kernel: Callable[..., Any], view: Any, params: Mapping[str, Any], unit: float = 1.0
) -> KernelRows:
    """Rows by a user's own function, if it takes new and fitted samples; divided by `unit`."""
    if not takes_two(kernel):
        raise InputError(
            "its kernel function takes one argument: rows of new samples need one of two, "
            "kernel(new, fitted), such as those in sklearn.metrics.pairwise"
        )

    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        K = _dense(kernel(new, view, **params)).astype(np.float64)
        if K.shape != (new.shape[0], view.shape[0]):
            raise InputError(
                f"its kernel function gave {K.shape} for {new.shape[0]} new and {view.shape[0]} "
                "fitted samples"
            )
        own = np.diagonal(_dense(kernel(new, new, **params))).astype(np.float64)
        return K / unit, own / unit

    return rows


def in_kernel_units(rows: KernelRows, unit: float) -> KernelRows:
    """The same rows of a kernel that was divided by `unit` when it was built."""
    if unit == 1:
        return rows

    def divided(new: Any) -> tuple[np.ndarray, np.ndarray]:
        K, own = rows(new)
        return K / unit, own / unit

    return divided


def takes_two(kernel: Callable[..., Any]) -> bool:
    """Whether a function can be called with two positional arguments.

    >>> takes_two(lambda X: X @ X.T), takes_two(lambda X, Y=None: X @ Y.T)
    (False, True)
    """
    try:
        inspect.signature(kernel).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # compiled functions may hide their signature
        return True
    return True


def _exponential(X: Any, rate: float, scaled: Callable[[Any], Any]) -> KernelRows:
    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        exponent = cross_distances(scaled(new), X)
        exponent *= -rate
        return np.exp(exponent, out=exponent), np.ones(len(exponent))

    return rows


def _rescaling(view: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The view as `scaling.rescaled` has it, and the same for other rows."""
    X = _floats(view)
    unit = unit_of(X)

    def scaled(rows: Any) -> Any:
        return in_units(_floats(rows), unit)

    return (X if unit == 1 else in_units(X, unit)), scaled


def _floats(view: Any) -> Any:
    return view.astype(np.float64, copy=False)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
