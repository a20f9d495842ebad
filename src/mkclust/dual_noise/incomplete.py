"""The consensus of views that lack samples, by alternating least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..agreement.subspaces import SpectraInMemory
from ..linalg.eigen import eigenpairs
from ..progress import step

DEPENDENT = 1e-8  # relative; anything smaller is rounding
ROUNDS = 500  # at most
SETTLED = 1e-6  # share of the consensus that may change in the last round


def completed_partition(
    subspaces: SpectraInMemory, dimensions: Sequence[int] | np.ndarray, k: int
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
    views = present.sum(axis=1)
    weight = np.sqrt(len(U) / np.maximum(views, 1))
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
