"""What labels are scored against: known classes, or the survival of patients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..inspection.survival import survival, survival_columns
from ..metrics import accuracy, ari, nmi, purity

LOG_RANK = "logrank"
Scores = dict[tuple[str, str], float]  # by metric and normalizer
METRICS: dict[tuple[str, str], Callable[[Any, Any], float]] = {
    ("acc", ""): accuracy,
    ("nmi", "max"): nmi,
    ("nmi", "arithmetic"): partial(nmi, normalizer="arithmetic"),
    ("purity", ""): purity,
    ("ari", ""): ari,
}


@dataclass(frozen=True)
class Classes:
    """Known classes as integers from 0, (n,), by which rows can be sorted."""

    values: np.ndarray

    def scores(self, labels: np.ndarray) -> Scores:
        """Return every metric of the labels (n,)."""
        return {name: metric(self.values, labels) for name, metric in METRICS.items()}


@dataclass(frozen=True)
class Survival:
    """Times (n,), by which rows can be sorted, and events, as pandas Series."""

    times: Any
    events: Any

    @property
    def values(self) -> np.ndarray:
        """The times."""
        return np.asarray(self.times, dtype=float)

    def scores(self, labels: np.ndarray) -> Scores:
        """Return -log10 of the p-value of the log-rank test that all clusters survive alike."""
        if len(np.unique(labels)) < 2:
            return {(LOG_RANK, ""): 0.0}
        p = survival(labels, self.times, self.events).p
        return {(LOG_RANK, ""): float(-np.log10(max(p, np.finfo(float).tiny)))}


Truth = Classes | Survival


def truth_in(path: Path, index: Any) -> Truth:
    """Read a table of samples by name: one column of classes, or times and events.

    Parameters
    ----------
    path : Path
        A CSV file, or a folder with one.
    index : (n,) array
        The names of the samples; each must be in the table.
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError(f'{path} needs pandas: pip install "mkclust[pandas]"') from None
    tables = [path] if path.is_file() else sorted(path.glob("*.csv"))
    if len(tables) != 1:
        raise InputError(f"{path} should be one CSV table, found {len(tables)}")
    table = pd.read_csv(tables[0], index_col=0)
    absent = [name for name in index if name not in table.index]
    if absent:
        raise InputError(f"{tables[0]} has no row for {len(absent)} samples, such as {absent[0]}")
    table = table.loc[list(index)]
    columns, remarks = survival_columns(table, None, None)
    if columns is not None:
        return Survival(*(table[name] for name in columns))
    if remarks:
        raise InputError(f"{tables[0]}: {remarks[0]}")
    return Classes(np.unique(table.iloc[:, 0].astype(str), return_inverse=True)[1])
