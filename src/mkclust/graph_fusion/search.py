"""The rule that decides how graph fusion finds neighbors."""

from __future__ import annotations

from ..data.memory import physical_memory, size_of
from ..data.views import MultiView
from ..exceptions import InputError
from ..graphs.neighbors import EXACT_UP_TO
from ..large.views import LargeViews, row_bytes

SEARCHES = ("auto", "exact", "anchors")
EDGES = 200  # per sample and view, in an affinity graph and what it is made from
COPIES = 6  # of the views: their metrics, and all of them together


def neighbor_search(views: MultiView | LargeViews, asked: str = "auto") -> str:
    """Return ``"exact"`` or ``"anchors"``: how the neighbors of all samples are found.

    The rule, in this order, where ``"auto"`` is asked for:

    1. Given kernels contain all distances: exact.
    2. Up to 20 000 samples, if the exact graphs fit in half the memory: exact.
    3. Else anchors, for arrays, sparse matrices and rows on disk alike.

    Nothing but the search depends on it: metrics, view weights, fusion, diffusion map and k-means
    are the same.

    >>> import numpy as np
    >>> neighbor_search(MultiView([np.eye(30)]))
    'exact'
    """
    if asked not in SEARCHES:
        raise InputError(f'neighbors must be "auto", "exact" or "anchors", got {asked!r}')
    if views.kernels:
        if asked == "anchors":
            raise InputError('kernels have no anchors: use neighbors="auto" or "exact"')
        return "exact"
    if asked != "auto":
        return asked
    few = len(views) <= EXACT_UP_TO and graph_memory(views) <= physical_memory() / 2
    return "exact" if few else "anchors"


def graph_memory(views: MultiView | LargeViews) -> float:
    """Return the bytes that exact graphs of all views need, about; sparse views stay sparse."""
    graphs = 16.0 * EDGES * len(views) * (views.n_views + 1)
    if isinstance(views, LargeViews):
        return graphs + COPIES * float(row_bytes(views)) * len(views)
    return graphs + COPIES * sum(size_of(view) for view in views.views)


def check_memory(views: MultiView) -> None:
    """Refuse, before the work, data whose exact graphs would not fit in half the memory."""
    needed = graph_memory(views)
    if needed > physical_memory() / 2:
        raise InputError(
            f"exact graphs of {len(views)} samples in {views.n_views} views need about "
            f"{needed / 2**30:.1f} GiB, more than half of this machine's memory; use "
            'neighbors="anchors", or fit a sample of the rows'
        )
