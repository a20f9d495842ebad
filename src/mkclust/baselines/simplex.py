"""The probability simplex: an exact quadratic program over it, and projection onto it."""

from __future__ import annotations

import numpy as np
import scipy.linalg

FLAT = 1e-13  # relative to the largest entry of Q: a smaller curvature is rounding
SETTLED = 1e-14  # relative to Q and c: a smaller slope is rounding


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
