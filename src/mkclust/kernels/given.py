"""A kernel as it was given to one that can be used: finite, symmetric, semi-definite."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..exceptions import InputError
from ..linalg.centering import half_means
from ..linalg.eigen import eigenvalues
from ..linalg.scaling import row_blocks

ASYMMETRY = 1e-8  # relative; beyond it a kernel is not symmetric "but for rounding"
INDEFINITE = 1e-8  # relative to the largest diagonal entry; how negative rounding can make it
TILE = 256  # rows and columns of a matrix compared with its transpose at a time


def symmetric(given: np.ndarray, name: str, n: int, span: float) -> tuple[np.ndarray, float]:
    """A copy in finite float64, symmetrised within the rounding of its type; its divisor."""
    if given.shape != (n, n) or given.dtype.kind not in "biuf":
        raise InputError(
            f"the kernel of view {name!r} must be {n} x {n} real numbers, got {given.dtype} "
            f"{given.shape}"
        )
    K = np.array(given, dtype=np.float64, order="C")
    peak = largest_entry(K, name)
    unit = brought_into_range(K, peak, span)
    peak /= unit
    worst = _asymmetry(K)
    if worst > max(ASYMMETRY, 100 * rounding(given)) * peak:
        i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise InputError(
            f"kernel {name!r} is not symmetric: entries ({i}, {j}) and ({j}, {i}) are "
            f"{K[i, j]:.6g} and {K[j, i]:.6g}, {worst:.3g} apart"
        )
    return (K + K.T) / 2 if worst > 0 else K, unit


def _asymmetry(K: np.ndarray) -> float:
    """The largest $|K_{ij} - K_{ji}|$, from square tiles, each of which fits the cache."""
    starts = range(0, len(K), TILE)
    tiles = [(slice(i, i + TILE), slice(j, j + TILE)) for i in starts for j in starts if j >= i]
    return float(
        max(np.abs(K[rows, columns] - K[columns, rows].T).max() for rows, columns in tiles)
    )


def brought_into_range(K: np.ndarray, peak: float, span: float) -> float:
    """Divide K by its largest entry, in place, where sums of squares would overflow; by what."""
    if peak == 0 or 1 / span <= peak <= span:
        return 1.0
    K /= peak  # no eigenvector depends on the scale
    return peak


def largest_entry(K: np.ndarray, name: str) -> float:
    """The largest magnitude in K, which must be finite."""
    peak = float(max(K.max(), -K.min()))
    if not np.isfinite(peak):
        at = np.argwhere(~np.isfinite(K))
        raise InputError(
            f"the kernel of view {name!r} has {len(at)} entries that are not finite, the first at "
            f"{tuple(at[0].tolist())}: if the view's values are very large, scale its columns"
        )
    return peak


def make_semidefinite(
    K: np.ndarray, name: str, center: bool, precision: float, shift: bool
) -> float:
    """Refuse a kernel with negative eigenvalues beyond rounding, or add them to its diagonal.

    Returns what was added.
    What counts is the kernel as it will be used: centring may make it definite. A Cholesky
    factorisation (n^3 / 3, two copies) decides; eigenvalues are computed only for a bad kernel.
    """
    used = K.copy()
    if center:
        half = half_means(K)
        for rows in row_blocks(used):
            used[rows] -= half[rows, None] + half
    allowed = max(INDEFINITE, len(K) * precision) * float(max(K.max(), -K.min()))
    factor = used.copy()
    factor.flat[:: len(K) + 1] += allowed
    if scipy.linalg.lapack.dpotrf(factor.T, overwrite_a=1, clean=0)[1] == 0:
        return 0.0
    lowest = eigenvalues(used, 0, 0)[0]
    if not shift:
        raise InputError(
            f"kernel {name!r} is indefinite: its smallest eigenvalue is {lowest:.3g}. Pass "
            'indefinite="shift" to add that much to the diagonal, or "ignore" to use it as it is'
        )
    K.flat[:: len(K) + 1] -= lowest
    return -float(lowest)


def rounding(K: np.ndarray) -> float:
    """Relative precision of the type a kernel came in."""
    return float(np.finfo(K.dtype).eps) if K.dtype.kind == "f" else 0.0
