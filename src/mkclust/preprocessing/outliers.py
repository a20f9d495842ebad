"""Samples whose values are so large that they alone decide scaling and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.views import MultiView
from ..exceptions import OutlierWarning, warn

FACTOR = 1e5  # times the median; real data sets have up to 1e4
SHOWN = 5  # samples that a warning names


def warn_of_outliers(views: MultiView) -> None:
    """Warn of samples whose largest value is 100 000 times larger than usual in a view.

    The usual value is the median over the samples of their largest absolute values, without
    zeros. Nothing is changed. O(n f).
    """
    found: dict[int, list[str]] = {}
    factor = 0.0
    for p, name in enumerate(views.names):
        size = largest_values(views.views[p])
        positive = size[size > 0]
        usual = float(np.quantile(positive, 0.5, method="lower")) if len(positive) else np.inf
        for i in np.flatnonzero(size / FACTOR > usual).tolist():
            found.setdefault(i, []).append(name)
            factor = max(factor, float(size[i]) / usual)
    if not found or 2 * len(found) > len(views):
        return
    samples = [_named(views, i) for i in list(found)[:SHOWN]]
    samples += [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    inside = dict.fromkeys(name for names in found.values() for name in names)
    warn(
        f"{', '.join(samples)}: values up to {factor:.0e} times larger than usual in "
        f"{', '.join(inside)}. Such a sample can decide scaling and clusters alone; check it, or "
        "leave it out",
        OutlierWarning,
    )


def largest_values(view: Any) -> np.ndarray:
    """Return the largest absolute value of every row (n,); 0 where all are missing."""
    if sp.issparse(view):
        ends = (view.max(axis=1).toarray().ravel(), view.min(axis=1).toarray().ravel())
    else:
        ends = (view.max(axis=1), view.min(axis=1))
    with np.errstate(invalid="ignore", over="ignore"):
        top = np.max([np.abs(end.astype(np.float64)) for end in ends], axis=0)
    return np.asarray(np.nan_to_num(top, nan=0.0, posinf=np.inf))


def _named(views: MultiView, i: int) -> str:
    return f"sample {i}" if views.index is None else f"sample {views.index[i]}"
