r"""Overlap to the weight of each view: what the others confirm, one vote for what is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

DEVIATIONS = 5.0  # standard deviations of chance agreement before agreement is believed
TWINS = 0.5  # redundancy from which two views are told to share a vote
LITTLE = 0.1  # a weight below this share of an equal one is told as "hardly used"


@dataclass(frozen=True)
class ViewWeights:
    """How much each view counts and why: `weights` (m,) sum to 1.

    `agreement` (m, m) is chance-corrected: 1 for equal subspaces, about 0 for unrelated ones.
    `redundancy` (m, m) is 1 for views with the same neighbours, near 0 for different ones.
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


def view_weights(
    bases: Sequence[np.ndarray], graphs: Sequence[sp.csr_array], present: np.ndarray | None = None
) -> ViewWeights:
    r"""$w_p \propto s_p \, \overline{A_{pq}}$, the agreement of p with the other views, averaged.

    `bases` are the leading eigenvectors (n, D) of the views' graphs, `graphs` those (n, n).
    $A_{pq} = (\|U_p^TU_q\|_F^2 - e) / (D - 1 - e)$ with columns centred, as every graph has the
    constant direction, and $e = (D-1)^2/n$, what unrelated subspaces share. Agreement within
    chance counts as none. Views with the same edges share a vote: $s_p = 1/\sum_q R_{pq}$,
    $R_{pq}$ the squared cosine between their graphs, and confirm each other by $1 - R_{pq}$: all
    views given several times weigh exactly as once, copies of one view a little more than it.

    O(n m^2 D^2).

    >>> rng = np.random.default_rng(0)
    >>> U, noise = (np.linalg.qr(rng.standard_normal((200, 4)))[0] for _ in range(2))
    >>> graphs = [sp.csr_array(sp.eye_array(200, k=i)) for i in (1, 2, 3)]
    >>> view_weights([U, U, noise], graphs).weights
    array([0.5, 0.5, 0. ])
    """
    m, n = len(bases), len(bases[0])
    agreement, chance = np.eye(m), np.zeros((m, m))
    for p in range(m):
        for q in range(p):
            both = slice(None) if present is None else present[:, p] & present[:, q]
            found, spread = _agreement(bases[p][both], bases[q][both], n)
            agreement[p, q] = agreement[q, p] = found
            chance[p, q] = chance[q, p] = DEVIATIONS * spread
    redundancy = _redundancy(graphs)
    confirmed = np.where(agreement > chance, agreement, 0.0)
    share = 1 / redundancy.sum(axis=1)
    others = share * (1 - redundancy)
    np.fill_diagonal(others, 0.0)
    total = others.sum(axis=1)
    raw = np.divide((others * confirmed).sum(axis=1), total, out=np.zeros(m), where=total > 1e-9)
    raw *= share
    equal = not raw.sum() > 0
    weights = share if equal else raw
    return ViewWeights(weights / weights.sum(), agreement, redundancy, equal)


def _agreement(U: np.ndarray, V: np.ndarray, n: int) -> tuple[float, float]:
    """Agreement beyond chance and its standard deviation between unrelated views."""
    if len(U) < n:  # only the samples both have: what is left of the vectors is no basis any more
        if len(U) <= 2 * U.shape[1]:
            return 0.0, 1.0
        U, V = (np.linalg.qr(part)[0] for part in (U, V))
    n, size = len(U), min(U.shape[1], V.shape[1]) - 1
    U, V = U - U.mean(axis=0), V - V.mean(axis=0)
    e = size**2 / n
    if size < 1 or size <= e:
        return 0.0, 1.0
    return float((np.sum((U.T @ V) ** 2) - e) / (size - e)), float(np.sqrt(2 / (n - 1) / (n + 2)))


def _redundancy(graphs: Sequence[sp.csr_array]) -> np.ndarray:
    m = len(graphs)
    found = np.eye(m)
    lengths = [float(np.sqrt(graph.power(2).sum())) for graph in graphs]
    for p in range(m):
        for q in range(p):
            inner = float(graphs[p].multiply(graphs[q]).sum())
            cosine = inner / max(lengths[p] * lengths[q], np.finfo(float).tiny)
            found[p, q] = found[q, p] = min(cosine, 1.0) ** 2
    return found
