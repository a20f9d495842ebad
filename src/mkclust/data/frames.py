"""Recognition of pandas and polars frames without importing either package."""

from __future__ import annotations

from typing import Any


def is_frame(value: Any) -> bool:
    """Return whether `value` is a pandas frame, whose index names its rows."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_polars(value: Any) -> bool:
    """Return whether `value` is a polars frame, whose rows have no names."""
    return type(value).__module__.startswith("polars") and hasattr(value, "get_columns")


def text_columns(view: Any) -> list[Any]:
    """Return the names of the non-numeric columns of a frame; none for anything else."""
    if is_polars(view):
        kinds = view.schema.items()
        return [name for name, kind in kinds if not (kind.is_numeric() or str(kind) == "Boolean")]
    if not is_frame(view):
        return []
    return [name for name, kind in view.dtypes.items() if getattr(kind, "kind", "O") not in "iufb"]
