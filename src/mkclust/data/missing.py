"""What views lack, samples or single cells: checks, refusals and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from ..exceptions import InputError
from .views import MultiView

FILL = 'fill them with missing="median" or missing="knn", or drop those rows or columns'
UNFILLED = "the model was fitted without filling NaN cells, so that new samples must have none"


def require_complete(views: MultiView, who: str, placing: bool = False) -> None:
    """Refuse views that lack samples, naming the first; `who` is the method that needs all.

    `placing` says whether the method has ``missing_rows="complete"``.
    """
    if views.present is None:
        return
    i, p = np.argwhere(~views.present)[0]
    sample = i if views.index is None else repr(views.index[i : i + 1].tolist()[0])
    raise InputError(
        f"view {views.names[p]!r} lacks sample {sample} (NaN; {int((~views.present).sum())} rows "
        f"are missing in all views), and {who} needs every sample in every view: use graph fusion, "
        "or MKC-DNM, drop the samples, or fill in the rows"
        + ('; missing_rows="complete" fits the complete samples and places the others by their '
           "neighbors" if placing else "")
    )  # fmt: skip


def check_presence(views: MultiView, k: int) -> tuple[str, ...]:
    """Return notes on missing samples; InputError where too few are left for k clusters."""
    if views.present is None:
        return ()
    common = common_rows(views.present)
    for name, held in zip(views.names, np.diagonal(common), strict=True):
        if held < max(k, 2):
            raise InputError(
                f"view {name!r} holds {held} of the {len(views)} samples, too few for {k} "
                "clusters: leave the view out"
            )
    _check_linked(common, views.names, k)
    apart = [
        f"{views.names[p]} and {views.names[q]}"
        for p, q in np.argwhere(np.triu(common <= k, 1)).tolist()
    ]
    note = f"Too few samples in common to be compared: {', '.join(apart)}."
    return (presence_words(views.present, views.names), *([note] if apart else []))


def presence_words(present: np.ndarray, names: Sequence[str]) -> str:
    """Return a sentence with the number of samples that lack views.

    >>> print(presence_words(np.array([[True, True], [True, False]]), ["rna", "protein"]))
    1 of 2 samples lack at least one view (missing: 1 of protein); 1 are in one view only.
    """
    support = present.sum(axis=1)
    gone = [f"{n} of {name}" for name, n in zip(names, (~present).sum(axis=0), strict=True) if n]
    lacking, alone = np.count_nonzero(support < len(names)), np.count_nonzero(support == 1)
    return (
        f"{lacking} of {len(present)} samples lack at least one view (missing: {', '.join(gone)}); "
        f"{alone} are in one view only."
    )


def _check_linked(common: np.ndarray, names: Sequence[str], k: int) -> None:
    """Refuse groups of views that share at most k samples: clusters cannot be matched."""
    groups, group = connected_components(common > k, directed=False)
    if groups > 1:
        apart = (", ".join(np.asarray(names)[group == g]) for g in range(groups))
        raise InputError(
            f"no more than {k} samples are common to any two of these groups of views: "
            f"{' / '.join(apart)}. The clusters of one group cannot be matched with another's: "
            "cluster each group separately, or add samples that both have"
        )


def common_rows(present: np.ndarray) -> np.ndarray:
    """Return the number of samples in both views of each pair, (m, m).

    >>> common_rows(np.array([[True, True], [True, False], [False, True]]))
    array([[2, 1],
           [1, 2]])
    """
    counts = present.astype(np.int64)
    return np.asarray(counts.T @ counts)


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
