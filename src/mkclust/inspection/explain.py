"""Explain an answer: separation by view, conflicts of views, other partitions nearly as good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..data.memory import shared_views
from ..graph_fusion import GraphFusion
from ..graph_fusion.diffusion_map import diffusion_map, n_components_for
from ..graph_fusion.fusion import blend, in_no_used, mean_graph
from ..graphs.affinity import degree_normalized
from ..linalg.eigenpairs import leading_eigenpairs
from ..linalg.kmeans import kmeans_labels
from ..metrics import ari
from ..progress import step
from .fitting import quiet
from .stability import counts, matched
from .view_profile import SEPARATED, Evidence, ViewProfile, evidence_of, profile_of

NO_CONFLICT = "no two trusted views contradict each other about a pair of clusters"
OTHERS = "Other answers"
CLEAR = 0.9  # clarity from which a division is a gap; an even continuum has 0.81
SAME, OTHER = 0.5, 0.3  # ARI of two divisions that count as the same, and as different ones
SUPPORT = 0.3  # ARI with the clusters from which a view's own division supports them
FEWEST = 20  # samples of a cluster; fewer give no reliable division
EXAMINED = 120  # divisions of a pair by a view, at most: pairs that are separated least first
TRIED = 3  # eigenvectors among which a balanced division is sought: the first may be an outlier's
SMALLEST = 0.1  # share of the samples that the smaller part must have
NEARLY = 0.95  # of the answer's modularity, from which another partition is nearly as good
EQUAL = 0.9  # ARI from which two partitions count as the same one
MOST_LISTED = 5  # alternatives, at most
MORE = (
    "more than the answer, which stays that of the default settings: they were not chosen by "
    "modularity"
)
SIDES = 3  # of conflicts that are followed for all samples
STARTS = 3  # of k-means on another embedding
OPTIMA = 6  # single starts of k-means on the answer's own embedding
SHARES = (0.0, 0.6, 1.0)  # of the joint graph, beside the default of 0.3
NOTABLE = 0.15  # share of a cluster, before or after, from which samples in common are described


@dataclass(frozen=True)
class Explanation:
    """What `explain` finds.

    Attributes
    ----------
    profile : ViewProfile
        Which view sees which cluster.
    conflicts : tuple of Conflict
        Pairs of clusters about which trusted views contradict each other.
    alternatives : tuple of Alternative
        Other partitions that are clearly different and nearly as good.
    tried : int
        Partitions that were tried for it.
    index : (n,) array
        Names, or positions, of the samples that the labels of conflicts and alternatives are of.
    """

    profile: ViewProfile
    conflicts: tuple[Conflict, ...]
    alternatives: tuple[Alternative, ...]
    tried: int
    index: np.ndarray

    def describe(self) -> dict[str, tuple[str, ...]]:
        """Return sentences by heading: separation by view, conflicts, other answers."""
        return {
            "Which views separate which clusters": self.profile.describe(),
            "Conflicts": tuple(map(str, self.conflicts)) or (NO_CONFLICT,),
            OTHERS: tuple(map(str, self.alternatives)) or (self._no_alternative(),),
        }

    def _no_alternative(self) -> str:
        if not self.tried:
            return "no other partition was tried: there is one cluster, or no embedding"
        return (
            f"none of {self.tried} other partitions is both different (ARI below {EQUAL}) and "
            f"nearly as good ({NEARLY} of the modularity)"
        )

    def __str__(self) -> str:
        pairs = "; ".join("{} and {}".format(*each.clusters) for each in self.conflicts)
        first = f"views conflict about clusters {pairs}" if pairs else NO_CONFLICT
        count = len(self.alternatives)
        some = f"There are {count} other answers that are" if count else "No other answer is both"
        others = "There is 1 other answer that is" if count == 1 else some
        return f"{first}. {others} clearly different and nearly as good"


def explain(estimator: Any, views: Any, *, random_state: int = 0) -> Explanation:
    """Answer which view sees which cluster, where views conflict, and what else is nearly as good.

    See `ViewProfile`, `Conflict` and `Alternative` for the three. Takes one to three times as long
    as a fit.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Of more than 20 000 samples 5000 are drawn.
    random_state : int
        Seed of k-means and of the samples drawn.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, explain
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, random_state=0)
    >>> found = explain(GraphFusion(3, random_state=0), views)
    >>> print(*found.profile.describe())
    every pair of clusters is separated by at least one view and merged by none
    >>> found.conflicts, len(found.alternatives)
    ((), 0)
    """
    with shared_views():
        evidence = evidence_of(estimator, views, random_state)
        profile, some = profile_of(evidence), evidence.samples
        found = conflicts_of(evidence, profile)
        others, tried = alternatives_of(evidence, found, random_state)
    found, others = tuple(map(some.extend, found)), tuple(map(some.extend, others))
    return Explanation(profile, found, others, tried, some.names[some.covered])


@dataclass(frozen=True)
class Conflict:
    """Two clusters that some views separate while others divide the same samples differently.

    For every pair of clusters that some view does not separate, each trusted view divides the
    samples of the pair by the eigenvectors of its own graph (`own_split`). A view opposes the
    labels where its division is clear (the eigenvector is bimodal: clarity at least 0.9, while
    an even continuum has 0.81) and different (ARI with the labels below 0.3). The pair is a
    conflict if other trusted views support the labels: they separate the two clusters, or their
    own division has ARI of at least 0.3 with the labels. Views are trusted unless they are
    unrelated to the others or hardly used. At most 120 divisions are examined, over all views:
    those of the pairs that the views separate least. Clusters of fewer than 20 samples are not
    examined.

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
        All labels with the opposing views followed for this pair.
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


def conflicts_of(evidence: Evidence, profile: ViewProfile) -> tuple[Conflict, ...]:
    """Return the conflicts of a model whose profile is known."""
    trusted = evidence.trusted
    if len(trusted) < 2:
        return ()
    weakest = np.nan_to_num(profile.pairs[..., trusted], nan=1.0).min(axis=-1)
    small = profile.sizes < FEWEST
    weakest[small] = weakest[:, small] = 1.0
    pairs = [(weakest[a, b], a, b) for a, b in combinations(range(len(weakest)), 2)]
    unsure = sorted(pair for pair in pairs if pair[0] < SEPARATED)
    examined = unsure[: max(1, EXAMINED // len(trusted))]
    found = [_conflict(evidence, profile, a, b) for _, a, b in examined]
    return tuple(sorted(filter(None, found), key=lambda conflict: -len(conflict.moved)))


def _conflict(evidence: Evidence, profile: ViewProfile, a: int, b: int) -> Conflict | None:
    at = np.flatnonzero(np.isin(evidence.labels, (a, b)))
    own = (evidence.labels[at] == b).astype(int)
    graphs = {p: sp.csr_array(evidence.graphs[p][at][:, at]) for p in evidence.trusted}
    splits = {p: own_split(graph) for p, graph in graphs.items()}
    opposing = _opposing(evidence, splits, own)
    supporting = [
        p for p in splits if p not in opposing
        and (profile.pairs[a, b, p] >= SEPARATED or _common_ari(splits[p].parts, own) >= SUPPORT)
    ]  # fmt: skip
    both = opposing and supporting
    return _followed(evidence, at, (a, b), supporting, opposing, graphs) if both else None


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
    agreement = ari(own, other)
    if agreement >= SAME:
        return None
    labels = evidence.labels.copy()
    labels[at] = other
    return Conflict(
        clusters=pair,
        supporting=tuple(evidence.built.names[p] for p in supporting),
        opposing=tuple(evidence.built.names[p] for p in opposing),
        sizes=(int(np.sum(own == pair[0])), int(np.sum(own == pair[1]))),
        parts=(int(np.sum(other == pair[0])), int(np.sum(other == pair[1]))),
        ari=agreement,
        moved=evidence.samples.names[evidence.samples.rows[at[own != other]]],
        labels=labels,
        score=evidence.score(labels),
    )


def _common_ari(one: np.ndarray, two: np.ndarray) -> float:
    """Return the ARI over the samples that both divisions have; 0 where there are none."""
    both = (one >= 0) & (two >= 0)
    return ari(one[both], two[both]) if np.count_nonzero(both) > 1 else 0.0


@dataclass(frozen=True)
class OwnSplit:
    """A division of samples into two parts.

    Attributes
    ----------
    parts : (n,) int array
        0 or 1; -1 for samples without edges.
    clarity : float
        Share of the variance of the eigenvector that the two parts explain: 1 for two groups
        without edges between them, about 0.81 for an even continuum; 0 where no division is
        balanced.
    """

    parts: np.ndarray
    clarity: float


def own_split(graph: sp.csr_array) -> OwnSplit:
    r"""Divide the nodes of a graph in two by its own leading eigenvectors.

    For each of the eigenvectors 2 to 4 of the random walk $\Delta^{-1}A$, the best threshold is
    that of k-means with two groups. Of those whose smaller part has at least a tenth of the
    samples, the clearest is taken. On a line of evenly spaced samples the eigenvector is
    $\cos \pi x$, of which two groups explain $8/\pi^2 = 0.81$: a clearer division is a gap, not a
    continuum.

    Examples
    --------
    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    >>> found = own_split(blocks)
    >>> sorted(np.bincount(found.parts).tolist()), round(found.clarity, 2)
    ([4, 4], 1.0)
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    at = np.flatnonzero(degree > 0)
    parts, n = np.full(len(degree), -1), len(at)
    if n < 4:
        return OwnSplit(parts, 0.0)
    some = graph if n == len(degree) else sp.csr_array(graph[at][:, at])
    degree = degree[at]
    vectors = _nontrivial_eigenvectors(degree_normalized(some), np.sqrt(degree))
    best = OwnSplit(parts, 0.0)
    for y in (vectors / np.sqrt(degree)[:, None]).T:
        above, clarity = _threshold(y, degree)
        if clarity > best.clarity and min(above.mean(), 1 - above.mean()) >= SMALLEST:
            found = parts.copy()
            found[at] = above
            best = OwnSplit(found, clarity)
    return best


def _nontrivial_eigenvectors(graph: sp.csr_array, trivial: np.ndarray) -> np.ndarray:
    """Return the leading eigenvectors (n, at most 3) orthogonal to a known one (n,).

    Where groups are nearly disconnected the known eigenvector is mixed with the next ones; it is
    projected out, and the rest is diagonalized in the space that is left.
    """
    size = min(1 + TRIED, len(trivial))
    vectors = leading_eigenpairs(graph, size)[1]
    known = trivial / np.linalg.norm(trivial)
    left = vectors - np.outer(known, known @ vectors)
    basis = scipy.linalg.svd(left, full_matrices=False)[0][:, : size - 1]
    rotation = scipy.linalg.eigh(basis.T @ (graph @ basis))[1]
    return np.asarray(basis @ rotation[:, ::-1])


def _threshold(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Return which values lie above the best threshold of weighted 2-means, and what it explains.

    >>> above, share = _threshold(np.array([0.0, 0.1, 5.0, 5.1]), np.ones(4))
    >>> above.tolist(), round(share, 3)
    ([False, False, True, True], 1.0)
    """
    order = np.argsort(y, kind="stable")
    w, wy = weight[order].cumsum(), (weight * y)[order].cumsum()
    mean = wy[-1] / w[-1]
    total = float(np.sum(weight * (y - mean) ** 2))
    between = (wy[:-1] - w[:-1] * mean) ** 2 * w[-1] / (w[:-1] * (w[-1] - w[:-1]))
    cut = int(between.argmax())
    above = np.isin(np.arange(len(y)), order[cut + 1 :])
    return above, float(between[cut] / total) if total > 0 else 0.0


@dataclass(frozen=True)
class Alternative:
    """Another partition that is clearly different from the answer and nearly as good.

    Candidates follow the views that contradict the answer (`Conflict`), for one pair of clusters
    or for all samples; other local optima of k-means on the model's embedding; and for graph
    fusion other shares of the joint graph (0, 0.6, 1), equal weights of the views, and weights by
    agreement alone. A candidate is listed if its modularity on the fused graph is at least 0.95 of
    the answer's, and its ARI with the answer and with every alternative before it is below 0.9.
    Those that follow views are listed first, then by modularity; five at most. The model itself is
    not changed.

    Attributes
    ----------
    origin : str
        How it was found.
    difference : str
        What distinguishes it from the answer, in words.
    score : float
        Modularity on the fused graph, relative to that of the answer.
    ari : float
        Adjusted Rand index with the answer.
    labels : (n,) int array
        Its clusters have the numbers of the answer's clusters that they match best. A known class
        can be compared with each alternative.
    """

    origin: str
    difference: str
    score: float
    ari: float
    labels: np.ndarray

    def __str__(self) -> str:
        more = f", {MORE}" if self.score > 1 else ""
        return (
            f"{self.difference} ({self.origin}; {self.score:.3f} of the answer's modularity{more}, "
            f"ARI {round(self.ari, 2) + 0.0:.2f})"
        )


def alternatives_of(
    evidence: Evidence, conflicts: Sequence[Conflict], random_state: int = 0
) -> tuple[tuple[Alternative, ...], int]:
    """Return the alternatives of a model whose conflicts are known, and how many were tried."""
    if evidence.k < 2 or not evidence.modularity > 0:
        return (), 0
    with quiet():
        first = list(_following(evidence, conflicts, random_state))
        rest = list(_others(evidence, random_state))
    scores = {id(labels): evidence.score(labels) for _, labels in [*first, *rest]}
    rest.sort(key=lambda each: -scores[id(each[1])])
    kept: list[Alternative] = []
    for origin, labels in [*first, *rest]:
        score, seen = scores[id(labels)], [evidence.labels, *(other.labels for other in kept)]
        near = score >= NEARLY and len(kept) < MOST_LISTED
        if near and all(ari(labels, other) < EQUAL for other in seen):
            own = matched(evidence.labels, labels)
            words, agreement = difference(evidence.labels, own), ari(evidence.labels, own)
            kept.append(Alternative(origin, words, score, agreement, own))
    return tuple(kept), len(scores)


def _following(
    evidence: Evidence, conflicts: Sequence[Conflict], seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions that follow the views of the other side of a conflict."""
    for conflict in conflicts:
        a, b = conflict.clusters
        yield f"follows {', '.join(conflict.opposing)} for clusters {a} and {b}", conflict.labels
    sides = dict.fromkeys(conflict.opposing for conflict in conflicts)
    for side in list(sides)[:SIDES]:
        chosen = np.where(np.isin(evidence.built.names, side), evidence.weights, 0.0)
        if not in_no_used(evidence.built, chosen).any():
            graph = degree_normalized(mean_graph(evidence.graphs, chosen / chosen.sum()))
            yield f"uses only {', '.join(side)}", _partition(evidence, graph, seed)


def _others(evidence: Evidence, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions by other settings of the same method."""
    H = getattr(evidence.model, "embedding_", None)
    if isinstance(H, np.ndarray):
        for start in range(OPTIMA):
            own = kmeans_labels(H[evidence.samples.rows], evidence.k, 1, seed + 1 + start)
            yield "another optimum of k-means", own
    if not isinstance(evidence.model, GraphFusion):
        return
    for share in SHARES:
        graph = blend(evidence.mean, evidence.joint, share)
        what = f"share {share:g} of the joint graph instead of {evidence.joint_share:g}"
        yield what, _partition(evidence, graph, seed)
    for what, weights in _weights(evidence):
        graph = blend(mean_graph(evidence.graphs, weights), evidence.joint, evidence.joint_share)
        yield what, _partition(evidence, graph, seed)


def _weights(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Yield other weights of the views: equal, and by agreement without regard to redundancy."""
    m = len(evidence.built.names)
    if m < 2:
        return
    yield "equal weights of all views", np.full(m, 1 / m)
    shared = np.maximum(np.nan_to_num(evidence.model.agreement_), 0.0)
    np.fill_diagonal(shared, 0.0)
    if (total := shared.sum()) > 0:
        yield "weights by agreement, not shared by redundant views", shared.sum(axis=1) / total


def _partition(evidence: Evidence, graph: sp.csr_array, seed: int) -> np.ndarray:
    step("alternative: another graph")
    found = diffusion_map(graph, n_components_for(len(evidence.labels), evidence.k))
    return kmeans_labels(found.embedding, evidence.k, STARTS, seed)


def difference(before: np.ndarray, after: np.ndarray) -> str:
    """Return what distinguishes a partition from the one before it: splits, merges, moves.

    Clusters that have a notable share of samples in common are linked. A group of linked clusters
    is unchanged, split, merged, or divided differently. Both are (n,) labels from 0 on.

    >>> difference(np.array([0] * 8 + [1] * 8), np.array([0] * 4 + [1] * 4 + [2] * 8))
    'splits cluster 0 (4 + 4)'
    >>> difference(np.array([0] * 8 + [1] * 8), np.array([0, 1] * 8))
    'divides clusters 0 and 1 differently (8 + 8 instead of 8 + 8)'
    """
    table = counts(before, after)
    k = len(table)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    linked = (table > 0) & ((table >= NOTABLE * rows[:, None]) | (table >= NOTABLE * columns))
    linked[np.arange(k), table.argmax(axis=1)] |= rows > 0  # a scattered cluster has one link
    linked[table.argmax(axis=0), np.arange(k)] |= columns > 0
    both = sp.block_array([[None, sp.csr_array(linked)], [sp.csr_array(linked.T), None]])
    group = connected_components(both, directed=False)[1]
    lines, kept = [], 0
    for name in np.unique(group):
        old = np.flatnonzero((group[:k] == name) & (rows > 0))
        new = np.flatnonzero((group[k:] == name) & (columns > 0))
        if len(old) <= 1 and len(new) <= 1:  # none: a number that a partition does not use
            kept += int(table[np.ix_(old, new)].sum())
        elif len(old) == 1:
            lines.append(f"splits cluster {old[0]} ({_sum(table[old[0], new])})")
        else:
            lines.append(_rearranged(old.tolist(), rows[old], columns[new]))
    return "; ".join(lines) or f"moves {len(before) - kept} samples between clusters"


def _rearranged(old: list[int], sizes: np.ndarray, parts: np.ndarray) -> str:
    named = f"clusters {', '.join(map(str, old[:-1]))} and {old[-1]}"
    if len(parts) == 1:
        return f"merges {named}"
    if len(old) > 4:
        return f"rearranges {len(old)} clusters into {len(parts)}"
    if len(old) != len(parts):
        return f"divides {named} into {len(parts)} ({_sum(parts)})"
    return f"divides {named} differently ({_sum(parts)} instead of {_sum(sizes)})"


def _sum(parts: np.ndarray) -> str:
    return " + ".join(map(str, sorted(parts.tolist(), reverse=True)))
