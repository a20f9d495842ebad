"""Choose the dimensions: how many eigenvectors to compute, the constraints, and their solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..agreement.subspace_overlap import Overlap
from ..agreement.subspaces import Subspaces
from ..exceptions import (
    InfeasibleError,
    InfeasibleWarning,
    InputError,
    check_choice,
    check_whole,
    is_number,
    warn,
)
from .dimensions import Dimensions, choose_dimensions, reach
from .overlap_constraints import Constraints, overlap_constraints, relaxed_constraints, shortfall

SOLVERS = ("authors", "paper", "exact")
ROOM = 1.15  # times the number of eigenvectors that seems enough


@dataclass(frozen=True)
class Goal:
    """The problem: overlap of every pair, solver, and largest number of eigenvectors."""

    k: int
    solver: str
    threshold: float
    limit: int
    relax: bool

    @classmethod
    def of(cls, model: Any, k: int, n: int) -> Goal:
        """Check the parameters of an MKCDNM, for k clusters of n samples."""
        check_choice("solver", model.solver, SOLVERS)
        check_choice("on_infeasible", model.on_infeasible, ("relax", "raise"))
        threshold, most = model.threshold, model.max_dimension
        asked = {"k": k, "k-1": k - 1}.get(str(threshold), threshold)
        if not is_number(asked) or not 0 <= asked < np.inf:
            raise InputError(
                f'threshold must be "k", "k-1" or a number from 0 on, got {threshold!r}'
            )
        if most is not None:
            check_whole("max_dimension", most, k)
        # Two unrelated views of D eigenvectors overlap by D^2/n: 2 sqrt(kn) gives 4k.
        enough = int(most or max(25 * k, np.ceil(2 * np.sqrt(k * n))))
        relax = model.on_infeasible == "relax"
        return cls(k, model.solver, float(asked), min(n, enough), relax)


@dataclass(frozen=True)
class Selection:
    """Overlaps of the eigenvectors computed, the constraints, the dimensions.

    `notes` describe which constraints were relaxed.
    """

    overlap: Overlap
    constraints: Constraints
    dimensions: Dimensions
    notes: tuple[str, ...] = ()

    @property
    def d(self) -> np.ndarray:
        return self.dimensions.d


def select(subspaces: Subspaces, goal: Goal) -> Selection:
    r"""Choose the dimensions d of all views (section 3.2 of the paper).

    $$\min \sum_p d_p \quad \text{s.t.} \quad \|U_p^TU_q\|_F^2 \ge t \;\; \forall p, q$$

    Eigenvectors are computed as needed: 2k, then, while a pair falls short, as many as are
    predicted to suffice (the solver of the paper: twice as many). The exact solver asks once more
    for as many as extend its proof to the whole spectrum.
    """
    names = subspaces.names
    found = choose(_enough_overlap(subspaces, goal), goal, names, subspaces.horizon)
    if goal.solver == "exact" and (more := _worth_growing(found, goal.limit)):
        subspaces.grow(more)
        found = choose(subspaces.overlap(goal.k), goal, names, subspaces.horizon)
    if found.notes:
        warn(found.notes[0], InfeasibleWarning)
    return found


def _enough_overlap(subspaces: Subspaces, goal: Goal) -> Overlap:
    size = min(2 * goal.k, goal.limit)
    while True:
        subspaces.grow(size)
        found = subspaces.overlap(goal.k)
        if size >= goal.limit or subspaces.horizon is None or not shortfall(found, goal.threshold):
            return found
        # The result of the printed algorithm depends on the number of eigenvectors: 2k, 4k, ...
        enough = 2 * size if goal.solver == "paper" else _size_to_reach(found, size, goal)
        size = min(enough, goal.limit)


def _size_to_reach(found: Overlap, size: int, goal: Goal) -> int:
    r"""Predict how many eigenvectors reach the threshold if $S_{pq}[D, D]$ grows by $D^2$.

    A multiple of k, with some room.
    """
    half, farthest = size // 2, float(size)
    for pair in found.pairs():
        shared = found.table(*pair)
        missing = goal.threshold - shared[-1, -1]
        some = shared[min(half, len(shared) - 1), min(half, shared.shape[1] - 1)]
        rate = (shared[-1, -1] - some) / (size**2 - half**2)
        farthest = max(farthest, np.sqrt(size**2 + max(missing, 0.0) / max(rate, 1e-12)))
    return int(max(-(-ROOM * min(farthest, goal.limit) // goal.k) * goal.k, size + goal.k))


def choose(
    found: Overlap, goal: Goal, names: tuple[str, ...], horizon: int | None = None
) -> Selection:
    """Choose the dimensions for overlaps of as many eigenvectors as were computed."""
    constraints = overlap_constraints(found, goal.k, goal.threshold)
    notes: tuple[str, ...] = ()
    if missing := shortfall(found, goal.threshold):
        problem = _describe_shortfall(missing, found, goal.threshold, names)
        if not goal.relax:
            raise InfeasibleError(
                f'{problem} Drop a view, lower the threshold (such as "k-1"), or pass '
                'on_infeasible="relax"'
            )
        constraints = relaxed_constraints(found, goal.k, goal.threshold)
        notes = (f"{problem} {_describe_relaxation(constraints, len(found.pairs()), names)}",)
    preference = found.reproduced(goal.k) if goal.solver == "exact" else None
    chosen = choose_dimensions(constraints, goal.k, goal.solver, horizon, preference)
    return Selection(found, constraints, chosen, notes)


def _worth_growing(found: Selection, limit: int) -> int | None:
    """Return how many eigenvectors extend the proof to the whole spectrum or the limit."""
    proof = found.dimensions.certificate
    wanted = min(
        limit, proof.eigenvectors + proof.objective - reach(found.constraints, proof.eigenvectors)
    )
    return None if proof.whole_spectrum or wanted <= proof.eigenvectors else wanted


def _describe_shortfall(
    missing: dict[tuple[int, int], float], found: Overlap, threshold: float, names: tuple[str, ...]
) -> str:
    worst = sorted(missing, key=lambda pair: missing[pair])[:5]
    listed = ", ".join(f"{names[p]}-{names[q]} {missing[p, q]:.3g}" for p, q in worst)
    more = f" and {len(missing) - len(worst)} more" if len(missing) > len(worst) else ""
    few, many = int(found.sizes.min()), int(found.sizes.max())
    count = str(few) if few == many else f"{few} to {many}"
    return (
        f"{len(missing)} of {len(found.pairs())} pairs of views cannot reach an overlap of "
        f"{threshold:g} with {count} eigenvectors ({listed}{more})."
    )


def _describe_relaxation(constraints: Constraints, n_pairs: int, names: tuple[str, ...]) -> str:
    parts = []
    if constraints.exempt:
        parts.append(
            f"{len(constraints.exempt)} pairs agree no better than chance and are exempted"
        )
    if len(constraints.exempt) < n_pairs:
        parts.append(f"the others are held to {constraints.threshold:.3g} beyond chance")
    text = "; ".join(parts) + "."
    unrelated = [names[p] for p in constraints.unrelated()]
    flagged = f" Unrelated to every other view: {', '.join(unrelated)}." if unrelated else ""
    return text[0].upper() + text[1:] + flagged
