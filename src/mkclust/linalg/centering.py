"""Center and normalize a kernel matrix, and rows of new samples in the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import InputError
from .scaling import row_blocks

JITTER = 1e-12  # added to the centered diagonal before normalizing, as in the published kernels
CONSTANT = 50  # rounding errors of the largest diagonal entry that equal samples may leave


@dataclass(frozen=True)
class Centering:
    r"""The map $K_{ij} \leftarrow (K_{ij} - h_i - h_j)\,s_is_j$ that was applied to a kernel.

    Attributes
    ----------
    half : array of shape (n,), or None
        $h$: the column means minus half the overall mean; None without centering.
    scale : array of shape (n,), or None
        $s$: one over the root of the centered diagonal plus `jitter`; None without normalizing.
    mean : float
        The overall mean; 0 without centering.
    jitter : float
        The number added to the centered diagonal.
    own : float or None
        The diagonal before centering, where all its entries are equal.
    unit : float
        The number that the kernel was divided by beforehand.
    shift : float
        The number that was added to its diagonal beforehand.
    """

    half: np.ndarray | None
    scale: np.ndarray | None
    mean: float
    jitter: float
    own: float | None
    unit: float = 1.0
    shift: float = 0.0

    def apply(self, K: np.ndarray) -> None:
        """Center and normalize the kernel (n, n) that this was made for, in place."""
        half, scale = (
            None if numbers is None else numbers.astype(K.dtype, copy=False)
            for numbers in (self.half, self.scale)
        )
        for rows in row_blocks(K):
            block = K[rows]
            if half is not None:
                block -= half[rows, None] + half
            if scale is not None:
                block *= scale[rows, None] * scale
        if scale is not None:
            np.fill_diagonal(K, scale > 0)

    def rows(self, K: np.ndarray, own: np.ndarray) -> np.ndarray:
        r"""Center and normalize kernel rows of new samples, in place.

        The means are those of the n fitted samples, so that the row of a fitted sample becomes
        its row of the centered kernel.

        Parameters
        ----------
        K : array of shape (b, n)
            Similarities of the new samples to the fitted ones.
        own : array of shape (b,)
            Similarity $\kappa(x, x)$ of each new sample to itself.

        Returns
        -------
        array of shape (b, n)
            `K` itself.
        """
        half = np.zeros(len(K))
        if self.half is not None:
            half = K.mean(axis=1) - self.mean / 2
            K -= half[:, None] + self.half
        if self.scale is not None:
            K *= _one_over_root(own - 2 * half + self.jitter)[:, None] * self.scale
        return K


def centering_of(
    K: np.ndarray, center: bool = True, normalize: bool = True, name: str = "kernel"
) -> Centering:
    r"""Compute the centering and normalizing of a kernel, without applying it.

    $$K_{ij} \leftarrow (K_{ij} - r_i - r_j + \bar r) / \sqrt{K_{ii}K_{jj}}$$

    with $r$ the column means of K. The centered diagonal is increased by 1e-12, or by less where
    the kernel is smaller than one, so that the result does not depend on small units. A sample
    whose centered diagonal entry is not positive gets a zero row.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric matrix.
    center, normalize : bool
        What to do.
    name : str
        Name of the view, for messages.

    Returns
    -------
    Centering

    Raises
    ------
    InputError
        If no entry of the centered diagonal is positive.

    Examples
    --------
    >>> K = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> centering_of(K).apply(K)
    >>> K.round(6)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    own = np.diagonal(K)
    size = float(np.abs(own).max())
    half = half_means(K) if center else None
    diagonal = own if half is None else own - 2 * half
    if diagonal.max() <= CONSTANT * np.finfo(K.dtype).eps * size:
        raise InputError(_why_not(K, half, name))
    jitter = JITTER * min(1.0, size)
    return Centering(
        half=half,
        scale=_one_over_root(diagonal + jitter) if normalize else None,
        mean=0.0 if half is None else float(2 * half.mean()),
        jitter=jitter,
        own=float(own[0]) if (own == own[0]).all() else None,
    )


def half_means(K: np.ndarray) -> np.ndarray:
    """Return the h (n,) whose outer sum $h_i + h_j$ is the part of K that centering removes.

    One vector for rows and columns keeps the rounding errors symmetric.
    """
    total = np.zeros(K.shape[1])
    for rows in row_blocks(K):
        total += K[rows].sum(axis=0)  # a block has few enough rows for a sum in float32
    mean = total / len(K)
    return np.asarray(mean - mean.mean() / 2)


def has_zero_diagonal(K: np.ndarray) -> bool:
    """Return whether the diagonal of a matrix is zero and its other entries are not all zero.

    Examples
    --------
    >>> has_zero_diagonal(np.array([[0.0, 2.0], [2.0, 0.0]])), has_zero_diagonal(np.zeros((2, 2)))
    (True, False)
    """
    return not np.diagonal(K).any() and bool(K.any())


ZERO_DIAGONAL = (
    "its diagonal is zero: this looks like a distance matrix or an affinity without "
    "self-similarity; pass a kernel"
)


def _why_not(K: np.ndarray, half: np.ndarray | None, name: str) -> str:
    """Describe a kernel whose centered diagonal has no positive entry."""
    left = K if half is None else K - (half[:, None] + half)
    if np.abs(left).max() <= np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max():
        return f"view {name!r} is constant: all its samples are the same"
    if has_zero_diagonal(K):
        return f"the matrix of view {name!r} is not a kernel: {ZERO_DIAGONAL}"
    return (
        f"the matrix of view {name!r} is not a kernel: no sample has a positive similarity to "
        f"itself{'' if half is None else ' after centering'}, the largest is "
        f"{np.diagonal(left).max():.3g}; this looks like a distance matrix; pass a kernel"
    )


def _one_over_root(diagonal: np.ndarray) -> np.ndarray:
    alive = diagonal > 0
    return np.where(alive, 1 / np.sqrt(np.where(alive, diagonal, 1.0)), 0.0)
