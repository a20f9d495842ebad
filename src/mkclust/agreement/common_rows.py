"""Overlaps of views that lack samples, over the rows that both views of a pair hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..data.missing import common_rows
from ..linalg.eigenpairs import Spectrum
from ..progress import step
from .overlap import Overlap

DEPENDENT = 1e-8  # relative; a column with a smaller remainder depends on the columns before it


def orthonormal_prefixes(vectors: np.ndarray) -> np.ndarray:
    """Orthonormalize columns so that the first a span what the first a of `vectors` (c, D) do.

    A column that depends linearly on those before it becomes zero.
    """
    size = min(vectors.shape)
    Q, R = scipy.linalg.qr(vectors[:, :size], mode="economic", check_finite=False)
    length = np.linalg.norm(vectors[:, :size], axis=0)
    kept = np.zeros_like(vectors)
    new = np.abs(np.diagonal(R)) > DEPENDENT * length
    kept[:, :size][:, new] = Q[:, new]
    return kept


def overlap_on_common_rows(spectra: Sequence[Spectrum], present: np.ndarray, k: int) -> Overlap:
    r"""Compute $\|Q_p^TQ_q\|_F^2$, where $Q_p$ is an orthonormal basis of $V_p[C_{pq}]$.

    The bases are zero at absent samples, so $V_p^TV_q$ runs over the $n_{pq}$ common rows $C_{pq}$,
    but without rescaling: it reaches only $n_{pq}^2 / (n_pn_q)$ of the overlap of a shared
    eigenvector. Here both bases are first orthonormalized over the common rows, column by column.
    The overlap of the first a and b columns is then that of a data set of these rows alone:
    between 0 and min(a, b), min(a, b) for equal subspaces, and $ab/n_{pq}$ for unrelated ones.

    A pair of at most k common rows has no overlap, because k eigenvectors would span all of them.
    The time is that of two QR factorizations per pair, $O(n_{pq} D^2)$.
    """
    step("overlaps of all pairs of views, over common rows")
    common = common_rows(present)
    common[common <= k] = 0
    starts = np.concatenate([[0], np.cumsum([spectrum.size for spectrum in spectra])])
    found = Overlap(np.eye(starts[-1]), starts, len(present), common)
    for p, q in found.pairs():
        rows = np.flatnonzero(present[:, p] & present[:, q])
        Q = [orthonormal_prefixes(spectra[view].vectors[rows]) for view in (p, q)]
        found.block(p, q)[:] = Q[0].T @ Q[1]
        found.block(q, p)[:] = found.block(p, q).T
    return found
