"""What the graph-learning methods share: neighbour graphs, Laplacians, self-expression."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from scipy.spatial.distance import cdist

from ..exceptions import ConvergenceWarning, warn
from ..linalg.eigen import eigenpairs
from ..linalg.spectrum import DENSE_UP_TO, top_eigenpairs, with_fixed_signs

ILL = 1e10  # a trace of that many ridges: the condition at which solving loses too many digits
FLOODED_UP_TO = 100  # samples: components of smaller graphs need no sparse matrix
SPARSE = 0.1  # share of non-zero entries below which a sparse product is the faster one


def neighbour_weights(V: np.ndarray, n_neighbors: int) -> np.ndarray:
    r"""Each row's few largest similarities, cut off at the next one and scaled to sum 1.

    $$s_{ij} = (v_{ij} - v_{i(q+1)})_+ \Big/ \sum_{l \le q} (v_{i(l)} - v_{i(q+1)}),$$

    $v_{i(1)} \ge v_{i(2)} \ge \dots$ the entries of row i off the diagonal, q the number of
    neighbours. This projects $\gamma_i v_i$ on the simplex, with the scale $\gamma_i$ at which
    just q entries survive. A row whose first q + 1 entries tie is uniform over the first q.

    Parameters
    ----------
    V : (n, n) array of similarities, n at least 2; its diagonal is ignored
    n_neighbors : int, taken as at most n - 2

    Returns
    -------
    (n, n) array: non-negative, zero diagonal, rows of sum 1; found in O(n^2).

    >>> neighbour_weights(np.array([[0, 3.0, 2, 1], [0, 0, 0, 0], [5, 0, 0, 0], [1, 1, 0, 0]]), 2)
    array([[0.        , 0.66666667, 0.33333333, 0.        ],
           [0.5       , 0.        , 0.5       , 0.        ],
           [1.        , 0.        , 0.        , 0.        ],
           [0.5       , 0.5       , 0.        , 0.        ]])
    """
    n = len(V)
    q = min(n_neighbors, n - 2)  # the (q+1)-th neighbour has to exist
    V = V.copy()
    np.fill_diagonal(V, -np.inf)
    floor = np.partition(V, n - 1 - q, axis=1)[:, n - 1 - q, None]
    S = np.maximum(V - floor, 0.0)
    total = S.sum(axis=1, keepdims=True)
    for i in np.flatnonzero(total == 0):
        nearest = np.argsort(-V[i], kind="stable")[: max(q, 1)]
        S[i, nearest] = 1.0
        total[i] = len(nearest)
    return S / total


def kernel_neighbours(K: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Adaptive-neighbour graph of a kernel's distances $K_{ii} + K_{jj} - 2K_{ij}$.

    Weights fall linearly with the squared distance and reach 0 at the next neighbour. The
    graph (n, n) has rows of sum 1, is not symmetric and costs O(n^2).

    >>> x = np.array([0.0, 1.0, 3.0])
    >>> kernel_neighbours(np.outer(x, x), 1)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    return neighbour_weights(2 * K - np.diagonal(K), n_neighbors)


def components(graph: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of connected components of graph + its transpose, and a label 0, 1 ... per sample.

    >>> components(np.array([[0, 1.0, 0], [0, 0, 0], [0, 0, 1.0]]))
    (2, array([0, 0, 1]))
    """
    if len(graph) <= FLOODED_UP_TO:
        labels = _flooded(graph != 0)
        return int(labels.max()) + 1, labels
    count, labels = connected_components(sp.csr_array(graph), directed=True, connection="weak")
    return int(count), labels.astype(np.int64)


def _flooded(linked: np.ndarray) -> np.ndarray:
    """The components of a small graph: all take the lowest number among themselves.

    A few passes over n x n, where making a sparse matrix would take longer than all of them.
    """
    linked = linked | linked.T
    lowest = np.arange(len(linked))
    while True:
        found = np.minimum(lowest, np.where(linked, lowest, len(linked)).min(axis=1))
        found = found[found]
        if np.array_equal(found, lowest):
            return np.unique(lowest, return_inverse=True)[1].astype(np.int64)
        lowest = found


def laplacian(graph: np.ndarray) -> np.ndarray:
    """$L = D - W$ of the graph made symmetric, $W = (A + A^T)/2$; negative entries are kept."""
    L = (graph + graph.T) / -2
    np.fill_diagonal(L, 0.0)
    np.fill_diagonal(L, -L.sum(axis=1))
    return L


def lowest_eigenpairs(graph: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    r"""The k smallest Laplacian eigenvalues of a graph, ascending, and their vectors (n, k).

    If the graph is non-negative, its components span the null space of L: their indicators, the
    largest first, need not be computed, and where they are more than k nothing is left to
    chance. The others come from LAPACK up to n = 800, O(n^3); beyond, from Lanczos steps that
    cost as much as the graph has edges, and that are spared the copies of eigenvalue 0, which
    they are slow to tell apart.

    >>> values, F = lowest_eigenpairs(np.kron(np.eye(2), np.ones((2, 2))), 3)
    >>> values.round(12)
    array([0., 0., 2.])
    """
    N = _indicators(graph) if graph.min() >= 0 else np.empty((len(graph), 0))
    found = N.shape[1]
    if found >= k:
        return np.zeros(k), N[:, :k]
    L = laplacian(graph)
    if len(L) > DENSE_UP_TO and k <= len(L) // 5:
        values, vectors = _lanczos(L, N, k - found)
        return np.r_[np.zeros(found), values], np.c_[N, vectors]
    values, vectors = eigenpairs(L, 0, k - 1)
    return values, with_fixed_signs(vectors)


def _lanczos(L: np.ndarray, N: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    r"""The k lowest eigenpairs of L beside its orthonormal null vectors N (n, c).

    They are the largest of $\sigma I - L - \sigma NN^T$, $\sigma$ no less than any eigenvalue.
    """
    n = len(L)
    sigma = np.abs(L).sum(axis=1).max()
    fast = sp.csr_array(L) if np.count_nonzero(L) < SPARSE * L.size else L

    def flipped(x: np.ndarray) -> np.ndarray:
        return sigma * (x - N @ (N.T @ x)) - fast @ x

    start = np.random.default_rng(0).standard_normal(n)
    operator = LinearOperator((n, n), matvec=flipped, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k=k, which="LA", v0=start, ncv=min(n, 2 * k + 20))
    except ArpackError:
        deflated = L + (sigma * N) @ N.T
        values, vectors = eigenpairs(deflated, 0, k - 1)
        return values, with_fixed_signs(vectors)
    return sigma - values[::-1], with_fixed_signs(vectors[:, ::-1])


def squared_row_distances(F: np.ndarray) -> np.ndarray:
    """$\\|f_i - f_j\\|^2$ for all pairs of rows.

    From differences: $f_i^Tf_i - 2f_i^Tf_j + f_j^Tf_j$ would lose all digits of the small ones,
    which the methods multiply by powers of two.
    """
    return np.asarray(cdist(F, F, "sqeuclidean"))


def self_expression(
    K: np.ndarray,
    gain: float,
    ridge: float,
    start: np.ndarray | None = None,
    *,
    tolerance: float = 1e-7,
    cap: int = 10_000,
) -> np.ndarray:
    r"""Every sample as a non-negative mixture of the others, in the feature space of K.

    $$\min_Z \tfrac12\mathrm{Tr}(Z^TKZ) - g\,\mathrm{Tr}(KZ) + \tfrac r2\|Z\|_F^2
      \quad \text{s.t.} \quad Z \ge 0,\; Z_{ii} = 0$$

    by projected gradient steps of length $1/\ell$, $\ell = \lambda_{\max}(K) + r$, with
    Nesterov's momentum for a curvature between r and $\ell$: the error falls by
    $1 - \sqrt{r/\ell}$ a step. It ends when the projected gradient is below `tolerance` in
    units of $\|gK\|_F$.

    Parameters
    ----------
    K : (n, n) positive semi-definite array
    gain, ridge : float, g and r, both above 0
    start : (n, n) array, feasible; by default the unconstrained minimum, clipped

    Returns
    -------
    (n, n) array; column j codes sample j. One n x n product a step, six such matrices in memory.

    >>> self_expression(np.array([[1.0, 0.5], [0.5, 1.0]]), gain=2, ridge=1).round(6)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    Z = clipped_ridge(K, gain, ridge) if start is None else start
    steepest = max(float(top_eigenpairs(K, 1)[0][0]), 0.0) + ridge
    momentum = (np.sqrt(steepest) - np.sqrt(ridge)) / (np.sqrt(steepest) + np.sqrt(ridge))
    enough = tolerance * gain * np.linalg.norm(K) / steepest
    Y = Z
    for _ in range(cap):
        new = _feasible(Y - expression_gradient(K, Y, gain, ridge) / steepest)
        if np.linalg.norm(new - Y) <= enough:
            return new
        Y = new + momentum * (new - Z)
        Z = new
    return Z


def expression_gradient(K: np.ndarray, Z: np.ndarray, gain: float, ridge: float) -> np.ndarray:
    """$KZ - gK + rZ$: the gradient of the self-expression problem."""
    gradient = K @ Z
    gradient -= gain * K
    gradient += ridge * Z
    return gradient


def expression_value(K: np.ndarray, Z: np.ndarray, gain: float, ridge: float) -> float:
    """The self-expression objective at Z plus its constant, Tr(K)/2."""
    gradient = expression_gradient(K, Z, gain, ridge)
    return float(np.vdot(gradient, Z) - gain * np.vdot(K, Z) + np.trace(K)) / 2


def clipped_ridge(K: np.ndarray, gain: float, ridge: float) -> np.ndarray:
    r"""$\max(0,\; g\,(K + rI)^{-1}K)$ off the diagonal: where self-expression starts.

    Where r is next to nothing beside K the equations are singular, and eigenvalues serve instead:
    about twenty times the work of the solve.
    """
    if np.trace(K) > ILL * ridge:
        values, vectors = scipy.linalg.eigh(K, driver="evd")
        share = np.maximum(values, 0.0) / (np.maximum(values, 0.0) + ridge)
        return _feasible(gain * (vectors * share) @ vectors.T)
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += ridge
    Z = gain * scipy.linalg.solve(shifted, K, assume_a="sym")
    return _feasible(Z)


def _feasible(Z: np.ndarray) -> np.ndarray:
    """Z clipped in place to Z >= 0 with zero diagonal."""
    np.maximum(Z, 0.0, out=Z)
    np.fill_diagonal(Z, 0.0)
    return Z


def _indicators(graph: np.ndarray) -> np.ndarray:
    """Unit indicator vectors (n, c) of the components, the largest first."""
    count, labels = components(graph)
    sizes = np.bincount(labels)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
    N = np.zeros((len(labels), count))
    N[np.arange(len(labels)), rank[labels]] = 1 / np.sqrt(sizes[labels])
    return N


def warn_of_components(title: str, found: int, k: int, consequence: str) -> None:
    """Say that a graph does not have k components."""
    warn(
        f"{title} ended with a graph of {found} connected components where {k} were asked for: "
        f"{consequence}",
        ConvergenceWarning,
    )
