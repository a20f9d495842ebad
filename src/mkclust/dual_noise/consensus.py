"""The consensus partition H* of the kept subspaces, and what each view adds to it and lacks.

The consensus is section 3.3 of the paper, N-noise and C-noise are section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..agreement.subspace_overlap import Overlap
from ..agreement.subspaces import Subspaces
from ..io.models import storable
from ..linalg.eigenpairs import eigenpairs, leading_eigenpairs, with_fixed_signs
from ..progress import step

ORTHONORMAL = 1e-10  # largest deviation of H*'H* from the identity before a thin SVD replaces it
SHARED = 1e-12  # relative; a smaller squared singular value is rounding


DEPENDENT = 1e-8  # relative; anything smaller is rounding
ROUNDS = 500  # of alternating least squares, at most
SETTLED = 1e-6  # share of the consensus that may change in the last round


@dataclass(frozen=True)
class Consensus:
    """H* (n, k) with orthonormal columns, and the singular values (k,) of $[U_1 \\ldots U_m]$.

    Where the kept eigenvectors span fewer than k dimensions, the columns beyond are zero and so
    are the singular values.
    """

    H: np.ndarray
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
    >>> from mkclust.agreement.subspaces import Subspaces
    >>> kernel = np.diag([3.0, 2, 0, 0])
    >>> spaces = Subspaces([kernel, kernel], ["a", "b"]).grow(2)
    >>> found = consensus(spaces, [2, 1], 1, spaces.overlap(1))
    >>> np.abs(found.H).ravel(), found.singular_values.round(6)
    (array([1., 0., 0., 0.]), array([1.414214]))
    """
    step("consensus")
    d = np.asarray(dimensions)
    if subspaces.present is not None:
        H, values = completed_partition(subspaces, d, k)
    else:
        W, values = coefficients(d, k, overlap)
        H = subspaces.embed(d, W)
    if np.abs(H.T @ H - np.eye(H.shape[1])).max() > ORTHONORMAL:
        # The condition of G is the square of that of U.
        U, sigma, _ = scipy.linalg.svd(np.hstack(subspaces.heads(d)), full_matrices=False)
        H, values = U[:, : H.shape[1]], sigma[: H.shape[1]]
    H = np.pad(with_fixed_signs(H), ((0, 0), (0, k - H.shape[1])))
    return Consensus(H, np.pad(values, (0, k - len(values))))


def coefficients(
    dimensions: Sequence[int] | np.ndarray, k: int, overlap: Overlap
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return $W\Lambda^{-1/2}$ (sum d, rank) and $\Lambda^{1/2}$ (rank,), O(k sum(d)^2), no n.

    They come from the k leading eigenpairs of $G = U^TU$. The rank is below k where the kept
    eigenvectors span fewer dimensions.
    """
    kept = overlap.columns(dimensions)
    G = overlap.cross[np.ix_(kept, kept)]
    squares, W = leading_eigenpairs(G, min(k, len(kept)))
    rank = int(np.count_nonzero(squares > SHARED * squares[0]))
    return W[:, :rank] / np.sqrt(squares[:rank]), np.sqrt(squares[:rank])


def completed_partition(
    subspaces: Subspaces, dimensions: Sequence[int] | np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute the consensus of bases that are known in part, and its singular values.

    $$\min_{H, B} \sum_p \|U_p - H[I_p] B_p\|_F^2 \quad \text{s.t.} \quad H^TH = I_k$$

    with $U_p$ (n_p, d_p) the kept eigenvectors of view p over the samples $I_p$ it holds, scaled by
    $\sqrt{n_p/n}$, the length they would have on $I_p$ if the other samples were similar. With all
    samples in all views H holds the k leading left singular vectors of $[U_1 \ldots U_m]$, as in
    `consensus`.

    The problem is solved by alternating least squares: each $B_p$ from H, then each row of H from
    the views that hold the sample. The ridge of the second step is the share of all $U_p$ that H
    does not explain. It limits rows whose views contain little signal, and changes nothing where
    all samples are in all views. A round takes O(n k sum(d)) and one k x k system per distinct
    pattern of presence.

    Returns
    -------
    H : (n, r) array
        r is k, or less where the kept eigenvectors span less.
    singular_values : (r,) array
        Descending.
    """
    step("consensus from the views each sample is in")
    present = np.asarray(subspaces.present)
    lengths = np.sqrt(present.mean(axis=0))
    U = [V * length for V, length in zip(subspaces.heads(dimensions), lengths, strict=True)]
    H = _zero_padded_start(U, present, k)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    groups = [np.flatnonzero(which.ravel() == g) for g in range(len(patterns))]
    for _ in range(ROUNDS):
        B = _coefficients(U, H, present)
        before, H = H, _rows(U, B, H, patterns, groups)
        if H.shape[1] - np.sum((before.T @ H) ** 2) <= SETTLED * H.shape[1]:
            break
    squares, turn = np.linalg.eigh(_strengths(_coefficients(U, H, present)).sum(axis=0))
    return H @ turn[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0))


def _zero_padded_start(U: Sequence[np.ndarray], present: np.ndarray, k: int) -> np.ndarray:
    """Return the leading left singular vectors of all bases, rows scaled up for absent views."""
    weight = np.sqrt(len(U) / np.maximum(present.sum(axis=1), 1))
    A = np.hstack(U) * weight[:, None]
    size = A.shape[1]
    squares, W = eigenpairs(A.T @ A, max(size - k, 0), size - 1)
    H = A @ W[:, squares > DEPENDENT * squares[-1]]
    return np.asarray(scipy.linalg.qr(H, mode="economic", check_finite=False)[0])


def _coefficients(U: Sequence[np.ndarray], H: np.ndarray, present: np.ndarray) -> list[np.ndarray]:
    """Return every $B_p$ (r, d_p): least squares of $U_p$ on H over the samples of the view."""
    over = [H[held] for held in present.T]
    return [
        scipy.linalg.lstsq(part.T @ part, H.T @ basis, cond=DEPENDENT, check_finite=False)[0]
        for part, basis in zip(over, U, strict=True)
    ]


def _strengths(B: Sequence[np.ndarray]) -> np.ndarray:
    """Return $B_pB_p^T$ of every view: (m, r, r)."""
    return np.array([b @ b.T for b in B])


def _rows(
    U: Sequence[np.ndarray],
    B: Sequence[np.ndarray],
    H: np.ndarray,
    patterns: np.ndarray,
    groups: Sequence[np.ndarray],
) -> np.ndarray:
    """Return H (n, r), orthonormal, by one linear system per distinct pattern of presence."""
    G = _strengths(B)
    target = sum(basis @ b.T for basis, b in zip(U, B, strict=True))
    explained = np.sum(H * target) / sum(np.sum(basis**2) for basis in U)
    ridge = max(1.0 - explained, DEPENDENT) * np.eye(H.shape[1])
    found = np.empty_like(H)
    for pattern, rows in zip(patterns, groups, strict=True):
        found[rows] = np.linalg.solve(G[pattern].sum(axis=0) + ridge, target[rows].T).T
    return np.asarray(scipy.linalg.qr(found, mode="economic", check_finite=False)[0])


@storable
@dataclass(frozen=True)
class Noise:
    r"""Parts of $E_p = U_pU_p^T - P$, $P = H^*H^{*T}$, for every view p: three arrays (m,).

    `null` is $\mathrm{Tr}(QE_pQ) \ge 0$ with $Q = I - P$: eigenvectors of the view outside the
    consensus (N-noise). `column` is $\mathrm{Tr}(PE_pP) \le 0$: components of the consensus that
    the view lacks (C-noise). `cross` is $\|PU_pU_p^TQ + QU_pU_p^TP\|_F^2$, the part of both. The
    paper's two parts do not add up to $E_p$ without it; its trace is zero, so their traces do.
    """

    null: np.ndarray
    column: np.ndarray
    cross: np.ndarray


def dual_noise(coordinates: Sequence[np.ndarray]) -> Noise:
    r"""Compute all three from $T_p = H^{*T}U_p$ (r, d_p) of every view, as `coordinates` gives it.

    Examples
    --------
    >>> dual_noise([np.eye(3)[:, :1].T @ np.eye(3)[:, :2]])
    Noise(null=array([1.]), column=array([0.]), cross=array([0.]))
    """
    inside = np.array([np.sum(T**2) for T in coordinates])
    squared = np.array([np.sum((T @ T.T) ** 2) for T in coordinates])
    rank, d = np.transpose([T.shape for T in coordinates])
    return Noise(null=d - inside, column=inside - rank, cross=2 * (inside - squared))
