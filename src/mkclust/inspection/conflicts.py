"""Pairs of clusters about which trusted views contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..agreement.cache import shared_views
from ..graph_fusion.fusion import mean_graph
from .difference import ari_of
from .evidence import Evidence, evidence_of
from .own_split import OwnSplit, own_split
from .view_profile import SEPARATED, ViewProfile, profile_of

CLEAR = 0.9  # clarity from which a division is a gap; an even continuum has 0.81
SAME, OTHER = 0.5, 0.3  # ARI of two divisions that count as the same, and as different ones
SUPPORT = 0.3  # ARI with the clusters from which a view's own division supports them
FEWEST = 20  # samples of a cluster; fewer give no reliable division
EXAMINED = 120  # divisions of a pair by a view, at most: pairs that are separated least first


@dataclass(frozen=True)
class Conflict:
    """Two clusters that some views separate while others divide the same samples differently.

    Attributes
    ----------
    clusters : (int, int)
        The pair.
    supporting : tuple of str
        Trusted views that divide the samples of the two clusters as the labels do.
    opposing : tuple of str
        Trusted views that divide them in another way, and clearly.
    sizes : (int, int)
        Samples of the two clusters.
    parts : (int, int)
        The same if the opposing views are followed.
    ari : float
        Agreement of the two divisions; about 0 where they have nothing in common.
    moved : array
        Names (or positions) of the samples that would change cluster.
    labels : (n,) int array
        All labels with the opposing views followed for this pair, for the samples `rows`.
    rows : (n,) int array
    score : float
        Modularity of these labels on the fused graph, relative to that of the model's.
    """

    clusters: tuple[int, int]
    supporting: tuple[str, ...]
    opposing: tuple[str, ...]
    sizes: tuple[int, int]
    parts: tuple[int, int]
    ari: float
    moved: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    score: float

    def __str__(self) -> str:
        (a, b), (one, two) = self.clusters, self.sizes
        three, four = sorted(self.parts, reverse=True)
        names, support = ", ".join(self.opposing), ", ".join(self.supporting)
        keep = "keeps" if len(self.supporting) == 1 else "keep"
        divide = "divides" if len(self.opposing) == 1 else "divide"
        return (
            f"clusters {a} and {b}: {support} {keep} them apart as in the answer ({one} + {two} "
            f"samples); {names} {divide} the same samples differently, into {three} + {four} (ARI "
            f"{round(self.ari, 2) + 0.0:.2f}); following {names} would move {len(self.moved)} "
            f"samples between the two, with {self.score:.3f} of the answer's modularity"
        )


def conflicts(estimator: Any, views: Any, *, random_state: int = 0) -> tuple[Conflict, ...]:
    r"""Find pairs of clusters about which trusted views contradict each other.

    For every pair of clusters that some view does not separate, each trusted view divides the
    samples of the pair by the eigenvectors of its own graph (`own_split`). A view opposes the
    labels where its division is clear (the eigenvector is bimodal: clarity at least 0.9, while
    an even continuum has 0.81) and different (ARI with the labels below 0.3). The pair is a
    conflict if other trusted views support the labels: they separate the two clusters, or their
    own division has ARI of at least 0.3 with the labels. Views are trusted unless they are
    unrelated to the others or hardly used. At most 120 divisions are examined, over all views:
    those of the pairs that the views separate least. Clusters of fewer than 20 samples are not
    examined.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Of more than 20 000 samples 5000 are drawn.
    random_state : int
        Seed of the samples drawn.

    Returns
    -------
    tuple of Conflict
        The most samples that would move first.
    """
    with shared_views():
        evidence = evidence_of(estimator, views, random_state)
        return conflicts_of(evidence, profile_of(evidence))


def conflicts_of(evidence: Evidence, profile: ViewProfile) -> tuple[Conflict, ...]:
    """Return the conflicts of a model whose profile is known."""
    trusted = evidence.trusted
    if len(trusted) < 2:
        return ()
    weakest = np.nan_to_num(profile.pairs[..., trusted], nan=1.0).min(axis=-1)
    small = profile.sizes < FEWEST
    weakest[small] = weakest[:, small] = 1.0
    pairs = [(weakest[a, b], a, b) for a, b in zip(*np.triu_indices(len(weakest), 1), strict=True)]
    unsure = sorted(pair for pair in pairs if pair[0] < SEPARATED)[
        : max(1, EXAMINED // len(trusted))
    ]
    found = [_conflict(evidence, profile, int(a), int(b)) for _, a, b in unsure]
    kept = [conflict for conflict in found if conflict is not None]
    return tuple(sorted(kept, key=lambda conflict: -len(conflict.moved)))


def _conflict(evidence: Evidence, profile: ViewProfile, a: int, b: int) -> Conflict | None:
    at = np.flatnonzero(np.isin(evidence.labels, (a, b)))
    own = (evidence.labels[at] == b).astype(int)
    graphs = {p: sp.csr_array(evidence.graphs[p][at][:, at]) for p in evidence.trusted}
    splits = {p: own_split(graph) for p, graph in graphs.items()}
    opposing = _opposing(evidence, splits, own)
    if not opposing:
        return None
    supporting = [
        p for p in splits if p not in opposing
        and (profile.pairs[a, b, p] >= SEPARATED or _common_ari(splits[p].parts, own) >= SUPPORT)
    ]  # fmt: skip
    return _followed(evidence, at, (a, b), supporting, opposing, graphs) if supporting else None


def _opposing(evidence: Evidence, splits: dict[int, OwnSplit], own: np.ndarray) -> list[int]:
    """Return the views that divide a pair clearly, differently, and all in the same way."""
    clear = [
        p for p in splits
        if splits[p].clarity >= CLEAR and _common_ari(splits[p].parts, own) < OTHER
    ]  # fmt: skip
    groups = [
        [q for q in clear if q == p or _common_ari(splits[p].parts, splits[q].parts) >= SAME]
        for p in clear
    ]
    return max(groups, key=lambda group: evidence.weights[group].sum(), default=[])


def _followed(
    evidence: Evidence, at: np.ndarray, pair: tuple[int, int], supporting: Sequence[int],
    opposing: Sequence[int], graphs: dict[int, sp.csr_array],
) -> Conflict | None:  # fmt: skip
    """Return the conflict, with the labels that follow the opposing views for this pair."""
    own = evidence.labels[at]
    together = mean_graph([graphs[p] for p in opposing], evidence.weights[list(opposing)])
    parts = own_split(together).parts
    other = np.where(parts == 1, pair[1], pair[0])
    if np.sum(other[parts >= 0] == own[parts >= 0]) < np.sum(parts >= 0) / 2:
        other = np.where(parts == 1, pair[0], pair[1])
    other = np.where(parts < 0, own, other)  # a sample that no opposing view holds stays
    agreement = ari_of(own == pair[1], other == pair[1])
    if agreement >= SAME:
        return None
    labels = evidence.labels.copy()
    labels[at] = other
    return Conflict(
        clusters=pair,
        supporting=tuple(evidence.names[p] for p in supporting),
        opposing=tuple(evidence.names[p] for p in opposing),
        sizes=(int(np.sum(own == pair[0])), int(np.sum(own == pair[1]))),
        parts=(int(np.sum(other == pair[0])), int(np.sum(other == pair[1]))),
        ari=agreement,
        moved=evidence.index[at[own != other]],
        labels=labels,
        rows=evidence.rows,
        score=evidence.score(labels),
    )


def _common_ari(one: np.ndarray, two: np.ndarray) -> float:
    """Return the ARI over the samples that both divisions have; 0 where there are none."""
    both = (one >= 0) & (two >= 0)
    return ari_of(one[both], two[both]) if np.count_nonzero(both) > 1 else 0.0
