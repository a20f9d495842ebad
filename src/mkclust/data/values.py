"""Values as the checks of matrices expect them: masked cells as NaN, no datetimes."""

from __future__ import annotations

import sys
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from .alignment import some_of
from .frames import is_frame, is_polars, text_columns

LARGEST = sys.float_info.max
ADVICE = (
    "which are not numbers: convert them, such as to days by (t - t.min()) / "
    "np.timedelta64(1, 'D'), or drop them"
)
DATES = (date, time, timedelta, np.datetime64, np.timedelta64)  # pandas' NaT is none of them


def plain_values(view: Any, name: str) -> Any:
    """Return a view with NaN for masked cells; other views are unchanged.

    Refused are empty frames, datetimes, integers beyond the range of floats, and sparse matrices
    with indices out of range, which compiled code would follow.

    >>> plain_values(np.ma.array([[1, 2]], mask=[[False, True]]), "rna")
    array([[ 1., nan]])
    """
    if isinstance(view, np.ma.MaskedArray):
        view = _filled(view) if np.ma.is_masked(view) else np.ma.getdata(view)
    if is_frame(view) or is_polars(view):
        refuse_empty(view, name)
        _refuse_date_columns(view, name)
        return view
    if sp.issparse(view):
        _check_indices(view, name)
        return view
    array = view
    if isinstance(view, (list, tuple)):
        try:
            array = np.asarray(view)
        except ValueError:  # rows of several lengths, which are refused later
            return view
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise InputError(f"view {name!r} holds datetimes ({array.dtype}), {ADVICE}")
    if kind == "O":
        _check_objects(array, name)
    return view


def _check_objects(array: Any, name: str) -> None:
    for value in np.ravel(array):
        if isinstance(value, DATES) or type(value).__name__ == "NaTType":
            raise InputError(f"view {name!r} holds datetimes, {ADVICE}")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise InputError(
                f"view {name!r} has an integer beyond the range of floating-point numbers "
                f"({LARGEST:.1e}): scale the column or drop it"
            )


def _check_indices(matrix: Any, name: str) -> None:
    """Refuse sparse matrices whose indices or pointers are out of range: O(stored entries)."""
    if matrix.format == "coo":
        within = all(_within(c, size) for c, size in zip(matrix.coords, matrix.shape, strict=True))
    elif matrix.format in ("csr", "csc", "bsr"):
        rows, columns = (matrix.shape[::-1] if matrix.format == "csc" else matrix.shape)[-2:]
        height, width = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        pointers, indices = matrix.indptr, matrix.indices
        within = (
            len(pointers) == rows // height + 1
            and pointers[0] == 0
            and bool((np.diff(pointers) >= 0).all())
            and pointers[-1] <= min(len(indices), len(matrix.data))
            and _within(indices[: pointers[-1]], columns // width)
        )
    else:
        return
    if not within:
        raise InputError(
            f"view {name!r} is a sparse matrix with indices outside its shape {matrix.shape}: it "
            "is damaged; build it again from its entries"
        )


def _within(indices: np.ndarray, size: int) -> bool:
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < size)


def refuse_empty(view: Any, name: str) -> None:
    """Refuse a view without rows or without columns."""
    rows, columns = view.shape
    if rows == 0:
        raise InputError(f"view {name!r} is empty: found array with 0 sample(s)")
    if columns == 0:
        raise InputError(
            f"view {name!r} is empty: 0 feature(s) (shape={view.shape}) while a minimum of 1 is "
            "required."
        )


def encodable(name: str) -> str:
    """Return a name with escapes for bytes of file names that are not UTF-8.

    >>> encodable("rna"), encodable("rna" + chr(0xDCFF))
    ('rna', 'rna\\\\xff')
    """
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _filled(view: Any) -> np.ndarray:
    if view.dtype.kind in "biu":
        view = view.astype(np.float64)
    # other kinds are refused, masked or not
    return np.asarray(view.filled(np.nan) if view.dtype.kind in "fO" else view.data)


def _refuse_date_columns(frame: Any, name: str) -> None:
    """Refuse a frame of which no other columns are to be converted than those with datetimes."""
    if is_polars(frame):
        dates = [column for column, kind in frame.schema.items() if kind.is_temporal()]
    else:
        kinds = frame.dtypes.items()
        dates = [column for column, kind in kinds if getattr(kind, "kind", "O") in "mM"]
    if dates and len(dates) == len(text_columns(frame)):
        count = "a column" if len(dates) == 1 else f"{len(dates)} columns"
        shown = some_of(dates, " ...")
        raise InputError(f"view {name!r} has {count} of datetimes ({shown}), {ADVICE}")
