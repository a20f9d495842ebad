"""Alignment of frames by sample names: reordered, or joined where samples differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from .frames import is_frame

SHOWN = 5  # names of samples or columns listed in an error or a note


@dataclass(frozen=True)
class Alignment:
    """The row of every sample in every view.

    Attributes
    ----------
    rows : tuple of (n,) int arrays or None
        Per view the row of each sample, -1 where the view lacks it; None where the view is
        unchanged.
    index : (n,) array or None
        Sample names; None without frames.
    notes : tuple of str
        Which views lack which samples.
    """

    rows: tuple[np.ndarray | None, ...]
    index: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def align(items: Sequence[Any], names: Sequence[str]) -> Alignment:
    """Find a common order: the samples of the first frame, then those that only others have.

    Views without sample names are accepted only if all frames have the same samples in the same
    order.
    """
    frames = [p for p, item in enumerate(items) if is_frame(item)]
    if not frames:
        return Alignment((None,) * len(items))
    first = items[frames[0]].index
    others = [p for p in frames[1:] if not items[p].index.equals(first)]
    if not others:
        return Alignment((None,) * len(items), first.to_numpy())
    _check_unique([(names[p], items[p].index) for p in (frames[0], *others)])
    if len(frames) < len(items):
        _refuse_unnamed(names[frames[0]], first, names[others[0]], items[others[0]].index)
    _check_linked([(names[p], items[p].index) for p in frames])
    every = first
    for p in others:
        every = every.append(items[p].index.difference(every, sort=False))
    rows = tuple(item.index.get_indexer(every) for item in items)
    notes = (lacking_words(name, every[row < 0]) for name, row in zip(names, rows, strict=True))
    return Alignment(rows, every.to_numpy(), tuple(note for note in notes if note))


def placed(matrix: Any, rows: np.ndarray | None, kernels: bool) -> Any:
    """Rearrange the rows of a matrix, and the columns of a kernel, as `rows` gives them.

    A sample the view lacks gets a row of NaN; in a sparse matrix a row of zeros.

    >>> placed(np.array([[1.0], [2.0]]), np.array([1, -1, 0]), False).ravel()
    array([ 2., nan,  1.])
    """
    if rows is None:
        return matrix
    there = np.flatnonzero(rows >= 0)
    n, own = len(rows), matrix.shape[0]
    if sp.issparse(matrix):
        S = sp.csr_array((np.ones(len(there)), (there, rows[there])), shape=(n, own))
        return sp.csr_array(S @ matrix @ S.T if kernels else S @ matrix)
    if len(there) == n:
        return matrix[rows][:, rows] if kernels else matrix[rows]
    dtype = matrix.dtype if matrix.dtype.kind == "f" else np.float64
    full = np.full((n, n if kernels else matrix.shape[1]), np.nan, dtype=dtype)
    if kernels:
        full[np.ix_(there, there)] = matrix[np.ix_(rows[there], rows[there])]
    else:
        full[there] = matrix[rows[there]]
    return full


def rows_of(samples: Iterable[Any], names: Iterable[Any]) -> np.ndarray:
    """Return the row of every sample (n,) among rows with these names, -1 where it has none.

    >>> rows_of(["b", "c"], ["a", "b"])
    array([ 1, -1])
    """
    place = {name: row for row, name in enumerate(names)}
    return np.array([place.get(sample, -1) for sample in samples], dtype=np.intp)


def presence(
    absent: Sequence[np.ndarray | None], rows: Sequence[np.ndarray | None], n: int
) -> np.ndarray | None:
    """Return which samples each view holds (n, m), from absent rows and `rows`; None for all."""
    if all(gone is None or not gone.any() for gone in absent) and all(
        row is None or (row >= 0).all() for row in rows
    ):
        return None
    present = np.ones((n, len(rows)), dtype=bool)
    for p, (gone, row) in enumerate(zip(absent, rows, strict=True)):
        if row is not None:
            present[:, p] = row >= 0
        if gone is not None:
            present[:, p] &= ~gone if row is None else ~gone[row]
    return present


def blanked(matrix: Any, absent: np.ndarray, kernels: bool) -> Any:
    """Replace the absent rows, and the columns of a kernel, by NaN or sparse zeros."""
    if not absent.any():
        return matrix
    rows = np.where(absent, -1, np.arange(len(absent)))
    return placed(matrix, rows, kernels)


def columns_as_rows(frame: Any) -> Any:
    """Reorder the columns of a kernel's frame as its rows, where both have the sample names."""
    same = frame.index.is_unique and set(frame.columns) == set(frame.index)
    return frame.loc[:, frame.index] if same else frame


def following(labels: Any, index: np.ndarray | None) -> Any:
    """Reorder labels that have sample names to the order of the views."""
    if index is None or not hasattr(labels, "reindex") or set(labels.index) != set(index):
        return labels
    return labels.loc[index] if labels.index.is_unique else labels


def lacking_words(name: str, samples: Sequence[Any]) -> str:
    """Return a sentence with the samples that a view lacks; empty if there are none.

    >>> lacking_words("rna", ["s1", "s2"])
    "View 'rna' lacks 2 samples: 's1', 's2'."
    """
    return f"View {name!r} lacks {_some(samples)}." if len(samples) else ""


def some_of(names: Any, more: str = " and {} more") -> str:
    """Return the first names, and how many others there are.

    >>> some_of(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = names[:SHOWN]
    shown = ", ".join(map(repr, first.tolist() if hasattr(first, "tolist") else first))
    return shown + (more.format(len(names) - SHOWN) if len(names) > SHOWN else "")


def _some(samples: Sequence[Any]) -> str:
    return f"{len(samples)} sample{'s' * (len(samples) > 1)}: {some_of(samples)}"


def _check_unique(indices: Sequence[tuple[str, Any]]) -> None:
    for name, index in indices:
        if index.has_duplicates:
            twice = list(index[index.duplicated()].unique()[:SHOWN])
            raise InputError(f"view {name!r} has several rows named {twice}: cannot align")


def _refuse_unnamed(first_name: str, first: Any, name: str, index: Any) -> None:
    advice = "views without an index cannot be aligned; give every view as a frame"
    for here, there, owner in ((first, index, name), (index, first, first_name)):
        if len(missing := here.difference(there, sort=False)):
            raise InputError(f"view {owner!r} lacks {_some(missing)}, and {advice}")
    raise InputError(
        f"view {name!r} has its rows in another order than {first_name!r}, and {advice}, or reorder"
    )


def _check_linked(indices: Sequence[tuple[str, Any]]) -> None:
    """Refuse a view without common samples: its names are probably spelled differently."""
    for name, index in indices:
        others = [(other, there) for other, there in indices if other != name]
        if not any(index.isin(there).any() for _, there in others):
            other, there = others[0]
            raise InputError(
                f"view {name!r} has no sample in common with any other view: its first is "
                f"{index[0]!r}, that of {other!r} {there[0]!r}; are the names written alike?"
            )
