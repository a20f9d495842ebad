"""Check and repair a kernel matrix that is given: finite, symmetric, positive semi-definite."""

from __future__ import annotations

import numpy as np

from ..exceptions import InputError
from ..linalg.eigenpairs import eigenpairs, positive_with
from ..linalg.scaling import ZERO_DIAGONAL, half_means, has_zero_diagonal

ASYMMETRY = 1e-8  # relative to the largest entry: a larger asymmetry is not due to rounding
INDEFINITE = 1e-8  # relative to the largest entry: a more negative eigenvalue is not due to it
SPAN = 1e100  # kernels are scaled into this range, so that squares can be summed


def check_kernel(
    given: np.ndarray, name: str, n: int, indefinite: str, center: bool = True
) -> tuple[np.ndarray, float, float]:
    """Return a symmetric copy of a given kernel (n, n), positive semi-definite as asked.

    `indefinite` is ``"raise"``, ``"shift"`` or ``"ignore"``: what to do with a kernel that has
    negative eigenvalues, once it is centered where `center` is true. Beside the copy, returned
    are the number that it was divided by, and the number that was added to its diagonal.
    """
    K, unit = symmetrize(given, name, n)
    if indefinite == "ignore":
        return K, unit, 0.0
    precision = relative_precision(given)
    return K, unit, make_semidefinite(K, name, center, precision, indefinite == "shift")


def symmetrize(given: np.ndarray, name: str, n: int) -> tuple[np.ndarray, float]:
    """Return a symmetric copy of a given kernel in double precision, and its divisor.

    Parameters
    ----------
    given : array of shape (n, n)
        The matrix. An asymmetry within the rounding of its type is averaged out.
    name : str
        Name of the view, for messages.
    n : int
        Number of samples.

    Returns
    -------
    K : array of shape (n, n)
    unit : float
        The divisor: the largest entry where squares would overflow, else 1.
    """
    if given.shape != (n, n) or given.dtype.kind not in "biuf":
        raise InputError(
            f"the kernel of view {name!r} must be {n} x {n} real numbers, got {given.dtype} "
            f"{given.shape}"
        )
    K = np.array(given, dtype=np.float64, order="C")
    peak = largest_entry(K, name)
    unit = scale_into_range(K, peak)
    peak /= unit
    apart = np.abs(K - K.T)
    worst = float(apart.max())
    if worst > max(ASYMMETRY, 100 * relative_precision(given)) * peak:
        i, j = np.unravel_index(apart.argmax(), K.shape)
        raise InputError(
            f"kernel {name!r} is not symmetric: entries ({i}, {j}) and ({j}, {i}) are "
            f"{K[i, j]:.6g} and {K[j, i]:.6g}, {worst:.3g} apart"
        )
    return (K + K.T) / 2 if worst > 0 else K, unit


def scale_into_range(K: np.ndarray, peak: float) -> float:
    """Divide K by its largest entry, in place, where squares would overflow; return the divisor."""
    if peak == 0 or 1 / SPAN <= peak <= SPAN:
        return 1.0
    K /= peak  # the scale changes no eigenvector
    return peak


def largest_entry(K: np.ndarray, name: str) -> float:
    """Return the largest magnitude in K. Raise an InputError where K has an infinity or a NaN."""
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
    """Raise an InputError for an indefinite kernel, or make it semi-definite in place.

    The test is made on the centered kernel where `center` is true, because centering can make a
    kernel semi-definite. A Cholesky factorization ($n^3 / 3$ operations, two copies) decides.
    Eigenvalues are computed only for an indefinite kernel.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric matrix.
    name : str
        Name of the view, for messages.
    center : bool
        Whether the kernel will be centered.
    precision : float
        Relative precision of the type that the kernel was given in.
    shift : bool
        Whether to add minus the smallest eigenvalue to the diagonal.

    Returns
    -------
    float
        The number that was added to the diagonal.
    """
    used = K
    if center:
        half = half_means(K)
        used = K - (half[:, None] + half)
    allowed = max(INDEFINITE, len(K) * precision) * float(max(K.max(), -K.min()))
    if positive_with(used, allowed):
        return 0.0
    lowest = eigenpairs(used, 0, 0)[0][0]
    if not shift:
        hint = f" {ZERO_DIAGONAL.capitalize()}." if has_zero_diagonal(K) else ""
        raise InputError(
            f"kernel {name!r} is indefinite: its smallest eigenvalue is {lowest:.3g}.{hint} Pass "
            'indefinite="shift" to subtract it from the diagonal, or "ignore" to use the matrix as '
            "it is"
        )
    K.flat[:: len(K) + 1] -= lowest
    return -float(lowest)


def relative_precision(K: np.ndarray) -> float:
    """Return the relative precision of the type of a kernel; 0 for integers."""
    return float(np.finfo(K.dtype).eps) if K.dtype.kind == "f" else 0.0
