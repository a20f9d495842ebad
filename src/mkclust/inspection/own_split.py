"""The two parts that one graph divides a set of samples into, and how clear the division is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..graphs.affinity import degree_normalized
from ..linalg.eigenpairs import lanczos, leading_eigenpairs

TRIED = 3  # eigenvectors among which a balanced division is sought: the first may be an outlier's
DENSE_UP_TO = 200  # nodes; beyond it a few steps of Lanczos are cheaper
TOLERANCE = 1e-5  # relative residual; 1e-3 misses one of two nearly equal eigenvalues
SMALLEST = 0.1  # share of the samples that the smaller part must have


@dataclass(frozen=True)
class OwnSplit:
    """A division of samples into two parts.

    Attributes
    ----------
    parts : (n,) int array
        0 or 1; -1 for samples without edges.
    clarity : float
        Share of the variance of the eigenvector that the two parts explain: 1 for two groups
        without edges between them, about 0.81 for an even continuum; 0 where no division is
        balanced.
    """

    parts: np.ndarray
    clarity: float


def own_split(graph: sp.csr_array) -> OwnSplit:
    r"""Divide the nodes of a graph in two by its own leading eigenvectors.

    For each of the eigenvectors 2 to 4 of the random walk $\Delta^{-1}A$, the best threshold is
    that of k-means with two groups. Of those whose smaller part has at least a tenth of the
    samples, the clearest is taken. On a line of evenly spaced samples the eigenvector is
    $\cos \pi x$, of which two groups explain $8/\pi^2 = 0.81$: a clearer division is a gap, not a
    continuum. O(n^3) up to 200 nodes, O(nnz) a step of Lanczos
    beyond.

    Examples
    --------
    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    >>> found = own_split(blocks)
    >>> sorted(np.bincount(found.parts).tolist()), round(found.clarity, 2)
    ([4, 4], 1.0)
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    at = np.flatnonzero(degree > 0)
    parts, n = np.full(len(degree), -1), len(at)
    if n < 4:
        return OwnSplit(parts, 0.0)
    some = graph if n == len(degree) else sp.csr_array(graph[at][:, at])
    degree = degree[at]
    vectors = _nontrivial_eigenvectors(degree_normalized(some), np.sqrt(degree))
    best = OwnSplit(parts, 0.0)
    for y in (vectors / np.sqrt(degree)[:, None]).T:
        above, clarity = _threshold(y, degree)
        if clarity > best.clarity and min(above.mean(), 1 - above.mean()) >= SMALLEST:
            found = parts.copy()
            found[at] = above
            best = OwnSplit(found, clarity)
    return best


def _nontrivial_eigenvectors(graph: sp.csr_array, trivial: np.ndarray) -> np.ndarray:
    """Return the leading eigenvectors (n, at most 3) orthogonal to a known one (n,).

    Where groups are nearly disconnected the known eigenvector is mixed with the next ones; it is
    projected out, and the rest is diagonalized in the space that is left.
    """
    size = min(1 + TRIED, len(trivial))
    if len(trivial) > DENSE_UP_TO:
        vectors = lanczos(graph, size, TOLERANCE)[1]
    else:
        vectors = leading_eigenpairs(graph, size)[1]
    known = trivial / np.linalg.norm(trivial)
    left = vectors - np.outer(known, known @ vectors)
    basis = scipy.linalg.svd(left, full_matrices=False)[0][:, : size - 1]
    rotation = scipy.linalg.eigh(basis.T @ (graph @ basis))[1]
    return np.asarray(basis @ rotation[:, ::-1])


def _threshold(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Return which values lie above the best threshold of weighted 2-means, and what it explains.

    >>> above, share = _threshold(np.array([0.0, 0.1, 5.0, 5.1]), np.ones(4))
    >>> above.tolist(), round(share, 3)
    ([False, False, True, True], 1.0)
    """
    order = np.argsort(y, kind="stable")
    w, wy = weight[order].cumsum(), (weight * y)[order].cumsum()
    mean = wy[-1] / w[-1]
    total = float(np.sum(weight * (y - mean) ** 2))
    between = (wy[:-1] - w[:-1] * mean) ** 2 * w[-1] / (w[:-1] * (w[-1] - w[:-1]))
    cut = int(between.argmax())
    above = np.zeros(len(y), dtype=bool)
    above[order[cut + 1 :]] = True
    return above, float(between[cut] / total) if total > 0 else 0.0
