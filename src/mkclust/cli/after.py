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
from ..io._guards.limits import check_regular, naming
from ..io.manifest import refuse_result


@dataclass(frozen=True)
class Clinical:
    """The table of --annotations, aligned with the samples, and how to compare it."""

    table: Any
    time: str | None
    event: str | None
    correction: str

    @classmethod
    def read(
        cls, path: Path, time: str | None, event: str | None, correction: str, index: Any
    ) -> Clinical:
        """Read the table and check, before the fit, that it names samples and has the columns."""
        if index is None:
            raise InputError(
                "--annotations needs samples with names, so that its rows can be matched; the "
                "views have none (--index names the column)"
            )
        table = _by_sample(_frame(path), np.asarray(index).astype(str), path)
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


def _frame(path: Path) -> Any:
    """Read a table with all its columns; names stay text."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError("--annotations needs pandas: pip install 'mkclust[pandas]'") from None
    with naming(path):
        check_regular(path)
        refuse_result(path)
        kind = [suffix for suffix in path.suffixes if suffix != ".gz"][-1:]
        try:
            if kind == [".parquet"]:
                return pd.read_parquet(path).reset_index()
            return pd.read_csv(path, sep="\t" if kind in ([".tsv"], [".txt"]) else ",")
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(f"it cannot be read as a table: {error}") from None


def _by_sample(table: Any, names: np.ndarray, path: Path) -> Any:
    """Index a table by the column that holds most sample names, and drop copies of it."""
    shares = [table[column].astype(str).isin(names).mean() for column in table.columns]
    if not shares or max(shares) == 0:
        raise InputError(
            f"{path}: no column holds names of the samples, such as {str(names[0])!r}; its columns "
            f"are {', '.join(map(str, table.columns))}"
        )
    key = table.columns[int(np.argmax(shares))]
    copies = [c for c in table.columns if c != key and (table[c] == table[key]).all()]
    found = table.assign(**{key: table[key].astype(str)}).set_index(key).drop(columns=copies)
    if not found.index.is_unique:
        twice = found.index[found.index.duplicated()][0]
        raise InputError(f"{path}: several rows are of the sample {twice!r}")
    return found
