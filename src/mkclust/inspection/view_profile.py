"""Which view sees which cluster: how well the graph of each view alone separates the clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..agreement.cache import shared_views
from .evidence import Evidence, evidence_of
from .separation import separation

SEPARATED = 0.75  # separation from which a view is said to separate two clusters
MERGED = 0.4  # separation below which two clusters are said to be one for a view
FAINT = 0.1  # separation of a cluster that counts as none, even beyond chance
LISTED = 8  # pairs of clusters described, at most


@dataclass(frozen=True)
class ViewProfile:
    """How well each view alone separates the clusters: 1 perfectly, 0 as by chance.

    Attributes
    ----------
    names : tuple of str
        The m views.
    clusters : (k, m) array
        Separation of each cluster from all others, in each view.
    chance : (k, m) array
        Three standard deviations of the same under random permutations of the labels.
    pairs : (k, k, m) array
        Separation of each pair of clusters, in each view; NaN on the diagonal.
    pair_chance : (k, k, m) array
    sizes : (k,) int array
        Samples of each cluster.
    """

    title: ClassVar[str] = "Which views separate which clusters"

    names: tuple[str, ...]
    clusters: np.ndarray
    chance: np.ndarray
    pairs: np.ndarray
    pair_chance: np.ndarray
    sizes: np.ndarray

    @property
    def blind(self) -> tuple[str, ...]:
        """Views that separate no cluster beyond chance, or none by more than 0.1."""
        level = np.fmax(self.chance, FAINT)
        seen = np.any(self.clusters > level, axis=0) | np.all(np.isnan(self.clusters), axis=0)
        return tuple(name for p, name in enumerate(self.names) if not seen[p])

    def split(self, a: int, b: int) -> dict[str, tuple[str, ...]]:
        """Return which views separate two clusters, which do partly, and for which they are one.

        Views that see no cluster at all, or hold too few samples of the two, are left out.
        """
        values = self.pairs[a, b]
        merged = values < np.fmax(self.pair_chance[a, b], MERGED)
        kinds = {
            "separated": values >= SEPARATED,
            "partly": ~merged & (values < SEPARATED),
            "merged": merged,
        }
        seeing = [name not in self.blind for name in self.names]
        return {
            kind: tuple(np.array(self.names, dtype=object)[chosen & seeing].tolist())
            for kind, chosen in kinds.items()
        }

    def contested(self) -> list[tuple[int, int]]:
        """Return the pairs that some views separate and others merge, the clearest first.

        The rest are pairs that no view separates, the weakest first.
        """
        k = len(self.sizes)
        both, none = [], []
        for a in range(k):
            for b in range(a + 1, k):
                kinds, values = self.split(a, b), self.pairs[a, b]
                if kinds["separated"] and kinds["merged"]:
                    both.append((float(np.nanmin(values) - np.nanmax(values)), a, b))
                elif not kinds["separated"] and (kinds["merged"] or kinds["partly"]):
                    none.append((float(np.nanmax(values)), a, b))
        return [(a, b) for _, a, b in [*sorted(both), *sorted(none)]]

    def describe(self) -> tuple[str, ...]:
        """Return what the views see, one sentence each, at most eight about pairs."""
        if len(self.sizes) < 2:
            return ("one cluster: there is nothing to separate",)
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        blind = self.blind
        if blind:
            verb = "separates" if len(blind) == 1 else "separate"
            yield f"{', '.join(blind)} {verb} no cluster beyond chance"
        pairs = self.contested()
        for a, b in pairs[:LISTED]:
            yield self.pair_sentence(a, b)
        if len(pairs) > LISTED:
            yield f"{len(pairs) - LISTED} more pairs of clusters are not separated by every view"
        if not pairs and len(blind) < len(self.names):
            yield "every pair of clusters is separated by at least one view and merged by none"

    def pair_sentence(self, a: int, b: int) -> str:
        """Return which views separate two clusters, in words.

        >>> profile = ViewProfile(
        ...     ("pix", "fou"), np.ones((2, 2)), np.zeros((2, 2)),
        ...     np.array([[[np.nan] * 2, [1.0, 0.1]], [[1.0, 0.1], [np.nan] * 2]]),
        ...     np.zeros((2, 2, 2)), np.array([5, 5]))
        >>> profile.pair_sentence(0, 1)
        'clusters 0 and 1: separated by pix; one cluster for fou'
        """
        kinds = self.split(a, b)
        parts = [f"separated by {_listed(kinds['separated']) or 'no view'}"]
        if kinds["partly"]:
            parts.append(f"partly by {_listed(kinds['partly'])}")
        if kinds["merged"]:
            parts.append(f"one cluster for {_listed(kinds['merged'])}")
        return f"clusters {a} and {b}: {'; '.join(parts)}"

    def __str__(self) -> str:
        return "; ".join(self.describe())

    def to_frame(self) -> Any:
        """Return the separation of clusters as a pandas DataFrame, a column for each view."""
        import pandas as pd

        index = pd.RangeIndex(len(self.sizes), name="cluster")
        return pd.DataFrame(self.clusters, index=index, columns=list(self.names))


def view_profile(estimator: Any, views: Any, *, random_state: int = 0) -> ViewProfile:
    r"""Measure how well each view alone separates the clusters of a fitted model.

    $$r = 1 - \frac{\mathrm{cut}(a, b)}{d_a d_b / d}$$

    For every view, the share of its graph's edges that cross between two groups is compared with
    the share expected by chance: r is 1 where no edge crosses and 0 at the level of chance
    (Newman's assortativity coefficient). The groups are a cluster and all others, or two clusters
    alone. The graph is the affinity graph of graph fusion, or the kNN graph of a kernel. O(nnz +
    n k) for each view beside its graph.

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
    ViewProfile

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import view_profile
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    >>> found = view_profile(GraphFusion(3, random_state=0), views)
    >>> (found.clusters > found.chance).tolist()
    [[True, True, False], [True, True, False], [True, True, False]]
    >>> print(*found.describe(), sep="\n")
    noise1 separates no cluster beyond chance
    every pair of clusters is separated by at least one view and merged by none
    """
    with shared_views():
        return profile_of(evidence_of(estimator, views, random_state))


def profile_of(evidence: Evidence, labels: np.ndarray | None = None) -> ViewProfile:
    """Return the profile of the model's labels, or of others (n,), on the same graphs."""
    labels = evidence.labels if labels is None else labels
    k = max(evidence.k, int(labels.max()) + 1)
    found = [
        separation(graph, labels, k, evidence.held(p)) for p, graph in enumerate(evidence.graphs)
    ]
    return ViewProfile(
        names=evidence.names,
        clusters=np.stack([each.clusters for each in found], axis=-1),
        chance=np.stack([each.cluster_chance for each in found], axis=-1),
        pairs=np.stack([each.pairs for each in found], axis=-1),
        pair_chance=np.stack([each.pair_chance for each in found], axis=-1),
        sizes=np.bincount(labels, minlength=k),
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
