"""The record of a finished unit, from which tables and figures are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DONE = "done"
OUT_OF_MEMORY = "N/A: out of memory"
OUT_OF_TIME = "N/A: out of time"
FAILED = "failed"
STATUSES = (DONE, OUT_OF_MEMORY, OUT_OF_TIME, FAILED)  # a message follows "failed: "


@dataclass(frozen=True)
class Record:
    """One finished unit: a method with its parameters on one data set.

    `metrics` maps ``acc``, ``nmi`` (divided by the larger entropy), ``nmi-arithmetic``, ``purity``
    and ``ari`` to mean and standard deviation over the repetitions, as fractions. `tuned` marks a
    point of a grid, of which the best is chosen with labels. `cpu` and `wall` are seconds of the
    unit itself; `shared_cpu` are those of the kernels and eigenvectors that all units of the data
    set share. `peak` is resident memory in bytes. `order` is the order of rows.

    The tuned score of a method is, for each metric separately, the best over its records with
    `tuned`. A method without parameters has a tuned record equal to its default one. The best
    single view is a grid over the parameter ``view`` and has tuned records only.

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
    order: str = "shuffled"

    @property
    def ok(self) -> bool:
        """Whether the unit succeeded, so that it has metrics."""
        return self.status == DONE
