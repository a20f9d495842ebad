"""The consensus of views that lack samples, by alternating least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..agreement.subspaces import SpectraInMemory
from ..linalg.eigen import eigenpairs
from ..progress import step

DEPENDENT = 1e-8  # relative; what is shorter is rounding
ROUNDS = 500  # at most
SETTLED = 1e-6  # share of the consensus that still turns in a round


def completed_partition(
    subspaces: SpectraInMemory, dimensions: Sequence[int] | np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute the consensus of bases that are known in part, and its singular values.

    $$\min_{H, B} \sum_p \|U_p - H[I_p] B_p\|_F^2 \quad \text{s.t.} \quad H^TH = I_k$$

    with $U_p$ (n_p, d_p) the kept eigenvectors of view p over the samples $I_p$ it holds, scaled by
    $\sqrt{n_p/n}$ to what they would be if the others were like them. With all samples in all
    views these are the k leading left singular vectors of $[U_1 \ldots U_m]$, as in `consensus`.
    By alternating least squares: each $B_p$ from H, then each sample's row of H from the views
    it is in, with a ridge: the share of all $U_p$ that H does not explain, which is the noise
    against the unit columns of H. It keeps a row from going far where its views show little, and
    changes nothing where all samples are in all views.

    Returns H (n, r) and singular values (r,), descending; r is k unless the kept eigenvectors
    span less. A round takes O(n k sum(d)) and a k x k solution per pattern of presence there is.
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
    """Leading left singular vectors of all bases, rows longer the fewer views they are in."""
    views = present.sum(axis=1)
    weight = np.sqrt(len(U) / np.maximum(views, 1))
    A = np.hstack(U) * weight[:, None]
    size = A.shape[1]
    squares, W = eigenpairs(A.T @ A, max(size - k, 0), size - 1)
    H = A @ W[:, squares > DEPENDENT * squares[-1]]
    return np.asarray(scipy.linalg.qr(H, mode="economic", check_finite=False)[0])


def _coefficients(U: Sequence[np.ndarray], H: np.ndarray, present: np.ndarray) -> list[np.ndarray]:
    """$B_p$ (r, d_p): least squares of each view's eigenvectors on H over its own samples."""
    over = [H[held] for held in present.T]
    return [
        scipy.linalg.lstsq(part.T @ part, H.T @ basis, cond=DEPENDENT, check_finite=False)[0]
        for part, basis in zip(over, U, strict=True)
    ]


def _strengths(B: Sequence[np.ndarray]) -> np.ndarray:
    """$B_pB_p^T$ of every view: (m, r, r)."""
    return np.array([b @ b.T for b in B])


def _rows(
    U: Sequence[np.ndarray],
    B: Sequence[np.ndarray],
    H: np.ndarray,
    patterns: np.ndarray,
    groups: Sequence[np.ndarray],
) -> np.ndarray:
    """H (n, r), orthonormal, from the views of each sample: one system per pattern of presence."""
    G = _strengths(B)
    target = sum(basis @ b.T for basis, b in zip(U, B, strict=True))
    explained = np.sum(H * target) / sum(np.sum(basis**2) for basis in U)
    ridge = max(1.0 - explained, DEPENDENT) * np.eye(H.shape[1])
    found = np.empty_like(H)
    for pattern, rows in zip(patterns, groups, strict=True):
        found[rows] = np.linalg.solve(G[pattern].sum(axis=0) + ridge, target[rows].T).T
    return np.asarray(scipy.linalg.qr(found, mode="economic", check_finite=False)[0])
