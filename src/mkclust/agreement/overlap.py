"""Spectra to Overlap: all cross-products of the bases at once, and tables over their prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..linalg.spectrum import Spectrum
from ..progress import step

FEW = 8  # up to this many views, products by pairs beat copying all bases side by side


@dataclass(frozen=True)
class Overlap:
    r"""$V_p^TV_q$ for all pairs of views, and what follows from it without touching n again.

    `cross` is the symmetric product $B^TB$ of all bases side by side, $B = [V_1 \ldots V_m]$;
    `starts` (m+1) says where each view's columns begin; `n_samples` is n. Where views lack
    samples, `common` (m, m) counts those that a pair's overlap rests on, 0 for no overlap at all.
    """

    cross: np.ndarray
    starts: np.ndarray
    n_samples: int
    common: np.ndarray | None = None

    @property
    def pair_samples(self) -> np.ndarray:
        """How many samples the overlap of each pair rests on: (m, m); NaN for none."""
        if self.common is None:
            return np.full((self.n_views, self.n_views), float(self.n_samples))
        return np.where(self.common > 0, self.common, np.nan)

    @property
    def n_views(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)

    def block(self, p: int, q: int) -> np.ndarray:
        """$V_p^TV_q$, (D_p, D_q)."""
        s = self.starts
        return self.cross[s[p] : s[p + 1], s[q] : s[q + 1]]

    def table(self, p: int, q: int) -> np.ndarray:
        r"""$S_{pq}[a,b] = \|V_p[:, :a]^TV_q[:, :b]\|_F^2$, (D_p + 1, D_q + 1), monotone in both."""
        squared = self.block(p, q) ** 2
        table = np.zeros((squared.shape[0] + 1, squared.shape[1] + 1))
        np.cumsum(squared, axis=0, out=squared)
        np.cumsum(squared, axis=1, out=table[1:, 1:])
        return table

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of different views that have enough samples in common, once each."""
        every = [(p, q) for p in range(self.n_views) for q in range(p + 1, self.n_views)]
        return every if self.common is None else [pair for pair in every if self.common[pair] > 0]

    def at(self, dimensions: Sequence[int] | np.ndarray) -> np.ndarray:
        """$S_{pq}[d_p, d_q]$ for all pairs: (m, m)."""
        kept = self.columns(dimensions)
        owner = np.repeat(np.eye(self.n_views), np.asarray(dimensions), axis=0)
        return np.asarray(owner.T @ self.cross[np.ix_(kept, kept)] ** 2 @ owner)

    def columns(self, dimensions: Sequence[int] | np.ndarray) -> np.ndarray:
        """Positions in `cross` of the first d_p columns of each view."""
        spans = zip(self.starts[:-1], dimensions, strict=True)
        return np.concatenate([np.arange(start, start + d) for start, d in spans])

    def agreement(self, k: int) -> np.ndarray:
        r"""Chance-corrected agreement of all pairs: $(S_{pq}[k,k] - k^2/n) / (k - k^2/n)$.

        1 for equal leading subspaces, about 0 for unrelated ones. Views with fewer than k
        directions enter with those they have; n counts the samples both have. NaN for a pair
        that has none in common. (m, m).
        """
        d = np.minimum(self.sizes, k)
        chance = np.outer(d, d) / self.pair_samples
        most = np.minimum.outer(d, d)
        room = most - chance
        found = np.divide(self.at(d) - chance, room, out=np.ones_like(room), where=room > 0)
        return np.where(np.isnan(chance), np.nan, found)

    def reproduced(self, k: int) -> np.ndarray:
        """How much of each view's first k directions the others hold in all of theirs: (m,)."""
        heads = np.minimum(self.sizes, k)
        spans = zip(self.starts[:-1], heads, strict=True)
        return np.array([np.sum(self.cross[s : s + h] ** 2) for s, h in spans]) - heads


def overlap(spectra: Sequence[Spectrum]) -> Overlap:
    r"""All overlaps at once: $O(n (\sum_p D_p)^2)$ time, $(\sum_p D_p)^2$ memory.

    >>> from mkclust.linalg.spectrum import Spectrum
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
