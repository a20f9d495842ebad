"""When kernels are approximated, and by what: the settings of the large-n route, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from .bank import KERNELS
from .features import COMPONENTS, EXPLICIT

IN_MEMORY_UP_TO = 20_000  # rows: the n x n kernels of the exact route end about here
GRAPHS_UP_TO = 100_000  # rows: a minute or two for the neighbours of a few narrow views
EDGES = 200  # per row and view, in a pooled neighbour graph and what it is made from
KERNEL_COPIES = 3  # n x n matrices that the exact route may hold at a time
GRAPH_DIRECTIONS = 3  # times k: eigenvectors of a sparse neighbour graph


def fits_in_memory(n_samples: int) -> bool:
    """Whether the exact route can be taken: n up to 20 000, and three kernels in half the memory.

    >>> fits_in_memory(1_000), fits_in_memory(1_000_000)
    (True, False)
    """
    return (
        n_samples <= IN_MEMORY_UP_TO and 8 * n_samples**2 * KERNEL_COPIES <= physical_memory() / 2
    )


def graphs_fit(n_samples: int, widths: Sequence[int]) -> bool:
    """Whether neighbour graphs of all views can be made: up to 100 000 rows, in half the memory.

    >>> graphs_fit(1_000, [20, 30]), graphs_fit(10_000_000, [20, 30])
    (True, False)
    """
    graphs = 16 * EDGES * (len(widths) + 1)
    copies = 8 * 6 * sum(widths)  # the views, their geometries, and all of them side by side
    return n_samples <= GRAPHS_UP_TO and n_samples * (graphs + copies) <= physical_memory() / 2


def physical_memory() -> float:
    """Bytes of memory in this machine, or allowed to this container; infinite where unknown."""
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        total = np.inf
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return min(total, float(allowed)) if allowed != "max" else total
    except (OSError, ValueError):
        return total


@dataclass(frozen=True)
class Approximation:
    """How kernels become features: settings of the route, checked."""

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
        odd = [kernel for kernel in kernels if kernel not in EXPLICIT]
        if odd:
            raise InputError(
                f"kernel {odd[0]!r} has no explicit features; large data take one of "
                f"{', '.join(EXPLICIT)}, or approximation=None and n x n memory"
            )
        for kernel in {*kernels}:
            _check_params(kernel, settings["params"])
        if n_components is None:
            n_components = max(COMPONENTS, 4 * k)
        if not isinstance(n_components, Integral) or n_components < k:
            raise InputError(
                f"n_components must be a whole number from {k} (k) on, got {n_components!r}"
            )
        r = int(n_components)
        graph_size = min(r, GRAPH_DIRECTIONS * k) if "knn" in kernels else 0
        return cls(tuple(kernels), method=method, n_components=r, graph_size=graph_size, **settings)


def _check_params(kernel: str, params: Mapping[str, Any]) -> None:
    """What the exact kernel refuses is refused here: it is tried on three rows."""
    try:
        KERNELS[kernel](np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]), **params)
    except TypeError as error:
        raise InputError(f"kernel parameters {dict(params)} do not fit: {error}") from None
