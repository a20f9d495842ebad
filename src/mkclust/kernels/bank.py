"""Build the kernels of all views: the function, then centering, then normalizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.values import COMPONENTS
from ..data.views import MultiView
from ..exceptions import InputError
from ..linalg.scaling import Centering, centering_of, dense
from ..progress import step
from .functions import KERNELS, fitted_kernel
from .given import check_kernel, largest_entry, scale_into_range

SIDE_BY_SIDE = 128 << 20  # bytes: kernels up to this size are built on several cores at once
KEPT = 512 << 20  # bytes: kernels that fit into this together are kept
PRECOMPUTED = "precomputed"


@dataclass(frozen=True)
class KernelRecipe:
    """Describe how a view becomes a kernel.

    Parameters
    ----------
    kernel : str, callable, dict or list
        A name in ``KERNELS``, ``"precomputed"``, a function from a view (n, f) to a matrix
        (n, n), or a dict (by view name) or list (by position) of those.
    params : mapping
        Parameters of the kernel. They apply to every view.
    center, normalize : bool
        Whether to center the kernel in feature space, and whether to scale its diagonal to one.
    indefinite : {"raise", "shift", "ignore"}
        What to do with a given kernel that has negative eigenvalues.
    """

    kernel: Any = "gaussian"
    params: Mapping[str, Any] = field(default_factory=dict)
    center: bool = True
    normalize: bool = True
    indefinite: str = "raise"

    def __post_init__(self) -> None:
        if not isinstance(self.params, Mapping):
            raise InputError(
                "kernel_params must be a dict of parameter names and values, such as "
                f'{{"gamma": 0.1}}, got {self.params!r}'
            )
        object.__setattr__(self, "params", dict(self.params))  # the caller may change theirs

    def build(self, view: Any, name: str, kernel: Any) -> tuple[np.ndarray, Centering]:
        """Return the kernel of one view and the centering to apply to rows of new samples.

        Parameters
        ----------
        view : array or sparse matrix of shape (n, f)
            The samples, or the kernel itself where `kernel` is ``"precomputed"``.
        name : str
            Name of the view, for messages.
        kernel : str or callable
            The kernel of this view.
        """
        if isinstance(kernel, str) and kernel in KERNELS:
            # The matrix is new, symmetric and positive semi-definite: no copy and no check.
            K = self._evaluate(kernel, view, name)
            unit, shift = scale_into_range(K, largest_entry(K, name)), 0.0
        else:
            given = self._evaluate(kernel, view, name) if callable(kernel) else dense(view)
            n = view.shape[0]
            K, unit, shift = check_kernel(given, name, n, self.indefinite, self.center)
        centering = centering_of(K, self.center, self.normalize, name)
        centering.apply(K)
        return K, replace(centering, unit=unit, shift=shift)

    def _evaluate(self, kernel: Any, view: Any, name: str) -> np.ndarray:
        """Return the matrix of a named kernel or of a user's function."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return fitted_kernel(kernel, self.params, view).matrix()
        except InputError as error:
            raise InputError(f"view {name!r}: {error}") from None

    def for_views(self, names: Sequence[str]) -> list[Any]:
        """Return the kernel of each view, a name or a function."""
        chosen = self.kernel
        if isinstance(chosen, Mapping):
            if set(chosen) != set(names):
                raise InputError(
                    f"kernels are given for {', '.join(map(str, chosen))}, but the views are "
                    f"{', '.join(names)}"
                )
            kernels = [chosen[name] for name in names]
        elif isinstance(chosen, (list, tuple)):
            if len(chosen) != len(names):
                raise InputError(f"{len(chosen)} kernels given for {len(names)} views")
            kernels = list(chosen)
        else:
            kernels = [chosen] * len(names)
        known = (*KERNELS, PRECOMPUTED)
        for kernel in kernels:
            if not callable(kernel) and not (isinstance(kernel, str) and kernel in known):
                raise InputError(
                    f"unknown kernel {kernel!r}; known are {', '.join(known)}, or give a callable"
                )
        return kernels


class KernelBank(Sequence[np.ndarray]):
    """The kernels of all views, each built on access.

    Components are in one unit, so that their Gaussian kernel is of the columns as given (rbf).

    The kernels are kept where all of them fit into `KEPT` bytes together. Otherwise each access
    builds the kernel again: an iteration holds one matrix at a time, and ``list(bank)`` holds all
    of them. A caller must not write to a kernel.

    Parameters
    ----------
    views : MultiView
        The m views of n samples.
    recipe : KernelRecipe
        How a view becomes a kernel.

    Attributes
    ----------
    names : tuple of str
        Names of the views.
    n_samples : int
        Number of samples, n.
    present : array of shape (n, m), or None
        Which samples each view holds, where not all. Kernel p is then (n_p, n_p).
    centerings : dict of int to Centering
        The centering of each kernel that has been built, by position.
    at_once : int
        How many kernels may be built in parallel.
    kept : bool
        Whether the bank keeps the kernels that it has built.
    views, params
        The views that the kernels are built of, and the parameters of the kernels.

    Examples
    --------
    >>> bank = KernelBank(MultiView([np.eye(3), np.eye(3)]), KernelRecipe("linear"))
    >>> len(bank), bank[0].shape
    (2, (3, 3))
    """

    def __init__(self, views: MultiView, recipe: KernelRecipe) -> None:
        views.require_no_gaps()
        self.views = views
        self._recipe = recipe
        self.params = recipe.params
        self._kernels = [
            "rbf" if kind == COMPONENTS and kernel == "gaussian" else kernel
            for kernel, kind in zip(recipe.for_views(views.names), views.kinds, strict=True)
        ]
        size = 8 * len(views) ** 2
        self.kept = size * views.n_views <= KEPT
        # Small kernels are built in parallel. A large one uses all cores in BLAS by itself.
        self.at_once = len(views.names) if size <= SIDE_BY_SIDE else 1
        self._built: dict[int, np.ndarray] = {}
        self.centerings: dict[int, Centering] = {}
        self.names = views.names
        self.n_samples = len(views)
        self.present = views.present

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> np.ndarray:  # type: ignore[override]
        if position in self._built:
            return self._built[position]
        name, kernel = self.names[position], self._kernels[position]
        step(f"kernel of {name}")
        view = self.views.own_rows(position)
        K, self.centerings[position] = self._recipe.build(view, name, kernel)
        if self.kept:
            self._built[position] = K
        return K

    def mean(self) -> np.ndarray:
        """Return the mean (n, n) of every entry over the views that hold both samples; 0 if none.

        One kernel is in memory at a time.
        """
        total, count = np.zeros((self.n_samples, self.n_samples)), np.array(len(self))
        if self.present is not None:
            held = self.present.astype(np.int64)
            count = np.maximum(held @ held.T, 1)
        for p, K in enumerate(self):
            every = slice(None) if self.present is None else np.ix_(*[self.present[:, p]] * 2)
            total[every] += K
        total /= count
        return total

    def ingredients(self, position: int) -> tuple[Any, Any, Centering]:
        """Return what an out-of-sample extension needs of a kernel.

        Returns
        -------
        kernel : str or callable
        view : array or sparse matrix of shape (n_p, f_p), or None
            The samples that the view holds; None where the kernel was given.
        centering : Centering
        """
        if position not in self.centerings:
            self[position]
        kernel = self._kernels[position]
        given = isinstance(kernel, str) and kernel == PRECOMPUTED
        view = None if given else self.views.own_rows(position)
        return kernel, view, self.centerings[position]

    def key(self, position: int) -> tuple[Any, ...]:
        """Return what the kernel of one view depends on; equal keys mean equal kernels."""
        present = None if self.present is None else self.present[:, position].tobytes()
        params = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in self.params.items()}
        recipe = replace(self._recipe, kernel=self._kernels[position], params=params)
        return "kernel", id(self.views.views[position]), present, self.views.kernels, recipe
