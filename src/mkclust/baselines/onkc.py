"""ONKC: optimal neighborhood kernel clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.spectrum import top_eigenpairs
from ..progress import step
from .base import POWERS_OF_TWO, ComparedMethod, Trace, checked_number
from .linalg import energy, gram, psd_part_and_top, trace_product, weighted_sum
from .simplex import simplex_qp


class ONKC(ComparedMethod):
    r"""A kernel G near the combined kernels, not confined to them, and its partition.

    $$\min_{H, \gamma, G} \mathrm{Tr}\big(G(I - HH^T)\big) + \tfrac\rho2\|G - K_\gamma\|_F^2
    + \tfrac\lambda2\gamma^TM\gamma \quad \text{s.t.} \quad H^TH = I_k, \; \gamma \ge 0, \;
    \sum_p\gamma_p = 1, \; G \succeq 0$$

    with $K_\gamma = \sum_p\gamma_pK_p$ and $M_{pq} = \mathrm{Tr}(K_pK_q)$. By turns: H from the k
    leading eigenvectors of G; $\gamma$ from a quadratic program of size m, solved exactly; G, the
    positive semi-definite part of $K_\gamma - \frac1\rho(I - HH^T)$. Each step lowers the
    objective; it ends when that changes by less than 1e-3, or after 50 iterations. Labels by
    k-means on the rows of H.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    rho : float
        How closely G follows the combined kernels. At 1 a direction outside the partition stays
        in G if its eigenvalue is above 1, the mean over all directions for unit diagonals.
    lam : float
        Weight of the redundancy term; 1 is the middle of the published grid, and at rho = 1
        gives it the same curvature as following G.
    kernel, kernel_params, center, normalize, indefinite, columns, n_init, random_state
        See MultiViewClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, gamma
    kernel_ : (n, n) array, G
    objective_history_, n_iter_, converged_

    Time is m^2/2 passes over n x n for M, then for each iteration one full eigenproblem of n x n,
    which serves G and the next H; memory is the m kernels and about five more n x n matrices.

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

    title = "ONKC"
    reference = (
        "X. Liu et al., Optimal Neighborhood Kernel Clustering with Multiple Kernels, AAAI 2017"
    )
    grid: ClassVar = {"rho": POWERS_OF_TWO, "lam": POWERS_OF_TWO}

    def __init__(
        self, n_clusters: int, *, rho: float = 1.0, lam: float = 1.0, **shared: Any
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.rho = rho
        self.lam = lam

    def _solve(self, kernels: KernelBank, k: int) -> None:
        rho = checked_number("rho", self.rho, above=True)
        lam = checked_number("lam", self.lam)
        found = neighbourhood_kernel(list(kernels), k, rho, lam)
        self.weights_ = found.gamma
        self.kernel_ = found.G
        self._keep(found.trace)
        self._label(found.H, k)


@dataclass(frozen=True)
class Result:
    """The partition H (n, k), the weights gamma (m,), the kernel G (n, n), and the trace."""

    H: np.ndarray
    gamma: np.ndarray
    G: np.ndarray
    trace: Trace


def neighbourhood_kernel(kernels: Sequence[np.ndarray], k: int, rho: float, lam: float) -> Result:
    """The whole of ONKC on kernels (n, n), from equal weights."""
    M = gram(kernels)
    K = weighted_sum(np.full(len(kernels), 1 / len(kernels)), kernels)
    G, H_next = optimal_kernel(K, top_eigenpairs(K, k)[1], rho)
    trace = Trace(tolerance=1e-3, after=2, cap=50)
    while True:
        step(f"ONKC, iteration {trace.iteration}")
        H = H_next
        gamma = kernel_weights(kernels, M, G, rho, lam)
        K = weighted_sum(gamma, kernels)
        G, H_next = optimal_kernel(K, H, rho)
        value = objective(G, H, K, rho) + lam / 2 * gamma @ M @ gamma
        if trace.ends_with(value):
            return Result(H, gamma, G, trace)


def kernel_weights(
    kernels: Sequence[np.ndarray], M: np.ndarray, G: np.ndarray, rho: float, lam: float
) -> np.ndarray:
    r"""$\min_\gamma \frac\rho2\|G - K_\gamma\|^2 + \frac\lambda2\gamma^TM\gamma$ on the simplex."""
    return simplex_qp((rho + lam) * M, -rho * np.array([trace_product(K, G) for K in kernels]))


def optimal_kernel(K: np.ndarray, H: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    r"""$\min_{G \succeq 0} \mathrm{Tr}(G(I - HH^T)) + \frac\rho2\|G - K\|^2$, and the H of G."""
    shifted = K + (H / rho) @ H.T
    shifted.flat[:: len(K) + 1] -= 1 / rho
    return psd_part_and_top(shifted, H.shape[1])


def objective(G: np.ndarray, H: np.ndarray, K: np.ndarray, rho: float) -> float:
    """What the partition leaves of G, and G's distance from the combined kernel K."""
    return float(np.trace(G) - energy(G, H) + rho / 2 * np.linalg.norm(G - K) ** 2)
