"""What each view adds to the consensus and what it lacks: N-noise and C-noise (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..io.archive import storable


@storable
@dataclass(frozen=True)
class Noise:
    r"""Parts of $E_p = U_pU_p^T - P$, $P = H^*H^{*T}$, for every view p: three arrays (m,).

    `null` is $\mathrm{Tr}(QE_pQ) \ge 0$ with $Q = I - P$: eigenvectors of the view outside the
    consensus (N-noise). `column` is $\mathrm{Tr}(PE_pP) \le 0$: components of the consensus that
    the view lacks (C-noise). `cross` is $\|PU_pU_p^TQ + QU_pU_p^TP\|_F^2$, the part of both. The
    paper's two parts do not add up to $E_p$ without it; its trace is zero, so their traces do.
    """

    null: np.ndarray
    column: np.ndarray
    cross: np.ndarray


def dual_noise(coordinates: Sequence[np.ndarray]) -> Noise:
    r"""Compute all three from $T_p = H^{*T}U_p$ (r, d_p) of every view, as `coordinates` gives it.

    Examples
    --------
    >>> dual_noise([np.eye(3)[:, :1].T @ np.eye(3)[:, :2]])
    Noise(null=array([1.]), column=array([0.]), cross=array([0.]))
    """
    inside = np.array([np.sum(T**2) for T in coordinates])
    squared = np.array([np.sum((T @ T.T) ** 2) for T in coordinates])
    rank, d = np.transpose([T.shape for T in coordinates])
    return Noise(null=d - inside, column=inside - rank, cross=2 * (inside - squared))
