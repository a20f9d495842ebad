r"""How well a graph separates groups of its nodes: assortativity, and its chance level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

CHANCE = 3.0  # standard deviations under permuted labels that count as chance


@dataclass(frozen=True)
class Separation:
    """Assortativity of one graph, by cluster (k,) and by pair of clusters (k, k).

    `cluster_chance` and `pair_chance` are three standard deviations of the same number under
    random permutations of the labels. NaN where the graph has no edges or too few samples.
    """

    clusters: np.ndarray
    pairs: np.ndarray
    cluster_chance: np.ndarray
    pair_chance: np.ndarray


def separation(
    graph: sp.csr_array, labels: np.ndarray, k: int, held: np.ndarray | None = None
) -> Separation:
    r"""Measure how well a graph separates each cluster from the rest, and from each other one.

    $$r = 1 - \frac{\mathrm{cut}(a, b)}{d_a d_b / d}$$

    cut(a, b) is the weight of the edges between two groups, $d_a$ and $d_b$ are the sums of their
    degrees and $d = d_a + d_b$, all in the graph of these two groups alone. r is 1 where no edge
    crosses, 0 where edges cross as often as by chance. It is Newman's assortativity coefficient
    of two groups. Its standard deviation under permutations of the labels has a closed form (the
    join-count statistic of Cliff and Ord). O(nnz + n k) time and n x k memory.

    Parameters
    ----------
    graph : (n, n) sparse array
        Symmetric, with zero diagonal.
    labels : (n,) int array
        From 0 to k - 1.
    k : int
    held : (n,) bool array, optional
        Samples that the graph holds; the others are left out.

    Returns
    -------
    Separation

    References
    ----------
    M. Newman. Mixing patterns in networks. Physical Review E 67, 2003.
    A. Cliff, J. Ord. Spatial Processes: Models and Applications. Pion, 1981.

    Examples
    --------
    >>> chain = sp.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    >>> found = separation(chain, np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> round(float(found.pairs[0, 1]), 2), found.clusters.round(2)
    (0.6, array([0.6, 0.6]))
    """
    held = np.ones(len(labels), dtype=bool) if held is None else held
    sizes = np.bincount(labels[held], minlength=k).astype(float)
    member = sp.csr_array(
        (np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), k)
    )
    to = graph @ member  # weight from every sample to every cluster
    to = np.asarray(to.toarray())
    B = member.T @ to
    Q = np.asarray((member.T @ graph.power(2) @ member).toarray())
    own = to[np.arange(len(labels)), labels]

    inner, total = np.diag(B), B.sum()
    degree = B.sum(axis=1)
    squares = np.full(k, float((to.sum(axis=1) ** 2).sum()))
    clusters, cluster_chance = _two_groups(
        inner, total - 2 * degree + inner, degree - inner, sizes, sizes.sum() - sizes,
        np.full(k, float(Q.sum())), squares,
    )  # fmt: skip
    half = np.array(
        [((own[at, None] + to[at]) ** 2).sum(axis=0) for at in (labels == c for c in range(k))]
    )
    half[np.diag_indices(k)] = 0.0
    q = np.diag(Q)
    pairs, pair_chance = _two_groups(
        inner[:, None], inner[None, :], B, sizes[:, None], sizes[None, :],
        q[:, None] + q[None, :] + 2 * Q, half + half.T,
    )  # fmt: skip
    for found in (pairs, pair_chance):
        np.fill_diagonal(found, np.nan)
    return Separation(clusters, pairs, cluster_chance, pair_chance)


def _two_groups(
    aa: np.ndarray, bb: np.ndarray, ab: np.ndarray, na: np.ndarray, nb: np.ndarray,
    squared: np.ndarray, degrees: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return assortativity and chance level from sums over two groups.

    `aa`, `bb` and `ab` are weights inside and between the groups, each edge inside counted
    twice; `squared` sums the squared weights over ordered pairs, `degrees` the squared degrees.
    """
    n, total = na + nb, aa + bb + 2 * ab
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (aa + ab) * (bb + ab) / total
        found = 1 - ab / expected
        s1, s2 = 2 * squared, 4 * degrees
        product = na * nb / (n * (n - 1))
        fourth = na * (na - 1) * nb * (nb - 1) / (n * (n - 1) * (n - 2) * (n - 3))
        variance = 0.25 * (s2 * product + 4 * (total**2 + s1 - s2) * fourth)
        variance -= (total * product) ** 2
        chance = CHANCE * np.sqrt(np.maximum(variance, 0.0)) / (total * na * nb / n**2)
    known = (na > 1) & (nb > 1) & (n > 3) & (expected > 0)
    return np.where(known, found, np.nan), np.where(known, chance, np.nan)
