"""Linear algebra of the compared methods: polar factors, PSD parts, the probability simplex."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..linalg.eigenpairs import top_eigenpairs, with_fixed_signs

TIE = 1e-12  # relative to the largest eigenvalue: closer ones count as equal
EXPLAINED = 1e-12  # relative to a kernel's trace: a smaller residual is rounding
FLAT = 1e-13  # relative to the largest entry of Q: a smaller curvature is rounding
SETTLED = 1e-14  # relative to Q and c: a smaller slope is rounding
SOUND = 1e-8  # for factors of unit length: a smaller singular value is rounding


def energy(K: np.ndarray, H: np.ndarray) -> float:
    """Compute $Tr(H^TKH)$, the energy of a kernel (n, n) in the span of H (n, k)."""
    return float(np.vdot(K @ H, H))


def residuals(kernels: Sequence[np.ndarray], H: np.ndarray) -> np.ndarray:
    """Compute $Tr(K_p(I - HH^T))$ for all p, (m,); values at rounding level become zero."""
    trace = np.array([np.trace(K) for K in kernels])
    left = trace - np.array([energy(K, H) for K in kernels])
    return np.where(left > EXPLAINED * trace, left, 0.0)


def gram(kernels: Sequence[np.ndarray]) -> np.ndarray:
    """Compute $M_{pq} = Tr(K_pK_q)$, (m, m), of symmetric kernels."""
    M = np.empty((len(kernels), len(kernels)))
    for p, K in enumerate(kernels):
        for q in range(p + 1):
            M[p, q] = M[q, p] = np.vdot(K, kernels[q])
    return M


def weighted_sum(weights: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    r"""Compute $\sum_p w_pA_p$ with two more matrices in memory than the given ones."""
    total = weights[0] * matrices[0]
    for weight, matrix in zip(weights[1:], matrices[1:], strict=True):
        total += weight * matrix
    return total


def unit(v: np.ndarray) -> np.ndarray:
    """Scale v to unit 2-norm; a zero vector gets equal entries.

    >>> unit(np.array([3.0, 4.0])), unit(np.zeros(4))
    (array([0.6, 0.8]), array([0.5, 0.5, 0.5, 0.5]))
    """
    length = np.linalg.norm(v)
    return v / length if length > 0 else np.full(len(v), len(v) ** -0.5)


def finite_inverse(residuals: np.ndarray) -> np.ndarray:
    """Return 1 / r of residuals (m,); a residual of zero counts as rounding."""
    return 1 / np.maximum(residuals, np.finfo(float).eps * max(residuals.max(), 1.0))


def polar(A: np.ndarray, guide: np.ndarray | None = None) -> np.ndarray:
    r"""Return the orthonormal matrix nearest to A: $\max_W Tr(W^TA)$, $W^TW = I$.

    $W = UV^T$ from the SVD of A (r x k, r >= k). If A is singular, a part of W is undetermined and
    depends on the SVD routine. This function takes the solution nearest to `guide` (the previous
    value of an iteration), or nearest to the identity if `guide` does not determine it.

    Examples
    --------
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
    # The last candidate has no symmetry, so it has a part in any undetermined subspace.
    unrelated = np.cos(np.arange(r)[:, None] + np.sqrt(2.0) * np.arange(k) ** 2)
    for candidate in (np.eye(r, k) if guide is None else guide, np.eye(r, k), unrelated):
        seen = (candidate - U1 @ (U1.T @ candidate)) @ V0
        P, t, Qt = np.linalg.svd(seen, full_matrices=False)
        if t[-1] > SOUND:
            return U1 @ V1t + P @ Qt @ V0.T
    return U @ Vt


def psd_part(A: np.ndarray) -> np.ndarray:
    r"""Return the positive semi-definite part $\sum_{\lambda_i > 0} \lambda_i v_iv_i^T$ of A."""
    return psd_part_and_top(A, 0)[0]


def psd_part_and_top(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positive semi-definite part G of a symmetric A, and the k leading eigenvectors.

    The eigenvectors of G are those of A in the same order, so one full decomposition (n^3) gives
    both. If G has rank below k, the next eigenvectors of A complete them.
    """
    values, vectors = scipy.linalg.eigh(A, driver="evd")
    positive = values > 0
    root = vectors[:, positive] * np.sqrt(values[positive])
    return root @ root.T, with_fixed_signs(vectors[:, ::-1][:, :k])


def top_of_projectors(
    bases: Sequence[np.ndarray], weights: Sequence[float] | np.ndarray, size: int, K: np.ndarray
) -> np.ndarray:
    r"""Compute the leading eigenvectors (n, size) of $\sum_i w_i B_iB_i^T$ without forming it.

    In an orthonormal basis Q of all N columns of the bases, the sum is a matrix of size min(n, N).
    The time is O(n N^2), the memory O(nN).

    A sum of projectors has multiple eigenvalues, so the selected eigenvectors may not be unique.
    Those of the largest energy $u^TKu$ in the kernel K are selected, also in the null space if the
    columns span less than `size` dimensions.

    Parameters
    ----------
    bases : (n, c_i) arrays with orthonormal columns
    weights : non-negative numbers, one for each basis
    size : int
    K : (n, n) array

    Returns
    -------
    (n, size) array with orthonormal columns
    """
    Q, R = scipy.linalg.qr(np.hstack(bases), mode="economic")
    R = R * np.sqrt(np.repeat(weights, [B.shape[1] for B in bases]))
    values, vectors = (part[..., ::-1] for part in scipy.linalg.eigh(R @ R.T))
    margin = TIE * values[0]
    rank = int(np.count_nonzero(values > margin))
    if size >= rank:
        spanned = Q @ vectors[:, :rank]
        return with_fixed_signs(np.hstack([spanned, _outside(spanned, K, size - rank)]))
    above = int(np.count_nonzero(values > values[size - 1] + margin))
    tied = int(np.count_nonzero(values >= values[size - 1] - margin))
    group = Q @ vectors[:, above:tied]
    chosen = group @ top_eigenpairs(group.T @ K @ group, size - above)[1]
    return with_fixed_signs(np.hstack([Q @ vectors[:, :above], chosen]))


def _outside(basis: np.ndarray, kernel: np.ndarray, size: int) -> np.ndarray:
    """Return the `size` vectors of largest kernel energy orthogonal to an orthonormal basis."""
    if size == 0:
        return np.empty((len(basis), 0))
    rest = kernel - basis @ (basis.T @ kernel)
    rest -= (rest @ basis) @ basis.T
    # The shift is below every eigenvalue of the kernel, so the basis itself comes last.
    rest -= (1.0 + np.abs(kernel).sum(axis=0).max()) * (basis @ basis.T)
    return top_eigenpairs(rest, size)[1]


def simplex_qp(Q: np.ndarray, c: np.ndarray) -> np.ndarray:
    r"""Solve $\min_x \frac12 x^TQx + c^Tx$ over $x \ge 0$, $\sum_i x_i = 1$.

    This is a primal active-set method. It starts at the center of the simplex and takes steps of
    minimal norm, so equal views get equal weights as long as no bound separates them. All bounds
    that block a step become active together. Every free variable is then positive, so each step
    lowers the objective strictly and the search ends after finitely many steps.

    Parameters
    ----------
    Q : (m, m) symmetric positive semi-definite array, possibly singular
    c : (m,) array

    Returns
    -------
    (m,) array, exact up to rounding. A step takes one eigenproblem of size at most m.

    Examples
    --------
    >>> simplex_qp(np.diag([1.0, 3.0]), np.zeros(2)).round(12)
    array([0.75, 0.25])
    >>> simplex_qp(np.ones((3, 3)), np.array([1.0, 0.0, 0.0]))
    array([0. , 0.5, 0.5])
    """
    m = len(c)
    c = c - c.min()  # a constant in c changes only the rounding
    scale = max(np.abs(Q).max(), c.max(), np.finfo(float).tiny)
    Q, c = Q / scale, c / scale
    x = np.full(m, 1.0 / m)
    free = np.ones(m, dtype=bool)
    visited: set[bytes] = set()
    while True:
        if not _descended(Q, c, x, free):
            continue
        again = free.tobytes() in visited  # only rounding can lead back to a face
        visited.add(free.tobytes())
        multipliers = Q @ x + c
        multipliers -= multipliers @ x
        multipliers[free] = 0.0
        worst = int(multipliers.argmin())
        if again or multipliers[worst] >= -SETTLED:
            return x / x.sum()
        free[worst] = True


def _descended(Q: np.ndarray, c: np.ndarray, x: np.ndarray, free: np.ndarray) -> bool:
    """Move x in place towards the minimum on the face of the free variables.

    Return whether it was reached. If not, the variables that reached a bound are no longer `free`.
    """
    face = np.flatnonzero(free)
    if len(face) == 1:
        return True
    plane = scipy.linalg.helmert(len(face))  # orthonormal basis of the steps of sum zero
    curvature, axes = np.linalg.eigh(plane @ Q[np.ix_(face, face)] @ plane.T)
    directions = plane.T @ axes
    level = c[face] - c[face].min()
    largest = np.abs(Q).max()
    curved = curvature > FLAT * largest
    for _ in range(2):  # the second step reduces the rounding error of the first
        slope = directions.T @ (Q[face] @ x + level)
        if np.abs(slope[~curved]).max(initial=0.0) > SETTLED * max(largest, level.max()):
            step = -directions[:, ~curved] @ slope[~curved]  # unbounded: a bound must stop it
            reach = np.inf
        else:
            step = -directions[:, curved] @ (slope[curved] / curvature[curved])
            reach = 1.0
        falling = step < 0
        lengths = np.full(len(face), np.inf)
        lengths[falling] = x[face][falling] / -step[falling]
        nearest = lengths.min()
        if nearest < reach:
            x[face] = np.maximum(x[face] + nearest * step, 0.0)
            blocked = (lengths <= nearest * (1 + 1e-12)) | (x[face] == 0)
            x[face[blocked]] = 0.0
            free[face[blocked]] = False
            return False
        x[face] += step
    return True


def project_rows(V: np.ndarray, support: np.ndarray | None = None) -> np.ndarray:
    r"""Project rows onto the simplex: $\min_s \|s - v_i\|$, $s \ge 0$, $\sum_j s_j = 1$.

    The solution is $\max(v_i - t_i, 0)$ with the threshold $t_i$ that gives the sum 1, found from
    the sorted entries. An n x n matrix takes O(n^2 log n), and four more such matrices.

    Parameters
    ----------
    V : (r, n) array
    support : (r, n) bool array, optional
        Where a row may be positive. A row without support becomes zero.

    Returns
    -------
    (r, n) array

    Examples
    --------
    >>> project_rows(np.array([[0.5, 0.5, -3.0], [2.0, 0.4, 0.0]]))
    array([[0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    >>> project_rows(np.array([[2.0, 0.4, 0.0]]), np.array([[False, True, True]]))
    array([[0. , 0.7, 0.3]])
    """
    allowed = V if support is None else np.where(support, V, -np.inf)
    peak = allowed.max(axis=1, keepdims=True)
    alive = peak > -np.inf
    # The threshold is at most 1 below the peak: smaller entries are 0 in any case.
    shifted = np.maximum(allowed - np.where(alive, peak, 0.0), -1.0)
    ordered = np.sort(shifted, axis=1)[:, ::-1]
    excess = np.cumsum(ordered, axis=1) - 1.0
    size = np.count_nonzero(ordered * np.arange(1, V.shape[1] + 1) > excess, axis=1)[:, None]
    threshold = np.take_along_axis(excess, size - 1, axis=1) / size
    return np.where(alive, np.maximum(shifted - threshold, 0.0), 0.0)
