"""SPMKC: global and local graph structure preserving for multiple kernel clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import DegenerateWarning, warn
from ..kernels.bank import KernelBank
from .base import ComparedMethod, Trace, check_number
from .graph_learning import clipped_ridge, expression_value, self_expression, spectral_embedding
from .linalg import gram, psd_part, simplex_qp, weighted_sum

KEPT = 0.7  # share of each column's sum that is kept in the affinity matrix
COLLAPSED = 1e-6  # a weight closer to 1 counts as all the weight


@dataclass(eq=False, repr=False, kw_only=True)
class SPMKC(ComparedMethod):
    r"""Structure-preserving multiple kernel clustering: learn a kernel and a graph together.

    $$\min_{Z, K, w} \tfrac12\mathrm{Tr}(K - 2KZ + Z^TKZ) - \lambda_1\mathrm{Tr}(KZ)
      + \lambda_2\|Z\|_F^2 + \lambda_3\|K - \textstyle\sum_p w_pK_p\|_F^2 + \lambda_4\|w\|^2$$

    over $Z \ge 0$ with zero diagonal, $K \succeq 0$ and w on the simplex. The first term preserves
    the global structure: it expresses every sample by the others. The second preserves the local
    structure: for kernels with unit diagonal it is equivalent to a sum of kernel distances.
    Spectral clustering of Z gives the labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    lam1, lam2, lam3, lam4 : float
        Weights of the local term, of the norm of Z, of the distance of K from the weighted sum,
        and of the norm of w. The result depends mostly on lam1 / lam3.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    graph_ : (n, n) array, Z; column j expresses sample j
    embedding_ : (n, k) array, leading eigenvectors of the normalized graph
    weights_ : (m,) array, w
    objective_history_ : (n_iter_,) array, decreasing
    n_iter_ : int
    converged_ : bool, whether Z converged within 20 iterations

    Notes
    -----
    This is a re-implementation from the published description. The authors' program is
    distributed in encrypted form, so its output could not be compared.

    An iteration takes some tens of n x n products and a full eigenproblem, O(n^3). The memory is
    the m kernels and about ten more n x n matrices.

    References
    ----------
    Z. Ren, Q. Sun. Simultaneous Global and Local Graph Structure Preserving for Multiple Kernel
    Clustering. IEEE Transactions on Neural Networks and Learning Systems, 2020.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import SPMKC
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = SPMKC(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "spmkc"
    title = "SPMKC"
    reference = (
        "Z. Ren, Q. Sun, Simultaneous Global and Local Graph Structure Preserving for Multiple "
        "Kernel Clustering, TNNLS 2020"
    )
    grid: ClassVar = {
        "lam1": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        "lam3": (5.0, 10.0, 20.0, 50.0, 100.0, 200.0),
    }

    lam1: float = 4.0
    lam2: float = 1.0
    lam3: float = 200.0
    lam4: float = 1.0

    def _solve(self, kernels: KernelBank, k: int) -> None:
        lam1 = check_number("lam1", self.lam1)
        lam2 = check_number("lam2", self.lam2, above=True)
        lam3 = check_number("lam3", self.lam3, above=True)
        lam4 = check_number("lam4", self.lam4)
        gain, ridge, K_p = 1 + lam1, 2 * lam2, list(kernels)
        M = gram(K_p)
        w = np.full(len(K_p), 1 / len(K_p))
        K = psd_part(weighted_sum(w, K_p))  # unchanged unless a given kernel is indefinite
        Z = clipped_ridge(K, gain, ridge)
        trace = Trace(self.title, tolerance=1e-3, after=0, cap=20)
        for _ in trace:
            before, Z = Z, self_expression(K, gain, ridge, Z)
            K = kernel_step(weighted_sum(w, K_p), Z, gain, lam3)
            w = weight_step(K, K_p, M, lam3, lam4)
            misfit = np.linalg.norm(K - weighted_sum(w, K_p))
            value = expression_value(K, Z, gain, ridge) + lam3 * misfit**2 + lam4 * w @ w
            settled = np.linalg.norm(Z - before) <= trace.tolerance * np.linalg.norm(Z)
            trace.add(float(value), settled=bool(settled))
        self.graph_, self.weights_ = Z, w
        self._keep(trace)
        if len(w) > 1 and w.max() > 1 - COLLAPSED:
            warn(
                f"the kernel of {kernels.names[int(w.argmax())]} has all the weight, the others "
                "none: a smaller lam1, or a larger lam3 or lam4, distributes it",
                DegenerateWarning,
            )
        self._label(spectral_embedding(affinity(Z), k), k)


def kernel_step(mixture: np.ndarray, Z: np.ndarray, gain: float, lam3: float) -> np.ndarray:
    r"""Compute the best K for the graph and the mixture $\sum_pw_pK_p$: the PSD part of

    $$\sum_pw_pK_p - \tfrac1{2\lambda_3}[\tfrac12(I + ZZ^T) - \tfrac{1+\lambda_1}2(Z + Z^T)]$$
    """
    slope = Z @ Z.T
    slope.flat[:: len(Z) + 1] += 1
    slope -= gain * (Z + Z.T)
    return psd_part(mixture - slope / (4 * lam3))


def weight_step(
    K: np.ndarray, kernels: list[np.ndarray], M: np.ndarray, lam3: float, lam4: float
) -> np.ndarray:
    """Compute the best weights for the kernel K; M (m, m) holds the traces Tr(K_p K_q)."""
    overlaps = np.array([np.vdot(kernel, K) for kernel in kernels])
    Q = 2 * (lam3 * M + lam4 * np.eye(len(M)))
    return simplex_qp(Q, -2 * lam3 * overlaps)


def affinity(Z: np.ndarray, kept: float = KEPT) -> np.ndarray:
    """Compute the symmetric affinity matrix (n, n) that spectral clustering uses.

    In each column of $(Z + Z^T)/2$ the largest entries are kept that hold the share `kept` of its
    sum. The columns are divided by their maximum, and the transpose is added.

    >>> affinity(np.array([[0, 8.0, 2], [8, 0, 0], [2, 0, 0]]))
    array([[0., 2., 1.],
           [2., 0., 0.],
           [1., 0., 0.]])
    """
    A = (Z + Z.T) / 2
    ordered = -np.sort(-A, axis=0)
    reached = np.cumsum(ordered, axis=0)
    needed = np.count_nonzero(reached - ordered < kept * reached[-1], axis=0)
    smallest = np.take_along_axis(ordered, np.maximum(needed - 1, 0)[None], axis=0)
    A[A < smallest] = 0.0
    A /= np.where(ordered[0] > 0, ordered[0], 1.0)
    return A + A.T
