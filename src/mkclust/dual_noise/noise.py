"""What each view adds to, and lacks of, the consensus: N-noise, C-noise and the cross part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..agreement.overlap import Overlap
from ..data.missing import orthonormal_prefixes
from ..linalg.spectrum import Spectrum, covered


@dataclass(frozen=True)
class Noise:
    r"""Parts of $E_p = U_pU_p^T - P$, $P = H^*H^{*T}$, for every view p: three arrays (m,).

    `null` is $\mathrm{Tr}(QE_pQ) \ge 0$ with $Q = I - P$: directions of the view outside the
    consensus. `column` is $\mathrm{Tr}(PE_pP) \le 0$: consensus directions the view lacks.
    `cross` is $\|PU_pU_p^TQ + QU_pU_p^TP\|_F^2$: directions half in and half out. The paper's
    two parts do not add up to $E_p$ without it; its trace is zero, so their traces do.
    """

    null: np.ndarray
    column: np.ndarray
    cross: np.ndarray


def dual_noise(
    H: np.ndarray, spectra: Sequence[Spectrum], dimensions: Sequence[int] | np.ndarray
) -> Noise:
    r"""All three through $T_p = H^{*T}U_p$ (k x d_p): O(n k sum(d)), no n x n matrix (§3.1).

    Of a view that lacks samples, over those it has: with H* orthonormalised on them.

    >>> V = Spectrum(np.eye(3)[:, :2], np.ones(2), True)
    >>> dual_noise(np.eye(3)[:, :1], [V], [2])
    Noise(null=array([1.]), column=array([0.]), cross=array([0.]))
    """
    k = int(np.count_nonzero(H.any(axis=0)))  # a degenerate H* has zero columns
    pairs = zip(spectra, dimensions, strict=True)
    present = covered(spectra)
    if present is not None:
        over = [np.where(held[:, None], H, 0.0) for held in present.T]
        bases = [orthonormal_prefixes(part) for part in over]
        T = [Q.T @ spectrum.vectors[:, :d] for Q, (spectrum, d) in zip(bases, pairs, strict=True)]
        return _parts(T, np.array([np.count_nonzero(Q.any(axis=0)) for Q in bases]))
    return _parts([H.T @ spectrum.vectors[:, :d] for spectrum, d in pairs], k)


def dual_noise_of(W: np.ndarray, dimensions: Sequence[int] | np.ndarray, overlap: Overlap) -> Noise:
    r"""The same for $H^* = UW$ without H*: $T_p = W^TU^TU_p$ is in the overlaps. No n at all.

    >>> from mkclust.agreement.overlap import Overlap
    >>> dual_noise_of(np.eye(2)[:, :1], [2], Overlap(np.eye(2), np.array([0, 2]), 3))
    Noise(null=array([1.]), column=array([0.]), cross=array([0.]))
    """
    kept = overlap.columns(dimensions)
    T = W.T @ overlap.cross[np.ix_(kept, kept)]
    return _parts(np.split(T, np.cumsum(dimensions)[:-1], axis=1), W.shape[1])


def _parts(T: Sequence[np.ndarray], k: int | np.ndarray) -> Noise:
    """Traces and norms of the three parts from all $T_p$ (k x d_p)."""
    kept = np.array([np.sum(part**2) for part in T])
    squared = np.array([np.sum((part @ part.T) ** 2) for part in T])
    return Noise(
        null=np.array([part.shape[1] for part in T]) - kept,
        column=kept - k,
        cross=2 * (kept - squared),
    )
