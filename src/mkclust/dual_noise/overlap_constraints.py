"""Constraints on the dimensions from the overlaps of all pairs of views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..agreement.chance import DEVIATIONS
from ..agreement.subspace_overlap import Overlap

SLACK = 1e-9  # relative; without it two identical kernels miss the threshold k by rounding
SHARE = 0.9  # of the largest overlap beyond chance, where the given threshold cannot be met
FAINT = 0.02  # of k-1: an overlap below this is too small to matter, though significant at large n


@dataclass(frozen=True)
class Constraints:
    r"""The constraints $S_{pq}[d_p, d_q] \ge t$ as a table of integers.

    Attributes
    ----------
    needs : (m, m, D + 1) int array
        ``needs[p, q, b]`` is the smallest d_p that satisfies the pair when d_q = b. It is larger
        than ``upper[p]`` where no d_p does.
    lower, upper : (m,) int arrays
        Bounds of every d_p.
    threshold : float
        t.
    exempt : tuple of pairs of int
        Pairs without a constraint.
    relaxed : bool
        Whether t is smaller than the threshold that was given.
    """

    needs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    threshold: float
    exempt: tuple[tuple[int, int], ...] = ()
    relaxed: bool = False

    @property
    def n_views(self) -> int:
        return len(self.lower)

    def least(self, d: np.ndarray) -> np.ndarray:
        """Return L(d) (m,): the least feasible dimension of each view, given `d` for the others."""
        return np.asarray(self.needs[:, np.arange(self.n_views), d].max(axis=1))

    def feasible(self, d: np.ndarray) -> bool:
        """Return whether `d` (m,) meets every constraint."""
        return bool((self.least(d) <= d).all())

    def unrelated(self) -> list[int]:
        """Return the views that are exempt in all their pairs: no agreement beyond chance."""
        exempt = [pair for both in self.exempt for pair in both]
        return [p for p in range(self.n_views) if 0 < self.n_views - 1 == exempt.count(p)]


def overlap_constraints(overlap: Overlap, k: int, threshold: float) -> Constraints:
    """Require every pair to reach one threshold: O((sum of D)^2) time, O(m^2 D) integers."""
    tables = {pair: overlap.table(*pair) for pair in overlap.pairs()}
    return Constraints(*_needs_and_bounds(overlap, k, tables, threshold), threshold)


def relaxed_constraints(overlap: Overlap, k: int, threshold: float) -> Constraints:
    r"""Require overlap beyond chance, where $S_{pq} \ge t$ cannot be met.

    Per pair the overlap beyond chance is $f_{pq}[a,b] = S_{pq}[a,b] - ab/n$: its expectation is 0
    for unrelated subspaces. Pairs whose f never exceeds chance are exempt. All others share one
    threshold, `SHARE` of the weakest pair's largest f and at most t. With the whole of it instead
    of `SHARE`, the weakest pair would need all its eigenvectors.
    """
    beyond = {pair: _beyond_chance(overlap, k, *pair) for pair in overlap.pairs()}
    exempt = tuple(pair for pair, f in beyond.items() if f is None)
    tables = {pair: f for pair, f in beyond.items() if f is not None}
    shared = min([threshold, *(SHARE * f[-1, -1] for f in tables.values())])
    parts = _needs_and_bounds(overlap, k, tables, shared)
    return Constraints(*parts, shared, exempt, relaxed=True)


def shortfall(overlap: Overlap, threshold: float) -> dict[tuple[int, int], float]:
    """Return the pairs that miss the threshold with all known eigenvectors, and their overlap."""
    saturated = overlap.at(overlap.sizes)
    pairs = overlap.pairs()
    return {(p, q): s for p, q in pairs if (s := saturated[p, q]) < threshold * (1 - SLACK)}


def _needs_and_bounds(
    overlap: Overlap, k: int, tables: dict[tuple[int, int], np.ndarray], threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `needs`, `lower` and `upper` of the pairs whose `tables` must reach the threshold.

    The tables (D_p+1, D_q+1) are monotone, so that counts along an axis suffice.
    """
    lower = np.minimum(overlap.sizes, k)
    m, width = overlap.n_views, int(overlap.sizes.max()) + 1
    needs = np.broadcast_to(lower[:, None, None], (m, m, width)).astype(np.int32)
    for (p, q), table in tables.items():
        below = table < threshold * (1 - SLACK)
        for row, column, counts in ((p, q, below.sum(axis=0)), (q, p, below.sum(axis=1))):
            entry = needs[row, column, : len(counts)]
            np.maximum(entry, counts, out=entry)
    return needs, lower, overlap.sizes


def _beyond_chance(overlap: Overlap, k: int, p: int, q: int) -> np.ndarray | None:
    r"""Return the largest overlap beyond chance up to (a, b); None if chance explains all of it.

    The squared overlap of two independent random subspaces of dimensions a and b has mean
    $ab/n$ and variance $2ab(n-a)(n-b) / (n^2(n-1)(n+2))$.
    """
    n = overlap.pair_samples[p, q]
    table = overlap.table(p, q)
    a, b = (np.minimum(np.arange(size), n) for size in table.shape)
    table -= np.outer(a, b) / n
    spread = np.sqrt(2.0 * np.outer(a * (n - a), b * (n - b)) / (n**2 * (n - 1) * (n + 2)))
    needed = np.maximum(DEVIATIONS * spread, FAINT * max(k - 1, 1))
    # Prefixes shorter than k are not tested: their chance overlap has heavier tails than a normal
    # distribution. A pair of so few samples that even equal views would not pass is not exempt.
    tested = np.s_[min(k, len(a) - 1) :, min(k, len(b) - 1) :]
    possible = np.minimum.outer(a, b) - np.outer(a, b) / n
    if (possible > needed)[tested].any() and not (table > needed)[tested].any():
        return None
    np.maximum.accumulate(table, axis=0, out=table)
    return np.maximum.accumulate(table, axis=1, out=table)
