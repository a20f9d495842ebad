"""Columns of new samples in the order of the fit, matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.alignment import rows_of, some_of
from ..data.frames import column_names, is_frame
from ..exceptions import ColumnsWarning, InputError, warn
from ..large.views import LargeViews

Names = np.ndarray | None


def column_order(what: str, fitted: Names, given: Names) -> np.ndarray | None:
    """Return the positions of the fitted columns among the given ones; None for all as they are.

    Missing columns raise InputError. Other columns are left out with a `ColumnsWarning`.

    >>> column_order("view 'a'", np.array(["x", "y"]), np.array(["y", "x"]))
    array([1, 0])
    """
    if given is None or (fitted is not None and np.array_equal(fitted, given)):
        return None
    if fitted is None:
        warn(
            f"{what} has column names, but the model was fitted without: its columns are taken by "
            "position",
            ColumnsWarning,
        )
        return None
    for names, whose in ((fitted, "as it was fitted"), (given, "of the new samples")):
        twice = [name for name, count in zip(*np.unique(names, return_counts=True), strict=True)
                 if count > 1]  # fmt: skip
        if twice:
            raise InputError(f"{what} {whose} has several columns named {listed(twice)}")
    order = rows_of(fitted, given)
    lacking = fitted[order < 0]
    if len(lacking):
        raise InputError(
            f"{what} lacks {len(lacking)} of the {len(fitted)} columns that the model was fitted "
            f"to: {listed(lacking)}"
        )
    extra = [name for name, place in zip(given, rows_of(given, fitted), strict=True) if place < 0]
    if extra:
        count = "1 column" if len(extra) == 1 else f"{len(extra)} columns"
        warn(
            f"{what}: {count} that the model was not fitted to "
            f"{'was' if len(extra) == 1 else 'were'} ignored: {listed(extra)}",
            ColumnsWarning,
        )
    return order


def with_columns(view: Any, order: np.ndarray | None) -> Any:
    """Return the columns of a frame, an array or a sparse matrix in another order."""
    if order is None:
        return view
    return view.iloc[:, order] if is_frame(view) else view[:, order.tolist()]


def frame_in_order(what: str, view: Any, fitted: Names) -> Any:
    """Return a frame with the fitted columns; unchanged where it or the fit has no names."""
    if fitted is None:
        return view
    return with_columns(view, column_order(what, fitted, column_names(view)))


def views_in_order(views: Any, names: Sequence[str], fitted: Sequence[Names]) -> Any:
    """Return views by the names and with the columns of the fit.

    Parameters
    ----------
    views : MultiView or LargeViews
    names : sequence of str
        Names of the fitted views.
    fitted : sequence of (f_p,) arrays or None
        Their column names.
    """
    if set(views.names) != set(names):
        raise InputError(
            f"the model was fitted on the views {', '.join(names)}, but got "
            f"{', '.join(views.names)}"
        )
    at = [views.names.index(name) for name in names]
    orders = [
        column_order(f"view {name!r}", own, views.feature_names[p])
        for name, own, p in zip(names, fitted, at, strict=True)
    ]
    if views.names == tuple(names) and all(order is None for order in orders):
        return views
    if isinstance(views, LargeViews):
        return views.with_columns(names, orders)
    views = views.select(names)
    if all(order is None for order in orders):
        return views
    pairs = zip(views.feature_names, orders, fitted, strict=True)
    return views._changed(
        [with_columns(view, order) for view, order in zip(views.views, orders, strict=True)],
        feature_names=[own if order is None else known for own, order, known in pairs],
    )


def check_width(name: str, width: int, fitted: int, what: str = "the same columns") -> None:
    """Refuse new samples with another number of columns than the fit."""
    if width != fitted:
        raise InputError(
            f"view {name!r} has {width} columns, but was fitted on {fitted}: new samples need "
            f"{what}"
        )


def listed(names: Sequence[Any] | np.ndarray) -> str:
    """Return the first names, as texts, and the number of the others."""
    return some_of([str(name) for name in names])
