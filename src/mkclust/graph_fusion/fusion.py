r"""Spectra and graphs to one consensus: weights from overlap, all views fused, then rolled off.

Where kernels are pooled neighbour graphs, their mean is itself a graph, and the consensus is
taken from it: $S = 0.7\sum_p w_pS_p + 0.3\,S_{all}$ (docs/research.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..agreement.overlap import Overlap
from ..agreement.redundancy import redundancy
from ..agreement.weights import ViewWeights, view_weights
from ..data.views import MultiView
from ..dual_noise.consensus import Consensus, consensus
from ..dual_noise.selection import Selection
from ..graphs.affinity import ALL_DISTANCES_UP_TO, MOST, degree_normalised, mean_graph
from ..graphs.metrics import Geometry, side_by_side
from ..kernels.bank import KernelBank
from ..linalg.spectrum import Spectra
from ..progress import step
from .diffusion_map import RollOff, directions_for, rolled_off

JOINT = 0.3  # of the final graph: neighbours over all views at once; the rest is view by view


@dataclass(frozen=True)
class Fusion:
    """How the graphs of the views `names` were put together, and why.

    `families` says in which senses neighbours were sought in each view, `chosen` how much each
    view counts, `joint` (m,) how much where all are searched at once; `lengths` (D,) how far the
    directions of the fused graph reach into the embedding. `among_all` is False where neighbours
    were sought around each sample, and not among all.
    """

    names: tuple[str, ...]
    families: tuple[tuple[str, ...], ...]
    n_neighbors: int
    chosen: ViewWeights
    joint: np.ndarray
    lengths: np.ndarray
    among_all: bool = True

    def in_words(self) -> tuple[str, ...]:
        """What was done and why, a sentence each."""
        seen = {name: ", ".join(each) for name, each in zip(self.names, self.families, strict=True)}
        alike = len(set(seen.values())) == 1
        senses = (
            f"neighbours by {next(iter(seen.values()))} in every view"
            if alike
            else "neighbours by " + "; ".join(f"{each} in {name}" for name, each in seen.items())
        )
        where = "" if self.among_all else ", sought around each sample and not among all"
        return (
            f"graphs of {self.n_neighbors} to {2 * self.n_neighbors} neighbours{where}; {senses}",
            *self.chosen.in_words(self.names),
            f"{len(self.lengths)} directions, the last scaled by {self.lengths[-1]:.2f}",
        )


@dataclass(frozen=True)
class Partition:
    """A consensus of either kind: what k-means sees, and the k directions noise is measured by.

    `embedding` is (n, D); `H` (n, k) has orthonormal columns; `fusion` is None where the
    consensus is that of the kept directions alone. `spreads` are the mean squared distances of
    each view's geometries, by which new samples are placed.
    """

    embedding: np.ndarray
    H: np.ndarray
    singular_values: np.ndarray
    fusion: Fusion | None = None
    spreads: tuple[tuple[float, ...], ...] = ()


def partition(spectra: Spectra, found: Selection, k: int) -> Partition:
    """The consensus of the selected directions, or of the graphs where all kernels are such."""
    if getattr(spectra.kernels, "pooled", False):
        return fused(spectra.kernels, spectra.positions, found.overlap, k)
    result: Consensus = consensus(spectra, found.d, k, found.overlap)
    return Partition(result.H, result.H, result.singular_values)


def fused(bank: KernelBank, positions: Sequence[int], overlap: Overlap, k: int) -> Partition:
    r"""Directions of $S = 0.7\sum_p w_p S_p + 0.3\,S_{all}$ for k clusters.

    $S_p$ is the pooled neighbour graph of view p, $w_p$ what the other views confirm of it by
    overlap, $S_{all}$ the same graph over all columns side by side, each view counted by its
    weight and the root of its width. Nothing is n x n but given kernels: memory is
    O(n (q m + k + sum f)), q some 100 edges per sample and view.
    """
    size = directions_for(bank.n_samples, k)
    chosen = view_weights(overlap, size - 1, redundancy_of(bank, positions))
    found = fused_graph(bank, positions, chosen.weights)
    result = rolled_off(found.graph, size)
    names = tuple(bank.names[p] for p in positions)
    count = min(_count(bank), bank.n_samples - 1)
    among_all = bank.views.kernels or bank.n_samples <= ALL_DISTANCES_UP_TO
    how = Fusion(names, found.families, count, chosen, found.joint, result.lengths, among_all)
    return Partition(result.embedding, *core(result, k), how, found.spreads)


def placed_graphs(bank: KernelBank, positions: Sequence[int]) -> list[sp.csr_array]:
    """The pooled graphs of some views over all n samples."""
    n = bank.n_samples
    return [_placed(bank.graph(p).graph, held_by(bank.views, p), n) for p in positions]


def redundancy_of(bank: KernelBank, positions: Sequence[int]) -> np.ndarray:
    """How much some views say the same, by edges and by distances: (m, m)."""
    parts = [bank.geometries(p)[0] for p in positions]
    held = [held_by(bank.views, p) for p in positions]
    return redundancy(placed_graphs(bank, positions), parts, held)


class FusedGraph(NamedTuple):
    """S (n, n), each view's part in the graph over all views at once (m,), and its geometries."""

    graph: sp.csr_array
    joint: np.ndarray
    families: tuple[tuple[str, ...], ...]
    spreads: tuple[tuple[float, ...], ...]


def fused_graph(bank: KernelBank, positions: Sequence[int], weights: np.ndarray) -> FusedGraph:
    r"""$S = 0.7\sum_p w_p S_p + 0.3\,S_{all}$, degree-normalised, of some views."""
    step("consensus of all graphs")
    graphs = placed_graphs(bank, positions)
    mean = sum(graph * weight for graph, weight in zip(graphs, weights, strict=True))
    views = bank.views
    parts = [bank.geometries(p) for p in positions]
    joint = _joint_weights(weights, views, positions)
    together = _together(parts, joint, [held_by(views, p) for p in positions], _count(bank))
    fused = degree_normalised(sp.csr_array(mean * (1 - JOINT) + together * JOINT))
    families = tuple(tuple(dict.fromkeys(part.name for part in each)) for each in parts)
    spreads = tuple(tuple(part.spread() for part in each) for each in parts)
    return FusedGraph(fused, joint, families, spreads)


def _count(bank: KernelBank) -> int:
    return int(bank.params.get("n_neighbors", MOST))


def held_by(views: MultiView, p: int) -> np.ndarray:
    """Which samples a view holds: (n,)."""
    if views.present is None:
        return np.ones(len(views), dtype=bool)
    return np.asarray(views.present[:, p])


def core(result: RollOff, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k directions after the first, which all samples share; zero where there are fewer."""
    H, support = result.H[:, 1 : k + 1], np.sqrt(result.lengths[1 : k + 1])
    short = k - H.shape[1]
    return np.pad(H, ((0, 0), (0, short))), np.pad(support, (0, short))


def _joint_weights(weights: np.ndarray, views: MultiView, positions: Sequence[int]) -> np.ndarray:
    """As much as a view is confirmed, times the root of its width: between every view and every
    column alike, as wide views hold more measurements, but not always the better ones."""
    widths = np.ones(len(weights))
    if not views.kernels:
        widths = np.sqrt([views.widths[p] for p in positions])
    return np.asarray(weights * widths / np.sum(weights * widths))


def _together(
    parts: Sequence[Sequence[Geometry]], joint: np.ndarray, rows: Sequence[np.ndarray], count: int
) -> sp.csr_array:
    """The pooled graph of all views at once, over the samples that every view used has."""
    used = [p for p, weight in enumerate(joint) if weight > 0]
    everywhere, n = np.all([rows[p] for p in used], axis=0), len(rows[0])
    if np.count_nonzero(everywhere) <= count:
        return sp.csr_array((n, n))
    taken = [
        [parts[p][slot].taken(everywhere[rows[p]]) for p in used]
        for slot in range(len(parts[used[0]]))
    ]
    same = all(parts[p][2] is parts[p][0] for p in used)
    shares = [2 / 3, 1 / 3] if same else [1 / 3] * 3
    combined = (side_by_side(slot, joint[used]) for slot in taken[: len(shares)])
    return _placed(mean_graph(combined, shares, count, "all views"), everywhere, n)


def _placed(graph: sp.csr_array, held: np.ndarray, n: int) -> sp.csr_array:
    """The graph of some samples among all n: the others have no edges."""
    if graph.shape[0] == n:
        return graph
    at = np.flatnonzero(held)
    entries = graph.tocoo()
    place = (at[entries.coords[0]], at[entries.coords[1]])
    return sp.csr_array(sp.coo_array((entries.data, place), shape=(n, n)))
