"""Recognition of pandas and polars frames without importing either package."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_frame(value: Any) -> bool:
    """Return whether `value` is a pandas frame, whose index names its rows."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_polars(value: Any) -> bool:
    """Return whether `value` is a polars frame, whose rows have no names."""
    return type(value).__module__.startswith("polars") and hasattr(value, "get_columns")


def column_names(view: Any) -> np.ndarray | None:
    """Return the column names of a frame, (f,) objects of type str; None where it has none.

    Numbers that name columns are converted. The numbers 0, 1, ..., which pandas uses by default,
    are no names.
    """
    if not (is_frame(view) or is_polars(view)):
        return None
    columns = list(view.columns)
    if columns == list(range(len(columns))):
        return None
    return np.array([str(column) for column in columns], dtype=object)


def named_index(names: Any) -> Any:
    """Return names (n,) as a pandas Index of the type they have."""
    import pandas as pd

    return pd.Index(list(names), tupleize_cols=False)


def text_columns(view: Any) -> list[Any]:
    """Return the names of the non-numeric columns of a frame; none for anything else."""
    if is_polars(view):
        kinds = view.schema.items()
        return [name for name, kind in kinds if not (kind.is_numeric() or str(kind) == "Boolean")]
    if not is_frame(view):
        return []
    return [name for name, kind in view.dtypes.items() if getattr(kind, "kind", "O") not in "iufb"]
