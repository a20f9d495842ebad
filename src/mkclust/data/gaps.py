"""NaN cells inside tables: where they are, and the refusal of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import InputError
from .views import MultiView

FILL = 'fill them with missing="median" or missing="knn", or drop those rows or columns'
UNFILLED = "the model was fitted without filling NaN cells, so that new samples must have none"


def require_no_gaps(views: MultiView, advice: str = FILL) -> None:
    """Refuse NaN cells: how many, where, in which share of rows and columns, what to do."""
    with_gaps = [p for p in range(views.n_views) if views.gaps[p]]
    if not with_gaps:
        return
    p = with_gaps[0]
    also = [views.names[q] for q in with_gaps[1:]]
    raise InputError(
        f"view {views.names[p]!r} has {_described(views, p)}"
        + (f"; {', '.join(also)} {'has' if len(also) == 1 else 'have'} some too" if also else "")
        + f": {advice}; a sample may lack one of several views only as a whole, its row all NaN"
    )


def _described(views: MultiView, p: int) -> str:
    held = np.arange(len(views)) if views.present is None else np.flatnonzero(views.present[:, p])
    gaps = np.isnan(views.views[p][held])
    rows, columns = gaps.any(axis=1), gaps.any(axis=0)
    i, j = np.argwhere(gaps)[0]
    row = int(held[i])
    own: Any = None if views.index is None else views.index[row : row + 1].tolist()[0]
    whose = "" if own is None or own == row else f" ({own!r})"
    names = views.feature_names[p]
    count = "1 NaN cell" if gaps.sum() == 1 else f"{gaps.sum()} NaN cells"
    return (
        f"{count}, in {_share(rows, 'rows')} and {_share(columns, 'columns')}, the first at row "
        f"{row}{whose}, column {int(j) if names is None else repr(str(names[j]))}"
    )


def _share(mask: np.ndarray, what: str) -> str:
    return f"{mask.sum()} of {len(mask)} {what} ({100 * mask.mean():.2g} %)"
