"""Remove samples from views, or cells from tables, at random."""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse as sp

from ..data.views import MultiView
from ..exceptions import InputError

KINDS = ("rows", "cells")
NAMED = re.compile(rf"(?P<name>.+) (?P<kind>{'|'.join(KINDS)}) (?P<percent>\d+) %")


def parsed(name: str) -> tuple[str, tuple[str, float]] | None:
    """Split the name of a data set with gaps into that of the whole one, and kind and share.

    >>> parsed("MSRC-v1 rows 30 %")
    ('MSRC-v1', ('rows', 0.3))
    """
    found = NAMED.fullmatch(name)
    if found is None:
        return None
    share = int(found["percent"]) / 100
    if not 0 < share < 1:
        raise InputError(f"{name}: the share must be between 1 and 99 %")
    return found["name"], (found["kind"], share)


def with_gaps(views: MultiView, kind: str, share: float, seed: int) -> MultiView:
    """Remove a share of all (sample, view) pairs, or of the cells of every table.

    A sample keeps at least one view, and at least one cell of every view.

    >>> from mkclust.data.datasets import make_views
    >>> with_gaps(make_views(50, 2, 4, random_state=0), "rows", 0.25, 0).present.mean()
    np.float64(0.75)
    """
    rng = np.random.default_rng(seed)
    if kind == "rows":
        present = _presence(len(views), views.n_views, share, rng)
        return MultiView(views, present=present)
    if views.kernels or any(sp.issparse(view) for view in views.views):
        raise InputError("cells are removed from dense tables, not from kernels or sparse views")
    tables = [_without_cells(view, share, rng) for view in views.views]
    return MultiView(tables, names=views.names, labels=views.labels, index=views.index)


def _presence(n: int, m: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw which of the n m pairs are present, (n, m); pairs are removed in random order."""
    present = np.ones((n, m), dtype=bool)
    left = min(round(share * n * m), n * (m - 1))
    for pair in rng.permutation(n * m):
        if not left:
            break
        i, p = divmod(pair, m)
        if present[i].sum() > 1:
            present[i, p] = False
            left -= 1
    return present


def _without_cells(view: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    removed = rng.random(view.shape) < share
    rows = np.arange(len(view))
    removed[rows, rng.integers(view.shape[1], size=len(view))] = False
    return np.where(removed, np.nan, view)
