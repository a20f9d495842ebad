"""Values that are no numbers in disguise: masked cells, and datetimes."""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np

from ..exceptions import InputError
from .frames import is_frame, is_polars, text_columns

SHOWN = 5  # columns that an error lists
DATES = (date, time, timedelta, np.datetime64, np.timedelta64)  # pandas' NaT is none of them


def with_nan(view: Any, name: str) -> Any:
    """Return a view with NaN for masked cells; refuse datetimes. Other views are unchanged.

    >>> with_nan(np.ma.array([[1, 2]], mask=[[False, True]]), "rna")
    array([[ 1., nan]])
    """
    if isinstance(view, np.ma.MaskedArray):
        view = _filled(view) if np.ma.is_masked(view) else np.ma.getdata(view)
    if is_frame(view) or is_polars(view):
        _refuse_date_columns(view, name)
        return view
    array = view
    if isinstance(view, (list, tuple)):
        try:
            array = np.asarray(view)
        except ValueError:  # rows of several lengths, which are refused later
            return view
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise InputError(f"view {name!r} holds datetimes ({array.dtype}), {_advice()}")
    if kind == "O" and any(_is_date(value) for value in np.ravel(array)):
        raise InputError(f"view {name!r} holds datetimes, {_advice()}")
    return view


def _filled(view: Any) -> np.ndarray:
    if view.dtype.kind in "biu":
        view = view.astype(np.float64)
    # other kinds are refused, masked or not
    return np.asarray(view.filled(np.nan) if view.dtype.kind in "fO" else view.data)


def _is_date(value: Any) -> bool:
    return isinstance(value, DATES) or type(value).__name__ == "NaTType"


def _refuse_date_columns(frame: Any, name: str) -> None:
    """Refuse a frame of which no other columns are to be converted than those with datetimes."""
    if is_polars(frame):
        dates = [column for column, kind in frame.schema.items() if kind.is_temporal()]
    else:
        kinds = frame.dtypes.items()
        dates = [column for column, kind in kinds if getattr(kind, "kind", "O") in "mM"]
    if dates and len(dates) == len(text_columns(frame)):
        shown = ", ".join(map(repr, dates[:SHOWN])) + (" ..." if len(dates) > SHOWN else "")
        count = "a column" if len(dates) == 1 else f"{len(dates)} columns"
        raise InputError(f"view {name!r} has {count} of datetimes ({shown}), {_advice()}")


def _advice() -> str:
    return (
        "which are not numbers: convert them, such as to days by (t - t.min()) / "
        "np.timedelta64(1, 'D'), or drop them"
    )
