"""Redundancy of views: by the edges of their graphs and by the distances behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..graphs.metrics import Metric

SAMPLED = 500  # samples whose distances are compared: 125 000 pairs


def redundancy(
    graphs: Sequence[sp.csr_array], parts: Sequence[Metric], held: Sequence[np.ndarray]
) -> np.ndarray:
    r"""Compute $R_{pq} = \max(\cos^2(S_p, S_q), \mathrm{corr}^2(D_p^2, D_q^2))$, (m, m).

    R is 1 for copies. Edges alone do not recognize a copy with a little noise: where samples lie
    close together, noise of a tenth of each column's deviation changes most neighbors, while the
    correlation of squared distances stays at 0.99. `graphs` are (n, n), `parts` one metric each
    over the `held` (n,) samples. O(m^2 nnz), and the distances of 500 samples in each view.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> parts = [Metric("x", points) for points in (X, X + 0.01, X[::-1])]
    >>> graphs = [sp.csr_array(sp.eye_array(50, k=i)) for i in (1, 2, 3)]
    >>> redundancy(graphs, parts, [np.ones(50, dtype=bool)] * 3).round(1)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    return np.maximum(_of_edges(graphs), _of_distances(parts, held))


def _of_edges(graphs: Sequence[sp.csr_array]) -> np.ndarray:
    found = np.eye(len(graphs))
    lengths = [float(np.sqrt(graph.power(2).sum())) for graph in graphs]
    for p in range(len(graphs)):
        for q in range(p):
            inner = float(graphs[p].multiply(graphs[q]).sum())
            cosine = inner / max(lengths[p] * lengths[q], np.finfo(float).tiny)
            found[p, q] = found[q, p] = min(cosine, 1.0) ** 2
    return found


def _of_distances(parts: Sequence[Metric], held: Sequence[np.ndarray]) -> np.ndarray:
    """Return squared correlations of squared distances over the samples that both views have."""
    m, known = len(parts), {}
    found = np.eye(m)

    def deviations(p: int, rows: np.ndarray) -> np.ndarray:
        """Return the distances of view p, centered and scaled to unit length."""
        key = p, rows.tobytes()
        if key not in known:
            D2 = parts[p].distances(np.searchsorted(np.flatnonzero(held[p]), rows))
            D2 -= D2.mean()
            known[key] = D2 / max(float(np.linalg.norm(D2)), np.finfo(float).tiny)
        return known[key]

    for p in range(m):
        for q in range(p):
            rows = _spaced(np.flatnonzero(held[p] & held[q]))
            if len(rows) > 2:
                correlation = float(deviations(p, rows) @ deviations(q, rows))
                found[p, q] = found[q, p] = min(max(correlation, 0.0), 1.0) ** 2
    return found


def _spaced(rows: np.ndarray) -> np.ndarray:
    """Return at most `SAMPLED` of them, evenly spaced: samples are often sorted by class."""
    if len(rows) <= SAMPLED:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, SAMPLED).astype(np.int64)])
