r"""Overlap to Dimensions: how many directions of each view to keep.

$\min \sum_p d_p$ subject to $\|U_p^TU_q\|_F^2 \ge k$ for all p, q (Eq. 16 of the paper), where
the objective stands for N-noise and the constraints for C-noise. Three solvers: the published
program's search (`authors`), Algorithm 1 as printed (`paper`), and the proven optimum (`exact`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ..io.archive import storable
from ..progress import step
from .constraints import Constraints
from .exact_search import Bounded, lower_bound, optimum

PAPER_PENALTY = 2.0**-6  # the printed algorithm's first M, "a small value"


@storable
@dataclass(frozen=True)
class Round:
    """State after one round of the alternating search."""

    penalty: float
    d: tuple[int, ...]
    d_hat: tuple[int, ...]
    objective: int


@storable
@dataclass(frozen=True)
class Certificate:
    """What is proven about the sum of dimensions, and over how much of the spectrum."""

    objective: int
    lower_bound: int
    directions: int
    whole_spectrum: bool
    seconds: float

    @property
    def gap(self) -> int:
        return self.objective - self.lower_bound

    @property
    def optimal(self) -> bool:
        return self.gap == 0

    @property
    def scope(self) -> str:
        return "the whole spectrum" if self.whole_spectrum else f"the first {self.directions}"

    def __str__(self) -> str:
        within = f"over {self.scope}" if self.whole_spectrum else f"within {self.scope} directions"
        if self.optimal:
            return f"proven optimal: no smaller sum of dimensions than {self.objective} {within}"
        above = 100 * self.gap / self.lower_bound
        return (
            f"sum of dimensions {self.objective}, at most {self.gap} ({above:.1f} %) above the "
            f"optimum, which is at least {self.lower_bound} {within}"
        )


@dataclass(frozen=True)
class Dimensions:
    """Directions kept per view (m,), with the proof and the way there."""

    d: np.ndarray
    certificate: Certificate
    history: tuple[Round, ...]


def authors(stairs: Constraints, k: int) -> tuple[np.ndarray, tuple[Round, ...]]:
    r"""The published program's search: targets $\frac{M}{M+1/2}\hat d_p$, M = 1, 2, 4, ...

    Starts from the smallest common multiple of k at which every pair holds and never leaves
    it. The target is the minimiser of $\frac14d^2 + \frac M2(d-\hat d)^2$, not of the printed
    objective; the published numbers rest on it.
    """

    def target(d_hat: np.ndarray, penalty: float, least: np.ndarray) -> np.ndarray:
        t = penalty / (penalty + 0.5) * d_hat
        left = np.floor(t)
        return np.where(left >= least, left + (t - left > 0.5), least).astype(int)

    return _alternate(stairs, _common_start(stairs, k), 1.0, target)


def paper(
    stairs: Constraints, k: int, penalty: float = PAPER_PENALTY
) -> tuple[np.ndarray, tuple[Round, ...]]:
    r"""Algorithm 1 as printed: $d_p = \max(L_p, \mathrm{round}(\hat d_p - \frac1{2M}))$.

    Starts from every direction known, with M doubled each round. The result depends on the
    first M and on how many directions are known.
    """

    def target(d_hat: np.ndarray, penalty: float, least: np.ndarray) -> np.ndarray:
        unconstrained = np.ceil(d_hat - 1 / (2 * penalty) - 0.5)  # a tie goes to the smaller d
        return np.maximum(least, unconstrained).astype(int)

    return _alternate(stairs, stairs.upper.copy(), penalty, target)


def exact(stairs: Constraints, k: int, preference: np.ndarray | None = None) -> Bounded:
    """The global optimum with its proof; ties go to the most even d, then to `preference`."""
    return optimum(stairs, incumbent=authors(stairs, k)[0], preference=preference)


def choose_dimensions(
    stairs: Constraints,
    k: int,
    solver: str = "authors",
    horizon: int | None = None,
    preference: np.ndarray | None = None,
) -> Dimensions:
    """Dimensions by one of the three solvers, with a certificate in every case.

    `horizon` is the number of directions known in each view that has more of them, None when
    every direction above rounding is known. `preference` (m,) breaks what ties remain for
    `exact`: views with larger values get the larger dimension.
    """
    step(f"dimensions by {solver}")
    began = perf_counter()
    history: tuple[Round, ...] = ()
    if solver == "exact":
        found = exact(stairs, k, preference)
        d, bound = found.d, found.lower_bound
    else:
        d, history = {"authors": authors, "paper": paper}[solver](stairs, k)
        bound = lower_bound(stairs, d)
    objective = int(d.sum())
    certificate = Certificate(
        objective=objective,
        lower_bound=bound,
        directions=int(stairs.upper.max()) if horizon is None else horizon,
        whole_spectrum=horizon is None or objective <= reach(stairs, horizon),
        seconds=perf_counter() - began,
    )
    return Dimensions(d, certificate, history)


def reach(stairs: Constraints, horizon: int) -> int:
    """Cheapest sum of dimensions that uses a direction beyond the horizon in any view."""
    return int(horizon + 1 + stairs.lower.sum() - stairs.lower.max())


def _common_start(stairs: Constraints, k: int) -> np.ndarray:
    for c in range(1, int(stairs.upper.max()) // k + 2):
        start = np.minimum(c * k, stairs.upper)
        if stairs.feasible(start):
            return start
    raise ValueError("no common start: these overlap_constraints cannot be met at all")


def _alternate(
    stairs: Constraints,
    start: np.ndarray,
    penalty: float,
    target: Callable[[np.ndarray, float, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, tuple[Round, ...]]:
    """d against d_hat and back, the penalty on their difference doubled until they agree."""
    d_hat = start
    history = []
    while True:
        d = target(d_hat, penalty, stairs.least(d_hat))
        d_hat = target(d, penalty, stairs.least(d))  # changes nothing where they agree already
        history.append(Round(penalty, _ints(d), _ints(d_hat), int(d.sum())))
        if np.array_equal(d, d_hat):
            return d, tuple(history)
        penalty *= 2


def _ints(d: np.ndarray) -> tuple[int, ...]:
    return tuple(int(value) for value in d)
