r"""Exact search for the dimensions: a lower bound on their sum, and the proven optimum.

With $z_{p,a} = [d_p \ge a]$, a constraint "if $d_p < a$ then $d_q \ge b$" is
$z_{p,a} + z_{q,b} \ge 1$. It is needed only at the corners of the feasible region of a pair. This
is a vertex cover problem with a chain per view. Its linear relaxation is half-integral and equals
the paper's split into $d$ and $\hat d$ with M = 0. It is solved as a minimum cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from .overlap_constraints import Constraints

ROUNDING = 1e-6  # tolerance of HiGHS for feasible and optimal; every exact value is an integer
TIME_LIMIT = 600.0  # seconds for one integer program; beyond it the certificate has a gap


@dataclass(frozen=True)
class Bounded:
    """Dimensions (m,) and a proven lower bound on their sum."""

    d: np.ndarray
    lower_bound: int


def lower_bound(constraints: Constraints, d: np.ndarray) -> int:
    """Return a lower bound on the sum of dimensions of any solution, given a feasible `d`."""
    return _solve_relaxation(_propagate_bounds(constraints, _descend(constraints, d)))[0]


def optimum(
    constraints: Constraints, incumbent: np.ndarray, preference: np.ndarray | None = None
) -> Bounded:
    r"""Minimize $\sum d$; among ties $\sum d^2$, then prefer the views of larger `preference`.

    First the bounds of every $d_p$ are tightened: by the constraints and the incumbent, then by
    the relaxation. A level that is the same in all solutions of the relaxation is the same in all
    optimal integer solutions. The remaining integer program is solved once per criterion, with
    the earlier criteria fixed at their optimal values. Views are sorted by preference, so that
    the program does not depend on the order in which they were given.
    """
    given = np.zeros(constraints.n_views) if preference is None else preference
    order = np.argsort(-given, kind="stable")
    ordered = replace(
        constraints,
        needs=constraints.needs[np.ix_(order, order)],
        lower=constraints.lower[order],
        upper=constraints.upper[order],
    )
    d = _descend(ordered, incumbent[order])
    bound, box = _solve_relaxation(_propagate_bounds(ordered, d))
    program = _Program(box)
    # The smallest sum, then the most even dimensions, then the preferred views.
    criteria = [np.ones(program.size), 2.0 * program.level - 1, 1.0 + program.view]
    d, proven = program.solve(criteria[0], d, ())
    bound = max(bound, proven)
    for held in (1, 2) if bound >= d.sum() else ():
        d, _ = program.solve(criteria[held], d, criteria[:held])
    return Bounded(d[np.argsort(order)], bound)


def _solve_relaxation(box: Constraints) -> tuple[int, Constraints]:
    r"""Return the value of the relaxation, rounded up, and the bounds that it implies.

    Minimum cut: an edge of capacity 1 from the source to every level of d, one from every level
    of $\hat d$ to the sink, edges of unlimited capacity along chains and from corner to corner. A
    level on the same side of every minimum cut is fixed in every optimal integer solution too.
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
    bound = int(box.lower.sum() + -(-cut.flow_value // 2))
    return bound, replace(box, lower=lower, upper=upper)


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
        """Return positions (i, j) with $z_i + z_j \\ge 1$, for pairs p < q or for all p != q."""
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
    unlimited = np.full(len(i) + 2 * len(chain), 2 * n)
    weight = np.concatenate([np.ones(n), unlimited, np.ones(n)]).astype(np.int32)
    tail = np.concatenate([np.full(n, 2 * n), i, chain, n + chain + 1, n + every])
    head = np.concatenate([every, n + j, chain + 1, n + chain, np.full(n, 2 * n + 1)])
    return sp.csr_array((weight, _int32((tail, head))), shape=(2 * n + 2, 2 * n + 2))


def _int32(places: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Convert row and column positions to int32, as scipy 1.13 and later accept them."""
    return places[0].astype(np.int32), places[1].astype(np.int32)


def _reachable(graph: sp.csr_array, start: int) -> np.ndarray:
    reached = np.zeros(graph.shape[0], dtype=bool)
    reached[breadth_first_order(graph, start, return_predecessors=False)] = True
    return reached


class _Program:
    """The integer program within given bounds: one binary variable per view and level."""

    def __init__(self, box: Constraints) -> None:
        levels = _Levels(box)
        self.box, self.size, self.view, self.level = box, levels.size, levels.view, levels.level
        (i, j), chain = levels.corners(both_ways=False), levels.chain
        ones, rows = np.ones(len(i)), np.arange(len(i) + len(chain))
        values = np.concatenate([ones, np.ones(len(chain)), ones, -np.ones(len(chain))])
        where = np.tile(rows, 2), np.concatenate([i, chain, j, chain + 1])
        A = sp.csr_array((values, _int32(where)), shape=(len(rows), self.size))
        # A corner: z_i + z_j >= 1. A chain: z_a >= z_{a+1}.
        self.constraints = LinearConstraint(A, lb=np.concatenate([ones, np.zeros(len(chain))]))

    def solve(
        self, weights: np.ndarray, incumbent: np.ndarray, held: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, int]:
        """Minimize a criterion with the earlier ones fixed; return d and a bound on its sum."""
        if self.size == 0:
            return self.box.lower, int(self.box.lower.sum())
        now = (self.level <= incumbent[self.view]).astype(float)
        same = [LinearConstraint(row[None, :], lb=row @ now, ub=row @ now) for row in held]
        found = milp(
            weights,
            integrality=np.ones(self.size),
            bounds=Bounds(0, 1),
            constraints=[self.constraints, *same],
            options={"mip_rel_gap": 0.0, "time_limit": TIME_LIMIT},
        )
        proven = 0.0 if found.mip_dual_bound is None else found.mip_dual_bound
        bound = int(self.box.lower.sum()) + int(np.ceil(proven - ROUNDING))
        if found.x is None:
            return incumbent, bound
        reached = np.bincount(self.view, np.round(found.x), minlength=self.box.n_views)
        d = self.box.lower + reached.astype(int)
        # At its time limit the solver may return a solution worse than the incumbent.
        no_worse = weights @ np.round(found.x) <= weights @ now + ROUNDING
        return (d if no_worse and self.box.feasible(d) else incumbent), bound


def _descend(constraints: Constraints, d: np.ndarray) -> np.ndarray:
    """Lower the view with the largest slack, repeatedly, until no dimension can be lowered."""
    d = d.copy()
    while True:
        spare = d - constraints.least(d)
        best = int(spare.argmax())
        if spare[best] <= 0:
            return d
        d[best] -= spare[best]


def _propagate_bounds(constraints: Constraints, incumbent: np.ndarray) -> Constraints:
    """Tighten the bounds of all solutions no worse than the incumbent, to a fixed point."""
    lower, upper = constraints.lower, constraints.upper
    while True:
        new_lower = np.maximum(lower, constraints.least(upper))
        new_upper = np.minimum(upper, incumbent.sum() - (new_lower.sum() - new_lower))
        if np.array_equal(new_lower, lower) and np.array_equal(new_upper, upper):
            return replace(constraints, lower=lower, upper=upper)
        lower, upper = new_lower, new_upper
