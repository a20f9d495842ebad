r"""A candidate without a knob: pooled graphs, weights from overlap, directions rolled off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .geometry import Geometry, geometries, side_by_side
from .pooled import degree_normalised, neighbours_for, pooled_graph
from .rolloff import RollOff, directions_for, leading_of_graph, rolled_off
from .views import MultiView
from .weights import ViewWeights, view_weights

JOINT = 0.3  # of the final graph: neighbours over all views at once; the rest is view by view


@dataclass(frozen=True)
class Automatic:
    """What was chosen for the views `names`, and the directions it led to.

    `families` says in which senses neighbours were sought in each view, `joint` (m,) how much
    each view counts where all are searched at once.
    """

    names: tuple[str, ...]
    families: tuple[tuple[str, ...], ...]
    n_neighbors: int
    chosen: ViewWeights
    joint: np.ndarray
    result: RollOff

    @property
    def embedding(self) -> np.ndarray:
        return self.result.embedding

    def in_words(self) -> tuple[str, ...]:
        """What was done and why, a sentence each."""
        seen = {name: ", ".join(each) for name, each in zip(self.names, self.families, strict=True)}
        alike = len(set(seen.values())) == 1
        senses = (
            f"neighbours by {next(iter(seen.values()))} in every view"
            if alike
            else "neighbours by " + "; ".join(f"{each} in {name}" for name, each in seen.items())
        )
        return (
            f"graphs of {self.n_neighbors} to {2 * self.n_neighbors} neighbours; {senses}",
            *self.chosen.in_words(self.names),
            f"{len(self.result.lengths)} directions, the last scaled by "
            f"{self.result.lengths[-1]:.2f}",
        )


def automatic(views: MultiView, k: int) -> Automatic:
    r"""Directions of $S = 0.7\sum_p w_p S_p + 0.3\,S_{all}$ for k clusters (docs/research.md).

    $S_p$ is the pooled neighbour graph of view p, $w_p$ what the other views confirm of it by
    overlap, $S_{all}$ the same graph over all columns side by side, each view counted by its
    weight and the root of its width. Nothing is n x n but given kernels: memory is
    O(n (q m + k + sum f)), q some 100 edges per sample and view.

    >>> from mkclust import datasets
    >>> views = datasets.make_views(60, n_clusters=3, n_views=2, noise=0.3, random_state=0)
    >>> found = automatic(views, 3)
    >>> found.embedding.shape, found.families[0]
    ((60, 7), ('z-scored columns', 'directions of rows'))
    """
    n, count, size = len(views), neighbours_for(len(views), k), directions_for(len(views), k)
    rows = [_held(views, p) for p in range(views.n_views)]
    parts = [_geometries(views, p, held) for p, held in enumerate(rows)]
    graphs = [
        _placed(pooled_graph(each, count, name), held, n)
        for each, held, name in zip(parts, rows, views.names, strict=True)
    ]
    bases = [leading_of_graph(graph, size)[1] for graph in graphs]
    chosen = view_weights(bases, graphs, views.present)
    joint = _joint_weights(chosen.weights, views)
    mean = sum(graph * weight for graph, weight in zip(graphs, chosen.weights, strict=True))
    together = _together(parts, joint, rows, count, n)
    fused = degree_normalised(sp.csr_array(mean * (1 - JOINT) + together * JOINT))
    families = tuple(tuple(dict.fromkeys(part.name for part in each)) for each in parts)
    return Automatic(views.names, families, count, chosen, joint, rolled_off(fused, size))


def _joint_weights(weights: np.ndarray, views: MultiView) -> np.ndarray:
    """As much as a view is confirmed, times the root of its width: between every view and every
    column alike, as wide views hold more measurements, but not always the better ones."""
    widths = np.ones(len(weights)) if views.kernels else np.sqrt(views.widths)
    return np.asarray(weights * widths / np.sum(weights * widths))


def _together(
    parts: Sequence[Sequence[Geometry]],
    joint: np.ndarray,
    rows: Sequence[np.ndarray],
    count: int,
    n: int,
) -> sp.csr_array:
    """The pooled graph of all views at once, over the samples that every view used has."""
    used = [p for p, weight in enumerate(joint) if weight > 0]
    everywhere = np.all([rows[p] for p in used], axis=0)
    if np.count_nonzero(everywhere) <= count:
        return sp.csr_array((n, n))
    taken = [
        [parts[p][slot].taken(everywhere[rows[p]]) for p in used]
        for slot in range(len(parts[used[0]]))
    ]
    combined = [side_by_side(slot, joint[used]) for slot in taken]
    if all(parts[p][2] is parts[p][0] for p in used):
        combined[2] = combined[0]
    return _placed(pooled_graph(combined, count, "all views"), everywhere, n)


def _held(views: MultiView, p: int) -> np.ndarray:
    if views.present is None:
        return np.ones(len(views), dtype=bool)
    return np.asarray(views.present[:, p])


def _geometries(views: MultiView, p: int, held: np.ndarray) -> tuple[Geometry, Geometry, Geometry]:
    view = views.views[p]
    if not held.all():
        view = view[held][:, held] if views.kernels else view[held]
    return geometries(view, views.names[p], views.kernels)


def _placed(graph: sp.csr_array, held: np.ndarray, n: int) -> sp.csr_array:
    """The graph of some samples among all n: the others have no edges."""
    if graph.shape[0] == n:
        return graph
    at = np.flatnonzero(held)
    entries = graph.tocoo()
    place = (at[entries.coords[0]], at[entries.coords[1]])
    return sp.csr_array(sp.coo_array((entries.data, place), shape=(n, n)))
