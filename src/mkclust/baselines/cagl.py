"""CAGL: consensus affinity graph learning for multiple kernel clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import ConvergenceWarning, check_whole, warn
from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import positive_with
from ..progress import step
from .base import ComparedMethod, check_number
from .graph_learning import (
    components,
    expression_value,
    lowest_eigenpairs,
    neighbor_weights,
    self_expression,
    squared_row_distances,
)
from .linalg import finite_inverse, psd_part, weighted_sum

RIDGE = 1.0  # beta, the weight of the norm of each code
CAP = 100


@dataclass(eq=False, repr=False, kw_only=True)
class CAGL(ComparedMethod):
    r"""Consensus affinity graph learning: a graph per kernel, then one graph of k components.

    $$\min_{Z_p} \tfrac12\mathrm{Tr}(K_p - 2K_pZ_p + Z_p^TK_pZ_p) - \alpha\mathrm{Tr}(K_pZ_p)
      + \tfrac12\|Z_p\|_F^2 \quad \text{s.t.} \quad Z_p \ge 0,\; \mathrm{diag}\,Z_p = 0$$

    is stage one. Stage two learns a neighbor graph S and weights $w_p \propto 1/\|S - Z_p^T\|_F$. S
    is the neighbor graph of $\sum_pw_pZ_p^T$ minus a penalty on the distances between the rows of
    the k lowest Laplacian eigenvectors of S. The penalty is raised and lowered until S has k
    components, which are the clusters. Stage two has no fixed objective.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    alpha : float
        Weight of the local term of stage one.
    n_neighbors : int, optional
        Neighbors of each sample in S. It should be smaller than the smallest cluster. The
        default is n / (3k), rounded down, and at least 5.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod. k-means is used only if the number of components is not k.

    Attributes
    ----------
    labels_ : (n,) int array, the components of `graph_` if they are k, otherwise by k-means
    graph_ : (n, n) array, S, rows of sum 1, not symmetric
    embedding_ : (n, k) array, lowest Laplacian eigenvectors of `graph_`
    weights_ : (m,) array, w
    code_objectives_ : (m,) array, the minimum of stage one for each kernel
    n_components_ : int
    component_history_ : (n_iter_,) int array, number of components after each iteration
    n_iter_, converged_
        Of stage two; converged_ is True if S has k components.

    Notes
    -----
    This is a re-implementation from the published description. The authors' program is
    distributed in encrypted form, and the published accuracy was *not* reproduced. The result is
    very sensitive to alpha (BBCSport, 36 neighbors: accuracy 70 % at 7, 91 % at 6 and 8) and to
    the number of neighbors (42 to 91 %). Compare several values.

    Stage one takes some tens of n x n products per kernel. An iteration of stage two takes k
    eigenvectors of an n x n Laplacian: O(n^3) up to n = 500, about O(n^2 k) beyond. The memory is
    the m codes and about eight more n x n matrices.

    References
    ----------
    Z. Ren, S. X. Yang, Q. Sun, T. Wang. Consensus Affinity Graph Learning for Multiple Kernel
    Clustering. IEEE Transactions on Cybernetics, 2020.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import CAGL
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = CAGL(3).fit(views)
    >>> model.n_components_, metrics.accuracy(views.labels, model.labels_)
    (3, 1.0)
    """

    name = "cagl"
    title = "CAGL"
    reference = (
        "Z. Ren, S. X. Yang, Q. Sun, T. Wang, Consensus Affinity Graph Learning for Multiple "
        "Kernel Clustering, IEEE Transactions on Cybernetics 2020"
    )
    # The authors' values are not public; these range from a weak local term to a dominant one.
    grid: ClassVar = {"alpha": (1.0, 2.0, 4.0, 6.0, 8.0, 16.0, 32.0)}

    alpha: float = 6.0
    n_neighbors: int | None = None

    def _solve(self, kernels: KernelBank, k: int) -> None:
        gain = 1 + check_number("alpha", self.alpha)
        n_neighbors = max(5, kernels.n_samples // (3 * k))
        if self.n_neighbors is not None:
            n_neighbors = check_whole("n_neighbors", self.n_neighbors)
        codes = self._codes(kernels, gain)
        mean = weighted_sum(np.full(len(codes), 1 / len(codes)), codes)
        S = neighbor_weights(mean, n_neighbors)
        F = lowest_eigenpairs(S, k)[1]
        # At the first penalty the distances have the norm of the mean code.
        size = float(np.linalg.norm(squared_row_distances(F)))
        lam = float(np.linalg.norm(mean)) / size if size > 0 else 0.0
        counts: list[int] = []
        while len(counts) < CAP and counts[-1:] != [k]:
            step(f"{self.title}, iteration {len(counts) + 1}")
            w = graph_weights(S, codes)
            V = weighted_sum(w, codes) - lam / 2 * squared_row_distances(F)
            S = neighbor_weights(V, n_neighbors)
            count, labels = components(S)
            counts.append(count)
            if count > k:
                lam /= np.sqrt(2)  # F is kept
            else:
                F = lowest_eigenpairs(S, k)[1]
                lam *= 2
        self.graph_, self.weights_ = S, w
        self.component_history_, self.n_iter_ = np.array(counts), len(counts)
        self.n_components_, self.converged_ = count, count == k
        if self.converged_:
            self.embedding_, self.labels_ = F, labels
        else:
            warn(
                f"{self.title} ended with a graph of {self.n_components_} connected components "
                f"where {k} were asked for: the labels are by k-means instead",
                ConvergenceWarning,
            )
            self._label(F, k)

    def _codes(self, kernels: KernelBank, gain: float) -> list[np.ndarray]:
        """Run stage one: return the code (n, n) of each kernel, row i for sample i."""
        codes, values = [], []
        for name, K in zip(kernels.names, kernels, strict=True):
            step(f"CAGL, code of {name}")
            if self.indefinite == "ignore" or not positive_with(K, RIDGE):
                K = psd_part(K)  # otherwise the problem is unbounded
            Z = self_expression(K, gain, RIDGE)
            values.append(expression_value(K, Z, gain, RIDGE))
            codes.append(np.ascontiguousarray(Z.T))
        self.code_objectives_ = np.array(values)
        return codes


def graph_weights(S: np.ndarray, codes: list[np.ndarray]) -> np.ndarray:
    r"""Compute $w_p \propto 1/\|S - Z_p\|_F$ with sum 1; finite for a residual of zero."""
    nearness = finite_inverse(np.array([np.linalg.norm(S - Z) for Z in codes]))
    return nearness / nearness.sum()
