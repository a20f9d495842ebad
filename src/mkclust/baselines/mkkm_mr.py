"""MKKM-MR: multiple kernel k-means with matrix-induced regularization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import POWERS_OF_TWO, ComparedMethod, Trace, check_number
from .linalg import gram, residuals, simplex_qp, weighted_sum

NEGLIGIBLE = 1e-6  # weights below it are set to zero, as published


@dataclass(eq=False, repr=False, kw_only=True)
class MKKMMR(ComparedMethod):
    r"""Multiple kernel k-means with a regularizer that penalizes redundant kernels.

    $$\min_{H, \gamma} \sum_p\gamma_p^2\,\mathrm{Tr}\big(K_p(I - HH^T)\big)
    + \tfrac\lambda2\gamma^TM\gamma \quad \text{s.t.} \quad H^TH = I_k, \; \gamma \ge 0, \;
    \sum_p\gamma_p = 1$$

    with $M_{pq} = \mathrm{Tr}(K_pK_q)$. Two steps alternate: H is the k leading eigenvectors of
    $\sum_p\gamma_pK_p$; $\gamma$ solves a quadratic program of size m exactly. The first step uses
    weights that are not squared, as published, so the objective may rise. The iteration ends when
    the relative change is below 1e-6, or after 100 iterations. k-means on the unit rows of H gives
    the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    lam : float
        Weight of the redundancy term. The default is the middle of the published grid. M grows
        like $n^2$ and the residuals like n, so the same value counts more for more samples.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, gamma
    objective_history_, n_iter_, converged_

    Notes
    -----
    M takes m^2/2 passes over n x n entries. An iteration takes one partial eigenproblem of size n
    and m products of n x n and n x k. The memory is the m kernels and two more n x n matrices.

    References
    ----------
    X. Liu, Y. Dou, J. Yin, L. Wang, E. Zhu. Multiple Kernel k-Means Clustering with Matrix-Induced
    Regularization. AAAI 2016.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import MKKMMR
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = MKKMMR(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "mkkm-mr"
    title = "MKKM-MR"
    reference = (
        "X. Liu et al., Multiple Kernel k-Means Clustering with Matrix-Induced Regularization, "
        "AAAI 2016"
    )
    grid: ClassVar = {"lam": POWERS_OF_TWO}

    lam: float = 1.0

    def _solve(self, kernels: KernelBank, k: int) -> None:
        lam, K = check_number("lam", self.lam), list(kernels)
        M = gram(K)
        gamma = np.full(len(K), 1 / len(K))
        trace = Trace(self.title, tolerance=1e-6, after=2, cap=100)
        for _ in trace:
            H = top_eigenpairs(weighted_sum(gamma, K), k)[1]
            Q = lam * M + 2 * np.diag(residuals(K, H))
            trace.add(gamma @ Q @ gamma / 2)  # with the weights that H was computed from
            gamma = sparse_weights(Q)
        self.weights_ = gamma
        self._keep(trace)
        self._label(H, k)


def sparse_weights(Q: np.ndarray) -> np.ndarray:
    r"""Solve $\min_\gamma \frac12\gamma^TQ\gamma$ on the simplex; set negligible weights to 0."""
    gamma = simplex_qp(Q, np.zeros(len(Q)))
    gamma[gamma < NEGLIGIBLE] = 0.0
    return gamma / gamma.sum()
