"""View weights: agreement with the other views, shared among redundant ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from ..graphs.metrics import MANY, Metric, spaced
from .chance import related_pairs
from .subspace_overlap import Overlap

REDUNDANT = 0.5  # redundancy from which two views are described as sharing their weight
NONE = 1e-9  # mean agreement up to which there is none: copies alone confirm each other
SMALL = 0.1  # of an equal weight; a smaller weight is described as "hardly used"


@dataclass(frozen=True)
class ViewWeights:
    """Weights of the views and what they rest on.

    `weights` (m,) sum to 1. `agreement` (m, m) is chance-corrected: 1 for equal subspaces, about
    0 for unrelated ones. `redundancy` (m, m) is 1 for copies, near 0 for different views.
    `equal` is True where no two views agree beyond chance, copies aside: redundancy alone decides.
    `unrelated` are the views that agree with no other, copies aside; they have weight 0 unless all
    are unrelated. Where every view is a copy of another, none is.
    """

    weights: np.ndarray
    agreement: np.ndarray
    redundancy: np.ndarray
    equal: bool
    unrelated: tuple[int, ...] = ()

    def describe(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return one sentence per view, and one where agreement could not decide.

        >>> one = np.ones((1, 1))
        >>> ViewWeights(np.ones(1), one, one, True).describe(["pixels"])
        ('pixels: weight 1.00, the only view',)
        """
        m = len(self.weights)
        if m == 1:
            return (f"{names[0]}: weight 1.00, the only view",)
        lines = [self._sentence(p, names) for p in range(m)]
        if self.equal:
            why = "no two views agree beyond chance" if self.unrelated else "all views are copies"
            lines.append(f"{why}: the weights follow from redundancy alone")
        return tuple(lines)

    def _sentence(self, p: int, names: Sequence[str]) -> str:
        others = np.delete(self.agreement[p], p)
        best = int(np.delete(np.arange(len(self.weights)), p)[np.nanargmax(others)])
        text = f"{names[p]}: weight {self.weights[p]:.2f}, agrees "
        if p in self.unrelated:
            text += "with no other view beyond chance"
            if self.equal:
                return text
            few = "; used only because some samples are in no other view that is used"
            return text + ("; not used" if self.weights[p] == 0 else few)
        text += f"most with {names[best]} ({self.agreement[p, best]:z.2f} beyond chance)"
        copies = [
            name for q, name in enumerate(names) if q != p and self.redundancy[p, q] > REDUNDANT
        ]
        if copies:
            text += f", shares its weight with {', '.join(copies)}"
        if self.weights[p] < SMALL / len(self.weights):
            text += "; hardly used"
        return text


def view_weights(
    overlap: Overlap,
    size: int,
    redundancy: np.ndarray,
    p_values: np.ndarray,
    informative: np.ndarray | None = None,
) -> ViewWeights:
    r"""Weigh views by $w_p \propto s_p \, \overline{A_{pq}}$, the mean agreement with the others.

    A is the chance-corrected agreement of the first `size` eigenvectors, 0 for pairs that do not
    agree beyond chance, by their p-values `p_values` (m, m). Redundant views share their weight:
    $s_p = 1/\sum_q R_{pq}$ with R their `redundancy` (m, m), and they confirm each other only
    by $1 - R_{pq}$. All views given several times weigh exactly as once; copies of one view weigh
    a little more than that view alone. O(m^2 D^2).

    A view is unrelated, and has weight 0, if no other view agrees with it, copies aside. If all
    views are unrelated, their weights follow from redundancy alone. A view that shares too few
    samples with the others to be compared has the mean weight of those with one. Views that are
    not `informative` (m,) have weight 0 and confirm no other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> U, noise = (np.linalg.qr(rng.standard_normal((200, 4)))[0] for _ in range(2))
    >>> B = np.hstack([U, U, noise])
    >>> p_values = np.array([[np.nan, 0.0, 0.5], [0.0, np.nan, 0.5], [0.5, 0.5, np.nan]])
    >>> found = view_weights(Overlap(B.T @ B, np.array([0, 4, 8, 12]), 200), 4, np.eye(3), p_values)
    >>> found.weights, found.unrelated
    (array([0.5, 0.5, 0. ]), (2,))
    """
    if informative is None:
        informative = np.ones(len(redundancy), dtype=bool)
    agreement = _agreement(overlap, size)
    both = np.outer(informative, informative)
    related = related_pairs(p_values) & both
    raw, copies = discounted_agreement(np.where(related, agreement, 0.0), redundancy)
    raw = np.where(raw > NONE, raw, 0.0) / copies
    compared = (~np.isnan(p_values) & both).any(axis=1)
    equal = not raw.any()
    weights = informative / copies if equal else raw
    if not equal:
        weights[~compared & informative] = raw[raw > 0].mean()
    copied = (related & (redundancy > REDUNDANT)).any(axis=1)
    unrelated = np.flatnonzero((raw == 0) & compared & ~copied.all())
    return ViewWeights(
        weights / weights.sum(), agreement, redundancy, equal, tuple(unrelated.tolist())
    )


def discounted_agreement(
    agreement: np.ndarray, redundancy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return each view's mean agreement with the others and its number of copies: both (m,).

    Their quotient is the weight of the view, up to scale. In the mean, view q counts by
    $(1 - R_{pq}) / \sum_r R_{qr}$, so that copies count together as one view and do not confirm
    each other. The number of copies is $\sum_q R_{pq}$. Agreement below 0 or unknown counts as 0.

    >>> discounted_agreement(np.array([[1.0, 0.4], [0.4, 1.0]]), np.eye(2))
    (array([0.4, 0.4]), array([1., 1.]))
    """
    copies = redundancy.sum(axis=1)
    others = (1 / copies) * (1 - redundancy)
    np.fill_diagonal(others, 0.0)
    total, m = others.sum(axis=1), len(redundancy)
    found = (others * np.maximum(np.nan_to_num(agreement), 0.0)).sum(axis=1)
    return np.divide(found, total, out=np.zeros(m), where=total > 1e-9), copies


def _agreement(overlap: Overlap, size: int) -> np.ndarray:
    """Return agreement beyond chance (m, m); 0 where chance fills the space or rows are few."""
    d = np.minimum(overlap.sizes, size)
    filled = np.outer(d, d) / overlap.pair_samples >= np.minimum.outer(d, d)
    found = np.where(filled | np.isnan(overlap.pair_samples), 0.0, overlap.agreement(size))
    np.fill_diagonal(found, 1.0)
    return found


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
    return np.maximum(_edge_redundancy(graphs), _distance_redundancy(parts, held))


def _edge_redundancy(graphs: Sequence[sp.csr_array]) -> np.ndarray:
    found = np.eye(len(graphs))
    lengths = [float(np.sqrt(graph.power(2).sum())) for graph in graphs]
    for q, p in combinations(range(len(graphs)), 2):
        inner = float(graphs[p].multiply(graphs[q]).sum())
        cosine = inner / max(lengths[p] * lengths[q], np.finfo(float).tiny)
        found[p, q] = found[q, p] = min(cosine, 1.0) ** 2
    return found


def _distance_redundancy(parts: Sequence[Metric], held: Sequence[np.ndarray]) -> np.ndarray:
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

    for q, p in combinations(range(m), 2):
        both = np.flatnonzero(held[p] & held[q])
        rows = both[spaced(len(both), MANY)]
        if len(rows) > 2:
            correlation = float(deviations(p, rows) @ deviations(q, rows))
            found[p, q] = found[q, p] = min(max(correlation, 0.0), 1.0) ** 2
    return found
