"""The diffusion map of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linalg.eigenpairs import leading_eigenpairs, with_fixed_signs

STEPS = 2  # diffusion time t; t = 1 keeps too much of what few views share, t = 4 too little
LEAST = 1e-3  # relative eigenvalue that every component keeps, so that none vanishes


@dataclass(frozen=True)
class DiffusionMap:
    r"""Eigenvectors `H` (n, D) of a graph, orthonormal, and `eigenvalues` (D,), descending."""

    H: np.ndarray
    eigenvalues: np.ndarray

    @property
    def embedding(self) -> np.ndarray:
        """Return the coordinates of all samples (n, D): eigenvectors times `diffusion_scales`."""
        return self.H * diffusion_scales(self.eigenvalues)


def diffusion_scales(eigenvalues: np.ndarray) -> np.ndarray:
    r"""Return $\max(\lambda_i/\lambda_1, 10^{-3})^t$ for descending eigenvalues (D,).

    No component is scaled to zero: k clusters of hardly more samples need all of them.
    """
    largest = max(eigenvalues[0], np.finfo(float).tiny)
    return np.asarray(np.maximum(eigenvalues / largest, LEAST) ** STEPS)


def n_components_for(n: int, k: int) -> int:
    """Return 2k + 1, the constant component included; for few samples half of them, at least k + 1.

    >>> n_components_for(1000, 10), n_components_for(6, 4)
    (21, 5)
    """
    return int(min(2 * k + 1, max(n // 2, k + 1), n))


def diffusion_map(graph: Any, size: int) -> DiffusionMap:
    r"""Embed the nodes of a degree-normalized graph S by $x_i \mapsto (\lambda_j^t h_{ij})_j$.

    $\lambda_j$ and $h_j$ are the `size` leading eigenpairs of S, and t = 2. For
    $S = \sum_p w_pS_p$ an eigenvalue is the weighted mean of $h_j^TS_ph_j$ over the views, so a
    component that few views support is short. More than k components are kept: where the k-th
    and the next eigenvalue are close, nothing depends on which of the two is larger.

    References
    ----------
    R. Coifman, S. Lafon. Diffusion maps. Applied and Computational Harmonic Analysis 21, 2006.

    Examples
    --------
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)) / 3)
    >>> diffusion_scales(diffusion_map(blocks, 2).eigenvalues).round(6)
    array([1., 1.])
    """
    values, H = leading_eigenpairs(graph, size)
    return DiffusionMap(with_fixed_signs(H), values)
