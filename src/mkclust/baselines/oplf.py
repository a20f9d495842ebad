"""OPLF: one pass late fusion multi-view clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.values import random_generator
from ..kernels.bank import KernelBank
from ..linalg.kmeans import kmeans_labels, unit_rows
from .base import ComparedMethod, Trace
from .lfmkc import alignments, first_rotations, fuse, partitions, rotations
from .linalg import polar, unit


@dataclass(eq=False, repr=False, kw_only=True)
class OPLF(ComparedMethod):
    r"""One pass late fusion: learn the labels directly from the partitions of the single views.

    $$\max_{Y, C, W, \beta} \mathrm{Tr}\Big((YC)^T\sum_p\beta_pH_pW_p\Big) \quad \text{s.t.} \quad
    Y \in \{0, 1\}^{n \times k}, \; Y1 = 1, \; C^TC = I_k, \; W_p^TW_p = I_k, \; \beta \ge 0, \;
    \|\beta\|_2 = 1$$

    with $H_p$ the k leading eigenvectors of the kernel of view p. Y, C, $\beta$ and W are updated
    in turn, each to its optimum given the other three, so the objective rises. The iteration ends
    when the relative change is below 1e-4, or after 100 iterations. The initial centroids C come
    from k-means on the average kernel's partition.

    The method does not prevent empty clusters. The rows of C and W that an empty cluster leaves
    undetermined stay as close as possible to their previous values. A ConvergenceWarning reports
    empty clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    init : {"align", "identity"}
        Initial rotations: aligned with the average kernel's partition, or $W_p = I$ as published.
        With ``"identity"`` the result depends on the arbitrary signs of eigenvectors.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array, indices of rows of `centroids_`
    embedding_ : (n, k) array, the fused partition sum_p beta_p H_p W_p
    weights_ : (m,) array, beta, of unit 2-norm
    rotations_ : (m, k, k) array, W
    centroids_ : (k, k) array, C
    empty_clusters_ : int array, labels without samples
    objective_history_, n_iter_, converged_

    Notes
    -----
    The time is m + 1 partial eigenproblems of size n, then O(m n k^2) per iteration. The memory is
    two n x n matrices while the kernels are built, then m + 2 partitions of n x k.

    References
    ----------
    X. Liu, L. Liu, Q. Liao, S. Wang, Y. Zhang, W. Tu, C. Tang, J. Liu, E. Zhu. One Pass Late Fusion
    Multi-view Clustering. ICML 2021.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import OPLF
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = OPLF(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "oplf"
    title = "OPLF"
    reference = "X. Liu et al., One Pass Late Fusion Multi-view Clustering, ICML 2021"

    init: str = "align"

    def _solve(self, kernels: KernelBank, k: int) -> None:
        H_p, H_0 = partitions(kernels, k)
        W = first_rotations(H_p, H_0, self.init)
        start = kmeans_labels(H_0, k, self.n_init, random_generator(self.random_state))
        labels, H, C, W, beta, trace = one_pass(H_p, first_centroids(H_0, start), W)
        self.embedding_, self.centroids_, self.rotations_, self.weights_ = H, C, W, beta
        self.empty_clusters_ = empty_clusters(labels, k)
        self._keep(trace)
        self._keep_labels(labels, k, "the method does not prevent empty clusters")


def one_pass(
    H_p: np.ndarray, C: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, Trace]:
    """Run OPLF on partitions H_p (m, n, k), starting from centroids C and rotations W.

    Returned are the labels (n,), the fused partition R (n, k), C (k, k), W (m, k, k), the weights
    beta (m,) and the trace.
    """
    m = len(H_p)
    R = fuse(np.full(m, m**-0.5), H_p, W)
    trace = Trace(OPLF.title, tolerance=1e-4, after=2, cap=100)
    for _ in trace:
        labels = (R @ C.T).argmax(axis=1)  # the first on ties
        C = polar(cluster_sums(R, labels), guide=C)
        YC = C[labels]
        beta = view_weights(alignments(H_p, W, YC))
        W = rotations(H_p, YC, W)
        R = fuse(beta, H_p, W)
        trace.add(np.vdot(YC, R))
    return labels, R, C, W, beta, trace


def first_centroids(H_0: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Average the unit rows of H_0 (n, k) by cluster and make the means orthonormal (k, k)."""
    sizes = np.bincount(labels, minlength=H_0.shape[1])
    return polar(cluster_sums(unit_rows(H_0), labels) / np.maximum(sizes, 1)[:, None])


def view_weights(aligned: np.ndarray) -> np.ndarray:
    r"""Solve $\max_\beta \beta^Ta$ over $\beta \ge 0$, $\|\beta\|_2 = 1$.

    The solution is the positive part of a, scaled; if all entries are negative, the largest alone.

    >>> view_weights(np.array([3.0, -1.0, 4.0])), view_weights(np.array([-3.0, -1.0]))
    (array([0.6, 0. , 0.8]), array([0., 1.]))
    """
    if aligned.max() < 0:
        return np.where(np.arange(len(aligned)) == aligned.argmax(), 1.0, 0.0)
    return unit(np.maximum(aligned, 0.0))


def empty_clusters(labels: np.ndarray, k: int) -> np.ndarray:
    """Return the labels below k that no sample has."""
    return np.flatnonzero(np.bincount(labels, minlength=k) == 0)


def cluster_sums(R: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute $Y^TR$: the rows of R summed by label."""
    total = np.zeros((R.shape[1], R.shape[1]))
    np.add.at(total, labels, R)
    return total
