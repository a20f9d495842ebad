"""Spectra and dimensions to the consensus partition H*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dgemm

from ..agreement.overlap import Overlap
from ..data.missing import completed_partition
from ..linalg.spectrum import Spectrum, covered, extreme_pairs, with_fixed_signs
from ..progress import step

ORTHONORMAL = 1e-10  # how far H*'H* may be from the identity before the thin SVD takes over
SHARED = 1e-12  # relative; a direction of smaller singular value squared is rounding


@dataclass(frozen=True)
class Consensus:
    """H* (n, k) with orthonormal columns, and the singular values (k,) of [U_1 ... U_m].

    Where the kept directions span fewer than k dimensions, the columns beyond are zero.
    """

    H: np.ndarray
    singular_values: np.ndarray

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.singular_values))


@dataclass(frozen=True)
class Coefficients:
    """H* in terms of the kept directions: $H = UW$, W (sum d, rank); singular values (rank,)."""

    W: np.ndarray
    singular_values: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.singular_values)


def coefficients(dimensions: Sequence[int] | np.ndarray, k: int, overlap: Overlap) -> Coefficients:
    r"""$W\Lambda^{-1/2}$ from the k leading eigenpairs of $G = U^TU$: O(k sum(d)^2), no n.

    Fewer than k where the kept directions span fewer dimensions.
    """
    kept = overlap.columns(dimensions)
    size = min(k, len(kept))
    G = overlap.cross[np.ix_(kept, kept)]
    squares, W = extreme_pairs(G, size)
    rank = int(np.count_nonzero(squares > SHARED * squares[0]))
    return Coefficients(W[:, :rank] / np.sqrt(squares[:rank]), np.sqrt(squares[:rank]))


def consensus(
    spectra: Sequence[Spectrum], dimensions: Sequence[int] | np.ndarray, k: int, overlap: Overlap
) -> Consensus:
    r"""Partition closest to all kept subspaces: $\max_{H^TH = I_k} \sum_p \|H^TU_p\|_F^2$ (§3.3).

    H* are the k leading left singular vectors of $U = [U_1 \ldots U_m]$, taken through
    $G = U^TU$ (known from the overlaps): $H = UW\Lambda^{-1/2}$. O(n k sum(d)), no n x n matrix.
    Squaring the condition can cost orthonormality, so it is checked, and a thin SVD of U
    replaces the short cut where it is poor. Where views lack samples, `completed_partition`
    finds H* from what is there.

    >>> from mkclust.agreement.overlap import overlap
    >>> V = Spectrum(np.eye(4)[:, :2], np.ones(2), True)
    >>> found = consensus([V, V], [2, 1], 1, overlap([V, V]))
    >>> np.abs(found.H).ravel(), found.singular_values.round(6)
    (array([1., 0., 0., 0.]), array([1.414214]))
    """
    present = covered(spectra)
    if present is not None:
        return _of_incomplete(spectra, dimensions, k, present)
    step("consensus")
    found = coefficients(dimensions, k, overlap)
    values, rank = found.singular_values, found.rank
    U = [spectrum.vectors[:, :d] for spectrum, d in zip(spectra, dimensions, strict=True)]
    parts = np.split(found.W, np.cumsum(dimensions)[:-1])
    H = np.zeros((len(U[0]), rank), order="F")
    for U_p, part in zip(U, parts, strict=True):
        H = dgemm(1.0, U_p, part, beta=1.0, c=H, overwrite_c=True)  # a sum without its terms
    if np.abs(H.T @ H - np.eye(rank)).max() > ORTHONORMAL:
        H, values = _thin_svd(U, rank)
    return Consensus(_padded(with_fixed_signs(H), k), np.pad(values, (0, k - rank)))


def _of_incomplete(
    spectra: Sequence[Spectrum],
    dimensions: Sequence[int] | np.ndarray,
    k: int,
    present: np.ndarray,
) -> Consensus:
    H, values = completed_partition(spectra, dimensions, k, present)
    return Consensus(_padded(with_fixed_signs(H), k), np.pad(values, (0, k - len(values))))


def _thin_svd(U: Sequence[np.ndarray], rank: int) -> tuple[np.ndarray, np.ndarray]:
    H, values, _ = scipy.linalg.svd(np.hstack(U), full_matrices=False)
    return H[:, :rank], values[:rank]


def _padded(H: np.ndarray, k: int) -> np.ndarray:
    return np.pad(H, ((0, 0), (0, k - H.shape[1])))
