"""Clusters that do not follow which views a sample has: a projection, and a test of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2_contingency

DEPENDENT = 0.001  # p-value below which labels are said to depend on the views that samples have
CONSTANT = 1e-6  # relative length of a direction that the others already contain


@dataclass(frozen=True)
class ProjectedGraph:
    r"""$(I - BB^T)S(I - BB^T)$ of a graph S (n, n) and orthonormal directions B (n, r)."""

    graph: sp.csr_array
    directions: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.graph.shape

    @property
    def dtype(self) -> Any:
        return self.graph.dtype

    def astype(self, dtype: Any) -> ProjectedGraph:
        """Return the same in another precision."""
        return ProjectedGraph(self.graph.astype(dtype), self.directions.astype(dtype))

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        B = self.directions
        Y = self.graph @ (X - B @ (B.T @ X))
        return np.asarray(Y - B @ (B.T @ Y))

    def toarray(self) -> np.ndarray:
        """Return the operator as a dense matrix (n, n)."""
        found = self @ np.eye(self.shape[0], dtype=self.dtype)
        return np.asarray((found + found.T) / 2)


def without_presence(
    graph: sp.csr_array, degree: np.ndarray, present: np.ndarray | None
) -> sp.csr_array | ProjectedGraph:
    r"""Remove from a fused graph S the directions that tell which views a sample has.

    Samples that only one view holds have no edge to samples that only another one holds, so that
    S has eigenvectors of missingness, whatever the data. The presence of every view, times the
    root of the degrees $\Delta$, is projected out, as far as it differs from the trivial
    eigenvector $\Delta^{1/2}1$, which stays. One direction per pattern of missing views would
    remove clusters, too. `present` (n, m) are the used views; None where nothing is missing.

    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2)) / 2))  # no sample in both views
    >>> present = np.array([[True, False]] * 2 + [[False, True]] * 2)
    >>> np.linalg.eigvalsh(without_presence(blocks, np.ones(4), present).toarray()).round(6)
    array([0., 0., 0., 1.])
    """
    if present is None or present.all():
        return graph
    root = np.sqrt(degree)
    columns = np.column_stack([root, present * root[:, None]])
    Q, R = np.linalg.qr(columns)
    new = np.abs(np.diagonal(R)) > CONSTANT * np.linalg.norm(columns, axis=0)
    return ProjectedGraph(graph, np.ascontiguousarray(Q[:, 1:][:, new[1:]]))


def missingness_p_value(labels: np.ndarray, present: np.ndarray) -> float:
    """Return the probability of so strong a dependence of labels on presence by chance.

    Pearson's chi-square test of the clusters against the presence of each view (n, m), the
    smallest p-value times their number.

    >>> present = np.repeat([[True, True], [True, False]], 20, axis=0)
    >>> missingness_p_value(np.arange(40) % 2, present)
    1.0
    >>> missingness_p_value(np.arange(40) // 20, present) < DEPENDENT
    True
    """
    codes = np.unique(labels, return_inverse=True)[1]
    lacking = [held for held in present.T if not held.all() and held.any()]
    if not lacking or codes.max() == 0:
        return 1.0
    found = []
    for held in lacking:
        table = np.zeros((2, codes.max() + 1))
        np.add.at(table, (held.astype(int), codes), 1)
        found.append(float(chi2_contingency(table, correction=False).pvalue))
    return min(1.0, len(found) * min(found))
