r"""Choose how many eigenvectors of each view to keep.

$\min \sum_p d_p$ subject to $\|U_p^TU_q\|_F^2 \ge k$ for all p, q (Eq. 16 of the paper), where
the objective stands for N-noise and the constraints for C-noise. There are three solvers: the
search of the authors' program (`authors`), Algorithm 1 as printed (`paper`), and the proven
optimum (`exact`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ..io.models import storable
from ..progress import step
from .exact_search import lower_bound, optimum
from .overlap_constraints import Constraints

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
    """A proven lower bound on the sum of dimensions, and the scope of the proof.

    Attributes
    ----------
    objective : int
        Sum of the dimensions found.
    lower_bound : int
        No feasible sum within the scope is smaller.
    eigenvectors : int
        Number of leading eigenvectors per view that the proof covers.
    whole_spectrum : bool
        Whether the proof holds for any number of eigenvectors.
    seconds : float
        Time taken.
    """

    objective: int
    lower_bound: int
    eigenvectors: int
    whole_spectrum: bool
    seconds: float

    @property
    def gap(self) -> int:
        return self.objective - self.lower_bound

    @property
    def optimal(self) -> bool:
        return self.gap == 0

    def __str__(self) -> str:
        within = f"within the first {self.eigenvectors} eigenvectors"
        within = "over the whole spectrum" if self.whole_spectrum else within
        if self.optimal:
            return f"proven optimal: no smaller sum of dimensions than {self.objective} {within}"
        above = 100 * self.gap / self.lower_bound
        return (
            f"sum of dimensions {self.objective}, at most {self.gap} ({above:.1f} %) above the "
            f"optimum, which is at least {self.lower_bound} {within}"
        )


@dataclass(frozen=True)
class Dimensions:
    """Number of eigenvectors kept per view, `d` (m,), with its certificate and search history."""

    d: np.ndarray
    certificate: Certificate
    history: tuple[Round, ...]


def authors(constraints: Constraints, k: int) -> tuple[np.ndarray, tuple[Round, ...]]:
    r"""Search as the authors' program does: targets $\frac{M}{M+1/2}\hat d_p$, M = 1, 2, 4, ...

    The search starts from the smallest common multiple of k at which every constraint holds, and
    never exceeds it. The target minimizes $\frac14d^2 + \frac M2(d-\hat d)^2$, not the printed
    objective; the published results were computed with it.
    """

    def target(d_hat: np.ndarray, penalty: float, least: np.ndarray) -> np.ndarray:
        t = penalty / (penalty + 0.5) * d_hat
        left = np.floor(t)
        return np.where(left >= least, left + (t - left > 0.5), least).astype(int)

    return _alternate(constraints, _common_start(constraints, k), 1.0, target)


def paper(
    constraints: Constraints, k: int, penalty: float = PAPER_PENALTY
) -> tuple[np.ndarray, tuple[Round, ...]]:
    r"""Run Algorithm 1 as printed: $d_p = \max(L_p, \mathrm{round}(\hat d_p - \frac1{2M}))$.

    It starts from all known eigenvectors; M doubles each round. The result depends on the first M
    and on how many eigenvectors are known.
    """

    def target(d_hat: np.ndarray, penalty: float, least: np.ndarray) -> np.ndarray:
        unconstrained = np.ceil(d_hat - 1 / (2 * penalty) - 0.5)  # a tie goes to the smaller d
        return np.maximum(least, unconstrained).astype(int)

    return _alternate(constraints, constraints.upper.copy(), penalty, target)


def choose_dimensions(
    constraints: Constraints,
    k: int,
    solver: str = "authors",
    horizon: int | None = None,
    preference: np.ndarray | None = None,
) -> Dimensions:
    """Choose the dimensions by one of the three solvers, with a certificate in every case.

    Parameters
    ----------
    constraints : Constraints
    k : int
        Number of clusters.
    solver : "authors", "paper" or "exact"
    horizon : int or None
        Number of eigenvectors known of each view that has more. None where all eigenvectors above
        rounding are known.
    preference : (m,) array or None
        Breaks remaining ties for `exact`: views with larger values get the larger dimension.

    Returns
    -------
    Dimensions
    """
    step(f"dimensions by {solver}")
    began = perf_counter()
    history: tuple[Round, ...] = ()
    if solver == "exact":
        found = optimum(constraints, authors(constraints, k)[0], preference)
        d, bound = found.d, found.lower_bound
    else:
        d, history = {"authors": authors, "paper": paper}[solver](constraints, k)
        bound = lower_bound(constraints, d)
    objective = int(d.sum())
    certificate = Certificate(
        objective=objective,
        lower_bound=bound,
        eigenvectors=int(constraints.upper.max()) if horizon is None else horizon,
        whole_spectrum=horizon is None or objective <= reach(constraints, horizon),
        seconds=perf_counter() - began,
    )
    return Dimensions(d, certificate, history)


def reach(constraints: Constraints, horizon: int) -> int:
    """Return the smallest sum of dimensions with an eigenvector beyond the horizon in any view."""
    return int(horizon + 1 + constraints.lower.sum() - constraints.lower.max())


def _common_start(constraints: Constraints, k: int) -> np.ndarray:
    for c in range(1, int(constraints.upper.max()) // k + 2):
        start = np.minimum(c * k, constraints.upper)
        if constraints.feasible(start):
            return start
    raise ValueError("no common start: these constraints cannot be met at all")


def _alternate(
    constraints: Constraints,
    start: np.ndarray,
    penalty: float,
    target: Callable[[np.ndarray, float, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, tuple[Round, ...]]:
    """Update d and d_hat in turn; double the penalty on their difference until they are equal."""
    d_hat = start
    history = []
    while True:
        d = target(d_hat, penalty, constraints.least(d_hat))
        d_hat = target(d, penalty, constraints.least(d))  # a fixed point where they are equal
        history.append(Round(penalty, tuple(d.tolist()), tuple(d_hat.tolist()), int(d.sum())))
        if np.array_equal(d, d_hat):
            return d, tuple(history)
        penalty *= 2
