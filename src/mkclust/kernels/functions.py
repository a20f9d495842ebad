r"""Kernel functions of one view, by scikit-learn, at the scale of the fitted samples.

``fitted_kernel(kernel, params, view)`` keeps the scales of a view. Its ``matrix()`` is the kernel
$K_{ij} = \kappa(x_i, x_j)$ of the fitted samples (n, n), and its ``rows(new)`` are
$\kappa(x, x_j)$ of new samples (b, n) and $\kappa(x, x)$ (b,). For a fitted sample they are its
row of the matrix.

=============  ===========================================================================
gaussian       $\exp(-2 D^2 / \overline{D^2})$ on z-scored columns; `KernelBank` takes rbf for
               components, which are in one unit
rbf            $\exp(-\gamma D^2)$ on the columns as given; $\gamma = 2 / \overline{D^2}$
linear         $XX^T$
cosine         the cosine of the angle between rows; 0 for a row of zeros
polynomial     $(\gamma XX^T + c_0)^{degree}$
=============  ===========================================================================

$D^2$ are the squared distances between rows and $\overline{D^2}$ is their mean over all $n^2$
pairs. Entries whose squares would overflow are divided by a constant first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize

from ..exceptions import InputError, is_number
from ..linalg.scaling import (
    dense,
    divide,
    mean_squared_distance,
    squared_norms,
    standardize,
    unit_of,
)

KERNELS: dict[str, tuple[str, ...]] = {
    "gaussian": (),
    "linear": (),
    "cosine": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
}
"""The kernels by name, with the names of their parameters."""

DISTANCE_KERNELS = ("gaussian", "rbf")


def fitted_kernel(kernel: Any, params: Mapping[str, Any], view: Any) -> NamedKernel | UserKernel:
    """Return the kernel, a name in `KERNELS` or a function, fitted to a view (n, f).

    Examples
    --------
    >>> fitted_kernel("gaussian", {}, np.array([[0.0], [1.0]])).matrix().round(4)
    array([[1.    , 0.0183],
           [0.0183, 1.    ]])
    """
    if callable(kernel):
        return UserKernel(kernel, params, view)
    return NamedKernel(kernel, params, view)


class NamedKernel:
    def __init__(self, kernel: str, params: Mapping[str, Any], view: Any) -> None:
        check_params(kernel, params)
        self.kernel = kernel
        self.fitted, self.scale = _scaling(kernel, params, view)
        self.params = {name: value for name, value in params.items() if value is not None}
        if kernel in DISTANCE_KERNELS:  # also raises where all samples are equal
            self.params = {"gamma": 2.0 / mean_squared_distance(self.fitted)} | self.params

    def matrix(self) -> np.ndarray:
        return self._pairwise(self.fitted, None)

    def rows(self, new: Any) -> tuple[np.ndarray, np.ndarray]:
        X = self.scale(new)
        return self._pairwise(X, self.fitted), self._diagonal(X)

    def _pairwise(self, X: Any, Y: Any) -> np.ndarray:
        name = {"gaussian": "rbf", "cosine": "linear"}.get(self.kernel, self.kernel)
        params = {"coef0": 1.0} | self.params if name == "polynomial" else self.params
        return np.asarray(pairwise_kernels(X, Y, metric=name, **params))

    def _diagonal(self, X: Any) -> np.ndarray:
        if self.kernel in DISTANCE_KERNELS:
            return np.ones(X.shape[0])
        norms = squared_norms(X)
        if self.kernel != "polynomial":
            return norms
        gamma = self.params.get("gamma", 1 / X.shape[1])
        inner = gamma * norms + self.params.get("coef0", 1.0)
        return np.asarray(inner ** self.params.get("degree", 3))


class UserKernel:
    """``function(X, **params)`` returns (n, n), ``function(new, fitted, **params)`` (b, n)."""

    def __init__(self, function: Callable[..., Any], params: Mapping[str, Any], view: Any) -> None:
        self.function, self.params, self.fitted = function, params, view

    def matrix(self) -> np.ndarray:
        try:
            return dense(self.function(self.fitted, **self.params))
        except TypeError as error:
            if not self.params:
                raise
            raise InputError(f"kernel parameters {dict(self.params)} do not fit: {error}") from None

    def rows(self, new: Any) -> tuple[np.ndarray, np.ndarray]:
        if not takes_two(self.function):
            raise InputError(
                "its kernel function takes one argument: rows of new samples need one of two, "
                "kernel(new, fitted), such as those in sklearn.metrics.pairwise"
            )
        K = dense(self.function(new, self.fitted, **self.params)).astype(np.float64)
        if K.shape != (new.shape[0], self.fitted.shape[0]):
            raise InputError(
                f"its kernel function returned shape {K.shape} for {new.shape[0]} new and "
                f"{self.fitted.shape[0]} fitted samples"
            )
        own = np.diagonal(dense(self.function(new, new, **self.params)))
        return K, own.astype(np.float64)


def check_params(kernel: str, params: Mapping[str, Any]) -> None:
    """Raise an InputError where a named kernel does not take the parameters.

    Examples
    --------
    >>> check_params("rbf", {"gamma": 0.1})
    >>> check_params("linear", {"gamma": 0.1})
    Traceback (most recent call last):
    mkclust.exceptions.InputError: kernel parameters {'gamma': 0.1} do not fit 'linear': it has none
    """
    known = KERNELS[kernel]
    if any(name not in known for name in params):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"kernel parameters {dict(params)} do not fit {kernel!r}: {has}")
    gamma, degree, coef0 = params.get("gamma"), params.get("degree", 3), params.get("coef0", 1.0)
    if gamma is not None and not (is_number(gamma) and gamma > 0):
        raise InputError(f"gamma must be positive, got {gamma!r}")
    if not (isinstance(degree, Integral) and int(degree) >= 1 and is_number(coef0) and coef0 >= 0):
        raise InputError(
            "a polynomial kernel is positive semi-definite only for a whole degree from 1 on and "
            f"coef0 >= 0, got degree={degree!r}, coef0={coef0!r}"
        )


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


def _scaling(kernel: str, params: Mapping[str, Any], view: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a view as the kernel takes it, and the function that scales other rows alike."""
    if kernel == "gaussian":
        return standardize(view)
    free = params.get("gamma") is None and kernel != "polynomial"  # the unit has no effect
    unit = unit_of(_floats(view)) if free else 1.0

    def scale(rows: Any) -> Any:
        X = _floats(rows) if unit == 1 else divide(_floats(rows), unit)
        return normalize(X) if kernel == "cosine" else X

    return scale(view), scale


def _floats(view: Any) -> Any:
    return view.astype(np.float64, copy=False)
