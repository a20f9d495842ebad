"""Linear algebra the compared methods share: polar factors, PSD parts, sums of projectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..linalg.spectrum import top_eigenpairs, with_fixed_signs

TIE = 1e-12  # relative to the largest eigenvalue: closer ones are the same
EXPLAINED = 1e-12  # relative to a kernel's trace: what is left of it below this is rounding
SOUND = 1e-8  # a singular value above it, for factors of length one, carries information


def trace_product(A: np.ndarray, B: np.ndarray) -> float:
    """$Tr(A^TB)$ of two matrices of equal shape, without their product."""
    return float(np.vdot(A, B))


def energy(K: np.ndarray, H: np.ndarray) -> float:
    """$Tr(H^TKH)$: how much of a kernel (n, n) lies in the span of H (n, k)."""
    return trace_product(K @ H, H)


def residuals(kernels: Sequence[np.ndarray], H: np.ndarray) -> np.ndarray:
    """$Tr(K_p(I - HH^T))$, (m,): what a partition leaves of each kernel; zero, not rounding."""
    trace = np.array([np.trace(K) for K in kernels])
    left = trace - np.array([energy(K, H) for K in kernels])
    return np.where(left > EXPLAINED * trace, left, 0.0)


def gram(kernels: Sequence[np.ndarray]) -> np.ndarray:
    """$M_{pq} = Tr(K_pK_q)$, (m, m), of symmetric kernels."""
    M = np.empty((len(kernels), len(kernels)))
    for p, K in enumerate(kernels):
        for q in range(p + 1):
            M[p, q] = M[q, p] = trace_product(K, kernels[q])
    return M


def weighted_sum(weights: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    r"""$\sum_p w_pA_p$, with two matrices in memory beyond the given ones."""
    total = weights[0] * matrices[0]
    for weight, matrix in zip(weights[1:], matrices[1:], strict=True):
        total += weight * matrix
    return total


def unit(v: np.ndarray) -> np.ndarray:
    """v scaled to unit 2-norm; equal entries when v is zero.

    >>> unit(np.array([3.0, 4.0])), unit(np.zeros(4))
    (array([0.6, 0.8]), array([0.5, 0.5, 0.5, 0.5]))
    """
    length = np.linalg.norm(v)
    return v / length if length > 0 else np.full(len(v), len(v) ** -0.5)


def polar(A: np.ndarray, guide: np.ndarray | None = None) -> np.ndarray:
    r"""The orthonormal matrix nearest to A: $\max_W Tr(W^TA)$, $W^TW = I$.

    $W = UV^T$ from the SVD of A (r x k, r >= k). When A is singular this leaves a part of W open,
    and what an SVD routine puts there is its own affair. Here it is the choice nearest to `guide`
    (an iteration's previous value), or to the identity where the guide says nothing.

    >>> polar(np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > max(A.shape) * np.finfo(float).eps * s[0]
    if kept.all():
        return U @ Vt
    U1, V1t, V0 = U[:, kept], Vt[kept], Vt[~kept].T
    r, k = A.shape
    # The last candidate has no symmetry, so some part of it lies in any open corner.
    unrelated = np.cos(np.arange(r)[:, None] + np.sqrt(2.0) * np.arange(k) ** 2)
    for candidate in (guide, np.eye(r, k), unrelated):
        if candidate is None:
            continue
        seen = (candidate - U1 @ (U1.T @ candidate)) @ V0
        P, t, Qt = np.linalg.svd(seen, full_matrices=False)
        if t[-1] > SOUND:
            return U1 @ V1t + P @ Qt @ V0.T
    return U @ Vt


def psd_part(A: np.ndarray) -> np.ndarray:
    r"""The nearest positive semi-definite matrix: $\sum_{\lambda_i > 0} \lambda_i v_iv_i^T$."""
    return psd_part_and_top(A, 0)[0]


def positive_with(A: np.ndarray, ridge: float) -> bool:
    """Whether $A + rI$ is positive definite: one Cholesky factorisation, n^3 / 3.

    >>> positive_with(np.diag([1.0, -0.5]), 1.0), positive_with(np.diag([1.0, -2.0]), 1.0)
    (True, False)
    """
    shifted = A.copy()
    shifted.flat[:: len(A) + 1] += ridge
    return bool(scipy.linalg.lapack.dpotrf(shifted.T, overwrite_a=1, clean=0)[1] == 0)


def psd_part_and_top(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The positive semi-definite part G of a symmetric A, and the k leading eigenvectors of G.

    They are those of A in the same order, so that one full decomposition (n^3) gives both; and
    where G has less than k directions, A says which come next.
    """
    values, vectors = scipy.linalg.eigh(A, driver="evd")
    positive = values > 0
    root = vectors[:, positive] * np.sqrt(values[positive])
    return root @ root.T, with_fixed_signs(vectors[:, ::-1][:, :k])


def top_of_projectors(
    bases: Sequence[np.ndarray],
    weights: Sequence[float] | np.ndarray,
    size: int,
    kernel: np.ndarray | None = None,
) -> np.ndarray:
    r"""Leading eigenvectors (n, size) of $\sum_i w_i B_iB_i^T$, without that n x n matrix.

    In an orthonormal basis Q of all columns side by side (N of them) the sum is a matrix of size
    min(n, N): O(n N^2) in time, O(nN) in memory.

    A sum of projectors repeats eigenvalues, and the cut may fall inside such a group, where any
    choice is as good. With a `kernel` K the choice is made by the largest energy $u^TKu$, also
    among the directions of eigenvalue zero when the columns span less than was asked for.

    Parameters
    ----------
    bases : (n, c_i) arrays with orthonormal columns
    weights : non-negative numbers, one for each basis
    size : int
    kernel : (n, n) array, optional
    """
    Q, R = scipy.linalg.qr(np.hstack(bases), mode="economic")
    R = R * np.sqrt(np.repeat(weights, [B.shape[1] for B in bases]))
    if kernel is None:
        return with_fixed_signs(Q @ top_eigenpairs(R @ R.T, size)[1])
    values, vectors = (part[..., ::-1] for part in scipy.linalg.eigh(R @ R.T))
    margin = TIE * values[0]
    rank = int(np.count_nonzero(values > margin))
    if size >= rank:
        spanned = Q @ vectors[:, :rank]
        return with_fixed_signs(np.hstack([spanned, _outside(spanned, kernel, size - rank)]))
    above = int(np.count_nonzero(values > values[size - 1] + margin))
    tied = int(np.count_nonzero(values >= values[size - 1] - margin))
    group = Q @ vectors[:, above:tied]
    chosen = group @ top_eigenpairs(group.T @ kernel @ group, size - above)[1]
    return with_fixed_signs(np.hstack([Q @ vectors[:, :above], chosen]))


def _outside(basis: np.ndarray, kernel: np.ndarray, size: int) -> np.ndarray:
    """The `size` directions of largest kernel energy orthogonal to an orthonormal basis."""
    if size == 0:
        return np.empty((len(basis), 0))
    rest = kernel - basis @ (basis.T @ kernel)
    rest -= (rest @ basis) @ basis.T
    # Deeper than any eigenvalue of the kernel, the basis itself comes last.
    rest -= (1.0 + np.abs(kernel).sum(axis=0).max()) * (basis @ basis.T)
    return top_eigenpairs(rest, size)[1]
