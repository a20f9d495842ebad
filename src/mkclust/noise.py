"""What each view adds to, and lacks of, the consensus: N-noise, C-noise and the cross part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .spectrum import Spectrum


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

    >>> V = Spectrum(np.eye(3)[:, :2], np.ones(2), True)
    >>> dual_noise(np.eye(3)[:, :1], [V], [2])
    Noise(null=array([1.]), column=array([0.]), cross=array([0.]))
    """
    k = np.count_nonzero(H.any(axis=0))  # a degenerate H* has zero columns
    captured, squared = [], []
    for spectrum, d in zip(spectra, dimensions, strict=True):
        T = H.T @ spectrum.vectors[:, :d]
        captured.append(np.sum(T**2))
        squared.append(np.sum((T @ T.T) ** 2))
    kept = np.asarray(captured)
    return Noise(
        null=np.asarray(dimensions) - kept,
        column=kept - k,
        cross=2 * (kept - np.asarray(squared)),
    )
