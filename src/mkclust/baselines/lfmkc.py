"""LFMKC: multi-view clustering via late fusion alignment maximization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import check_choice
from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import POWERS_OF_TWO, ComparedMethod, Trace, check_number
from .linalg import polar, unit


@dataclass(eq=False, repr=False, kw_only=True)
class LFMKC(ComparedMethod):
    r"""Late fusion alignment maximization: align a partition with those of the single views.

    $$\max_{H, W, \gamma} \mathrm{Tr}\Big(H^T\big(\sum_p\gamma_pH_pW_p + \lambda H_0\big)\Big)
    \quad \text{s.t.} \quad H^TH = I_k, \; W_p^TW_p = I_k, \; \gamma \ge 0, \; \|\gamma\|_2 = 1$$

    with $H_p$ the k leading eigenvectors of the kernel of view p, and $H_0$ those of the average
    kernel. Three steps alternate: H is the orthogonal polar factor of
    $\sum_p\gamma_pH_pW_p + \lambda H_0$; $W_p$ is that of $H_p^TH$; $\gamma$ is proportional to the
    alignments $\mathrm{Tr}(H^TH_pW_p)$. Each step raises the objective. The iteration ends when the
    relative change is below 1e-6, or after 101 iterations. k-means on the unit rows of H gives the
    labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    lam : float
        Weight of the average kernel's partition. At 1 it counts at most like one more view.
    accumulate : bool
        Add the fused partition to a running sum that is never reset, as the authors' program
        does. The influence of `lam` then decreases, and the objective may fall.
    init : {"align", "identity"}
        Initial rotations: aligned with $H_0$, or $W_p = I$ as published. With ``"identity"`` the
        result depends on the arbitrary signs of eigenvectors.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, gamma, of unit 2-norm
    rotations_ : (m, k, k) array, W
    objective_history_, n_iter_, converged_

    Notes
    -----
    The time is m + 1 partial eigenproblems of size n, then O(m n k^2) per iteration. The memory is
    two n x n matrices while the kernels are built, then m + 2 partitions of n x k.

    References
    ----------
    S. Wang, X. Liu, E. Zhu, C. Tang, J. Liu, J. Hu, J. Xia, J. Yin. Multi-view Clustering via Late
    Fusion Alignment Maximization. IJCAI 2019.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import LFMKC
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = LFMKC(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "lfmkc"
    title = "LFMKC"
    reference = (
        "S. Wang et al., Multi-view Clustering via Late Fusion Alignment Maximization, IJCAI 2019"
    )
    grid: ClassVar = {"lam": POWERS_OF_TWO}

    lam: float = 1.0
    accumulate: bool = False
    init: str = "align"

    def _solve(self, kernels: KernelBank, k: int) -> None:
        lam = check_number("lam", self.lam)
        H_p, H_0 = partitions(kernels, k)
        W = first_rotations(H_p, H_0, self.init)
        H, self.rotations_, self.weights_, trace = late_fusion(H_p, H_0, W, lam, self.accumulate)
        self._keep(trace)
        self._label(H, k)


def late_fusion(
    H_p: np.ndarray, H_0: np.ndarray, W: np.ndarray, lam: float, accumulate: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Trace]:
    """Run LFMKC on partitions H_p (m, n, k) and H_0 (n, k), starting from rotations W.

    Returned are the partition H (n, k), the rotations W (m, k, k), the weights gamma (m,) and the
    trace.
    """
    m = len(H_p)
    H, R = H_0, np.zeros_like(H_0)
    fused = fuse(np.full(m, 1 / m), H_p, W)
    trace = Trace(LFMKC.title, tolerance=1e-6, after=2, cap=101)
    for _ in trace:
        R = R + fused if accumulate else fused
        H = polar(R + lam * H_0, guide=H)
        W = rotations(H_p, H, W)
        gamma = unit(alignments(H_p, W, H))
        fused = fuse(gamma, H_p, W)
        trace.add(np.vdot(H, fused + lam * H_0))
    return H, W, gamma, trace


def partitions(kernels: KernelBank, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenvectors of each kernel (m, n, k), and of their mean (n, k)."""
    n = kernels.n_samples
    H_p = np.empty((len(kernels), n, k))
    total = np.zeros((n, n))
    for p, K in enumerate(kernels):
        H_p[p] = top_eigenpairs(K, k)[1]
        total += K
    return H_p, top_eigenpairs(total, k)[1]


def first_rotations(H_p: np.ndarray, H_0: np.ndarray, init: str) -> np.ndarray:
    """Return the initial rotations W (m, k, k): aligned with H_0, or the identity."""
    identity = np.tile(np.eye(H_0.shape[1]), (len(H_p), 1, 1))
    check_choice("init", init, ("align", "identity"))
    return identity if init == "identity" else rotations(H_p, H_0, identity)


def rotations(H_p: np.ndarray, H: np.ndarray, before: np.ndarray) -> np.ndarray:
    r"""Solve $\max_{W_p} \mathrm{Tr}(H^TH_pW_p)$ for all p: the polar factors of $H_p^TH$."""
    return np.array([polar(A.T @ H, guide=W) for A, W in zip(H_p, before, strict=True)])


def alignments(H_p: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    r"""Compute $\mathrm{Tr}(H^TH_pW_p)$ for all p, (m,)."""
    return np.array([np.vdot(A.T @ H, B) for A, B in zip(H_p, W, strict=True)])


def fuse(weights: np.ndarray, H_p: np.ndarray, W: np.ndarray) -> np.ndarray:
    r"""Compute $\sum_p w_pH_pW_p$ (n, k)."""
    return np.sum([w * (A @ B) for w, A, B in zip(weights, H_p, W, strict=True)], axis=0)
