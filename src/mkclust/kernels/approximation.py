"""Decide when kernels are approximated by explicit features, and check the settings for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..data.memory import physical_memory
from ..exceptions import InputError
from .features import COMPONENTS, EXPLICIT
from .functions import check_params

IN_MEMORY_UP_TO = 20_000  # samples: beyond this, exact n x n kernels take too long
KERNEL_COPIES = 3  # n x n matrices that an exact fit may hold at a time
GRAPH_COMPONENTS = 3  # times k: eigenvectors of a sparse neighbor graph


def fits_in_memory(n_samples: int) -> bool:
    """Return whether exact kernels can be used.

    They can for up to 20 000 samples, if three n x n matrices fit into half of the memory.

    Examples
    --------
    >>> fits_in_memory(1_000), fits_in_memory(1_000_000)
    (True, False)
    """
    return (
        n_samples <= IN_MEMORY_UP_TO and 8 * n_samples**2 * KERNEL_COPIES <= physical_memory() / 2
    )


@dataclass(frozen=True)
class Approximation:
    """The settings of kernels that are approximated by explicit features.

    Attributes
    ----------
    kernels : tuple of str
        The kernel of each view, a name in `EXPLICIT`.
    params : mapping
        Parameters of the kernels.
    center, normalize : bool
        Whether the features are centered, and whether their rows are scaled to unit length.
    method : {"nystroem", "fourier"}
        How features are made.
    n_components : int
        Number of landmark rows, or of Fourier features.
    seed : int
        Seed of the random choice of landmarks or frequencies.
    graph_size : int
        Number of eigenvectors of a neighbor graph; 0 without one.
    """

    kernels: tuple[str, ...]
    params: Mapping[str, Any]
    center: bool
    normalize: bool
    method: str
    n_components: int
    seed: int
    graph_size: int = 0

    @classmethod
    def checked(
        cls,
        kernels: Sequence[Any],
        method: str,
        n_components: Any,
        k: int,
        **settings: Any,
    ) -> Approximation:
        """Return the settings, or raise an InputError that names the wrong one.

        Parameters
        ----------
        kernels : sequence of str or callable
            The kernel of each view.
        method : str
            As the attribute.
        n_components : int or None
            None takes the larger of 300 and 4 k.
        k : int
            Number of clusters.
        **settings
            The attributes `params`, `center`, `normalize` and `seed`.
        """
        odd = [kernel for kernel in kernels if kernel not in EXPLICIT]
        if odd:
            raise InputError(
                f"kernel {odd[0]!r} has no explicit features; large data need one of "
                f"{', '.join(EXPLICIT)}, or approximation=None and n x n memory"
            )
        for kernel in {*kernels}:
            check_params(kernel, settings["params"])
        if n_components is None:
            n_components = max(COMPONENTS, 4 * k)
        if not isinstance(n_components, Integral) or n_components < k:
            raise InputError(
                f"n_components must be a whole number from {k} (k) on, got {n_components!r}"
            )
        r = int(n_components)
        graph_size = min(r, GRAPH_COMPONENTS * k) if "knn" in kernels else 0
        return cls(tuple(kernels), method=method, n_components=r, graph_size=graph_size, **settings)
