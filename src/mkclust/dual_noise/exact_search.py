r"""The dimension model as a covering problem: its lower bound, and its proven optimum.

With $z_{p,a} = [d_p \ge a]$, a pair of views says: if $d_p < a$ then $d_q \ge b$, which is
$z_{p,a} + z_{q,b} \ge 1$, and only at the corners of its staircase. This is a vertex cover with a
chain per view. Its linear relaxation is half-integral and the same as the paper's split into $d$
and $\hat d$ with M = 0; it is solved as a minimum cut between their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from .constraints import Constraints

ROUNDING = 1e-6  # what HiGHS calls feasible and optimal; every true value here is an integer
TIME_LIMIT = 600.0  # seconds for one program; a certificate with a gap is the result beyond it


@dataclass(frozen=True)
class Bounded:
    """Dimensions (m,) and a proven lower bound on their sum."""

    d: np.ndarray
    lower_bound: int


def lower_bound(stairs: Constraints, d: np.ndarray) -> int:
    """A bound on the sum of dimensions of any solution, given a feasible `d`."""
    return _relaxed(_propagated(stairs, _descended(stairs, d)))[0]


def optimum(
    stairs: Constraints, incumbent: np.ndarray, preference: np.ndarray | None = None
) -> Bounded:
    r"""The smallest $\sum d$; among ties the smallest $\sum d^2$, then the preferred views.

    The box of every $d_p$ is shrunk to what some optimal solution may use: first by the
    constraints and the incumbent, then by the relaxation, whose levels that are the same in all
    its solutions are the same in all integer ones. What is left is an integer program; each
    criterion is one of its own with the earlier ones held at their value. Views are taken in the
    order of their preference, so that the solver sees one program however they were given.
    """
    if preference is None:
        preference = np.zeros(stairs.n_views)
    order = np.argsort(-preference, kind="stable")
    found = _ordered_optimum(stairs.reordered(order), incumbent[order])
    d = np.empty_like(found.d)
    d[order] = found.d
    return Bounded(d, found.lower_bound)


def _ordered_optimum(stairs: Constraints, incumbent: np.ndarray) -> Bounded:
    incumbent = _descended(stairs, incumbent)
    bound, box = _relaxed(_propagated(stairs, incumbent))
    program = _Program(box)
    # Fewest directions, then the most even, then in the views preferred most.
    criteria = [np.ones(program.size), 2.0 * program.level - 1, 1.0 + program.view]
    incumbent, proven = program.solve(criteria[0], incumbent, ())
    bound = max(bound, proven)
    if bound < incumbent.sum():
        return Bounded(incumbent, bound)
    for held in (1, 2):
        incumbent, _ = program.solve(criteria[held], incumbent, criteria[:held])
    return Bounded(incumbent, bound)


def _relaxed(box: Constraints) -> tuple[int, Constraints]:
    r"""The relaxation's value, rounded up, and the box left by what all its solutions share.

    Minimum cut: a unit edge from the source to every level of d, one from every level of
    $\hat d$ to the sink, unbreakable edges along chains and from corner to corner. A level that
    is on the same side of every minimum cut is fixed in every optimal integer solution too.
    """
    levels = _Levels(box)
    if levels.size == 0:
        return int(box.lower.sum()), box
    graph = _double_cover(levels)
    source, sink = graph.shape[0] - 2, graph.shape[0] - 1
    cut = maximum_flow(graph, source, sink)
    residual = sp.csr_array(graph - cut.flow)
    residual.eliminate_zeros()
    near_source = _reachable(residual, source)[: levels.size]  # d_p < a in every minimum cut
    near_sink = _reachable(sp.csr_array(residual.T), sink)[: levels.size]  # d_p >= a in every one
    count = box.n_views
    lower = box.lower + np.bincount(levels.view, near_sink, minlength=count).astype(int)
    upper = box.upper - np.bincount(levels.view, near_source, minlength=count).astype(int)
    return int(box.lower.sum() + -(-cut.flow_value // 2)), box.tightened(lower, upper)


class _Levels:
    """One position for every view and level in (lower, upper]."""

    def __init__(self, box: Constraints) -> None:
        width = box.upper - box.lower
        self.box = box
        self.first = np.concatenate([[0], np.cumsum(width)])
        self.size = int(self.first[-1])
        self.view = np.repeat(np.arange(box.n_views), width)
        self.level = np.arange(self.size) - self.first[self.view] + box.lower[self.view] + 1
        self.chain = np.flatnonzero(np.diff(self.view) == 0)  # positions followed by the next level

    def corners(self, both_ways: bool) -> tuple[np.ndarray, np.ndarray]:
        """Positions (i, j) of which at least one must be reached: p < q, or p != q."""
        box, left, right = self.box, [self.chain[:0]], [self.chain[:0]]
        for p in range(box.n_views):
            a = np.arange(self.first[p], self.first[p + 1])
            for q in range(0 if both_ways else p + 1, box.n_views):
                if p != q:
                    b = box.needs[q, p, box.lower[p] : box.upper[p] + 1]
                    corner = (b[:-1] > b[1:]) & (b[:-1] > box.lower[q])
                    left.append(a[corner])
                    right.append(self.first[q] + b[:-1][corner] - box.lower[q] - 1)
        return np.concatenate(left), np.concatenate(right)


def _double_cover(levels: _Levels) -> sp.csr_array:
    n, chain = levels.size, levels.chain
    i, j = levels.corners(both_ways=True)
    every = np.arange(n)
    unbreakable = np.full(len(i) + 2 * len(chain), 2 * n)
    weight = np.concatenate([np.ones(n), unbreakable, np.ones(n)]).astype(np.int32)
    tail = np.concatenate([np.full(n, 2 * n), i, chain, n + chain + 1, n + every])
    head = np.concatenate([every, n + j, chain + 1, n + chain, np.full(n, 2 * n + 1)])
    return sp.csr_array((weight, _int32((tail, head))), shape=(2 * n + 2, 2 * n + 2))


def _int32(places: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns as `maximum_flow` and `milp` of every scipy since 1.13 take them."""
    return places[0].astype(np.int32), places[1].astype(np.int32)


def _reachable(graph: sp.csr_array, start: int) -> np.ndarray:
    reached = np.zeros(graph.shape[0], dtype=bool)
    reached[breadth_first_order(graph, start, return_predecessors=False)] = True
    return reached


class _Program:
    """The covering program inside a box: one binary per view and level."""

    def __init__(self, box: Constraints) -> None:
        levels = _Levels(box)
        self.box, self.size, self.view, self.level = box, levels.size, levels.view, levels.level
        (i, j), chain = levels.corners(both_ways=False), levels.chain
        ones, rows = np.ones(len(i)), np.arange(len(i) + len(chain))
        values = np.concatenate([ones, np.ones(len(chain)), ones, -np.ones(len(chain))])
        where = np.tile(rows, 2), np.concatenate([i, chain, j, chain + 1])
        A = sp.csr_array((values, _int32(where)), shape=(len(rows), self.size))
        # A corner: z_i + z_j >= 1. A chain: z_a >= z_{a+1}.
        self.cover = LinearConstraint(A, lb=np.concatenate([ones, np.zeros(len(chain))]))

    def solve(
        self, weights: np.ndarray, incumbent: np.ndarray, held: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, int]:
        """Minimise the weights with the earlier criteria held; d, and a bound on its sum."""
        if self.size == 0:
            return self.box.lower, int(self.box.lower.sum())
        now = (self.level <= incumbent[self.view]).astype(float)
        same = [LinearConstraint(row[None, :], lb=row @ now, ub=row @ now) for row in held]
        found = milp(
            weights,
            integrality=np.ones(self.size),
            bounds=Bounds(0, 1),
            constraints=[self.cover, *same],
            options={"mip_rel_gap": 0.0, "time_limit": TIME_LIMIT},
        )
        proven = 0.0 if found.mip_dual_bound is None else found.mip_dual_bound
        bound = int(self.box.lower.sum()) + int(np.ceil(proven - ROUNDING))
        if found.x is None:
            return incumbent, bound
        reached = np.bincount(self.view, np.round(found.x), minlength=self.box.n_views)
        d = self.box.lower + reached.astype(int)
        # Out of time, the solver may stop at something worse than what was known.
        no_worse = weights @ np.round(found.x) <= weights @ now + ROUNDING
        return (d if no_worse and self.box.feasible(d) else incumbent), bound


def _descended(stairs: Constraints, d: np.ndarray) -> np.ndarray:
    """Lower one view at a time, the one with most to give first, until none can be lowered."""
    d = d.copy()
    while True:
        spare = d - stairs.least(d)
        best = int(spare.argmax())
        if spare[best] <= 0:
            return d
        d[best] -= spare[best]


def _propagated(stairs: Constraints, incumbent: np.ndarray) -> Constraints:
    """Shrink the box around every solution no worse than the incumbent, to a fixpoint."""
    lower, upper = stairs.lower, stairs.upper
    while True:
        new_lower = np.maximum(lower, stairs.least(upper))
        new_upper = np.minimum(upper, incumbent.sum() - (new_lower.sum() - new_lower))
        if np.array_equal(new_lower, lower) and np.array_equal(new_upper, upper):
            return stairs.tightened(lower, upper)
        lower, upper = new_lower, new_upper
