"""Overlaps of views that lack samples: over the rows that both views of a pair have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from ..data.missing import common_rows
from ..linalg.spectrum import Spectrum
from ..progress import step
from .overlap import Overlap

DEPENDENT = 1e-8  # relative; a shorter remainder is linearly dependent on the columns before it


def orthonormal_prefixes(vectors: np.ndarray) -> np.ndarray:
    """Columns whose first a span what the first a of `vectors` (c, D) do, orthonormal or zero.

    Zero where a column adds nothing to those before it: with more columns than rows most of all.
    """
    size = min(vectors.shape)
    Q, R = scipy.linalg.qr(vectors[:, :size], mode="economic", check_finite=False)
    length = np.linalg.norm(vectors[:, :size], axis=0)
    kept = np.zeros_like(vectors)
    new = np.abs(np.diagonal(R)) > DEPENDENT * length
    kept[:, :size][:, new] = Q[:, new]
    return kept


def overlap_on_common_rows(spectra: Sequence[Spectrum], present: np.ndarray, k: int) -> Overlap:
    r"""Overlaps of bases over the rows both views have: $\|Q_p^TQ_q\|_F^2$, $Q$ of $V[C_{pq}]$.

    The bases are zero at absent samples, so $V_p^TV_q$ would run over the $n_{pq}$ common rows
    $C_{pq}$ but count them as if they were all: a shared direction shows $n_{pq}^2 / (n_pn_q)$
    of its overlap. Here both bases are orthonormalised over the common rows first, prefix by
    prefix, so that the overlap is what it would be were these rows all there is: between 0 and
    min(a, b), equal to it for equal subspaces, and $ab/n_{pq}$ for unrelated ones.

    A pair of no more than k common rows has no overlap: k directions would fill them. Time is
    that of two QR factorisations per pair, $O(n_{pq} D^2)$.
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
