r"""Define the kernel functions and the registry of all kernels.

Each kernel is one class. The parameters of the kernel are the fields of the class. A kernel
function $\kappa$ has two methods:

- ``matrix(view)`` returns the matrix $K_{ij} = \kappa(x_i, x_j)$ of the samples of a view, (n, n).
- ``rows(fitted)`` returns a function that computes $\kappa(x, x_j)$ of new samples x against the
  fitted samples. All scales are those of the fitted samples. For a fitted sample the result is
  its row of the matrix.

The graph kernels are in `neighbor_graphs`. They have ``weights(fitted)`` in place of ``rows``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel
from sklearn.preprocessing import normalize

from ..exceptions import InputError
from ..linalg.scaling import (
    cross_distances,
    in_units,
    mean_squared_distance,
    rescaled,
    squared_distances,
    squared_norms,
    standardized,
    standardizing,
    unit_of,
)
from .neighbor_graphs import GRAPH_KERNELS

KernelRows = Callable[[Any], tuple[np.ndarray, np.ndarray]]
"""Map new rows (b, f) to similarities (b, n) and to each row's similarity to itself (b,)."""


class Kernel(Protocol):
    """A kernel of any kind: a view to a symmetric positive semi-definite matrix."""

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        """Return the kernel matrix (n, n) of a view (n, f), dense or sparse.

        `dtype` is the precision of the computation. The cosine, polynomial and graph kernels
        are always computed and returned in double precision.
        """
        ...


@dataclass(frozen=True)
class GaussianKernel:
    r"""Gaussian kernel on z-scored columns: $K = \exp(-2 D^2 / \overline{D^2})$.

    $D^2$ are the squared distances between rows and $\overline{D^2}$ is their mean over all
    $n^2$ pairs. The cost is one product (n, f) x (f, n) and one pass over the result, in place.

    Examples
    --------
    >>> GaussianKernel().matrix(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.0183],
           [0.0183, 1.    ]])
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 1.0]])
    >>> similarities, itself = GaussianKernel().rows(X)(X[:1])
    >>> bool(np.allclose(similarities, GaussianKernel().matrix(X)[:1]))
    True
    """

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        return _exponential(standardized(view), None, dtype)

    def rows(self, fitted: Any) -> KernelRows:
        X, columns = standardizing(fitted)
        return _exponential_rows(X, None, columns)


@dataclass(frozen=True)
class RBFKernel:
    r"""Gaussian kernel on the columns as given: $K = \exp(-\gamma D^2)$.

    Parameters
    ----------
    gamma : float, optional
        Rate of the exponent. The default is $2 / \overline{D^2}$.
    """

    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.gamma is not None and not self.gamma > 0:
            raise InputError(f"gamma must be positive, got {self.gamma}")

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        X = floats(view) if self.gamma is not None else rescaled(floats(view))
        return _exponential(X, self.gamma, dtype)

    def rows(self, fitted: Any) -> KernelRows:
        X, scaled = (floats(fitted), floats) if self.gamma is not None else _rescaling(fitted)
        return _exponential_rows(X, self.gamma, scaled)


@dataclass(frozen=True)
class LinearKernel:
    """Linear kernel: $K = XX^T$, divided by a constant where the entries of X are extreme."""

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        X = rescaled(floats(view)).astype(dtype, copy=False)
        return dense(X @ X.T)

    def rows(self, fitted: Any) -> KernelRows:
        return _product_rows(*_rescaling(fitted))


@dataclass(frozen=True)
class CosineKernel:
    """Cosine of the angle between rows. A zero row has similarity 0 to all rows."""

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        return np.asarray(cosine_similarity(rescaled(floats(view)), dense_output=True))

    def rows(self, fitted: Any) -> KernelRows:
        X, scaled = _rescaling(fitted)
        return _product_rows(normalize(X), lambda new: normalize(scaled(new)))


@dataclass(frozen=True)
class PolynomialKernel:
    r"""Polynomial kernel: $K = (\gamma XX^T + c_0)^{degree}$.

    Parameters
    ----------
    degree : int, default 3
        Exponent, at least 1.
    gamma : float, optional
        Positive factor. The default is one over the number of columns.
    coef0 : float, default 1.0
        Constant term $c_0$, not negative.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if (
            not (isinstance(self.degree, Integral) and self.degree >= 1 and self.coef0 >= 0)
            or (self.gamma is not None and not self.gamma > 0)
        ):  # fmt: skip
            raise InputError(
                "a polynomial kernel is positive semi-definite only for a whole degree from 1 on, "
                f"coef0 >= 0 and gamma > 0, got degree={self.degree}, coef0={self.coef0}, "
                f"gamma={self.gamma}"
            )

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        X, c = floats(view), self.coef0
        return dense(polynomial_kernel(X, degree=self.degree, gamma=self.gamma, coef0=c))

    def rows(self, fitted: Any) -> KernelRows:
        X = floats(fitted)
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        products = _product_rows(X, floats)

        def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
            K, own = products(new)
            return (gamma * K + self.coef0) ** self.degree, (
                gamma * own + self.coef0
            ) ** self.degree

        return rows


@dataclass(frozen=True)
class UserKernel:
    """A kernel function of the user.

    Parameters
    ----------
    function : callable
        ``function(X, **params)`` returns the matrix (n, n). For new samples it must also accept
        ``function(new, fitted, **params)``, as the functions in `sklearn.metrics.pairwise` do.
    params : mapping
        Keyword arguments of the function.
    """

    function: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def matrix(self, view: Any, dtype: Any = np.float64) -> np.ndarray:
        try:
            return dense(self.function(view, **self.params))
        except TypeError as error:
            if self.params:
                raise InputError(
                    f"kernel parameters {dict(self.params)} do not fit: {error}"
                ) from None
            raise

    def rows(self, fitted: Any) -> KernelRows:
        if not takes_two(self.function):
            raise InputError(
                "its kernel function takes one argument: rows of new samples need one of two, "
                "kernel(new, fitted), such as those in sklearn.metrics.pairwise"
            )

        def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
            K = dense(self.function(new, fitted, **self.params)).astype(np.float64)
            if K.shape != (new.shape[0], fitted.shape[0]):
                raise InputError(
                    f"its kernel function returned shape {K.shape} for {new.shape[0]} new and "
                    f"{fitted.shape[0]} fitted samples"
                )
            own = np.diagonal(dense(self.function(new, new, **self.params)))
            return K, own.astype(np.float64)

        return rows


FUNCTION_KERNELS: dict[str, Callable[..., Any]] = {
    "gaussian": GaussianKernel,
    "linear": LinearKernel,
    "cosine": CosineKernel,
    "polynomial": PolynomialKernel,
    "rbf": RBFKernel,
}
KERNELS: dict[str, Callable[..., Kernel]] = {**FUNCTION_KERNELS, **GRAPH_KERNELS}


def check_params(name: str, params: Mapping[str, Any]) -> None:
    """Raise an InputError where a kernel of the registry does not take the parameters.

    Examples
    --------
    >>> check_params("rbf", {"gamma": 0.1})
    >>> check_params("linear", {"gamma": 0.1})
    Traceback (most recent call last):
    mkclust.exceptions.InputError: kernel parameters {'gamma': 0.1} do not fit 'linear': it has none
    """
    known = inspect.signature(KERNELS[name]).parameters
    if any(key not in known for key in params):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"kernel parameters {dict(params)} do not fit {name!r}: {has}")
    try:
        KERNELS[name](**params)
    except TypeError as error:
        raise InputError(f"kernel parameters {dict(params)} do not fit: {error}") from None


def in_kernel_units(rows: KernelRows, unit: float) -> KernelRows:
    """Divide kernel rows by the `unit` that the kernel matrix was divided by."""
    if unit == 1:
        return rows

    def divided(new: Any) -> tuple[np.ndarray, np.ndarray]:
        K, own = rows(new)
        return K / unit, own / unit

    return divided


def takes_two(function: Callable[..., Any]) -> bool:
    """Return whether a function can be called with two positional arguments.

    Examples
    --------
    >>> takes_two(lambda X: X @ X.T), takes_two(lambda X, Y=None: X @ Y.T)
    (False, True)
    """
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a compiled function may have no signature
        return True
    return True


def floats(view: Any) -> Any:
    """Return a view in double precision, without a copy where it is already."""
    return view.astype(np.float64, copy=False)


def dense(matrix: Any) -> np.ndarray:
    """Return a matrix as a dense array."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def _exponential(X: Any, gamma: float | None, dtype: Any) -> np.ndarray:
    mean = mean_squared_distance(X)  # raises an InputError where all samples are equal
    rate = 2.0 / mean if gamma is None else gamma
    X = X.astype(dtype, copy=False)
    return squared_distances(X, -rate, lambda block: np.exp(block, out=block))


def _exponential_rows(X: Any, gamma: float | None, scaled: Callable[[Any], Any]) -> KernelRows:
    rate = 2.0 / mean_squared_distance(X) if gamma is None else gamma

    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        exponent = cross_distances(scaled(new), X)
        exponent *= -rate
        return np.exp(exponent, out=exponent), np.ones(len(exponent))

    return rows


def _product_rows(X: Any, scaled: Callable[[Any], Any]) -> KernelRows:
    def rows(new: Any) -> tuple[np.ndarray, np.ndarray]:
        Y = scaled(new)
        return dense(Y @ X.T), squared_norms(Y)

    return rows


def _rescaling(view: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the view as `scaling.rescaled` does, and a function that scales other rows alike."""
    X = floats(view)
    unit = unit_of(X)

    def scaled(rows: Any) -> Any:
        return in_units(floats(rows), unit)

    return (X if unit == 1 else in_units(X, unit)), scaled
