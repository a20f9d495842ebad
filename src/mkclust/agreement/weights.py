r"""Overlap to the weight of each view: what the others confirm, one vote for what is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dual_noise.constraints import DEVIATIONS
from .overlap import Overlap

TWINS = 0.5  # redundancy from which two views are told to share a vote
LITTLE = 0.1  # a weight below this share of an equal one is told as "hardly used"


@dataclass(frozen=True)
class ViewWeights:
    """How much each view counts and why: `weights` (m,) sum to 1.

    `agreement` (m, m) is chance-corrected: 1 for equal subspaces, about 0 for unrelated ones.
    `redundancy` (m, m) is 1 for views that say the same, near 0 for different ones.
    `equal` says that no two views agree beyond chance, so that nothing tells them apart.
    """

    weights: np.ndarray
    agreement: np.ndarray
    redundancy: np.ndarray
    equal: bool

    def in_words(self, names: Sequence[str]) -> tuple[str, ...]:
        """One sentence per view, and one where agreement could not decide.

        >>> one = np.ones((1, 1))
        >>> ViewWeights(np.ones(1), one, one, True).in_words(["pixels"])
        ('pixels: weight 1.00, the only view',)
        """
        m = len(self.weights)
        if m == 1:
            return (f"{names[0]}: weight 1.00, the only view",)
        lines = [self._sentence(p, names) for p in range(m)]
        if self.equal:
            lines.append("no two views agree beyond chance: all count the same")
        return tuple(lines)

    def _sentence(self, p: int, names: Sequence[str]) -> str:
        others = np.delete(self.agreement[p], p)
        best = int(np.delete(np.arange(len(self.weights)), p)[np.nanargmax(others)])
        text = (
            f"{names[p]}: weight {self.weights[p]:.2f}, agrees most with {names[best]} "
            f"({self.agreement[p, best]:.2f} beyond chance)"
        )
        twins = [name for q, name in enumerate(names) if q != p and self.redundancy[p, q] > TWINS]
        if twins:
            text += f", shares its vote with {', '.join(twins)}"
        if not self.equal and self.weights[p] == 0:
            text += ": left out, no other view confirms it"
        elif self.weights[p] < LITTLE / len(self.weights):
            text += ": hardly used"
        return text


def view_weights(overlap: Overlap, size: int, redundancy: np.ndarray) -> ViewWeights:
    r"""$w_p \propto s_p \, \overline{A_{pq}}$, the agreement of p with the other views, averaged.

    A is the chance-corrected agreement of the first `size` directions. Agreement within five
    standard deviations of chance counts as none. Views that say the same share a vote:
    $s_p = 1/\sum_q R_{pq}$, R their `redundancy` (m, m), and confirm each other by $1 - R_{pq}$:
    all views given several times weigh exactly as once, copies of one view a little more than
    it. O(m^2 D^2).

    >>> rng = np.random.default_rng(0)
    >>> U, noise = (np.linalg.qr(rng.standard_normal((200, 4)))[0] for _ in range(2))
    >>> B = np.hstack([U, U, noise])
    >>> view_weights(Overlap(B.T @ B, np.array([0, 4, 8, 12]), 200), 4, np.eye(3)).weights
    array([0.5, 0.5, 0. ])
    """
    agreement = _agreement(overlap, size)
    n = overlap.pair_samples
    chance = DEVIATIONS * np.sqrt(2 / np.maximum((n - 1) * (n + 2), 1))
    confirmed = np.where(agreement > chance, agreement, 0.0)
    share = 1 / redundancy.sum(axis=1)
    others = share * (1 - redundancy)
    np.fill_diagonal(others, 0.0)
    total = others.sum(axis=1)
    m = len(redundancy)
    raw = np.divide((others * confirmed).sum(axis=1), total, out=np.zeros(m), where=total > 1e-9)
    raw *= share
    equal = not raw.sum() > 0
    weights = share if equal else raw
    return ViewWeights(weights / weights.sum(), agreement, redundancy, equal)


def _agreement(overlap: Overlap, size: int) -> np.ndarray:
    """Beyond chance, 0 where chance explains everything or nothing can be compared: (m, m)."""
    d = np.minimum(overlap.sizes, size)
    filled = np.outer(d, d) / overlap.pair_samples >= np.minimum.outer(d, d)
    found = np.where(filled | np.isnan(overlap.pair_samples), 0.0, overlap.agreement(size))
    np.fill_diagonal(found, 1.0)
    return found
