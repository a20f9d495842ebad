"""One view to one kernel matrix; centring and normalising; the bank that serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel

from ..data.views import MultiView
from ..exceptions import InputError
from ..graphs.affinity import ALL_DISTANCES_UP_TO, MOST, pooled_graph
from ..graphs.dense import checked_neighbours, neighbour_graph, self_tuning_graph
from ..graphs.metrics import Geometry, condensed, geometries
from ..graphs.operator import GraphKernel
from ..linalg.centering import Centring, centring
from ..linalg.scaling import mean_squared_distance, rescaled, squared_distances, standardised
from ..progress import step
from .given import brought_into_range, largest_entry, make_semidefinite, rounding, symmetric

SIDE_BY_SIDE = 128 << 20  # bytes: kernels up to this size are built on several cores at once
KEPT = 512 << 20  # bytes: kernels that fit in together are kept instead of built again


def gaussian(view: Any, dtype: Any = np.float64) -> np.ndarray:
    r"""Gaussian kernel at the scale of the data: $K = \exp(-2 D^2 / \overline{D^2})$.

    $D^2$ are squared distances of the z-scored rows, averaged over all $n^2$ pairs. One n x f
    product and one pass over n x n, built in place, in the precision of `dtype`.

    >>> gaussian(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.0183],
           [0.0183, 1.    ]])
    """
    return _exponential(standardised(view), None, dtype)


def rbf(view: Any, gamma: float | None = None, dtype: Any = np.float64) -> np.ndarray:
    r"""$K = \exp(-\gamma D^2)$ on the columns as given, $\gamma$ = 2 / mean(D^2) unless given."""
    if gamma is not None and not gamma > 0:
        raise InputError(f"gamma must be positive, got {gamma}")
    X = rescaled(_floats(view)) if gamma is None else _floats(view)
    return _exponential(X, gamma, dtype)


def linear(view: Any, dtype: Any = np.float64) -> np.ndarray:
    """$K = XX^T$, up to the scale of X."""
    X = rescaled(_floats(view)).astype(dtype, copy=False)
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
AUTO = "auto"  # the pooled neighbour graph of a view, or of a given kernel
IN_ANY_PRECISION = ("gaussian", "linear", "rbf")  # the others are built in double, then rounded


@dataclass(frozen=True)
class KernelRecipe:
    """How a view becomes a kernel: which function, then centring, then normalising.

    `kernel` is a name in ``KERNELS``, ``"auto"``, ``"precomputed"``, a callable from a view to an
    n x n matrix, or a dict (by view name) or list (by position) of those. `single` says that the
    result is float32, which halves memory and is rounded to some 1e-7 of its largest entries;
    `given` that the views are kernels already.
    """

    kernel: Any = "gaussian"
    params: Mapping[str, Any] = field(default_factory=dict)
    center: bool = True
    normalize: bool = True
    indefinite: str = "raise"
    single: bool = False
    given: bool = False

    @property
    def dtype(self) -> Any:
        return np.float32 if self.single else np.float64

    @property
    def span(self) -> float:
        """Entries up to this, and down to one over it, have squares that can be summed."""
        return 1e15 if self.single else 1e100

    def matrix(self, view: Any, name: str, kernel: Any) -> np.ndarray:
        """The kernel of one view: symmetric, centred and normalised as asked."""
        return self.built(view, name, kernel)[0]

    def built(self, view: Any, name: str, kernel: Any) -> tuple[np.ndarray, Centring]:
        """The kernel, and what was done to it, to be done to rows of new samples."""
        unit, shift = 1.0, 0.0
        if _is_auto(kernel):
            graph = self.graph(self.geometries(view, name), name)
            return graph.toarray().astype(self.dtype, copy=False), graph.centring
        if isinstance(kernel, str) and kernel in KERNELS:
            # Symmetric and positive semi-definite by construction, and nobody else holds it.
            build = KERNELS[kernel]
            if kernel in IN_ANY_PRECISION:
                build = partial(build, dtype=self.dtype)
            K = _called(build, view, name, self.params)
            unit = brought_into_range(K, largest_entry(K, name), self.span)
        else:
            given = _called(kernel, view, name, self.params) if callable(kernel) else _dense(view)
            K, unit = symmetric(given, name, view.shape[0], self.span)
            if self.indefinite != "ignore":
                wanted = self.indefinite == "shift"
                shift = make_semidefinite(K, name, self.center, rounding(given), wanted)
        done = centring(K, self.center, self.normalize, name)
        done.apply(K)
        return K.astype(self.dtype, copy=False), replace(done, unit=unit, shift=shift)

    def geometries(self, view: Any, name: str) -> tuple[Geometry, ...]:
        """In which senses samples are near each other in a view, or in a given kernel."""
        if self.given:
            view = symmetric(_dense(view), name, view.shape[0], self.span)[0]
        found = geometries(view, name, self.given)
        return condensed(found) if view.shape[0] <= ALL_DISTANCES_UP_TO else found

    def graph(self, parts: Sequence[Geometry], name: str) -> GraphKernel:
        """The pooled neighbour graph of a view's geometries, as a kernel."""
        count = checked_neighbours(self.params.get("n_neighbors", MOST), parts[0].n_samples)
        return GraphKernel(pooled_graph(parts, count, name), self.center, self.normalize)

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
            known = [AUTO, *KERNELS, "precomputed"]
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
        size = np.dtype(recipe.dtype).itemsize * len(views) ** 2
        self._keep = size * views.n_views <= KEPT
        # Two kernels and a few copies side by side; beyond that one, with BLAS on every core.
        self.at_once = len(views.names) if size <= SIDE_BY_SIDE else 1
        self._built: dict[int, np.ndarray] = {}
        self._graphs: dict[int, GraphKernel] = {}
        self._geometries: dict[int, tuple[Geometry, ...]] = {}
        self.centrings: dict[int, Centring] = {}  # what was done to each kernel built so far
        self.names = views.names
        self.n_samples = len(views)
        self.present = views.present  # where not None, kernel p is n_p x n_p

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
        name, kernel = self.names[position], self._kernels[position]
        if _is_auto(kernel):
            K = self.graph(position).toarray().astype(self._recipe.dtype, copy=False)
        else:
            step(f"kernel of {name}")
            view = self._views.own_rows(position)
            K, self.centrings[position] = self._recipe.built(view, name, kernel)
        if self._keep:
            self._built[position] = K
        return K

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[p] for p in range(len(self)))

    def graph(self, position: int) -> GraphKernel:
        """The graph behind a kernel ``"auto"``: sparse, and kept."""
        if position not in self._graphs:
            parts = self.geometries(position)
            self._graphs[position] = self._recipe.graph(parts, self.names[position])
            self.centrings[position] = self._graphs[position].centring
        return self._graphs[position]

    def geometries(self, position: int) -> tuple[Geometry, ...]:
        """Where such a graph looks for neighbours: kept up to `KEPT` bytes of all views."""
        if position in self._geometries:
            return self._geometries[position]
        name, view = self.names[position], self._views.own_rows(position)
        found = self._recipe.geometries(view, name)
        held = {id(part): part for parts in (*self._geometries.values(), found) for part in parts}
        if sum(part.nbytes for part in held.values()) <= KEPT:
            self._geometries[position] = found
        return found

    def operator(self, position: int) -> np.ndarray | GraphKernel:
        """What eigenvectors are computed of: the matrix, or a graph that stands for it."""
        return self.graph(position) if _is_auto(self._kernels[position]) else self[position]

    @property
    def kept(self) -> bool:
        """Whether a kernel that was built once is built no more."""
        return self._keep

    @property
    def pooled(self) -> bool:
        """Whether every kernel is a pooled neighbour graph."""
        return all(map(_is_auto, self._kernels))

    @property
    def views(self) -> MultiView:
        return self._views

    @property
    def params(self) -> Mapping[str, Any]:
        return self._recipe.params

    def ingredients(self, position: int) -> tuple[Any, Any, Centring]:
        """What a kernel was made of: its name or function, the view's own rows, its centring.

        No rows of a view that is a kernel itself.
        """
        if position not in self.centrings:
            self.operator(position)
        kernel, done = self._kernels[position], self.centrings[position]
        given = isinstance(kernel, str) and kernel == "precomputed"
        return kernel, None if given else self._views.own_rows(position), done

    def serves(self, other: KernelBank) -> bool:
        """Whether the other bank would build the same kernels, of the very same views."""
        return self._views is other._views and self._recipe == other._recipe


def _is_auto(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel == AUTO


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


def _exponential(X: Any, gamma: float | None, dtype: Any) -> np.ndarray:
    mean = mean_squared_distance(X)  # also says so where all samples are the same
    rate = 2.0 / mean if gamma is None else gamma
    X = X.astype(dtype, copy=False)
    return squared_distances(X, -rate, lambda block: np.exp(block, out=block))


def _floats(view: Any) -> Any:
    return view.astype(np.float64, copy=False)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
