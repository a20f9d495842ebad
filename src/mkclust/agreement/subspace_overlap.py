"""Overlaps of subspaces: cross-products of all bases, over common rows where views lack some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..data.missing import common_rows
from ..linalg.eigenpairs import Spectrum
from ..progress import step

FEW = 8  # up to this many views, products by pairs are faster than one product of all bases


@dataclass(frozen=True)
class Overlap:
    r"""$V_p^TV_q$ for all pairs of views, and quantities computed from it in time without n.

    Attributes
    ----------
    cross : (sum D, sum D) array
        $B^TB$ of all bases side by side, $B = [V_1 \ldots V_m]$.
    starts : (m + 1,) array
        Position of each view's first column in B.
    n_samples : int
        n.
    common : (m, m) array or None
        Number of samples that the overlap of a pair is computed from, where views lack samples; 0
        for a pair without an overlap.
    """

    cross: np.ndarray
    starts: np.ndarray
    n_samples: int
    common: np.ndarray | None = None

    @property
    def pair_samples(self) -> np.ndarray:
        """Number of samples that the overlap of each pair is based on: (m, m); NaN for none."""
        if self.common is None:
            return np.full((self.n_views, self.n_views), float(self.n_samples))
        return np.where(self.common > 0, self.common, np.nan)

    @property
    def n_views(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Number of columns $D_p$ of each basis: (m,)."""
        return np.diff(self.starts)

    def block(self, p: int, q: int) -> np.ndarray:
        """Return $V_p^TV_q$, (D_p, D_q)."""
        s = self.starts
        return self.cross[s[p] : s[p + 1], s[q] : s[q + 1]]

    def table(self, p: int, q: int) -> np.ndarray:
        r"""Return $S_{pq}[a,b] = \|V_p[:, :a]^TV_q[:, :b]\|_F^2$, (D_p + 1, D_q + 1)."""
        squared = self.block(p, q) ** 2
        table = np.zeros((squared.shape[0] + 1, squared.shape[1] + 1))
        np.cumsum(squared, axis=0, out=squared)
        np.cumsum(squared, axis=1, out=table[1:, 1:])
        return table

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs p < q of views that have enough samples in common."""
        every = [(p, q) for p in range(self.n_views) for q in range(p + 1, self.n_views)]
        return every if self.common is None else [pair for pair in every if self.common[pair] > 0]

    def at(self, dimensions: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return $S_{pq}[d_p, d_q]$ for all pairs: (m, m)."""
        kept = self.columns(dimensions)
        owner = np.repeat(np.eye(self.n_views), np.asarray(dimensions), axis=0)
        return np.asarray(owner.T @ self.cross[np.ix_(kept, kept)] ** 2 @ owner)

    def columns(self, dimensions: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the positions in `cross` of the first d_p columns of each view."""
        spans = zip(self.starts[:-1], dimensions, strict=True)
        return np.concatenate([np.arange(start, start + d) for start, d in spans])

    def agreement(self, k: int) -> np.ndarray:
        r"""Return the chance-corrected agreement (m, m): $(S_{pq}[k,k] - k^2/n) / (k - k^2/n)$.

        It is 1 for equal leading subspaces and about 0 for unrelated ones. A view with fewer than
        k eigenvectors enters with all of them. n is the number of samples that both views hold.
        The agreement is NaN for a pair without common samples.
        """
        d = np.minimum(self.sizes, k)
        chance = np.outer(d, d) / self.pair_samples
        room = np.minimum.outer(d, d) - chance
        found = np.divide(self.at(d) - chance, room, out=np.ones_like(room), where=room > 0)
        return np.where(np.isnan(chance), np.nan, found)

    def reproduced(self, k: int) -> np.ndarray:
        """Return the overlap of each view's first k eigenvectors with all of the others': (m,)."""
        heads = np.minimum(self.sizes, k)
        spans = zip(self.starts[:-1], heads, strict=True)
        return np.array([np.sum(self.cross[s : s + h] ** 2) for s, h in spans]) - heads


def overlap(spectra: Sequence[Spectrum]) -> Overlap:
    r"""Compute the overlaps of all pairs: $O(n (\sum_p D_p)^2)$ time, $(\sum_p D_p)^2$ memory.

    >>> from mkclust.linalg.eigenpairs import Spectrum
    >>> V = Spectrum(np.eye(4)[:, :2], np.ones(2), True)
    >>> W = Spectrum(np.eye(4)[:, 1:3], np.ones(2), True)
    >>> overlap([V, W]).table(0, 1)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 1., 1.]])
    """
    step("overlaps of all pairs of views")
    bases = [spectrum.vectors for spectrum in spectra]
    starts = np.concatenate([[0], np.cumsum([V.shape[1] for V in bases])])
    if len(bases) > FEW:
        B = np.hstack(bases)
        return Overlap(B.T @ B, starts, len(B))
    found = Overlap(np.eye(starts[-1]), starts, len(bases[0]))
    for p, q in found.pairs():
        found.block(p, q)[:] = bases[p].T @ bases[q]
        found.block(q, p)[:] = found.block(p, q).T
    return found


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
    r"""Compute $Q_p^TQ_q$ of all pairs, where $Q_p$ is an orthonormal basis of $V_p[C_{pq}]$.

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
