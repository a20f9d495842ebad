"""Which view separates which clusters: the graph of every view, and how it divides the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..agreement.weights import SMALL
from ..graph_fusion import GraphFusion
from ..graph_fusion.fusion import blend, joint_graph, joint_share, joint_weights, mean_graph
from ..graph_fusion.view_graphs import ViewGraphs
from .choose_k import modularity
from .fitting import Samples, fitted, quiet, views_of

SEPARATED = 0.75  # separation from which a view is said to separate two clusters
MERGED = 0.4  # separation below which two clusters are said to be one for a view
FAINT = 0.1  # separation of a cluster that counts as none, even beyond chance
LISTED = 8  # pairs of clusters described, at most
CHANCE = 3.0  # standard deviations under permuted labels that count as chance


@dataclass(frozen=True)
class ViewProfile:
    r"""How well each view alone separates the clusters: 1 perfectly, 0 as by chance.

    $$r = 1 - \frac{\mathrm{cut}(a, b)}{d_a d_b / d}$$

    For every view, the share of its graph's edges that cross between two groups is compared with
    the share expected by chance: r is 1 where no edge crosses and 0 at the level of chance
    (Newman's assortativity coefficient). The groups are a cluster and all others, or two clusters
    alone. The graph is the affinity graph of graph fusion, whatever the method. O(nnz + n k) for
    each view beside its graph.

    Attributes
    ----------
    names : tuple of str
        The m views.
    sizes : (k,) int array
        Samples of each cluster.
    clusters : (k, m) array
        Separation of each cluster from all others, in each view.
    chance : (k, m) array
        Three standard deviations of the same under random permutations of the labels.
    pairs : (k, k, m) array
        Separation of each pair of clusters, in each view; NaN on the diagonal.
    pair_chance : (k, k, m) array
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    clusters: np.ndarray
    chance: np.ndarray
    pairs: np.ndarray
    pair_chance: np.ndarray

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
        blind, merging = self.blind, np.fmax(self.pair_chance[a, b], MERGED)
        kinds: dict[str, tuple[str, ...]] = {"separated": (), "partly": (), "merged": ()}
        for name, value, limit in zip(self.names, self.pairs[a, b], merging, strict=True):
            if name not in blind and not np.isnan(value):
                apart = "separated" if value >= SEPARATED else "partly"
                kinds["merged" if value < limit else apart] += (name,)
        return kinds

    def contested(self) -> list[tuple[int, int]]:
        """Return the pairs that some views separate and others merge, the clearest first.

        The rest are pairs that no view separates, the weakest first.
        """
        both, none = [], []
        for a, b in combinations(range(len(self.sizes)), 2):
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
        blind, pairs = self.blind, self.contested()
        verb, more = "separates" if len(blind) == 1 else "separate", len(pairs) - LISTED
        lines = [f"{', '.join(blind)} {verb} no cluster beyond chance"] if blind else []
        lines += [self.pair_sentence(a, b) for a, b in pairs[:LISTED]]
        if more > 0:
            lines.append(f"{more} more pairs of clusters are not separated by every view")
        every = "every pair of clusters is separated by at least one view and merged by none"
        lines += [every] if not pairs and len(blind) < len(self.names) else []
        return tuple(lines)

    def pair_sentence(self, a: int, b: int) -> str:
        """Return which views separate two clusters, in words.

        >>> profile = ViewProfile(
        ...     ("pix", "fou"), np.array([5, 5]), np.ones((2, 2)), np.zeros((2, 2)),
        ...     np.array([[[np.nan] * 2, [1.0, 0.1]], [[1.0, 0.1], [np.nan] * 2]]),
        ...     np.zeros((2, 2, 2)))
        >>> profile.pair_sentence(0, 1)
        'clusters 0 and 1: separated by pix; one cluster for fou'
        """
        named = {kind: ", ".join(views) for kind, views in self.split(a, b).items()}
        parts = [f"separated by {named['separated'] or 'no view'}"]
        parts += [f"partly by {named['partly']}"] if named["partly"] else []
        parts += [f"one cluster for {named['merged']}"] if named["merged"] else []
        return f"clusters {a} and {b}: {'; '.join(parts)}"

    def __str__(self) -> str:
        return "; ".join(self.describe())


def profile_of(evidence: Evidence) -> ViewProfile:
    """Return the profile of the model's labels."""
    labels, k = evidence.labels, evidence.k
    graphs = enumerate(evidence.graphs)
    found = [separation(graph, labels, k, evidence.built.views.held[:, p]) for p, graph in graphs]
    parts = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
    return ViewProfile(evidence.built.names, np.bincount(labels, minlength=k), *parts)


@dataclass(frozen=True)
class Evidence:
    """A fitted model with the graphs of its views, over the samples that are compared.

    Attributes
    ----------
    model : MultiViewClusterer
        Fitted.
    samples : Samples
        The distinct ones; 5000 drawn samples where there are more than 20 000.
    built : ViewGraphs
        The affinity graphs of graph fusion, whatever the method.
    graphs : tuple of (n, n) sparse arrays
        The same as matrices.
    labels : (n,) int array
    k : int
        Number of clusters found.
    """

    model: Any
    samples: Samples
    built: ViewGraphs
    graphs: tuple[sp.csr_array, ...]
    labels: np.ndarray
    k: int

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the views (m,); equal ones where the method has none."""
        m = len(self.built.names)
        return np.asarray(getattr(self.model, "weights_", np.full(m, 1 / m)), dtype=float)

    @cached_property
    def trusted(self) -> list[int]:
        """Views that are neither unrelated to the others nor hardly used."""
        unrelated = set(getattr(self.model, "unrelated_views_", ()))
        least = SMALL * self.weights.sum() / len(self.built.names)
        return [
            p for p, name in enumerate(self.built.names)
            if name not in unrelated and self.weights[p] >= least
        ]  # fmt: skip

    @cached_property
    def mean(self) -> sp.csr_array:
        """The weighted mean of the graphs of all views."""
        return mean_graph(self.graphs, self.weights)

    @cached_property
    def joint(self) -> sp.csr_array:
        """The graph of all views at once."""
        return joint_graph(self.built, joint_weights(self.built, self.weights))

    @cached_property
    def joint_share(self) -> float:
        """The share of that graph in the fused one."""
        return joint_share(self.built, self.weights)

    @cached_property
    def fused(self) -> sp.csr_array:
        """The graph on which partitions are compared: the fused one, or of the average kernel."""
        if isinstance(self.model, GraphFusion):
            return blend(self.mean, self.joint, self.joint_share)
        return self.model.affinity(self.samples.data, self.k)

    @cached_property
    def modularity(self) -> float:
        """Modularity of the model's own partition."""
        return modularity(self.fused, self.labels)

    def score(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition, relative to that of the model's own."""
        return modularity(self.fused, labels) / self.modularity if self.modularity > 0 else np.nan


def evidence_of(estimator: Any, views: Any, random_state: int = 0) -> Evidence:
    """Return the graphs of all views of a fitted model; an unfitted one is fitted first."""
    model = fitted(estimator, views)
    some = views_of(model, views, random_state)
    k = int(np.max(model.labels_)) + 1
    default = GraphFusion(k, precomputed=some.data.kernels, indefinite="ignore")
    with quiet():
        own = model if isinstance(model, GraphFusion) else default
        built = own.view_graphs(some.data)
        labels = np.asarray(model.labels_)[some.rows]
        return Evidence(model, some, built, tuple(built), labels, k)


class Separation(NamedTuple):
    """Assortativity of one graph, by cluster (k,) and by pair of clusters (k, k).

    `chance` and `pair_chance` are three standard deviations of the same number under
    random permutations of the labels. NaN where the graph has no edges or too few samples.
    """

    clusters: np.ndarray
    chance: np.ndarray
    pairs: np.ndarray
    pair_chance: np.ndarray


def separation(
    graph: sp.csr_array, labels: np.ndarray, k: int, held: np.ndarray | None = None
) -> Separation:
    r"""Measure how well a graph separates each cluster from the rest, and from each other one.

    $$r = 1 - \frac{\mathrm{cut}(a, b)}{d_a d_b / d}$$

    cut(a, b) is the weight of the edges between two groups, $d_a$ and $d_b$ are the sums of their
    degrees and $d = d_a + d_b$, all in the graph of these two groups alone. r is 1 where no edge
    crosses, 0 where edges cross as often as by chance. It is Newman's assortativity coefficient
    of two groups. Its standard deviation under permutations of the labels has a closed form (the
    join-count statistic of Cliff and Ord). O(nnz + n k) time and n x k memory.

    Parameters
    ----------
    graph : (n, n) sparse array
        Symmetric, with zero diagonal.
    labels : (n,) int array
        From 0 to k - 1.
    k : int
    held : (n,) bool array, optional
        Samples that the graph holds; the others are left out.

    Returns
    -------
    Separation

    References
    ----------
    M. Newman. Mixing patterns in networks. Physical Review E 67, 2003.
    A. Cliff, J. Ord. Spatial Processes: Models and Applications. Pion, 1981.

    Examples
    --------
    >>> chain = sp.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    >>> found = separation(chain, np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> round(float(found.pairs[0, 1]), 2), found.clusters.round(2)
    (0.6, array([0.6, 0.6]))
    """
    sizes = np.bincount(labels if held is None else labels[held], minlength=k).astype(float)
    member = np.eye(k)[labels]
    to = np.asarray(graph @ member)  # weight from every sample to every cluster
    B = member.T @ to
    Q = member.T @ (graph.power(2) @ member)
    own = to[np.arange(len(labels)), labels]

    inner, degree, total = np.diag(B), B.sum(axis=1), B.sum()
    squares = np.full(k, float((to.sum(axis=1) ** 2).sum()))
    clusters, chance = _two_groups(
        inner, total - 2 * degree + inner, degree - inner, sizes, sizes.sum() - sizes,
        np.full(k, float(Q.sum())), squares,
    )  # fmt: skip
    half = np.array([((own[at, None] + to[at]) ** 2).sum(axis=0) for at in member.T > 0])
    half[np.diag_indices(k)] = 0.0
    q = np.diag(Q)
    pairs, pair_chance = _two_groups(
        inner[:, None], inner[None, :], B, sizes[:, None], sizes[None, :],
        q[:, None] + q[None, :] + 2 * Q, half + half.T,
    )  # fmt: skip
    pairs[np.diag_indices(k)] = pair_chance[np.diag_indices(k)] = np.nan
    return Separation(clusters, chance, pairs, pair_chance)


def _two_groups(
    aa: np.ndarray, bb: np.ndarray, ab: np.ndarray, na: np.ndarray, nb: np.ndarray,
    squared: np.ndarray, degrees: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return assortativity and chance level from sums over two groups.

    `aa`, `bb` and `ab` are weights inside and between the groups, each edge inside counted
    twice; `squared` sums the squared weights over ordered pairs, `degrees` the squared degrees.
    """
    n, total = na + nb, aa + bb + 2 * ab
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (aa + ab) * (bb + ab) / total
        found = 1 - ab / expected
        s1, s2 = 2 * squared, 4 * degrees
        product = na * nb / (n * (n - 1))
        fourth = na * (na - 1) * nb * (nb - 1) / (n * (n - 1) * (n - 2) * (n - 3))
        variance = 0.25 * (s2 * product + 4 * (total**2 + s1 - s2) * fourth)
        variance -= (total * product) ** 2
        chance = CHANCE * np.sqrt(np.maximum(variance, 0.0)) / (total * na * nb / n**2)
    known = (na > 1) & (nb > 1) & (n > 3) & (expected > 0)
    return np.where(known, found, np.nan), np.where(known, chance, np.nan)
