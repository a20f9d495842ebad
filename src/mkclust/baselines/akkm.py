"""AKKM: kernel k-means on the average kernel."""

from __future__ import annotations

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import ComparedMethod, Trace
from .linalg import energy


class AKKM(ComparedMethod):
    r"""Average kernel k-means: kernel k-means on the mean of the kernels.

    $$\min_H \mathrm{Tr}\big(\bar K(I - HH^T)\big) \quad \text{s.t.} \quad H^TH = I_k, \;
    \bar K = \tfrac1m\sum_pK_p$$

    The solution is the k leading eigenvectors of $\bar K$. k-means on their rows, scaled to unit
    length, gives the labels.

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
    weights_ : (m,) array, 1/m each
    objective_history_ : (1,) array; n_iter_ is 1, converged_ is True

    Notes
    -----
    The time is one partial eigenproblem of size n. The memory is two n x n matrices for any
    number of views.

    References
    ----------
    B. Schölkopf, A. Smola, K.-R. Müller. Nonlinear Component Analysis as a Kernel Eigenvalue
    Problem. Neural Computation 10(5), 1998 (for a single kernel).

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import AKKM
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = AKKM(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "akkm"
    title = "AKKM"
    reference = "kernel k-means on the average kernel"

    def _solve(self, kernels: KernelBank, k: int) -> None:
        K = kernels.mean()
        H = top_eigenpairs(K, k)[1]
        trace = Trace(self.title, tolerance=0.0, after=0, cap=1)
        trace.add(np.trace(K) - energy(K, H), settled=True)
        self.weights_ = np.full(len(kernels), 1 / len(kernels))
        self._keep(trace)
        self._label(H, k)
