"""Data frames of pandas and polars, told apart without importing either."""

from __future__ import annotations

from typing import Any


def is_frame(value: Any) -> bool:
    """Whether it is a pandas frame: one with an index that names its rows."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_polars(value: Any) -> bool:
    """Whether it is a polars frame: its rows have no names, only an order."""
    return type(value).__module__.startswith("polars") and hasattr(value, "get_columns")


def text_columns(view: Any) -> list[Any]:
    """Names of the columns of a frame that are not numbers; none for anything else."""
    if is_polars(view):
        kinds = view.schema.items()
        return [name for name, kind in kinds if not (kind.is_numeric() or str(kind) == "Boolean")]
    if not is_frame(view):
        return []
    return [name for name, kind in view.dtypes.items() if getattr(kind, "kind", "O") not in "iufb"]
