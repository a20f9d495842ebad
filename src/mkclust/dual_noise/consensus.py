"""The consensus partition H* of the kept subspaces (section 3.3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..agreement.overlap import Overlap
from ..agreement.subspaces import SpectraInMemory, Subspaces
from ..linalg.spectrum import extreme_pairs, with_fixed_signs
from ..progress import step
from .incomplete import completed_partition

ORTHONORMAL = 1e-10  # largest deviation of H*'H* from the identity before a thin SVD replaces it
SHARED = 1e-12  # relative; a smaller squared singular value is rounding


@dataclass(frozen=True)
class Consensus:
    """H* with orthonormal columns, and the singular values (k,) of $[U_1 \\ldots U_m]$.

    `H` is an (n, k) array, or what ``Subspaces.embed`` returns for rows that are read in chunks.
    `W` (sum d, rank) has $H = UW$. Where the kept eigenvectors span fewer than k dimensions, the
    columns of an array beyond are zero and so are the singular values.
    """

    H: Any
    W: np.ndarray
    singular_values: np.ndarray

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.singular_values))


def consensus(
    subspaces: Subspaces, dimensions: Sequence[int] | np.ndarray, k: int, overlap: Overlap
) -> Consensus:
    r"""Compute the partition closest to all kept subspaces.

    $$\max_{H^TH = I_k} \sum_p \|H^TU_p\|_F^2$$

    H* are the k leading left singular vectors of $U = [U_1 \ldots U_m]$, computed through
    $G = U^TU$, which the overlaps contain: $H = UW\Lambda^{-1/2}$. O(n k sum(d)) time, no n x n
    matrix. Views that lack samples go to `completed_partition`.

    Examples
    --------
    >>> from mkclust.agreement.subspaces import KernelSubspaces
    >>> kernel = np.diag([3.0, 2, 0, 0])
    >>> spaces = KernelSubspaces([kernel, kernel], ["a", "b"])
    >>> spaces.grow(2)
    >>> found = consensus(spaces, [2, 1], 1, spaces.overlap(1))
    >>> np.abs(found.H).ravel(), found.singular_values.round(6)
    (array([1., 0., 0., 0.]), array([1.414214]))
    """
    step("consensus")
    d = np.asarray(dimensions)
    W, values = coefficients(d, k, overlap)
    if subspaces.present is not None:
        H, values = completed_partition(subspaces, d, k)  # type: ignore[arg-type]
    else:
        H = subspaces.embed(d, W)
    if isinstance(H, np.ndarray):
        if np.abs(H.T @ H - np.eye(H.shape[1])).max() > ORTHONORMAL:
            H, values = _thin_svd(subspaces, d, H.shape[1])  # type: ignore[arg-type]
        H = np.pad(with_fixed_signs(H), ((0, 0), (0, k - H.shape[1])))
    return Consensus(H, W, np.pad(values, (0, k - len(values))))


def coefficients(
    dimensions: Sequence[int] | np.ndarray, k: int, overlap: Overlap
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return $W\Lambda^{-1/2}$ (sum d, rank) and $\Lambda^{1/2}$ (rank,), O(k sum(d)^2), no n.

    They come from the k leading eigenpairs of $G = U^TU$. The rank is below k where the kept
    eigenvectors span fewer dimensions.
    """
    kept = overlap.columns(dimensions)
    G = overlap.cross[np.ix_(kept, kept)]
    squares, W = extreme_pairs(G, min(k, len(kept)))
    rank = int(np.count_nonzero(squares > SHARED * squares[0]))
    return W[:, :rank] / np.sqrt(squares[:rank]), np.sqrt(squares[:rank])


def _thin_svd(
    subspaces: SpectraInMemory, d: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Replace the eigenvectors of G, whose condition is the square of that of U."""
    H, values, _ = scipy.linalg.svd(np.hstack(subspaces.heads(d)), full_matrices=False)
    return H[:, :rank], values[:rank]
