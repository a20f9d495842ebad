"""Spectra to the selection: enough directions, what every pair must share, and the dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..agreement.overlap import Overlap, overlap
from ..chunked.run import FeatureSpectra
from ..data.missing import overlap_on_common_rows
from ..exceptions import InfeasibleError, InfeasibleWarning, InputError, warn
from ..linalg.spectrum import Spectra, covered
from .constraints import Staircases, relaxed_staircases, shortfall, staircases
from .dimensions import Dimensions, choose_dimensions, reach

SOLVERS = ("authors", "paper", "exact")
ROOM = 1.15  # times the directions that seem enough
BY_FAR = 0.95  # of the threshold: what rough directions may miss of an overlap that is there


@dataclass(frozen=True)
class Goal:
    """What is asked of the dimensions: the overlap of every pair, how it is searched, how far."""

    k: int
    solver: str
    threshold: float
    limit: int
    relax: bool

    @classmethod
    def checked(
        cls, k: int, n: int, *, solver: Any, threshold: Any, on_infeasible: Any, max_dimension: Any
    ) -> Goal:
        """The settings of an estimator for k clusters of n samples, or an InputError."""
        if solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}")
        if on_infeasible not in ("relax", "raise"):
            raise InputError(f'on_infeasible must be "relax" or "raise", got {on_infeasible!r}')
        asked = {"k": k, "k-1": k - 1}.get(str(threshold), threshold)
        if not _is_number(asked) or not 0 <= asked < np.inf:
            raise InputError(
                f'threshold must be "k", "k-1" or a number from 0 on, got {threshold!r}'
            )
        most = max_dimension
        if most is not None and (not isinstance(most, Integral) or most < k):
            raise InputError(f"max_dimension must be a whole number from {k} (k) on, got {most!r}")
        # Two unrelated views of D directions share D^2/n: twice sqrt(kn) is k with room to spare.
        enough = int(most or max(25 * k, np.ceil(2 * np.sqrt(k * n))))
        return cls(k, solver, float(asked), min(n, enough), on_infeasible == "relax")


@dataclass(frozen=True)
class Selection:
    """What was found: overlaps of the directions computed, the constraints, the dimensions.

    `notes` say in words which constraints were relaxed.
    """

    overlap: Overlap
    stairs: Staircases
    dimensions: Dimensions
    notes: tuple[str, ...] = ()

    @property
    def d(self) -> np.ndarray:
        return self.dimensions.d


def select(spectra: Spectra | FeatureSpectra, goal: Goal) -> Selection:
    r"""$\min \sum_p d_p$ with $\|U_p^TU_q\|_F^2 \ge$ the threshold for every pair (§3.2).

    Directions are computed as needed: 2k, doubled while a pair falls short; the exact solver
    asks once more for as many as extend its proof to the whole spectrum.
    """
    found = _chosen(_enough_overlap(spectra, goal), spectra, goal)
    if goal.solver == "exact" and (more := _worth_growing(found, goal.limit)):
        spectra.grow(more)
        found = _chosen(_overlap(spectra, goal.k), spectra, goal)
    return found


def _enough_overlap(spectra: Spectra | FeatureSpectra, goal: Goal) -> Overlap:
    size = _first_size(spectra, goal)
    while True:
        spectra.grow(size)
        found = _overlap(spectra, goal.k)
        if size >= goal.limit or spectra.horizon is None or not shortfall(found, goal.threshold):
            return found
        size = min(2 * size, goal.limit)


def _first_size(spectra: Spectra | FeatureSpectra, goal: Goal) -> int:
    """2k, and more while even rough directions show that a pair falls short by far."""
    size = min(2 * goal.k, goal.limit)
    if isinstance(spectra, FeatureSpectra):
        return size
    while size < goal.limit and (V := spectra.rough(size)) is not None:
        # Two views that have no more directions than these cannot share more of them.
        pairs = [(A, B) for A, B in combinations(V, 2) if max(A.shape[1], B.shape[1]) == size]
        squared = [(A.T @ B) ** 2 for A, B in pairs]
        if not any(shared.sum() < BY_FAR * goal.threshold for shared in squared):
            break
        # What the solver of the paper finds depends on how many directions there are: 2k, 4k, ...
        enough = 2 * size if goal.solver == "paper" else _size_to_reach(squared, size, goal)
        size = min(enough, goal.limit)
    return size


def _size_to_reach(squared: list[np.ndarray], size: int, goal: Goal) -> int:
    r"""How many directions would do if $S_{pq}[D, D]$ went on to grow by $D^2$, as chance makes it.

    `squared` are the squared entries of all $V_p^TV_q$, (size, size) each. A multiple of k, with
    some room, twice `size` at most.
    """
    half, farthest = size // 2, float(size)
    for shared in squared:
        missing = goal.threshold - shared.sum()
        rate = (shared.sum() - shared[:half, :half].sum()) / (size**2 - half**2)
        farthest = max(farthest, np.sqrt(size**2 + max(missing, 0.0) / max(rate, 1e-12)))
    return int(np.clip(-(-ROOM * farthest // goal.k) * goal.k, size + goal.k, 2 * size))


def _overlap(spectra: Spectra | FeatureSpectra, k: int) -> Overlap:
    if isinstance(spectra, FeatureSpectra):
        return spectra.overlap()
    present = covered(spectra)
    return overlap(spectra) if present is None else overlap_on_common_rows(spectra, present, k)


def _chosen(found: Overlap, spectra: Spectra | FeatureSpectra, goal: Goal) -> Selection:
    stairs, notes = _constraints(found, spectra, goal)
    preference = found.reproduced(goal.k) if goal.solver == "exact" else None
    chosen = choose_dimensions(stairs, goal.k, goal.solver, spectra.horizon, preference)
    return Selection(found, stairs, chosen, notes)


def _constraints(
    found: Overlap, spectra: Spectra | FeatureSpectra, goal: Goal
) -> tuple[Staircases, tuple[str, ...]]:
    missing = shortfall(found, goal.threshold)
    if not missing:
        return staircases(found, goal.k, goal.threshold), ()
    problem = _shortfall_in_words(missing, found, goal.threshold, spectra.names)
    if not goal.relax:
        raise InfeasibleError(
            f'{problem} Drop a view, lower the threshold (such as "k-1"), or pass '
            'on_infeasible="relax"'
        )
    stairs = relaxed_staircases(found, goal.k, goal.threshold)
    answer = _relaxation_in_words(stairs, len(found.pairs()), spectra.names)
    # At large n relaxed constraints are the rule: a warning is for what the user should mend.
    # The same holds for neighbour graphs, whose answer does not rest on the dimensions.
    rule = isinstance(spectra, FeatureSpectra) or getattr(spectra.kernels, "pooled", False)
    if not rule or stairs.unrelated():
        warn(f"{problem} {answer}", InfeasibleWarning)
    return stairs, (f"{problem} {answer}",)


def _worth_growing(found: Selection, limit: int) -> int | None:
    """How many directions would extend the proof to the whole spectrum, or as far as the limit."""
    proof = found.dimensions.certificate
    wanted = min(limit, proof.directions + proof.objective - reach(found.stairs, proof.directions))
    return None if proof.whole_spectrum or wanted <= proof.directions else wanted


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shortfall_in_words(
    missing: dict[tuple[int, int], float], found: Overlap, threshold: float, names: tuple[str, ...]
) -> str:
    worst = sorted(missing, key=lambda pair: missing[pair])[:5]
    listed = ", ".join(f"{names[p]}-{names[q]} {missing[p, q]:.3g}" for p, q in worst)
    more = f" and {len(missing) - len(worst)} more" if len(missing) > len(worst) else ""
    few, many = int(found.sizes.min()), int(found.sizes.max())
    directions = str(few) if few == many else f"{few} to {many}"
    return (
        f"{len(missing)} of {len(found.pairs())} pairs of views cannot reach an overlap of "
        f"{threshold:g} with {directions} directions ({listed}{more})."
    )


def _relaxation_in_words(stairs: Staircases, n_pairs: int, names: tuple[str, ...]) -> str:
    parts = []
    if stairs.exempt:
        parts.append(f"{len(stairs.exempt)} pairs agree no better than chance and are exempted")
    if len(stairs.exempt) < n_pairs:
        parts.append(f"the others are held to {stairs.threshold:.3g} beyond chance")
    text = "; ".join(parts) + "."
    unrelated = [names[p] for p in stairs.unrelated()]
    flagged = f" Unrelated to every other view: {', '.join(unrelated)}." if unrelated else ""
    return text[0].upper() + text[1:] + flagged
