"""Combine one table per view: find name and class columns, and align rows by sample names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.alignment import (
    lacking_words,
    looks_like_key,
    names_each_row,
    place_rows,
    rows_of,
    warn_of_key,
)
from ..data.values import list_names
from ..data.views import MultiView
from ..exceptions import FileFormatError
from .choose import Request
from .columns import NotAKeyError, Special, check_unique
from .formats import view_name
from .plan import orientation
from .variables import is_kernel_name


@dataclass(frozen=True)
class Table:
    """One file as a view.

    Attributes
    ----------
    path : Path
    values : (n, f) array or sparse matrix
    columns : tuple of str, optional
        Names of the f columns.
    index : tuple of str, optional
        Names of the n samples.
    labels : (n,) array, optional
    notes : tuple of str
    oriented : bool
        Whether it is known that rows are samples.
    held : (n,) bool array, optional
        After alignment: the samples that the file has; None for all.
    key : str, optional
        The column that had the sample names.
    dropped : tuple of str
        Columns that were left out, as asked.
    """

    path: Path
    values: Any
    columns: tuple[str, ...] | None = None
    index: tuple[str, ...] | None = None
    labels: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    oriented: bool = False
    held: np.ndarray | None = None
    key: str | None = None
    dropped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the view: that of the file."""
        return view_name(self.path)

    def turned(self) -> Table:
        """Return the transposed table, unless it is known that rows are samples."""
        if self.oriented:
            return self
        if self.columns is not None and len({*self.columns}) < len(self.columns):
            raise FileFormatError(
                f"{self.path}: several columns have the same name, so they cannot name samples"
            )
        return replace(self, values=self.values.T, columns=self.index, index=self.columns)


@dataclass(frozen=True)
class Classes:
    """A file of labels, and the sample names if it has them."""

    path: Path
    labels: np.ndarray
    index: tuple[str, ...] | None = None


def view_table(
    path: Path,
    values: Any,
    columns: Sequence[str],
    special: Special,
    index: Sequence[str] | None,
    labels: np.ndarray | None,
) -> Table:
    """Build the table of a view, with notes on the columns that are not part of it."""
    if special.names is not None and index is not None:
        if special.sure:
            check_unique(index, columns[special.names])
        elif not names_each_row(_as_numbers(index)):
            raise NotAKeyError
    notes = [f"View {view_name(path)} has the {values.shape[1]} columns of {path.name}."]
    for position, what in (
        (special.names, "names the samples"),
        (special.labels, "holds the labels"),
    ):
        if position is not None:
            notes.append(f"Column {columns[position]!r} of {path.name} {what}.")
    for position in special.refused:
        what = "has repeated values and is used as a feature, not as sample names"
        notes.append(f"Column {columns[position]!r} of {path.name} {what}.")
    dropped = tuple(columns[position] for position in special.dropped)
    notes += [f"Column {name!r} of {path.name} was dropped, as asked." for name in dropped]
    kept = tuple(name for p, name in enumerate(columns) if p not in special.apart)
    return Table(
        path,
        values,
        kept,
        None if index is None else tuple(index),
        labels,
        tuple(notes),
        key=None if special.names is None else columns[special.names],
        dropped=dropped,
    )


def class_table(
    path: Path,
    labels: np.ndarray,
    columns: Sequence[str],
    names: int | None,
    index: Sequence[str] | None,
) -> Classes:
    """Build the table of labels; the sample names, in column `names`, must be distinct."""
    if names is None or index is None:
        return Classes(path, labels)
    check_unique(index, columns[names])
    return Classes(path, labels, tuple(index))


def _as_numbers(texts: Sequence[str]) -> np.ndarray:
    """Return texts as numbers where all of them are, else as they are."""
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts, dtype=object)


def combine(
    tables: Sequence[Table], classes: Classes | None, request: Request, more_notes: Sequence[str]
) -> MultiView:
    """Build views from tables, aligned by sample names.

    `classes` is the file with the labels, if there is one.
    """
    notes = [note for table in tables for note in table.notes]
    kernels = _are_kernels(tables, request.kernels, notes)
    turned = not kernels and _samples_are_columns(tables, classes, request.transpose, notes)
    if turned:
        tables = [table.turned() for table in tables]
    for table in tables if request.index is None and not (kernels or turned) else ():
        _warn_of_key(table)
    _check_keys(tables)
    tables = _in_line(tables, kernels, notes)
    labels = _classes(tables, classes, request, notes)
    index = next((table.index for table in tables if table.index is not None), None)
    return MultiView(
        [table.values for table in tables],
        names=[table.name for table in tables],
        kernels=kernels,
        labels=labels,
        index=None if index is None else np.array(index),
        notes=[*notes, *more_notes],
        present=_present(tables),
        feature_names=[table.columns for table in tables],
    )


def _warn_of_key(table: Table) -> None:
    values = table.values
    if table.index is not None or sp.issparse(values) or values.shape[1] < 2:
        return
    if looks_like_key(values[:, 0], (values[:, p] for p in range(1, values.shape[1]))):
        name = (table.columns or ("1",))[0]
        advice = f'if it names the samples, pass index="{name}", otherwise index=False'
        warn_of_key(str(table.path), name, advice)


def _check_keys(tables: Sequence[Table]) -> None:
    """Refuse a table without sample names whose features include the key of another table."""
    keys = {table.key: table for table in tables if table.key is not None}
    for table in tables:
        for name in set(table.columns or ()) & set(keys) if table.index is None else ():
            raise FileFormatError(
                f"{table.path}: column {name!r} names the samples of {keys[name].path.name}, but "
                "has repeated values here; name another column with index=..., or pass index=False"
            )


def _present(tables: Sequence[Table]) -> np.ndarray | None:
    if all(table.held is None for table in tables):
        return None
    every = np.ones(tables[0].values.shape[0], dtype=bool)
    return np.column_stack([every if table.held is None else table.held for table in tables])


def _are_kernels(tables: Sequence[Table], forced: bool | None, notes: list[str]) -> bool:
    if forced is not None:
        notes.append(f"Read as {'kernels' if forced else 'features'}, as asked.")
        return forced
    square = len({size for table in tables for size in table.values.shape}) == 1
    kernels = square and all(is_kernel_name(table.name) for table in tables)
    notes.append(f"Read as {'kernels: square and named like kernels' if kernels else 'features'}.")
    return kernels


def _samples_are_columns(
    tables: Sequence[Table], classes: Classes | None, forced: bool | None, notes: list[str]
) -> bool:
    """Decide by request, else by sample names, else by the number of labels."""
    if forced is not None:
        notes.append(f"{'Transposed' if forced else 'Not transposed'}, as asked.")
        return forced
    turned, why = False, ""
    if classes is not None and classes.index is None:
        shapes = [table.values.shape for table in tables]
        turned, why = orientation(shapes, len(classes.labels), classes.path.name)
    elif classes is not None and classes.index is not None:
        samples = {*classes.index}  # every header names them, and no row does
        turned = all(
            samples == {*(table.columns or ())} and samples.isdisjoint(table.index or ())
            for table in tables
        )
        why = f"the header has the samples of {classes.path.name}"
    if turned:
        notes.append(f"Transposed: {why}.")
    return turned


def _in_line(tables: Sequence[Table], kernels: bool, notes: list[str]) -> list[Table]:
    """Align all tables: the samples of the first named one in its order, then those of others."""
    first = next((table for table in tables if table.index is not None), None)
    other = next((t for t in tables if first and t.index not in (None, first.index)), None)
    if first is None or other is None:
        for table in tables:
            if first is not None and table.index is None:
                notes.append(
                    f"{table.path.name} has no sample names: its rows follow {first.path.name}."
                )
        return list(tables)
    unnamed = [table.path.name for table in tables if table.index is None]
    if unnamed:
        raise FileFormatError(
            f"{other.path} and {first.path} differ in their samples or the order of them, and "
            f"{unnamed[0]} has no sample names to align by; name the samples in every file, or in "
            "none"
        )
    _check_linked(tables)
    samples = tuple(dict.fromkeys(name for table in tables for name in table.index or ()))
    return [_with_samples(table, samples, first, kernels, notes) for table in tables]


def _with_samples(
    table: Table, samples: tuple[str, ...], first: Table, kernels: bool, notes: list[str]
) -> Table:
    if table.index == samples:
        return table
    rows = rows_of(samples, table.index or ())
    if (np.diff(rows[rows >= 0]) < 0).any():
        notes.append(f"Rows of {table.path.name} were reordered to follow {first.path.name}.")
    absent = [samples[i] for i in np.flatnonzero(rows < 0)]
    if absent:
        notes.append(lacking_words(table.name, absent))
    return replace(
        table,
        values=place_rows(table.values, rows, kernels),
        index=samples,
        labels=None if table.labels is None else table.labels[rows],
        held=rows >= 0,
    )


def _check_linked(tables: Sequence[Table]) -> None:
    """Refuse a table without a sample in common with others: its names are probably wrong."""
    for table in tables:
        others = {name for other in tables if other is not table for name in other.index or ()}
        if others.isdisjoint(table.index or ()):
            raise FileFormatError(
                f"{table.path} has no sample in common with any other file; its first is "
                f"{(table.index or ('',))[0]!r}; check that the names are spelled alike, or pass "
                "transpose=True if the headers name the samples"
            )


def _order(index: Sequence[str], classes: Classes) -> np.ndarray:
    """Return the rows of the labels that hold the named samples."""
    rows = rows_of(index, classes.index or ())
    missing = [name for name, row in zip(index, rows, strict=True) if row < 0]
    if missing:
        none = "; pass transpose=True if the headers name the samples"
        hint = none if len(missing) == len(index) else ""
        raise FileFormatError(
            f"{classes.path} lacks {len(missing)} samples: {list_names(missing)}{hint}"
        )
    return rows


def _classes(
    tables: Sequence[Table], classes: Classes | None, request: Request, notes: list[str]
) -> np.ndarray | None:
    if request.labels is False:
        notes.append("No labels, as asked.")
        return None
    if classes is not None:
        notes.append(f"Labels come from {classes.path.name}.")
        if classes.index is None or tables[0].index is None:
            if classes.index is not None:
                notes.append(
                    f"{classes.path.name} follows the order of rows: no view names its samples."
                )
            return classes.labels
        return classes.labels[_order(tables[0].index, classes)]
    found = [table for table in tables if table.labels is not None]
    if not found:
        notes.append("No labels: neither a file nor a column is named like them.")
        return None
    return _merged_labels(found)


def with_classes(views: MultiView, classes: Classes) -> MultiView:
    """Return views with the labels of a file beside them, matched by sample names if both have."""
    labels = classes.labels
    if classes.index is not None and views.index is not None:
        labels = labels[_order([str(name) for name in views.index], classes)]
    notes = [note for note in views.notes if note != "No labels, as asked."]
    notes.append(f"Labels come from {classes.path.name}.")
    return MultiView(views, labels=labels, notes=notes)


def _merged_labels(tables: Sequence[Table]) -> np.ndarray:
    """Merge label columns, which must agree on samples that several tables have."""
    first = tables[0]
    labels = np.asarray(first.labels)
    known = np.ones(len(labels), dtype=bool) if first.held is None else first.held
    for table in tables[1:]:
        others = np.asarray(table.labels)
        held = np.ones(len(others), dtype=bool) if table.held is None else table.held
        if len(others) != len(labels) or (labels != others)[known & held].any():
            raise FileFormatError(
                f"{table.path} and {first.path} have different labels; choose a file or column "
                "with labels=..., or pass labels=False"
            )
        labels, known = np.where(known, labels, others), known | held
    if not known.all():
        sample = (first.index or ())[int(np.flatnonzero(~known)[0])]
        raise FileFormatError(
            f"no file has the label of sample {sample!r}; pass labels=False for none"
        )
    return labels
