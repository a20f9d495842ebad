"""One view to one kernel matrix; centring and normalising; the bank that serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel

from .errors import InputError
from .graphs import neighbour_graph, self_tuning_graph
from .progress import step
from .scaling import (
    mean_squared_distance,
    rescaled,
    row_blocks,
    squared_distances,
    standardised,
)
from .views import MultiView

JITTER = 1e-12  # added to the centred diagonal before normalising; the published kernels rest on it
ASYMMETRY = 1e-8  # relative; beyond it a kernel is not symmetric "but for rounding"
INDEFINITE = 1e-8  # relative to the largest diagonal entry; how negative rounding can make it
SIDE_BY_SIDE = 128 << 20  # bytes: kernels up to this size are built on several cores at once
KEPT = 512 << 20  # bytes: kernels that fit in together are kept instead of built again


def gaussian(view: Any) -> np.ndarray:
    r"""Gaussian kernel at the scale of the data: $K = \exp(-2 D^2 / \overline{D^2})$.

    $D^2$ are squared distances of the z-scored rows, averaged over all $n^2$ pairs. One n x f
    product and one pass over n x n, built in place.

    >>> gaussian(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.0183],
           [0.0183, 1.    ]])
    """
    return _exponential(standardised(view), None)


def rbf(view: Any, gamma: float | None = None) -> np.ndarray:
    r"""$K = \exp(-\gamma D^2)$ on the columns as given, $\gamma$ = 2 / mean(D^2) unless given."""
    if gamma is not None and not gamma > 0:
        raise InputError(f"gamma must be positive, got {gamma}")
    return _exponential(rescaled(_floats(view)) if gamma is None else _floats(view), gamma)


def linear(view: Any) -> np.ndarray:
    """$K = XX^T$, up to the scale of X."""
    X = rescaled(_floats(view))
    return _dense(X @ X.T)


def cosine(view: Any) -> np.ndarray:
    """Cosine of the angle between rows; a zero row is similar to nothing."""
    return np.asarray(cosine_similarity(rescaled(_floats(view)), dense_output=True))


def polynomial(
    view: Any, degree: int = 3, gamma: float | None = None, coef0: float = 1.0
) -> np.ndarray:
    r"""$K = (\gamma XX^T + c_0)^{degree}$, $\gamma$ = 1/columns unless given."""
    if not (isinstance(degree, Integral) and degree >= 1 and coef0 >= 0) or (gamma or 1) <= 0:
        raise InputError(
            "a polynomial kernel is positive semi-definite only for a whole degree from 1 on, "
            f"coef0 >= 0 and gamma > 0, got degree={degree}, coef0={coef0}, gamma={gamma}"
        )
    return _dense(polynomial_kernel(_floats(view), degree=degree, gamma=gamma, coef0=coef0))


KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "gaussian": gaussian,
    "linear": linear,
    "cosine": cosine,
    "polynomial": polynomial,
    "rbf": rbf,
    "knn": neighbour_graph,
    "self-tuning": self_tuning_graph,
}


@dataclass(frozen=True)
class KernelRecipe:
    """How a view becomes a kernel: which function, then centring, then normalising.

    `kernel` is a name in ``KERNELS``, ``"precomputed"``, a callable from a view to an n x n
    matrix, or a dict (by view name) or list (by position) of those.
    """

    kernel: Any = "gaussian"
    params: Mapping[str, Any] = field(default_factory=dict)
    center: bool = True
    normalize: bool = True
    indefinite: str = "raise"

    def matrix(self, view: Any, name: str, kernel: Any) -> np.ndarray:
        """The kernel of one view: symmetric float64, centred and normalised as asked."""
        if isinstance(kernel, str) and kernel in KERNELS:
            # Symmetric and positive semi-definite by construction, and nobody else holds it.
            K = _called(KERNELS[kernel], view, name, self.params)
            _check_finite(K, name)
            return centred_and_normalised(K, self.center, self.normalize, name)
        given = _called(kernel, view, name, self.params) if callable(kernel) else _dense(view)
        K = _symmetric(given, name, n=view.shape[0])
        if self.indefinite != "ignore":
            shift = self.indefinite == "shift"
            _make_semidefinite(K, name, self.center, _rounding(given), shift)
        return centred_and_normalised(K, self.center, self.normalize, name)

    def for_views(self, names: Sequence[str]) -> list[Any]:
        """The kernel chosen for each view."""
        chosen = self.kernel
        if isinstance(chosen, Mapping):
            missing = [name for name in names if name not in chosen]
            surplus = [name for name in chosen if name not in names]
            if missing or surplus:
                raise InputError(
                    f"kernels are given for {', '.join(chosen)}, but the views are "
                    f"{', '.join(names)}"
                )
            kernels = [chosen[name] for name in names]
        elif isinstance(chosen, (list, tuple)):
            if len(chosen) != len(names):
                raise InputError(f"{len(chosen)} kernels given for {len(names)} views")
            kernels = list(chosen)
        else:
            kernels = [chosen] * len(names)
        for kernel in kernels:
            known = [*KERNELS, "precomputed"]
            if not callable(kernel) and not (isinstance(kernel, str) and kernel in known):
                raise InputError(
                    f"unknown kernel {kernel!r}; known are {', '.join(known)}, or give a callable"
                )
        return kernels


class KernelBank(Sequence[np.ndarray]):
    """The kernels of all views, each built when asked for.

    Kept for the next time only where all of them fit into `KEPT` bytes together; beyond that,
    iterating holds one n x n matrix at a time, and ``list(bank)`` holds all m of them.
    Whoever gets a kernel must not write to it.
    """

    def __init__(self, views: MultiView, recipe: KernelRecipe) -> None:
        self._views = views
        self._recipe = recipe
        self._kernels = recipe.for_views(views.names)
        self._keep = 8 * len(views) ** 2 * views.n_views <= KEPT
        # Two kernels and a few copies side by side; beyond that one, with BLAS on every core.
        self.at_once = len(views.names) if 8 * len(views) ** 2 <= SIDE_BY_SIDE else 1
        self._built: dict[int, np.ndarray] = {}
        self.names = views.names
        self.n_samples = len(views)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [self[p] for p in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        position %= len(self)
        if position in self._built:
            return self._built[position]
        name = self.names[position]
        step(f"kernel of {name}")
        K = self._recipe.matrix(self._views.views[position], name, self._kernels[position])
        if self._keep:
            self._built[position] = K
        return K

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[p] for p in range(len(self)))


def centred_and_normalised(
    K: np.ndarray, center: bool = True, normalize: bool = True, name: str = "kernel"
) -> np.ndarray:
    r"""Centre, then scale to unit diagonal, in place and in one pass.

    $K_{ij} \leftarrow (K_{ij} - r_i - r_j + \bar r) / \sqrt{K_{ii}K_{jj}}$ with $r$ the column
    means of K and 1e-12 added to the centred diagonal, less for kernels smaller than one, so
    that small units do not matter. A sample without any similarity left keeps a zero row.
    """
    size = float(np.abs(np.diagonal(K)).max())
    half = _half_means(K) if center else np.zeros(len(K))
    diagonal = np.diagonal(K) - 2 * half
    if diagonal.max() <= 1e-14 * size:
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    scale = np.ones(len(K))
    if normalize:
        diagonal = diagonal + JITTER * min(1.0, size)
        alive = diagonal > 0
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, diagonal, 1.0)), 0.0)
    for rows in row_blocks(K):
        block = K[rows]
        if center:
            block -= half[rows, None] + half
        if normalize:
            block *= scale[rows, None] * scale
    if normalize:
        np.fill_diagonal(K, scale > 0)
    return K


def _half_means(K: np.ndarray) -> np.ndarray:
    """What centring takes off is the outer sum of this, so that rounding stays symmetric."""
    mean = K.mean(axis=0)
    return np.asarray(mean - mean.mean() / 2)


def _called(kernel: Callable[..., Any], view: Any, name: str, params: Mapping[str, Any]) -> Any:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return _dense(kernel(view, **params))
    except InputError as error:
        raise InputError(f"view {name!r}: {error}") from None
    except TypeError as error:
        if params:
            raise InputError(f"kernel parameters {dict(params)} do not fit: {error}") from None
        raise


def _symmetric(given: np.ndarray, name: str, n: int) -> np.ndarray:
    """A copy in finite float64, symmetrised within the rounding of the type it came in."""
    if given.shape != (n, n) or given.dtype.kind not in "biuf":
        raise InputError(
            f"the kernel of view {name!r} must be {n} x {n} real numbers, got {given.dtype} "
            f"{given.shape}"
        )
    K = np.array(given, dtype=np.float64, order="C")
    peak = _check_finite(K, name)
    if peak > 1e100 or 0 < peak < 1e-100:
        K /= peak  # no eigenvector depends on the scale, but sums would overflow
        peak = 1.0
    worst = max(np.abs(K[rows] - K[:, rows].T).max() for rows in row_blocks(K))
    if worst > max(ASYMMETRY, 100 * _rounding(given)) * peak:
        i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise InputError(
            f"kernel {name!r} is not symmetric: entries ({i}, {j}) and ({j}, {i}) are "
            f"{K[i, j]:.6g} and {K[j, i]:.6g}, {worst:.3g} apart"
        )
    return (K + K.T) / 2 if worst > 0 else K


def _check_finite(K: np.ndarray, name: str) -> float:
    """The largest magnitude in K, which must be finite."""
    peak = float(max(K.max(), -K.min()))
    if not np.isfinite(peak):
        at = np.argwhere(~np.isfinite(K))
        raise InputError(
            f"the kernel of view {name!r} has {len(at)} entries that are not finite, the first at "
            f"{tuple(at[0].tolist())}: if the view's values are very large, scale its columns"
        )
    return peak


def _make_semidefinite(
    K: np.ndarray, name: str, center: bool, rounding: float, shift: bool
) -> None:
    """Refuse a kernel with negative eigenvalues beyond rounding, or add them to its diagonal.

    What counts is the kernel as it will be used: centring may make it definite. A Cholesky
    factorisation (n^3 / 3, two copies) decides; eigenvalues are computed only for a bad kernel.
    """
    used = K.copy()
    if center:
        half = _half_means(K)
        for rows in row_blocks(used):
            used[rows] -= half[rows, None] + half
    allowed = max(INDEFINITE, len(K) * rounding) * float(max(K.max(), -K.min()))
    factor = used.copy()
    factor.flat[:: len(K) + 1] += allowed
    if scipy.linalg.lapack.dpotrf(factor.T, overwrite_a=1, clean=0)[1] == 0:
        return
    lowest = scipy.linalg.eigvalsh(used, subset_by_index=[0, 0], overwrite_a=True)[0]
    if not shift:
        raise InputError(
            f"kernel {name!r} is indefinite: its smallest eigenvalue is {lowest:.3g}. Pass "
            'indefinite="shift" to add that much to the diagonal, or "ignore" to use it as it is'
        )
    K.flat[:: len(K) + 1] -= lowest


def _rounding(K: np.ndarray) -> float:
    """Relative precision of the type a kernel came in."""
    return float(np.finfo(K.dtype).eps) if K.dtype.kind == "f" else 0.0


def _exponential(X: Any, gamma: float | None) -> np.ndarray:
    mean = mean_squared_distance(X)
    rate = 2.0 / mean if gamma is None else gamma

    def transform(block: np.ndarray) -> np.ndarray:
        block *= -rate
        return np.exp(block, out=block)

    return squared_distances(X, transform)


def _floats(view: Any) -> Any:
    return view.astype(np.float64, copy=False)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
