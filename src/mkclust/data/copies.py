"""Samples that are equal in every view: found, fitted once, and kept in one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import DegenerateWarning, warn
from .views import MultiView

BLOCK = 1 << 20  # entries at a time
FEW = 100  # rows at a time, of which the first few are usually enough
PER_SAMPLE = ("labels_", "embedding_")  # fitted attributes with a row per sample
PER_PAIR = ("graph_", "kernel_")  # with a row and a column per sample


@dataclass(frozen=True)
class Copies:
    """The samples that are equal in every view.

    Attributes
    ----------
    group : (n,) int array
        A number from 0 on for every distinct sample, in the order in which they appear.
    """

    group: np.ndarray

    @property
    def n_distinct(self) -> int:
        return int(self.group.max()) + 1

    @property
    def first(self) -> np.ndarray:
        """Positions of the first sample of every group, ascending."""
        return np.asarray(np.unique(self.group, return_index=True)[1])

    @property
    def prevail(self) -> bool:
        """Whether most samples are copies of others, so that neighbors are mostly copies."""
        return 2 * self.n_distinct < len(self.group)

    def distinct(self, views: MultiView) -> MultiView:
        """Return the views with the first sample of every group."""
        found: MultiView = views[self.first]
        return found

    def spread(self, model: Any) -> None:
        """Extend a model that was fitted to the distinct samples: all copies are alike.

        ``model._distinct`` has the positions of the distinct samples.
        """
        model._distinct = self.first
        for name in PER_SAMPLE:
            if hasattr(model, name):
                setattr(model, name, np.asarray(getattr(model, name))[self.group])
        for name in PER_PAIR:
            if hasattr(model, name):
                setattr(model, name, getattr(model, name)[self.group][:, self.group])
        spectra = getattr(model, "_spectra", None)
        if spectra is not None and all(len(H) == self.n_distinct for H in spectra.heads):
            heads = tuple(H[self.group] for H in spectra.heads)
            model._spectra = replace(spectra, heads=heads)

    def first_of_each(self, model: Any) -> Any:
        """Return a copy of an extended model with the rows of the distinct samples only."""
        small = copy(model)
        for name in PER_SAMPLE:
            if hasattr(model, name):
                setattr(small, name, np.asarray(getattr(model, name))[self.first])
        return small

    def united(self, labels: np.ndarray) -> np.ndarray:
        """Return labels (n,) with all copies in one cluster: that of most of them.

        Between clusters with equally many copies, the largest is taken.

        >>> Copies(np.array([0, 0, 0, 1])).united(np.array([1, 1, 0, 0])).tolist()
        [1, 1, 1, 0]
        """
        low = np.full(self.n_distinct, np.iinfo(np.int64).max)
        high = np.full(self.n_distinct, -1)
        np.minimum.at(low, self.group, labels)
        np.maximum.at(high, self.group, labels)
        found, sizes = labels.copy(), np.bincount(labels)
        for group in np.flatnonzero(low < high):
            members = np.flatnonzero(self.group == group)
            counts = np.bincount(labels[members], minlength=len(sizes))
            found[members] = np.lexsort((sizes, counts))[-1]
        return found


def fit_copies_once(model: Any, views: MultiView, k: int, tables: bool = True) -> None:
    """Call ``model._fit(views, k)`` so that samples that are equal in every view share a cluster.

    Where most samples are copies, the distinct samples are fitted and the model is extended to
    all: in a graph of neighbors the copies would see nothing but each other. Else, and where not
    all views are tables, all samples are fitted, and copies that were divided go to the cluster
    of most of them. Both are told in a warning and in ``model.notes_``.
    """
    copies = copies_in(views)
    note, n = "", len(views)
    if copies is not None and copies.prevail and tables:
        model._fit(copies.distinct(views), k)
        copies.spread(model)
        note = (
            f"{n - copies.n_distinct} of {n} samples are equal to others in every view: the "
            f"{copies.n_distinct} distinct samples were clustered"
        )
    else:
        model._fit(views, k)
        if copies is not None:
            note = _unite(model, copies, tables)
    if note:
        model.notes_ = (*getattr(model, "notes_", ()), note)
        warn(note, DegenerateWarning)


def _unite(model: Any, copies: Copies, tables: bool) -> str:
    """Give copies the label of most of them; return what was done, or nothing."""
    united = copies.united(model.labels_)
    moved = np.count_nonzero(united != model.labels_)
    asked, left = len(np.unique(model.labels_)), len(np.unique(united))
    if not moved:
        return ""
    if left < asked and not tables:
        return (
            f"samples that are equal in every kernel are in different clusters: together they "
            f"would leave {left} of {asked} clusters"
        )
    model.labels_ = united  # numbered as before: predict uses the same centers
    fewer = f"; {left} clusters of {asked} are left" if left < asked else ""
    return (
        f"{moved} samples were moved to the cluster of most of their copies: samples that are "
        f"equal in every view share a cluster{fewer}"
    )


def copies_in(views: MultiView) -> Copies | None:
    """Find samples that are equal in every view, absent in the same views, too; None for none.

    Narrow views come first, and only samples that have copies so far are compared in the next.
    O(n) dictionary entries and O(n f) bytes.
    """
    n = len(views)
    group = np.zeros(n, dtype=np.int64)
    if views.present is not None:
        group = np.unique(views.present, axis=0, return_inverse=True)[1].reshape(n)
    for p in np.argsort(views.widths, kind="stable"):
        several = np.flatnonzero(np.bincount(group)[group] > 1)
        if not len(several):
            return None
        ids: dict[tuple[int, bytes], int] = {}
        refined = [
            ids.setdefault((before, row), len(ids))
            for before, row in zip(
                group[several].tolist(), _rows(views.views[p], several), strict=True
            )
        ]
        group[several] = n + np.array(refined)
        group = np.unique(group, return_inverse=True)[1].reshape(n)
    if len(np.unique(group)) == n:
        return None
    order = np.unique(group, return_index=True)[1].argsort()
    return Copies(order.argsort()[group])


def distinct_rows(views: MultiView, enough: int) -> int:
    """Count different samples until there are `enough`: usually the first few."""
    seen: set[bytes] = set()
    for start in range(0, len(views), FEW):
        some = np.arange(start, min(start + FEW, len(views)))
        for row in zip(*(_rows(view, some) for view in views.views), strict=True):
            seen.add(b"|".join(row))
            if len(seen) >= enough:
                return len(seen)
    return len(seen)


def _rows(view: Any, rows: np.ndarray) -> Iterator[bytes]:
    """Yield the contents of some rows; equal rows have equal bytes, dense or sparse."""
    if sp.issparse(view):
        for i in rows:
            span = slice(view.indptr[i], view.indptr[i + 1])
            stored = view.data[span] != 0
            order = np.argsort(view.indices[span][stored])
            parts = view.indices[span][stored][order], view.data[span][stored][order]
            yield b"".join(part.tobytes() for part in parts)
        return
    height = max(1, BLOCK // max(1, view.shape[1]))
    for start in range(0, len(rows), height):
        block = view[rows[start : start + height]] + 0  # turns a negative zero into zero
        yield from (row.tobytes() for row in block)
