r"""One graph to an embedding: more than k directions, each as long as the views agree on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..graphs.operator import leading_of_graph
from ..linalg.spectrum import with_fixed_signs

POWER = 2  # of the support; 1 keeps too much of what few graphs see, 4 too little
LEAST = 1e-3  # support that a direction is given even where the graph shows none


@dataclass(frozen=True)
class RollOff:
    """`H` (n, D) with orthonormal columns and `lengths` (D,), from 1 down to 0."""

    H: np.ndarray
    lengths: np.ndarray

    @property
    def embedding(self) -> np.ndarray:
        """What k-means sees, before its rows are brought to unit length: (n, D)."""
        return self.H * self.lengths


def directions_for(n: int, k: int) -> int:
    """2k + 1, the constant one among them; of few samples no more than half, and k + 1 at least.

    >>> directions_for(1000, 10), directions_for(6, 4)
    (21, 5)
    """
    return int(min(2 * k + 1, max(n // 2, k + 1), n))


def rolled_off(graph: sp.csr_array, size: int) -> RollOff:
    r"""Directions of $S = \sum_p w_p S_p$, scaled by $(\lambda_i/\lambda_1)^2$, not cut at k.

    $\lambda_i = \sum_p w_p \, h_i^TS_ph_i$ is the weighted mean of how well the views' graphs
    support direction $h_i$: one that only a noisy view has is short in the embedding, and where
    the k-th and the next are alike nothing hinges on which of them is kept.

    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3)) / 3))
    >>> rolled_off(blocks, 2).lengths.round(6)
    array([1., 1.])
    """
    values, H = leading_of_graph(graph, size)
    # Short, not gone: k clusters of hardly more samples need every direction to tell them apart.
    support = np.maximum(values / max(values[0], np.finfo(float).tiny), LEAST)
    return RollOff(with_fixed_signs(H), support**POWER)
