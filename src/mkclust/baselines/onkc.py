"""ONKC: optimal neighborhood kernel clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import POWERS_OF_TWO, ComparedMethod, Trace, check_number
from .linalg import energy, gram, psd_part_and_top, simplex_qp, weighted_sum


@dataclass(eq=False, repr=False, kw_only=True)
class ONKC(ComparedMethod):
    r"""Optimal neighborhood kernel clustering: learn a kernel near the combined kernels.

    $$\min_{H, \gamma, G} \mathrm{Tr}\big(G(I - HH^T)\big) + \tfrac\rho2\|G - K_\gamma\|_F^2
    + \tfrac\lambda2\gamma^TM\gamma \quad \text{s.t.} \quad H^TH = I_k, \; \gamma \ge 0, \;
    \sum_p\gamma_p = 1, \; G \succeq 0$$

    with $K_\gamma = \sum_p\gamma_pK_p$ and $M_{pq} = \mathrm{Tr}(K_pK_q)$. Three steps alternate: H
    is the k leading eigenvectors of G; $\gamma$ solves a quadratic program of size m exactly; G is
    the positive semi-definite part of $K_\gamma - \frac1\rho(I - HH^T)$. Each step lowers the
    objective. The iteration ends when the relative change is below 1e-3, or after 50 iterations.
    k-means on the unit rows of H gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    rho : float
        Weight of the distance between G and the combined kernel. At 1 an eigenvector outside the
        partition stays in G if its eigenvalue is above 1, which is the mean eigenvalue of a
        kernel with unit diagonal.
    lam : float
        Weight of the redundancy term. The default is the middle of the published grid. At
        rho = 1 it gives this term and the distance term the same curvature.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, gamma
    kernel_ : (n, n) array, G
    objective_history_, n_iter_, converged_

    Notes
    -----
    M takes m^2/2 passes over n x n entries. An iteration takes one full eigenproblem of size n,
    which gives G and the next H. The memory is the m kernels and about five more n x n matrices.

    References
    ----------
    X. Liu, S. Zhou, Y. Wang, M. Li, Y. Dou, E. Zhu, J. Yin. Optimal Neighborhood Kernel Clustering
    with Multiple Kernels. AAAI 2017.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import ONKC
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = ONKC(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "onkc"
    title = "ONKC"
    reference = (
        "X. Liu et al., Optimal Neighborhood Kernel Clustering with Multiple Kernels, AAAI 2017"
    )
    grid: ClassVar = {"rho": POWERS_OF_TWO, "lam": POWERS_OF_TWO}

    rho: float = 1.0
    lam: float = 1.0

    def _solve(self, kernels: KernelBank, k: int) -> None:
        rho = check_number("rho", self.rho, above=True)
        lam, K_p = check_number("lam", self.lam), list(kernels)
        M = gram(K_p)
        K = weighted_sum(np.full(len(K_p), 1 / len(K_p)), K_p)
        G, following = optimal_kernel(K, top_eigenpairs(K, k)[1], rho)
        trace = Trace(self.title, tolerance=1e-3, after=2, cap=50)
        for _ in trace:
            H = following
            gamma = kernel_weights(K_p, M, G, rho, lam)
            K = weighted_sum(gamma, K_p)
            G, following = optimal_kernel(K, H, rho)
            residual = np.trace(G) - energy(G, H)
            distance = np.linalg.norm(G - K) ** 2
            trace.add(residual + rho / 2 * distance + lam / 2 * gamma @ M @ gamma)
        self.weights_, self.kernel_ = gamma, G
        self._keep(trace)
        self._label(H, k)


def kernel_weights(
    kernels: Sequence[np.ndarray], M: np.ndarray, G: np.ndarray, rho: float, lam: float
) -> np.ndarray:
    r"""Compute the best weights (m,) for the kernel G.

    $$\min_\gamma \tfrac\rho2\|G - K_\gamma\|_F^2 + \tfrac\lambda2\gamma^TM\gamma$$

    over the simplex.
    """
    return simplex_qp((rho + lam) * M, -rho * np.array([np.vdot(K, G) for K in kernels]))


def optimal_kernel(K: np.ndarray, H: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute the best kernel G (n, n) for H and the combined kernel K, and the next H (n, k).

    $$\min_{G \succeq 0} \mathrm{Tr}(G(I - HH^T)) + \tfrac\rho2\|G - K\|_F^2$$
    """
    shifted = K + (H / rho) @ H.T
    shifted.flat[:: len(K) + 1] -= 1 / rho
    return psd_part_and_top(shifted, H.shape[1])
