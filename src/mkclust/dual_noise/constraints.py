"""Overlap to Constraints: what each pair of views demands of the dimensions, as look-ups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..agreement.chance import DEVIATIONS
from ..agreement.overlap import Overlap

SLACK = 1e-9  # relative; without it two identical kernels miss k by rounding and grow
SHARE = 0.9  # of the saturated overlap beyond chance, when the published threshold is out of reach
FAINT = 0.02  # of k-1 directions: significant at large n, yet too little to steer a clustering


@dataclass(frozen=True)
class Constraints:
    r"""The constraints $S_{pq}[d_p, d_q] \ge t$ as a table of integers.

    ``needs[p, q, b]`` is the smallest d_p that satisfies the pair when d_q = b, and more than
    ``upper[p]`` when none does. `lower` and `upper` (m,) bound every d_p. `threshold` is t.
    `exempt` lists pairs without a constraint, `relaxed` says that t is not the one asked for.
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
        """Smallest dimension of each view that is feasible against `d` in all the others: L(d)."""
        return np.asarray(self.needs[:, np.arange(self.n_views), d].max(axis=1))

    def feasible(self, d: np.ndarray) -> bool:
        return bool((self.least(d) <= d).all())

    def unrelated(self) -> list[int]:
        """Views exempt from all their pairs: they agree with no other beyond chance."""
        exempt = [pair for both in self.exempt for pair in both]
        return [p for p in range(self.n_views) if 0 < self.n_views - 1 == exempt.count(p)]

    def reordered(self, order: np.ndarray) -> Constraints:
        """The same constraints with the views in another order."""
        place = np.argsort(order)
        return Constraints(
            self.needs[np.ix_(order, order)],
            self.lower[order],
            self.upper[order],
            self.threshold,
            tuple((int(place[p]), int(place[q])) for p, q in self.exempt),
            self.relaxed,
        )

    def tightened(self, lower: np.ndarray, upper: np.ndarray) -> Constraints:
        """The same constraints inside a smaller box."""
        return Constraints(self.needs, lower, upper, self.threshold, self.exempt, self.relaxed)


def overlap_constraints(overlap: Overlap, k: int, threshold: float) -> Constraints:
    """Every pair at one threshold: O((sum of D)^2) time, O(m^2 D) integers kept."""
    needs, lower = _empty(overlap, k)
    for p, q in overlap.pairs():
        below = overlap.table(p, q) < threshold * (1 - SLACK)
        _enter(needs, p, q, below)
    return Constraints(needs, lower, overlap.sizes, threshold)


def relaxed_constraints(overlap: Overlap, k: int, threshold: float) -> Constraints:
    r"""What can be asked when $S_{pq} \ge t$ cannot be met: agreement beyond chance.

    Per pair $f_{pq}[a,b] = S_{pq}[a,b] - ab/n$, the overlap two unrelated subspaces would not
    show. Pairs whose f is nowhere beyond chance are exempted. All others share one threshold,
    `SHARE` of the weakest pair's best f and never above t: the rest would take every direction
    there is.
    """
    needs, lower = _empty(overlap, k)
    beyond = {pair: _beyond_chance(overlap, k, *pair) for pair in overlap.pairs()}
    exempt = tuple(pair for pair, f in beyond.items() if f is None)
    best = [f[-1, -1] for f in beyond.values() if f is not None]
    shared = min([threshold, *(SHARE * f for f in best)])
    for (p, q), f in beyond.items():
        if f is not None:
            _enter(needs, p, q, f < shared * (1 - SLACK))
    return Constraints(needs, lower, overlap.sizes, shared, exempt, relaxed=True)


def shortfall(overlap: Overlap, threshold: float) -> dict[tuple[int, int], float]:
    """Pairs that miss the threshold with every direction known, and how far they get."""
    saturated = overlap.at(overlap.sizes)
    pairs = overlap.pairs()
    return {(p, q): s for p, q in pairs if (s := saturated[p, q]) < threshold * (1 - SLACK)}


def _empty(overlap: Overlap, k: int) -> tuple[np.ndarray, np.ndarray]:
    lower = np.minimum(overlap.sizes, k)
    m, width = overlap.n_views, int(overlap.sizes.max()) + 1
    needs = np.broadcast_to(lower[:, None, None], (m, m, width)).astype(np.int32)
    return needs, lower


def _enter(needs: np.ndarray, p: int, q: int, below: np.ndarray) -> None:
    """`below` (D_p+1, D_q+1) is monotone, so counting it along an axis finds the corner."""
    for row, column, counts in ((p, q, below.sum(axis=0)), (q, p, below.sum(axis=1))):
        entry = needs[row, column, : len(counts)]
        np.maximum(entry, counts, out=entry)


def _beyond_chance(overlap: Overlap, k: int, p: int, q: int) -> np.ndarray | None:
    r"""Best overlap beyond chance within the first (a, b) directions; None if chance explains it.

    The squared overlap of two independent random subspaces of dimensions a and b has mean
    $ab/n$ and variance $2ab(n-a)(n-b) / (n^2(n-1)(n+2))$.
    """
    n = overlap.pair_samples[p, q]
    table = overlap.table(p, q)
    a, b = (np.minimum(np.arange(size), n) for size in table.shape)
    table -= np.outer(a, b) / n
    spread = np.sqrt(2.0 * np.outer(a * (n - a), b * (n - b)) / (n**2 * (n - 1) * (n + 2)))
    needed = np.maximum(DEVIATIONS * spread, FAINT * max(k - 1, 1))
    # Not at the shortest prefixes, where chance has heavier tails than a normal law; and where
    # so few samples are left that even equal views could not be believed, nothing is said.
    tested = np.s_[min(k, len(a) - 1) :, min(k, len(b) - 1) :]
    possible = np.minimum.outer(a, b) - np.outer(a, b) / n
    if (possible > needed)[tested].any() and not (table > needed)[tested].any():
        return None
    np.maximum.accumulate(table, axis=0, out=table)
    return np.maximum.accumulate(table, axis=1, out=table)
