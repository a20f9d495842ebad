"""What one unit of work came to: the row that tables and figures are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DONE = "done"
OUT_OF_MEMORY = "N/A: out of memory"
OUT_OF_TIME = "N/A: out of time"
FAILED = "failed"
STATUSES = (DONE, OUT_OF_MEMORY, OUT_OF_TIME, FAILED)  # "failed: " is followed by the message


@dataclass(frozen=True)
class Record:
    """One finished unit: a method with its parameters on one data set.

    `metrics` maps ``acc``, ``nmi`` (over the larger entropy), ``nmi-arithmetic``, ``purity`` and
    ``ari`` to mean and standard deviation over the repetitions, as fractions of one. `tuned` says
    that the unit is one point of a grid from which the best is chosen with labels; `cpu`, `wall`
    are seconds of the unit itself, `shared_cpu` those of the kernels and their eigenvectors that
    it used, which all units of the data set share; `peak` is its resident memory in bytes.

    A method's tuned figure is, for each metric on its own, the best over its records with
    `tuned`. One without parameters has a tuned record as well, equal to its default one, and the
    best single view is a grid over views (parameter ``view``): it exists as tuned only.

    >>> Record("quick", "Mfeat", "akkm", {}, False, 0, DONE, {"acc": (0.9, 0.01)}, 1, 1, 1, 2).ok
    True
    """

    suite: str
    dataset: str
    method: str
    parameters: Mapping[str, Any]
    tuned: bool
    seed: int
    status: str
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0
    shared_cpu: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there are metrics."""
        return self.status == DONE
