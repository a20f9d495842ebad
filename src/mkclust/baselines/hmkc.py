"""HMKC: hierarchical multiple kernel clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.bank import KernelBank
from ..linalg.spectrum import top_eigenpairs
from ..progress import step
from .base import ComparedMethod, Trace, checked_count
from .linalg import energy, top_of_projectors, trace_product, unit, weighted_sum


class HMKC(ComparedMethod):
    r"""From kernels to a partition in steps: each view is narrowed twice before views are joined.

    $$\max \sum_p \omega^1_p\,\mathrm{Tr}(K_pH^1_pH^{1T}_p) + \omega^2_p\|H^{1T}_pH^2_p\|_F^2
    + \beta_p\|H^TH^2_p\|_F^2$$

    over orthonormal $H^1_p$ (n x c1), $H^2_p$ (n x c2) and H (n x k) and over non-negative weights
    $\omega^1, \omega^2, \beta$ of unit 2-norm. By turns every matrix takes the leading eigenvectors
    of what it faces, layers in alternating order, and the weights follow the terms. Each step
    raises the objective; it ends when that changes by less than 1e-5, or after 100 iterations.
    Labels by k-means on the rows of H.

    $\omega^2H^1H^{1T} + \beta HH^T$ has one eigenvalue c1 - k times, of which $H^2_p$ takes c2 - k
    directions: any choice is as good for the objective and leads elsewhere. Here it is the one of
    largest energy in $K_p$. Correct programs may thus differ from the second iteration on.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    c1, c2 : int, optional
        Width of the layers, meant to narrow towards k: by default 4k and 3k, the authors' own
        setting. Both are kept between k and n - 1.
    kernel, kernel_params, center, normalize, indefinite, columns, n_init, random_state
        See MultiViewClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H
    weights_ : (m,) array, beta, of unit 2-norm
    layer_weights_ : (2, m) array, omega, rows of unit 2-norm
    layer_sizes_ : (2,) int array, c1 and c2 as used
    objective_history_, n_iter_, converged_

    Time for each iteration is m partial eigenproblems of n x n for the first layers and, for all
    the rest, O(n (m c2)^2 + n^2 m c1): sums of projectors are never formed. Memory is the m
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

    title = "HMKC"
    reference = "J. Liu et al., Hierarchical Multiple Kernel Clustering, AAAI 2021"
    grid: ClassVar = {"c1": tuple(range(3, 11)), "c2": tuple(range(2, 11))}  # in multiples of k

    def __init__(
        self, n_clusters: int, *, c1: int | None = None, c2: int | None = None, **shared: Any
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.c1 = c1
        self.c2 = c2

    @classmethod
    def published_grid(cls, k: int) -> list[dict[str, Any]]:
        """The 72 pairs of layer widths of the authors, for k clusters."""
        return [{c: k * times for c, times in pair.items()} for pair in super().published_grid(k)]

    def _solve(self, kernels: KernelBank, k: int) -> None:
        c1, c2 = self._widths(k, kernels.n_samples)
        found = hierarchy(list(kernels), k, c1, c2)
        self.weights_ = found.weights.beta
        self.layer_weights_ = np.array([found.weights.omega1, found.weights.omega2])
        self.layer_sizes_ = np.array([c1, c2])
        self._keep(found.trace)
        self._label(found.H, k)

    def _widths(self, k: int, n: int) -> tuple[int, int]:
        c1 = 4 * k if self.c1 is None else checked_count("c1", self.c1)
        c2 = 3 * k if self.c2 is None else checked_count("c2", self.c2)
        return max(k, min(c1, n - 1)), max(k, min(c2, n - 1))


@dataclass(frozen=True)
class Weights:
    """Weights (m,) of the three links: kernel to layer 1, layer 1 to 2, layer 2 to H."""

    omega1: np.ndarray
    omega2: np.ndarray
    beta: np.ndarray


@dataclass(frozen=True)
class Result:
    """The partition H (n, k), both layers of every view, the weights, and the trace."""

    H: np.ndarray
    H1: list[np.ndarray]
    H2: list[np.ndarray]
    weights: Weights
    trace: Trace


def hierarchy(kernels: Sequence[np.ndarray], k: int, c1: int, c2: int) -> Result:
    """The whole of HMKC on kernels (n, n), from their own leading eigenvectors."""
    widest = [top_eigenpairs(K, max(c1, c2))[1] for K in kernels]
    H1, H2 = [V[:, :c1] for V in widest], [V[:, :c2] for V in widest]
    equal = np.full(len(kernels), 1 / len(kernels))
    weights = Weights(equal, equal, equal)
    trace = Trace(tolerance=1e-5, after=1, cap=100)
    # One view, or copies of one, share every direction of layer 2 equally: the kernels decide.
    average = weighted_sum(equal, kernels)
    while True:
        step(f"HMKC, iteration {trace.iteration}")
        H = top_of_projectors(H2, weights.beta, k, kernel=average)
        if len(trace.values) % 2 == 0:  # forward, then backward, and so on
            H1 = first_layers(kernels, H2, weights, c1)
            H2 = second_layers(kernels, H1, H, weights, c2)
        else:
            H2 = second_layers(kernels, H1, H, weights, c2)
            H1 = first_layers(kernels, H2, weights, c1)
        links = link_strengths(kernels, H1, H2, H)
        weights = Weights(*(unit(link) for link in links))
        if trace.ends_with(sum(float(np.linalg.norm(link)) for link in links)):
            return Result(H, H1, H2, weights, trace)


def first_layers(
    kernels: Sequence[np.ndarray], H2: list[np.ndarray], weights: Weights, c1: int
) -> list[np.ndarray]:
    r"""The c1 leading eigenvectors of $\omega^1_pK_p + \omega^2_pH^2_pH^{2T}_p$, for every view."""
    views = zip(kernels, H2, weights.omega1, weights.omega2, strict=True)
    return [top_eigenpairs(w1 * K + (w2 * B) @ B.T, c1)[1] for K, B, w1, w2 in views]


def second_layers(
    kernels: Sequence[np.ndarray], H1: list[np.ndarray], H: np.ndarray, weights: Weights, c2: int
) -> list[np.ndarray]:
    r"""The c2 leading eigenvectors of $\omega^2_pH^1_pH^{1T}_p + \beta_pHH^T$, for every view."""
    views = zip(kernels, H1, weights.omega2, weights.beta, strict=True)
    return [top_of_projectors([A, H], [w2, b], c2, kernel=K) for K, A, w2, b in views]


def link_strengths(
    kernels: Sequence[np.ndarray], H1: list[np.ndarray], H2: list[np.ndarray], H: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""$\mathrm{Tr}(K_pH^1_pH^{1T}_p)$, $\|H^{1T}_pH^2_p\|^2$ and $\|H^TH^2_p\|^2$, each (m,)."""
    return (
        np.array([energy(K, A) for K, A in zip(kernels, H1, strict=True)]),
        np.array([_overlap(A, B) for A, B in zip(H1, H2, strict=True)]),
        np.array([_overlap(H, B) for B in H2]),
    )


def _overlap(A: np.ndarray, B: np.ndarray) -> float:
    """$\\|A^TB\\|_F^2$ of two orthonormal bases: how many directions they share."""
    product = A.T @ B
    return trace_product(product, product)
