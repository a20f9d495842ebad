r"""One graph to an embedding: more than k directions, each as long as the views agree on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from .errors import InputError
from .progress import step
from .spectrum import with_fixed_signs

DENSE_UP_TO = 900  # samples; below it one LAPACK call is cheaper than Lanczos
POWER = 2  # of the support; 1 keeps too much of what few graphs see, 4 too little
TOLERANCE = 1e-6  # relative; residual of an eigenvector


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
    """2k + 1, the constant one among them, but no more than half of all there are.

    >>> directions_for(1000, 10), directions_for(6, 4)
    (21, 3)
    """
    return int(max(1, min(2 * k + 1, n // 2)))


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
    support = np.maximum(values, 0.0) / max(values[0], np.finfo(float).tiny)
    return RollOff(H, support**POWER)


def leading_of_graph(graph: sp.csr_array, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The `size` largest eigenvalues (descending) and vectors (n, size) of a sparse matrix.

    Lanczos from a fixed start, so that equal input gives equal output: O(nnz + n size) a step
    and n x 2 size memory. Small graphs, or a large share of the directions, go to LAPACK.
    """
    n = graph.shape[0]
    if n <= DENSE_UP_TO or size > n // 6:
        values, vectors = scipy.linalg.eigh(graph.toarray(), subset_by_index=[n - size, n - 1])
    else:
        step(f"{size} eigenvectors of a sparse graph")
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(
                graph, k=size, which="LA", v0=start, tol=TOLERANCE, ncv=max(2 * size + 1, 40)
            )
        except ArpackNoConvergence as error:
            raise InputError(
                f"only {len(error.eigenvalues)} of {size} eigenvectors of a neighbour graph were "
                "found: the samples may fall apart into many pieces; try another kernel"
            ) from None
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    return values[::-1].copy(), with_fixed_signs(vectors[:, ::-1])
