"""Centring and normalising a kernel, and the same for rows of samples that come later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import InputError
from .scaling import row_blocks

JITTER = 1e-12  # added to the centred diagonal before normalising; the published kernels rest on it
CONSTANT = 50  # roundings of the largest diagonal entry: what is left of a kernel of equal samples


@dataclass(frozen=True)
class Centring:
    r"""$K_{ij} \leftarrow (K_{ij} - h_i - h_j)\,s_is_j$: what is done to a kernel, in 2n numbers.

    `half` (n,) are the column means less half the overall `mean`, or None where nothing is
    centred; `scale` (n,) is one over the root of the centred diagonal plus `jitter`, or None
    where nothing is normalised. `own` is the diagonal where all of it is one number. Before
    that the kernel was divided by `unit`, and `shift` added to its diagonal.
    """

    half: np.ndarray | None
    scale: np.ndarray | None
    mean: float
    jitter: float
    own: float | None
    unit: float = 1.0
    shift: float = 0.0

    def apply(self, K: np.ndarray) -> None:
        """Centre and normalise the kernel this was made for: in place, in one pass."""
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
        r"""The same for rows of new samples, in place: K (b, n), $\kappa(x, x)$ in `own` (b,).

        Means are those of the n samples, so that one of them gets its own row back.
        """
        half = np.zeros(len(K))
        if self.half is not None:
            half = K.mean(axis=1) - self.mean / 2
            K -= half[:, None] + self.half
        if self.scale is not None:
            K *= _one_over_root(own - 2 * half + self.jitter)[:, None] * self.scale
        return K


def centring(
    K: np.ndarray, center: bool = True, normalize: bool = True, name: str = "kernel"
) -> Centring:
    r"""What centring and normalising takes off a kernel; a constant one is an InputError.

    $K_{ij} \leftarrow (K_{ij} - r_i - r_j + \bar r) / \sqrt{K_{ii}K_{jj}}$ with $r$ the column
    means of K and 1e-12 added to the centred diagonal, less for kernels smaller than one, so
    that small units do not matter. A sample without any similarity left keeps a zero row.
    """
    own = np.diagonal(K)
    size = float(np.abs(own).max())
    half = half_means(K) if center else None
    diagonal = own if half is None else own - 2 * half
    if diagonal.max() <= CONSTANT * np.finfo(K.dtype).eps * size:
        raise InputError(f"view {name!r} is constant: all its samples are the same")
    jitter = JITTER * min(1.0, size)
    return Centring(
        half=half,
        scale=_one_over_root(diagonal + jitter) if normalize else None,
        mean=0.0 if half is None else float(2 * half.mean()),
        jitter=jitter,
        own=float(own[0]) if (own == own[0]).all() else None,
    )


def half_means(K: np.ndarray) -> np.ndarray:
    """What centring takes off is the outer sum of this, so that rounding stays symmetric."""
    total = np.zeros(K.shape[1])
    for rows in row_blocks(K):
        total += K[rows].sum(axis=0)  # a block at a time: few enough to be summed in float32
    mean = total / len(K)
    return np.asarray(mean - mean.mean() / 2)


def _one_over_root(diagonal: np.ndarray) -> np.ndarray:
    alive = diagonal > 0
    return np.where(alive, 1 / np.sqrt(np.where(alive, diagonal, 1.0)), 0.0)
