r"""A sparse graph as a kernel that is never written out: $K = DC\,\frac12(I + S)\,CD$.

S is a degree-normalised graph, C centres, D scales to unit diagonal, both as operators. Adding I
makes it positive semi-definite and changes no eigenvector.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..exceptions import InputError
from ..linalg.centering import JITTER, Centring
from ..linalg.eigen import eigenpairs
from ..progress import step

DENSE_UP_TO = 900  # samples; below it one LAPACK call is cheaper than Lanczos
OWN = 0.5 + 1e-9  # a sample's similarity to itself: of two samples nothing else would be left
TOLERANCE = 1e-8  # relative; residual of an eigenvector
SINGLE_BEYOND = 20_000  # samples: the graphs themselves are approximate there, and so are these
SINGLE_TOLERANCE = 1e-4  # of eigenvectors in single precision; subspaces are right to its square


class GraphKernel:
    """The kernel of a graph S (n, n): O(nnz + n) to apply, and n + nnz numbers in memory.

    >>> K = GraphKernel(sp.csr_array(np.kron(np.eye(2), 1 - np.eye(2))))
    >>> K.toarray().round(6)
    array([[ 1.,  1., -1., -1.],
           [ 1.,  1., -1., -1.],
           [-1., -1.,  1.,  1.],
           [-1., -1.,  1.,  1.]])
    """

    def __init__(self, graph: sp.csr_array, center: bool = True, normalize: bool = True) -> None:
        self.graph = graph
        self._center, self._normalize = center, normalize

    def __len__(self) -> int:
        return int(self.graph.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self)

    def astype(self, dtype: Any) -> GraphKernel:
        """The same kernel, applied in another precision."""
        other = GraphKernel(self.graph.astype(dtype), self._center, self._normalize)
        other.centring = self.centring
        return other

    @cached_property
    def centring(self) -> Centring:
        """What is taken off the graph's kernel, as `centring.centring` would say of it."""
        n = len(self)
        own = OWN + 0.5 * self.graph.diagonal()
        mean = (OWN + 0.5 * np.asarray(self.graph.sum(axis=0)).ravel()) / n
        half = mean - mean.mean() / 2 if self._center else None
        jitter = JITTER * float(own.max())
        left = own if half is None else own - 2 * half
        scale = np.where(left > 0, 1 / np.sqrt(np.maximum(left, 0) + jitter), 0.0)
        return Centring(
            half=half, scale=scale if self._normalize else None,
            mean=0.0 if half is None else float(2 * half.mean()), jitter=jitter,
            own=float(own[0]) if (own == own[0]).all() else None,
        )  # fmt: skip

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        scale = self.centring.scale
        scale = None if scale is None else scale.astype(X.dtype, copy=False)
        Y = X if scale is None else X * (scale if X.ndim == 1 else scale[:, None])
        Y = self._centred(Y)
        Y = self._centred(OWN * Y + 0.5 * (self.graph @ Y))
        return np.asarray(Y if scale is None else Y * (scale if X.ndim == 1 else scale[:, None]))

    def _centred(self, X: np.ndarray) -> np.ndarray:
        return X - X.mean(axis=0) if self._center else X

    def toarray(self) -> np.ndarray:
        """The n x n matrix itself, for whoever needs one."""
        K = self.graph.toarray()
        K /= 2
        K.flat[:: len(K) + 1] += OWN
        self.centring.apply(K)
        return K

    def leading(self, size: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """The `size` largest eigenvalues (descending), their vectors, and whether these are all."""
        n = len(self)
        if n <= DENSE_UP_TO or size > n // 6:
            values, vectors = scipy.linalg.eigh(self.toarray(), driver="evd")
            return values[::-1], vectors[:, ::-1], True
        return *self.lanczos(size), False

    def lanczos(self, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The `size` largest eigenvalues (descending) and their vectors, without a dense matrix."""
        if width(size) >= len(self):  # Lanczos has no room: few samples
            values, vectors = scipy.linalg.eigh(self.toarray(), driver="evd")
            return values[::-1][:size], vectors[:, ::-1][:, :size]
        return leading_of(self, size, seed)


def leading_of_graph(graph: sp.csr_array, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The `size` largest eigenvalues (descending) and vectors (n, size) of a sparse graph.

    Small graphs, or a large share of the directions, go to LAPACK; the rest to Lanczos.
    """
    n = graph.shape[0]
    if n > DENSE_UP_TO and size <= n // 6:
        return leading_of(graph, size)
    values, vectors = eigenpairs(graph.toarray(), n - size, n - 1)
    return values[::-1].copy(), vectors[:, ::-1]


def width(size: int) -> int:
    """Vectors that Lanczos keeps while it looks for `size` of them."""
    return max(2 * size + 1, 40)


def leading_of(
    matrix: sp.csr_array | GraphKernel, size: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """By Lanczos, from a seeded start, so that equal input gives equal output.

    O(nnz + n size) a step, n x 2 size memory. In single precision for many samples; eigenvectors
    are orthonormal to double precision again, and their values those of the matrix.
    """
    step(f"{size} eigenvectors of a sparse graph")
    n = matrix.shape[0]
    single = n > SINGLE_BEYOND
    used = matrix.astype(np.float32) if single else matrix
    dtype = np.float32 if single else np.float64
    operator = LinearOperator((n, n), matvec=used.__matmul__, dtype=dtype)
    start = np.random.default_rng(seed).standard_normal(n).astype(dtype)
    try:
        values, vectors = eigsh(
            operator, k=size, which="LA", v0=start, ncv=width(size),
            tol=SINGLE_TOLERANCE if single else TOLERANCE,
        )  # fmt: skip
    except ArpackNoConvergence as error:
        raise InputError(
            f"only {len(error.eigenvalues)} of {size} eigenvectors of a neighbour graph were "
            "found: the samples may fall apart into many pieces; try another kernel"
        ) from None
    if single:
        return _within(matrix, vectors.astype(np.float64))
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _within(
    matrix: sp.csr_array | GraphKernel, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The eigenpairs of a matrix within the span of some vectors, the largest first."""
    Q = np.linalg.qr(vectors)[0]
    values, Y = scipy.linalg.eigh(Q.T @ (matrix @ Q))
    return values[::-1], Q @ Y[:, ::-1]
