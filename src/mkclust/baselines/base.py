"""What the compared methods share: an objective's trace, a stopping rule, published grids."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..base import MultiViewClusterer
from ..exceptions import ConvergenceWarning, InputError, warn

POWERS_OF_TWO = tuple(2.0**exponent for exponent in range(-15, 16))  # the grid most papers share


class Trace:
    """Objective values of one run and its stopping rule: relative change below `tolerance`.

    The test is first made at iteration `after` + 1, counted from 1; `cap` ends the run anyway.

    >>> trace = Trace(tolerance=0.1, after=2, cap=50)
    >>> [trace.ends_with(value) for value in (4.0, 4.0, 4.1)]
    [False, False, True]
    >>> trace.converged
    True
    """

    def __init__(self, tolerance: float, after: int, cap: int) -> None:
        self.tolerance, self.after, self.cap = tolerance, after, cap
        self.values: list[float] = []
        self.converged = False

    @property
    def iteration(self) -> int:
        """The number of the iteration under way, counted from 1."""
        return len(self.values) + 1

    def ends_with(self, value: float) -> bool:
        """Record one iteration's objective; whether it was the last."""
        due = len(self.values) >= max(self.after, 1)
        settled = due and abs(value - self.values[-1]) <= self.tolerance * abs(value)
        return self.record(value, settled)

    def record(self, value: float, settled: bool) -> bool:
        """As `ends_with`, for a method with its own test of having settled."""
        self.values.append(float(value))
        self.converged = bool(settled)
        return self.converged or len(self.values) >= self.cap


class ComparedMethod(MultiViewClusterer):
    """A method of the paper's comparison: fitted, it says how it came to its end.

    Attributes
    ----------
    labels_ : (n,) int array
    objective_history_ : (n_iter_,) array; not of CAGL, which has no one objective
    n_iter_ : int
    converged_ : bool, False when it stopped at its cap
    """

    @classmethod
    def published_grid(cls, k: int) -> list[dict[str, Any]]:
        """The settings its authors tuned it over, for k clusters; one empty one without any."""
        return [dict(zip(cls.grid, values, strict=True)) for values in product(*cls.grid.values())]

    def __getattr__(self, name: str) -> Any:
        """Say why there is no `predict`, where Python would only say that there is none."""
        if name in ("predict", "transform"):
            raise AttributeError(
                f"{type(self).__name__} has no {name}: {self.title} says nothing about samples "
                "that were not fitted; fit again with them, or take MKCDNM"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _keep(self, trace: Trace) -> None:
        """Store the trace; warn when the run ended at its cap."""
        self.objective_history_ = np.array(trace.values)
        self.n_iter_ = len(trace.values)
        self.converged_ = trace.converged
        if not trace.converged:
            warn(
                f"{self.title} stopped at its cap of {trace.cap} iterations before it settled",
                ConvergenceWarning,
            )


def checked_number(name: str, value: Any, above: bool = False) -> float:
    """A finite number of at least zero, or above zero, or an InputError."""
    number = float(value) if isinstance(value, Real) else np.nan
    if not (number > 0 if above else number >= 0) or number == np.inf:
        least = "above 0" if above else "of at least 0"
        raise InputError(f"{name} must be a finite number {least}, got {value!r}")
    return number


def checked_count(name: str, value: Any) -> int:
    """A whole number of at least one, or an InputError."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)
