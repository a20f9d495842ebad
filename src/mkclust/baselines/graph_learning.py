"""Neighbor graphs, Laplacians and self-expression, for SWMC, SPMKC and CAGL."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator
from scipy.spatial.distance import cdist

from ..exceptions import InputError
from ..linalg.eigenpairs import DENSE_UP_TO, eigenpairs, lanczos, top_eigenpairs, with_fixed_signs
from ..linalg.scaling import inverse_roots

ILL = 1e10  # trace over ridge above which a linear solve loses too many digits
SPARSE = 0.1  # share of non-zero entries below which a sparse product is faster


def neighbor_weights(V: np.ndarray, n_neighbors: int) -> np.ndarray:
    r"""Keep the largest similarities of each row, minus the next largest, scaled to sum 1.

    $$s_{ij} = (v_{ij} - v_{i(q+1)})_+ \Big/ \sum_{l \le q} (v_{i(l)} - v_{i(q+1)}),$$

    with $v_{i(1)} \ge v_{i(2)} \ge \dots$ the off-diagonal entries of row i and q the number of
    neighbors. This is the projection of $\gamma_i v_i$ onto the simplex for the scale $\gamma_i$
    that leaves exactly q positive entries. A row whose first q + 1 entries tie is uniform over the
    first q.

    Parameters
    ----------
    V : (n, n) array of similarities, n at least 2; its diagonal is ignored
    n_neighbors : int, clipped to n - 2

    Returns
    -------
    (n, n) array: non-negative, zero diagonal, rows of sum 1; computed in O(n^2).

    Examples
    --------
    >>> neighbor_weights(np.array([[0, 3.0, 2, 1], [0, 0, 0, 0], [5, 0, 0, 0], [1, 1, 0, 0]]), 2)
    array([[0.        , 0.66666667, 0.33333333, 0.        ],
           [0.5       , 0.        , 0.5       , 0.        ],
           [1.        , 0.        , 0.        , 0.        ],
           [0.5       , 0.5       , 0.        , 0.        ]])
    """
    n = len(V)
    q = min(n_neighbors, n - 2)  # the (q+1)-th neighbor has to exist
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


def kernel_neighbors(K: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Build the adaptive-neighbor graph of a kernel's distances $K_{ii} + K_{jj} - 2K_{ij}$.

    Weights decrease linearly with the squared distance and reach 0 at the next neighbor. The graph
    (n, n) has rows of sum 1 and is not symmetric. It takes O(n^2).

    >>> x = np.array([0.0, 1.0, 3.0])
    >>> kernel_neighbors(np.outer(x, x), 1)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    return neighbor_weights(2 * K - np.diagonal(K), n_neighbors)


def components(graph: np.ndarray) -> tuple[int, np.ndarray]:
    """Count the connected components of graph + its transpose, and label the samples 0, 1, ...

    >>> components(np.array([[0, 1.0, 0], [0, 0, 0], [0, 0, 1.0]]))
    (2, array([0, 0, 1]))
    """
    count, labels = connected_components(sp.csr_array(graph), directed=True, connection="weak")
    return int(count), labels.astype(np.int64)


def laplacian(graph: np.ndarray) -> np.ndarray:
    """Compute $L = D - W$ with $W = (A + A^T)/2$; negative entries are allowed."""
    L = (graph + graph.T) / -2
    np.fill_diagonal(L, 0.0)
    np.fill_diagonal(L, -L.sum(axis=1))
    return L


def lowest_eigenpairs(graph: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Compute the k smallest Laplacian eigenvalues of a graph, ascending, and eigenvectors (n, k).

    The null space of L of a non-negative graph is spanned by the indicators of its components,
    which are used as eigenvectors, the largest component first. This fixes the result if there
    are more than k components. The other eigenpairs come from LAPACK up to n = 500, O(n^3). Beyond,
    they come from the Lanczos method, whose steps take O(edges). It works orthogonally to the
    indicators, because a multiple eigenvalue 0 makes it converge slowly.

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
    r"""Compute the k lowest eigenpairs of L orthogonal to its orthonormal null vectors N (n, c).

    They are the largest of $\sigma I - L - \sigma NN^T$, with $\sigma$ an upper bound of the
    eigenvalues.
    """
    n = len(L)
    sigma = np.abs(L).sum(axis=1).max()
    fast = sp.csr_array(L) if np.count_nonzero(L) < SPARSE * L.size else L

    def flipped(x: np.ndarray) -> np.ndarray:
        return sigma * (x - N @ (N.T @ x)) - fast @ x

    try:
        values, vectors = lanczos(LinearOperator((n, n), matvec=flipped), k, tolerance=0.0)
    except (InputError, ArpackError):  # not converged
        values, vectors = eigenpairs(L + (sigma * N) @ N.T, 0, k - 1)
        return values, with_fixed_signs(vectors)
    return sigma - values, with_fixed_signs(vectors)


def spectral_embedding(W: np.ndarray, k: int) -> np.ndarray:
    r"""Return the k leading eigenvectors (n, k) of $D^{-1/2}WD^{-1/2}$; isolated samples are 0."""
    scale = inverse_roots(W.sum(axis=1))
    return top_eigenpairs(W * scale[:, None] * scale, k)[1]


def squared_row_distances(F: np.ndarray) -> np.ndarray:
    r"""Compute $\|f_i - f_j\|^2$ for all pairs of rows, (n, n).

    The differences are squared: $f_i^Tf_i - 2f_i^Tf_j + f_j^Tf_j$ would lose all digits of small
    distances, which the methods multiply by large penalties.
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
    r"""Express every sample as a non-negative combination of the others in the feature space of K.

    $$\min_Z \tfrac12\mathrm{Tr}(Z^TKZ) - g\,\mathrm{Tr}(KZ) + \tfrac r2\|Z\|_F^2
      \quad \text{s.t.} \quad Z \ge 0,\; Z_{ii} = 0$$

    The method is projected gradient descent with step $1/\ell$, $\ell = \lambda_{\max}(K) + r$,
    and Nesterov's momentum for a curvature between r and $\ell$: each step multiplies the error by
    about $1 - \sqrt{r/\ell}$. It ends when the projected gradient is below `tolerance` times
    $\|gK\|_F$.

    Parameters
    ----------
    K : (n, n) positive semi-definite array
    gain, ridge : float, g and r, both above 0
    start : (n, n) array, feasible; by default the unconstrained minimum, clipped
    tolerance : float
    cap : int, maximal number of steps

    Returns
    -------
    (n, n) array; column j expresses sample j. A step takes one n x n product; six such matrices
    are in memory.

    Examples
    --------
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
    """Compute $KZ - gK + rZ$, the gradient of the self-expression problem."""
    gradient = K @ Z
    gradient -= gain * K
    gradient += ridge * Z
    return gradient


def expression_value(K: np.ndarray, Z: np.ndarray, gain: float, ridge: float) -> float:
    """Compute the self-expression objective at Z plus the constant Tr(K)/2."""
    gradient = expression_gradient(K, Z, gain, ridge)
    return float(np.vdot(gradient, Z) - gain * np.vdot(K, Z) + np.trace(K)) / 2


def clipped_ridge(K: np.ndarray, gain: float, ridge: float) -> np.ndarray:
    r"""Compute $\max(0,\; g\,(K + rI)^{-1}K)$ with zero diagonal, the start of self-expression.

    If r is negligible compared with K the linear system is numerically singular. An eigenvalue
    decomposition is used instead, which takes about twenty times as long.
    """
    if np.trace(K) > ILL * ridge:
        values, vectors = scipy.linalg.eigh(K, driver="evd")
        share = np.maximum(values, 0.0) / (np.maximum(values, 0.0) + ridge)
        return _feasible(gain * (vectors * share) @ vectors.T)
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += ridge
    return _feasible(gain * scipy.linalg.solve(shifted, K, assume_a="sym"))


def _feasible(Z: np.ndarray) -> np.ndarray:
    """Clip Z in place to Z >= 0 with zero diagonal."""
    np.maximum(Z, 0.0, out=Z)
    np.fill_diagonal(Z, 0.0)
    return Z


def _indicators(graph: np.ndarray) -> np.ndarray:
    """Return the unit indicator vectors (n, c) of the components, the largest first."""
    count, labels = components(graph)
    sizes = np.bincount(labels)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
    N = np.zeros((len(labels), count))
    N[np.arange(len(labels)), rank[labels]] = 1 / np.sqrt(sizes[labels])
    return N
