"""HMKC: hierarchical multiple kernel clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..exceptions import check_whole
from ..kernels.bank import KernelBank
from ..linalg.eigenpairs import top_eigenpairs
from .base import ComparedMethod, Trace
from .linalg import energy, top_of_projectors, unit, weighted_sum


@dataclass(eq=False, repr=False, kw_only=True)
class HMKC(ComparedMethod):
    r"""Hierarchical multiple kernel clustering: reduce each view in two layers, then join them.

    $$\max \sum_p \omega^1_p\,\mathrm{Tr}(K_pH^1_pH^{1T}_p) + \omega^2_p\|H^{1T}_pH^2_p\|_F^2
    + \beta_p\|H^TH^2_p\|_F^2$$

    over orthonormal $H^1_p$ (n x c1), $H^2_p$ (n x c2) and H (n x k) and over non-negative weights
    $\omega^1, \omega^2, \beta$ of unit 2-norm. Every matrix in turn becomes the leading
    eigenvectors of its part of the objective, with the layers in alternating order; the weights
    are proportional to the terms they multiply. Each step raises the objective. The iteration ends
    when the relative change is below 1e-5, or after 100 iterations. k-means on the unit rows of H
    gives the labels.

    $\omega^2H^1H^{1T} + \beta HH^T$ has an eigenvalue of multiplicity c1 - k, and $H^2_p$ takes
    only c2 - k of its eigenvectors. The objective does not determine which, but the result depends
    on it: correct programs may differ from the second iteration on. This implementation takes
    those of the largest energy in $K_p$.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    c1, c2 : int, optional
        Widths of the layers, decreasing towards k. The defaults are 4k and 3k, the authors' own
        setting. Both are clipped to the range from k to n - 1.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.
    missing_rows
        See ComparedMethod.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, beta, of unit 2-norm
    layer_weights_ : (2, m) array, omega, rows of unit 2-norm
    layer_sizes_ : (2,) int array, c1 and c2 as used
    objective_history_, n_iter_, converged_

    Notes
    -----
    An iteration takes m partial eigenproblems of size n for the first layers and
    O(n (m c2)^2 + n^2 m c1) for the rest; sums of projectors are never formed. The memory is the m
    kernels, about three more n x n matrices, and m (c1 + c2) columns.

    References
    ----------
    J. Liu, X. Liu, S. Wang, S. Zhou, Y. Yang. Hierarchical Multiple Kernel Clustering. AAAI 2021.

    Examples
    --------
    >>> from mkclust import datasets, metrics
    >>> from mkclust.baselines import HMKC
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = HMKC(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "hmkc"
    title = "HMKC"
    reference = "J. Liu et al., Hierarchical Multiple Kernel Clustering, AAAI 2021"
    grid: ClassVar = {"c1": tuple(range(3, 11)), "c2": tuple(range(2, 11))}  # in multiples of k

    c1: int | None = None
    c2: int | None = None

    @classmethod
    def published_grid(cls, k: int) -> list[dict[str, Any]]:
        """Return the 72 pairs of layer widths that the authors used, for k clusters."""
        return [{c: k * times for c, times in pair.items()} for pair in super().published_grid(k)]

    def _solve(self, kernels: KernelBank, k: int) -> None:
        c1 = 4 * k if self.c1 is None else check_whole("c1", self.c1)
        c2 = 3 * k if self.c2 is None else check_whole("c2", self.c2)
        c1, c2 = (max(k, min(c, kernels.n_samples - 1)) for c in (c1, c2))
        K = list(kernels)
        widest = [top_eigenpairs(each, max(c1, c2))[1] for each in K]
        H1, H2 = [V[:, :c1] for V in widest], [V[:, :c2] for V in widest]
        omega1 = omega2 = beta = np.full(len(K), 1 / len(K))
        # With one view, or copies of one, all eigenvalues of the sum tie: the kernels break it.
        average = weighted_sum(beta, K)
        trace = Trace(self.title, tolerance=1e-5, after=1, cap=100)
        for number in trace:
            H = top_of_projectors(H2, beta, k, average)
            for layer in (1, 2) if number % 2 == 0 else (2, 1):  # forward and backward in turn
                if layer == 1:
                    H1 = first_layers(K, H2, omega1, omega2, c1)
                else:
                    H2 = second_layers(K, H1, H, omega2, beta, c2)
            links = link_strengths(K, H1, H2, H)
            omega1, omega2, beta = (unit(link) for link in links)
            trace.add(sum(float(np.linalg.norm(link)) for link in links))
        self.weights_, self.layer_weights_ = beta, np.array([omega1, omega2])
        self.layer_sizes_ = np.array([c1, c2])
        self._keep(trace)
        self._label(H, k)


def first_layers(
    kernels: Sequence[np.ndarray],
    H2: list[np.ndarray],
    omega1: np.ndarray,
    omega2: np.ndarray,
    c1: int,
) -> list[np.ndarray]:
    r"""Return c1 leading eigenvectors of $\omega^1_pK_p + \omega^2_pH^2_pH^{2T}_p$ for all p."""
    views = zip(kernels, H2, omega1, omega2, strict=True)
    return [top_eigenpairs(w1 * K + (w2 * B) @ B.T, c1)[1] for K, B, w1, w2 in views]


def second_layers(
    kernels: Sequence[np.ndarray],
    H1: list[np.ndarray],
    H: np.ndarray,
    omega2: np.ndarray,
    beta: np.ndarray,
    c2: int,
) -> list[np.ndarray]:
    r"""Return c2 leading eigenvectors of $\omega^2_pH^1_pH^{1T}_p + \beta_pHH^T$ for all p."""
    views = zip(kernels, H1, omega2, beta, strict=True)
    return [top_of_projectors([A, H], [w2, b], c2, K) for K, A, w2, b in views]


def link_strengths(
    kernels: Sequence[np.ndarray], H1: list[np.ndarray], H2: list[np.ndarray], H: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Compute the three terms of the objective without their weights, each (m,).

    $$\mathrm{Tr}(K_pH^1_pH^{1T}_p), \quad \|H^{1T}_pH^2_p\|_F^2, \quad \|H^TH^2_p\|_F^2$$
    """
    return (
        np.array([energy(K, A) for K, A in zip(kernels, H1, strict=True)]),
        np.array([np.sum((A.T @ B) ** 2) for A, B in zip(H1, H2, strict=True)]),
        np.array([np.sum((H.T @ B) ** 2) for B in H2]),
    )
