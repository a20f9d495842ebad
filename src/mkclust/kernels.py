"""One view to one kernel matrix; centring and normalising; the bank that serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel

from .errors import InputError
from .graphs import neighbour_graph, self_tuning_graph
from .progress import step
from .scaling import rescaled, squared_distances, standardised
from .views import MultiView

JITTER = 1e-12  # added to the centred diagonal before normalising; the published kernels rest on it
ASYMMETRY = 1e-8  # relative; beyond it a kernel is not symmetric "but for rounding"
INDEFINITE = 1e-8  # relative to the largest diagonal entry; how negative rounding can make it
BLOCK = 1 << 20  # entries handled at a time in elementwise passes, so that they stay in cache


def gaussian(view: Any) -> np.ndarray:
    r"""Gaussian kernel at the scale of the data: $K = \exp(-2 D^2 / \overline{D^2})$.

    $D^2$ are squared distances of the z-scored rows, averaged over all $n^2$ pairs. One n x f
    product and one pass over n x n, built in place.

    >>> gaussian(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.0183],
           [0.0183, 1.    ]])
    """
    squared = squared_distances(standardised(view))
    return _exponential(squared, 2.0 / squared.mean())


def rbf(view: Any, gamma: float) -> np.ndarray:
    r"""$K = \exp(-\gamma D^2)$ on the columns as given."""
    if not gamma > 0:
        raise InputError(f"gamma must be positive, got {gamma}")
    return _exponential(squared_distances(_floats(view)), gamma)


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
            K = _called(KERNELS[kernel], view, name, self.params)
            trusted = True  # positive semi-definite by construction
        elif callable(kernel):
            K = _called(kernel, view, name, self.params)
            trusted = False
        else:
            K = _dense(view)
            trusted = False
        K = _symmetric(K, name, n=view.shape[0], may_overwrite=kernel != "precomputed")
        if trusted or self.indefinite == "ignore":
            return centred_and_normalised(K, self.center, self.normalize, name)
        K = centred_and_normalised(K, self.center, False, name)
        K = _semidefinite(K, name, shift=self.indefinite == "shift")
        return centred_and_normalised(K, False, self.normalize, name)

    def for_view(self, position: int, name: str) -> Any:
        """The kernel chosen for one view."""
        kernel = self.kernel
        if isinstance(kernel, Mapping):
            if name not in kernel:
                raise InputError(f"no kernel given for view {name!r}; got {', '.join(kernel)}")
            kernel = kernel[name]
        elif isinstance(kernel, (list, tuple)):
            if position >= len(kernel):
                raise InputError(f"{len(kernel)} kernels given, none for view {name!r}")
            kernel = kernel[position]
        if not callable(kernel) and kernel != "precomputed" and kernel not in KERNELS:
            known = ", ".join([*KERNELS, "precomputed"])
            raise InputError(f"unknown kernel {kernel!r}; known are {known}, or give a callable")
        return kernel


class KernelBank(Sequence[np.ndarray]):
    """The kernels of all views, each built when asked for and not kept.

    Iterating it holds one n x n matrix at a time; ``list(bank)`` holds all m of them.
    """

    def __init__(self, views: MultiView, recipe: KernelRecipe) -> None:
        self._views = views
        self._recipe = recipe
        self._kernels = [recipe.for_view(p, name) for p, name in enumerate(views.names)]
        self.names = views.names
        self.n_samples = len(views)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [self[p] for p in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        name = self.names[position]
        step(f"kernel of {name}")
        return self._recipe.matrix(self._views.views[position], name, self._kernels[position])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[p] for p in range(len(self)))


def centred_and_normalised(
    K: np.ndarray, center: bool = True, normalize: bool = True, name: str = "kernel"
) -> np.ndarray:
    r"""Centre, then scale to unit diagonal, in place and in one pass.

    $K_{ij} \leftarrow (K_{ij} - r_i - r_j + \bar r) / \sqrt{K_{ii}K_{jj}}$ with $r$ the column
    means of K and 1e-12 added to the centred diagonal. A sample without any similarity left
    keeps a zero row instead of NaN.
    """
    if not (center or normalize):
        return K
    mean = K.mean(axis=0) if center else np.zeros(len(K))
    half = mean - mean.mean() / 2  # r_i + r_j - mean(r), shared evenly: stays symmetric in rounding
    diagonal = np.diagonal(K) - 2 * half
    if center and diagonal.max() <= 1e-14 * max(np.abs(mean).max(), np.finfo(float).tiny):
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    scale = np.ones(len(K))
    if normalize:
        diagonal = diagonal + JITTER
        alive = diagonal > 0
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, diagonal, 1.0)), 0.0)
    for rows in _row_blocks(K):
        block = K[rows]
        if center:
            block -= half[rows, None] + half
        if normalize:
            block *= scale[rows, None] * scale
    if normalize:
        np.fill_diagonal(K, scale > 0)
    return K


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


def _symmetric(K: np.ndarray, name: str, n: int, may_overwrite: bool) -> np.ndarray:
    if K.shape != (n, n):
        raise InputError(f"the kernel of view {name!r} must be {n} x {n}, got {K.shape}")
    peak = np.abs(K).max()
    if not np.isfinite(peak):
        raise InputError(f"the kernel of view {name!r} overflows: scale the view's columns")
    K = np.array(K, dtype=np.float64, copy=None if may_overwrite else True)
    if peak > 1e100 or 0 < peak < 1e-100:
        K /= peak  # no eigenvector depends on the scale, but sums would overflow
        peak = 1.0
    worst = max(np.abs(K[rows] - K[:, rows].T).max() for rows in _row_blocks(K))
    if worst > ASYMMETRY * peak:
        i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise InputError(
            f"kernel {name!r} is not symmetric: entries ({i}, {j}) and ({j}, {i}) are "
            f"{K[i, j]:.6g} and {K[j, i]:.6g}"
        )
    return (K + K.T) / 2 if worst > 0 else K


def _semidefinite(K: np.ndarray, name: str, shift: bool) -> np.ndarray:
    """K itself if positive semi-definite within rounding; else shifted, or refused."""
    allowed = INDEFINITE * max(np.diagonal(K).max(), np.finfo(float).tiny)
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += allowed
    _, failed_at = scipy.linalg.lapack.dpotrf(shifted, overwrite_a=1, clean=0)
    if failed_at == 0:
        return K
    lowest = scipy.linalg.eigvalsh(K, subset_by_index=[0, 0])[0]
    if not shift:
        raise InputError(
            f"kernel {name!r} is indefinite: its smallest eigenvalue is {lowest:.3g}. Pass "
            'indefinite="shift" to add that much to the diagonal, or "ignore" to use it as it is'
        )
    K.flat[:: len(K) + 1] -= lowest
    return K


def _exponential(squared: np.ndarray, rate: float) -> np.ndarray:
    for rows in _row_blocks(squared):
        block = squared[rows]
        block *= -rate
        np.exp(block, out=block)
    return squared


def _row_blocks(K: np.ndarray) -> Iterator[slice]:
    height = max(1, BLOCK // max(1, len(K)))
    return (slice(start, start + height) for start in range(0, len(K), height))


def _floats(view: Any) -> Any:
    return view.astype(np.float64, copy=False)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
