r"""The dimension model as a covering problem: its lower bound, and its proven optimum.

With $z_{p,a} = [d_p \ge a]$, a pair of views says: if $d_p < a$ then $d_q \ge b$, which is
$z_{p,a} + z_{q,b} \ge 1$, and only at the corners of its staircase. This is a vertex cover with a
chain per view. Its linear relaxation is half-integral, nearly always tight, and the same as the
paper's split into $d$ and $\hat d$ with M = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from .staircase import Staircases

ROUNDING = 1e-6  # what HiGHS calls feasible and optimal; every true value here is a half-integer
TIME_LIMIT = 600.0  # seconds for one program; a certificate with a gap is the result beyond it


@dataclass(frozen=True)
class Bounded:
    """Dimensions (m,) and a proven lower bound on their sum."""

    d: np.ndarray
    lower_bound: int


def lower_bound(stairs: Staircases, d: np.ndarray) -> int:
    """A bound on the sum of dimensions of any solution, given a feasible `d`."""
    box = _propagated(stairs, _descended(stairs, d))
    return _Program(box).relaxation()[0]


def optimum(
    stairs: Staircases, incumbent: np.ndarray, preference: np.ndarray | None = None
) -> Bounded:
    r"""The smallest $\sum d$; among ties the smallest $\sum d^2$, then the preferred views.

    The box of every $d_p$ is first shrunk to a fixpoint, and levels whose reduced cost exceeds the
    gap are fixed: both keep every optimal solution, ties included. Each criterion is a program
    of its own with the earlier ones held at their value.
    """
    incumbent = _descended(stairs, incumbent)
    program = _Program(_propagated(stairs, incumbent))
    bound, costs = program.relaxation()
    if bound < incumbent.sum():
        incumbent, bound = program.solve(np.ones(program.size), incumbent, ())
    if bound < incumbent.sum():
        return Bounded(incumbent, bound)
    program.fix(costs, int(incumbent.sum()))
    criteria = [np.ones(program.size), 2.0 * program.level - 1]
    if preference is not None:
        spread = np.ptp(preference) or 1.0
        criteria.append(((preference.max() - preference) / spread)[program.view])
    for held in range(1, len(criteria)):
        incumbent, _ = program.solve(criteria[held], incumbent, criteria[:held])
    return Bounded(incumbent, bound)


class _Program:
    """The covering program inside a box: one binary per view and level in (lower, upper]."""

    def __init__(self, stairs: Staircases) -> None:
        self.stairs = stairs
        width = stairs.upper - stairs.lower
        self.first = np.concatenate([[0], np.cumsum(width)])
        self.size = int(self.first[-1])
        self.view = np.repeat(np.arange(stairs.n_views), width)
        self.level = np.arange(self.size) - self.first[self.view] + stairs.lower[self.view] + 1
        self.rows, self.right = _constraints(stairs, self.first, self.level)
        self.bounds = Bounds(np.zeros(self.size), np.ones(self.size))

    def relaxation(self) -> tuple[int, np.ndarray]:
        """The linear relaxation, rounded up, and the reduced cost of every binary."""
        base = int(self.stairs.lower.sum())
        if self.size == 0 or self.rows.shape[0] == 0:
            return base, np.ones(self.size)
        found = linprog(
            np.ones(self.size), A_ub=-self.rows, b_ub=-self.right, bounds=(0, 1), method="highs"
        )
        if found.status != 0:
            return base, np.zeros(self.size)
        self._value = base + found.fun
        return int(np.ceil(self._value - ROUNDING)), found.lower.marginals + found.upper.marginals

    def fix(self, costs: np.ndarray, objective: int) -> None:
        """Fix binaries that no solution of this objective can flip."""
        gap = objective - getattr(self, "_value", self.stairs.lower.sum()) + ROUNDING
        self.bounds = Bounds((costs < -gap).astype(float), (costs <= gap).astype(float))

    def solve(
        self, weights: np.ndarray, incumbent: np.ndarray, held: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, int]:
        """Minimise the weights with the earlier criteria held at the incumbent's values."""
        if self.size == 0:
            return incumbent, int(incumbent.sum())
        now = (self.level <= incumbent[self.view]).astype(float)
        constraints = [LinearConstraint(self.rows, lb=self.right)]
        constraints += [
            LinearConstraint(row[None, :], lb=row @ now - ROUNDING, ub=row @ now + ROUNDING)
            for row in held
        ]
        found = milp(
            weights,
            integrality=np.ones(self.size),
            bounds=self.bounds,
            constraints=constraints,
            options={"mip_rel_gap": 0.0, "time_limit": TIME_LIMIT},
        )
        proven = 0.0 if found.mip_dual_bound is None else found.mip_dual_bound
        bound = int(self.stairs.lower.sum()) + int(np.ceil(proven - ROUNDING))
        if found.x is None:
            return incumbent, bound
        chosen = np.bincount(self.view, np.round(found.x), minlength=self.stairs.n_views)
        d = self.stairs.lower + chosen.astype(int)
        better = weights @ np.round(found.x) < weights @ now - ROUNDING
        return (d if better and self.stairs.feasible(d) else incumbent), bound


def _constraints(
    stairs: Staircases, first: np.ndarray, level: np.ndarray
) -> tuple[sp.csr_array, np.ndarray]:
    """Corners (z + z >= 1) and chains (z_a - z_{a+1} >= 0) as rows over all binaries."""
    low, high = stairs.lower, stairs.upper
    left, right = [], []
    for p in range(stairs.n_views):
        a = np.arange(low[p], high[p])
        for q in range(p + 1, stairs.n_views):
            b = stairs.needs[q, p, low[p] : high[p] + 1]
            corner = (b[:-1] > b[1:]) & (b[:-1] > low[q])
            left.append(first[p] + a[corner] - low[p])
            right.append(first[q] + b[:-1][corner] - low[q] - 1)
    i, j = (np.concatenate([*part, []]).astype(int) for part in (left, right))
    chain = np.flatnonzero(np.diff(level) == 1) if len(level) else np.array([], dtype=int)
    chain = chain[~np.isin(chain + 1, first)]
    n_corners, n_rows = len(i), len(i) + len(chain)
    row = np.concatenate(
        [np.repeat(np.arange(n_corners), 2), np.repeat(np.arange(len(chain)), 2) + n_corners]
    )
    column = np.concatenate([np.stack([i, j], 1).ravel(), np.stack([chain, chain + 1], 1).ravel()])
    value = np.concatenate([np.ones(2 * n_corners), np.tile([1.0, -1.0], len(chain))])
    A = sp.csr_array((value, (row, column)), shape=(n_rows, len(level)))
    return A, np.concatenate([np.ones(n_corners), np.zeros(len(chain))])


def _descended(stairs: Staircases, d: np.ndarray) -> np.ndarray:
    """Lower one view at a time, the one with most to give first, until none can be lowered."""
    d = d.copy()
    while True:
        spare = d - stairs.least(d)
        best = int(spare.argmax())
        if spare[best] <= 0:
            return d
        d[best] -= spare[best]


def _propagated(stairs: Staircases, incumbent: np.ndarray) -> Staircases:
    """Shrink the box around every solution no worse than the incumbent, to a fixpoint."""
    lower, upper = stairs.lower, stairs.upper
    while True:
        new_lower = np.maximum(lower, stairs.least(upper))
        new_upper = np.minimum(upper, incumbent.sum() - (new_lower.sum() - new_lower))
        if np.array_equal(new_lower, lower) and np.array_equal(new_upper, upper):
            return stairs.tightened(lower, upper)
        lower, upper = new_lower, new_upper
