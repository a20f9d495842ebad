r"""A sparse graph as a centered kernel that is never formed: $K = DC\,\frac12(I + S)\,CD$.

S is a degree-normalized graph, C centers and D scales to unit diagonal, both applied as
operators. Adding I makes the kernel positive semi-definite and changes no eigenvector.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.centering import JITTER, Centering

SELF = 0.5 + 1e-9  # similarity of a sample to itself; two samples alone would leave only this


class CenteredGraph:
    """The centered kernel of a graph S (n, n): O(nnz + n) to apply, nnz + n numbers in memory.

    Examples
    --------
    >>> K = CenteredGraph(sp.csr_array(np.kron(np.eye(2), 1 - np.eye(2))))
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

    @property
    def dtype(self) -> Any:
        return self.graph.dtype

    def astype(self, dtype: Any) -> CenteredGraph:
        """Return the same kernel in another precision."""
        other = CenteredGraph(self.graph.astype(dtype), self._center, self._normalize)
        other.centering = self.centering
        return other

    @cached_property
    def centering(self) -> Centering:
        """Means and scales that are applied to the kernel of the graph."""
        n = len(self)
        own = SELF + 0.5 * self.graph.diagonal()
        mean = (SELF + 0.5 * np.asarray(self.graph.sum(axis=0)).ravel()) / n
        half = mean - mean.mean() / 2 if self._center else None
        jitter = JITTER * float(own.max())
        left = own if half is None else own - 2 * half
        scale = np.where(left > 0, 1 / np.sqrt(np.maximum(left, 0) + jitter), 0.0)
        return Centering(
            half=half, scale=scale if self._normalize else None,
            mean=0.0 if half is None else float(2 * half.mean()), jitter=jitter,
            own=float(own[0]) if (own == own[0]).all() else None,
        )  # fmt: skip

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        scale = self.centering.scale
        if scale is not None:
            scale = scale.astype(X.dtype, copy=False)
            scale = scale if X.ndim == 1 else scale[:, None]
        Y = np.array(X) if scale is None else X * scale
        self._subtract_mean(Y)
        image = self.graph @ Y
        image *= 0.5
        Y *= SELF
        Y += image
        self._subtract_mean(Y)
        if scale is not None:
            Y *= scale
        return Y

    def _subtract_mean(self, X: np.ndarray) -> None:
        if self._center:
            X -= np.add.reduce(X, axis=0) / len(X)

    def toarray(self) -> np.ndarray:
        """Form the n x n matrix."""
        K = self.graph.toarray()
        K /= 2
        K.flat[:: len(K) + 1] += SELF
        self.centering.apply(K)
        return K
