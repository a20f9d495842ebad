"""Other partitions of the same samples that are nearly as good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..agreement.cache import shared_views
from ..graph_fusion.diffusion_map import LEAST, DiffusionMap, diffusion_map, n_components_for
from ..graph_fusion.fusion import JOINT, blend, mean_graph
from ..graphs.affinity import degree_normalized
from ..linalg.kmeans import kmeans_labels
from ..progress import step
from .conflicts import Conflict, conflicts_of
from .difference import ari_of, difference, matched
from .evidence import Evidence, evidence_of
from .fitting import quiet
from .view_profile import profile_of

NEARLY = 0.95  # of the answer's modularity, from which another partition is nearly as good
SAME = 0.9  # ARI from which two partitions count as the same one
LISTED = 5  # alternatives, at most
MORE = (
    "more than the answer, which stays that of the default settings: they were not chosen by "
    "modularity"
)
SIDES = 3  # of conflicts that are followed for all samples
STARTS = 3  # of k-means on another embedding
OPTIMA = 6  # single starts of k-means on the answer's own embedding
SHARES = (0.0, 0.6, 1.0)  # of the joint graph, beside the default of 0.3
TIMES = (1, 4)  # diffusion times, beside the default of 2


@dataclass(frozen=True)
class Alternative:
    """Another partition that is nearly as good.

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
        Its clusters have the numbers of the answer's clusters that they match best.
    rows : (n,) int array
        The samples they belong to; all unless some were drawn.
    """

    origin: str
    difference: str
    score: float
    ari: float
    labels: np.ndarray
    rows: np.ndarray

    def __str__(self) -> str:
        more = f", {MORE}" if self.score > 1 else ""
        return (
            f"{self.difference} ({self.origin}; {self.score:.3f} of the answer's modularity{more}, "
            f"ARI {round(self.ari, 2) + 0.0:.2f})"
        )


@dataclass(frozen=True)
class Alternatives(Sequence[Alternative]):
    """Partitions that are nearly as good as the answer, and how many were tried."""

    title: ClassVar[str] = "Other answers"

    found: tuple[Alternative, ...]
    tried: int

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, at: Any) -> Any:
        return self.found[at]

    def describe(self) -> tuple[str, ...]:
        """Return one sentence per alternative."""
        if self.found:
            return tuple(map(str, self.found))
        if not self.tried:
            return ("no other partition was tried: there is one cluster, or no embedding",)
        return (
            f"none of {self.tried} other partitions is both different (ARI below {SAME}) and "
            f"nearly as good ({NEARLY} of the modularity)",
        )

    def __str__(self) -> str:
        return "; ".join(self.describe())


def alternatives(estimator: Any, views: Any, *, random_state: int = 0) -> Alternatives:
    """Find a few clearly different partitions that are nearly as good as that of a fitted model.

    Candidates follow the views that contradict the answer (`conflicts`), for one pair of clusters
    or for all samples; other local optima of k-means on the model's embedding; and for graph
    fusion other shares of the joint graph (0, 0.6, 1), equal weights of the views, weights by
    agreement alone, and other diffusion times (1, 4). A candidate is listed if its modularity on
    the fused graph is at least 0.95 of the answer's, and its ARI with the answer and with every
    alternative before it is below 0.9. Those that follow views are listed first, then by
    modularity; five at most. The model itself is not changed. The labels are the alternative's, so
    a known class can be compared with each. Takes one to three times as long as a fit.

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
    Alternatives

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import alternatives
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, random_state=0)
    >>> len(alternatives(GraphFusion(3, random_state=0), views))
    0
    """
    with shared_views():
        evidence = evidence_of(estimator, views, random_state)
        found = conflicts_of(evidence, profile_of(evidence))
        return alternatives_of(evidence, found, random_state)


def alternatives_of(
    evidence: Evidence, conflicts: Sequence[Conflict], random_state: int = 0
) -> Alternatives:
    """Return the alternatives of a model whose conflicts are known."""
    if evidence.k < 2 or not evidence.modularity > 0:
        return Alternatives((), 0)
    with quiet():
        first = list(_following(evidence, conflicts, random_state))
        rest = list(_others(evidence, random_state))
    scores = {id(labels): evidence.score(labels) for _, labels in [*first, *rest]}
    rest.sort(key=lambda each: -scores[id(each[1])])
    kept: list[Alternative] = []
    for origin, labels in [*first, *rest]:
        score, seen = scores[id(labels)], [evidence.labels, *(other.labels for other in kept)]
        near = score >= NEARLY and len(kept) < LISTED
        if near and all(ari_of(labels, other) < SAME for other in seen):
            kept.append(_described(evidence, origin, labels, score))
    return Alternatives(tuple(kept), len(scores))


def _described(evidence: Evidence, origin: str, labels: np.ndarray, score: float) -> Alternative:
    labels = matched(evidence.labels, labels)
    return Alternative(
        origin=origin,
        difference=difference(evidence.labels, labels),
        score=score,
        ari=ari_of(evidence.labels, labels),
        labels=labels,
        rows=evidence.rows,
    )


def _following(
    evidence: Evidence, conflicts: Sequence[Conflict], seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions that follow the views of the other side of a conflict."""
    for conflict in conflicts:
        a, b = conflict.clusters
        yield f"follows {', '.join(conflict.opposing)} for clusters {a} and {b}", conflict.labels
    sides = dict.fromkeys(conflict.opposing for conflict in conflicts)
    for side in list(sides)[:SIDES]:
        chosen = np.where(np.isin(evidence.names, side), evidence.weights, 0.0)
        if np.all(np.any([evidence.held(p) for p in np.flatnonzero(chosen).tolist()], axis=0)):
            graph = degree_normalized(mean_graph(evidence.graphs, chosen / chosen.sum()))
            yield f"uses only {', '.join(side)}", _partition(evidence, graph, seed)


def _others(evidence: Evidence, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions by other settings of the same method."""
    H = getattr(evidence.model, "embedding_", None)
    if isinstance(H, np.ndarray):
        for start in range(OPTIMA):
            own = kmeans_labels(H[evidence.rows], evidence.k, 1, seed + 1 + start)
            yield "another optimum of k-means", own
    if evidence.built is None:
        return
    for share in SHARES:
        graph = blend(evidence.mean, evidence.joint, share)
        what = f"share {share:g} of the joint graph instead of {JOINT:g}"
        yield what, _partition(evidence, graph, seed)
    for what, weights in _weights(evidence):
        graph = blend(mean_graph(evidence.graphs, weights), evidence.joint)
        yield what, _partition(evidence, graph, seed)
    found = diffusion_map(evidence.fused, n_components_for(len(evidence.data), evidence.k))
    for time in TIMES:
        step(f"alternative: diffusion time {time}")
        labels = kmeans_labels(_scaled(found, time), evidence.k, STARTS, seed)
        yield f"diffusion time {time} instead of 2", labels


def _weights(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Yield other weights of the views: equal, and by agreement without regard to redundancy."""
    m = len(evidence.names)
    if m < 2:
        return
    yield "equal weights of all views", np.full(m, 1 / m)
    shared = np.maximum(np.nan_to_num(evidence.model.agreement_), 0.0)
    np.fill_diagonal(shared, 0.0)
    if shared.sum() > 0:
        yield (
            "weights by agreement, not shared by redundant views",
            shared.sum(axis=1) / shared.sum(),
        )


def _partition(evidence: Evidence, graph: sp.csr_array, seed: int) -> np.ndarray:
    step("alternative: another graph")
    found = diffusion_map(graph, n_components_for(len(evidence.data), evidence.k))
    return kmeans_labels(found.embedding, evidence.k, STARTS, seed)


def _scaled(found: DiffusionMap, time: int) -> np.ndarray:
    """Return the coordinates of a diffusion map at another time."""
    relative = found.eigenvalues / max(found.eigenvalues[0], np.finfo(float).tiny)
    return np.asarray(found.H * np.maximum(relative, LEAST) ** time)
