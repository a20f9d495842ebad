"""MKKM: multiple kernel k-means."""

from __future__ import annotations

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import ComparedMethod, Trace
from .linalg import residuals, weighted_sum


class MKKM(ComparedMethod):
    r"""Multiple kernel k-means: learn a partition and the weights of the kernels.

    $$\min_{H, \theta} \sum_p \theta_p^2\, \mathrm{Tr}\big(K_p(I - HH^T)\big) \quad \text{s.t.}
    \quad H^TH = I_k, \; \theta \ge 0, \; \sum_p\theta_p = 1$$

    Two steps alternate: H is the k leading eigenvectors of $\sum_p\theta_p^2K_p$; $\theta_p$ is
    inversely proportional to the residual $\mathrm{Tr}(K_p(I - HH^T))$. Each step lowers the
    objective. The iteration ends when the relative change is below 1e-4, or after 50 iterations.
    k-means on the unit rows of H gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, theta
    objective_history_, n_iter_, converged_

    Notes
    -----
    An iteration takes one partial eigenproblem of size n and m products of n x n and n x k. The
    memory is the m kernels and two more n x n matrices.

    References
    ----------
    H.-C. Huang, Y.-Y. Chuang, C.-S. Chen. Multiple Kernel Fuzzy Clustering. IEEE Transactions on
    Fuzzy Systems 20(1), 2012.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import MKKM
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = MKKM(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "mkkm"
    title = "MKKM"
    reference = (
        "H.-C. Huang, Y.-Y. Chuang, C.-S. Chen, Multiple Kernel Fuzzy Clustering, "
        "IEEE Transactions on Fuzzy Systems 2012"
    )

    def _solve(self, kernels: KernelBank, k: int) -> None:
        K = list(kernels)
        theta = np.full(len(K), 1 / len(K))
        trace = Trace(self.title, tolerance=1e-4, after=2, cap=50)
        for _ in trace:
            H = top_eigenpairs(weighted_sum(theta**2, K), k)[1]
            a = residuals(K, H)
            theta = inverse_weights(a)
            trace.add(theta**2 @ a)
        self.weights_ = theta
        self._keep(trace)
        self._label(H, k)


def inverse_weights(a: np.ndarray) -> np.ndarray:
    r"""Solve $\min_\theta \sum_p\theta_p^2a_p$ on the simplex: $\theta_p \propto 1/a_p$.

    Kernels with a zero residual share all the weight, so that the objective is zero.

    >>> inverse_weights(np.array([1.0, 3.0])), inverse_weights(np.array([0.0, 3.0]))
    (array([0.75, 0.25]), array([1., 0.]))
    """
    explained = a == 0
    inverse = np.where(explained, 1.0, 0.0) if explained.any() else a.min() / a
    return inverse / inverse.sum()
