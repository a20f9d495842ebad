"""Checks and a summary of the samples that each view holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import connected_components

from ..exceptions import InputError
from .views import MultiView


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
        "or MKC-DNM with approximation=None, drop the samples, or fill in the rows"
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
