"""Clinical columns that are compared with the clusters after the fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..inspection import Annotations, compare_annotations
from ..inspection.annotations import CORRECTIONS
from ..inspection.survival import survival_columns, times_and_events
from ..io.files import naming
from ..io.manifest import refuse_result
from ..io.tables import match_samples, read_table
from ..io.untrusted import call_in_child
from .arguments import Reading


@dataclass(frozen=True)
class Clinical:
    """The table of --annotations, aligned with the samples, and how to compare it."""

    table: Any
    time: str | None
    event: str | None
    correction: str

    @classmethod
    def read(
        cls,
        path: Path,
        time: str | None,
        event: str | None,
        correction: str,
        index: Any,
        reading: Reading,
    ) -> Clinical:
        """Read the table and check, before the fit, that it names samples and has the columns."""
        if index is None:
            raise InputError(
                "--annotations needs samples with names, so that its rows can be matched; the "
                "views have none (--id names the column)"
            )
        with naming(path):
            refuse_result(path)
        limits = reading.limits()
        if limits.pop("untrusted"):
            table = call_in_child("read_table", path, {}, **limits)
        else:
            table = read_table(path)
        with naming(path):
            table = match_samples(table, index, reading.id)
        for option, name in (("--time", time), ("--event", event)):
            if name is not None and name not in table.columns:
                columns = ", ".join(map(str, table.columns))
                raise InputError(f"{option} {name} is no column of {path}; there are {columns}")
        if time is not None and event is not None:
            survival_columns(table, time, event)
            times_and_events(table[time], table[event])
        return cls(table, time, event, correction)

    def compared(self, labels: np.ndarray, index: Any) -> Annotations:
        """Compare the columns with the clusters."""
        return compare_annotations(
            labels, self.table, index=index, time=self.time, event=self.event,
            correction=self.correction,
        )  # fmt: skip


def found_annotations(
    clinical: Clinical | None, model: Any, index: Any
) -> tuple[list[Annotations], list[str]]:
    """Return the comparison of the annotations, and what was not compared."""
    if clinical is None:
        return [], []
    try:
        found = clinical.compared(model.labels_, index)
    except InputError as error:
        return [], [f"Annotations were not compared: {error}."]
    return [found], [f"Not compared: {reason.removesuffix('.')}." for reason in found.skipped]


def check_clinical(path: Path | None, time: str | None, event: str | None, correction: str) -> None:
    """Refuse options of the annotations that do not fit together, before anything is read."""
    if path is None and (time is not None or event is not None):
        raise InputError("--time and --event name columns of --annotations, which was not given")
    if (time is None) != (event is None):
        raise InputError("--time and --event must be given together")
    if correction not in CORRECTIONS:
        raise InputError(f"--correction must be holm or bh, got {correction!r}")
