"""Combine one table per view: find name and class columns, and align rows by sample names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.alignment import lacking_words, placed
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from .choose import Name, Request
from .plan import orientation
from .variables import is_index_name, is_kernel_name, is_label_name, plain

SHOWN = 5  # number of sample names that an error lists


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
    """

    path: Path
    values: Any
    columns: tuple[str, ...] | None = None
    index: tuple[str, ...] | None = None
    labels: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    oriented: bool = False
    held: np.ndarray | None = None

    @property
    def name(self) -> str:
        """Name of the view: that of the file."""
        return self.path.stem

    def turned(self) -> Table:
        """Return the transposed table, unless it is known that rows are samples."""
        if self.oriented:
            return self
        if self.columns is not None and len({*self.columns}) < len(self.columns):
            raise FileFormatError(
                f"{self.path}: several columns have the same name, so they cannot name samples"
            )
        return replace(self, values=self.values.T, columns=self.index, index=self.columns)

    def placed(self, samples: tuple[str, ...], rows: np.ndarray, kernels: bool) -> Table:
        """Return the table for these samples; `rows` has the row of each, -1 if there is none."""
        return replace(
            self,
            values=placed(self.values, rows, kernels),
            index=samples,
            labels=None if self.labels is None else self.labels[rows],
            held=rows >= 0,
        )


@dataclass(frozen=True)
class Classes:
    """A file of labels, and the sample names if it has them."""

    path: Path
    labels: np.ndarray
    index: tuple[str, ...] | None = None


def special_columns(
    columns: Sequence[str], has_header: bool, first_is_text: bool, request: Request
) -> tuple[int | None, int | None]:
    """Return the positions of the columns with the sample names and with the classes.

    >>> special_columns(["id", "height", "class"], True, False, Request())
    (0, 2)
    """
    labels = None
    if isinstance(request.labels, str):
        labels = _position(columns, request.labels) if request.labels in columns else None
    else:
        # a single letter does not identify classes: x, y, z are coordinates
        like = [name for name in columns if is_label_name(name) and len(plain(name)) > 1]
        if len(like) > 1:
            raise FileFormatError(
                f"several columns are named like labels ({', '.join(like)}): choose with labels=..."
            )
        labels = columns.index(like[0]) if like else None
    if isinstance(request.index, str):
        if request.index not in columns:
            shown = ", ".join(map(repr, columns[:SHOWN]))
            raise InputError(f"no column {request.index!r} for index=; it has {shown} ...")
        return _position(columns, request.index), labels
    named = (has_header and is_index_name(columns[0])) or first_is_text
    return (0 if request.index is None and labels != 0 and named else None), labels


def class_columns(
    columns: Sequence[str], has_header: bool, first_is_text: bool, index: Name
) -> tuple[int | None, int]:
    """Return the same positions for a file of labels, where the other column has the classes.

    >>> class_columns(["sample", "species"], True, True, None)
    (0, 1)
    """
    wanted: Name = index if isinstance(index, str) else None if len(columns) > 1 else False
    names, labels = special_columns(columns, has_header, first_is_text, Request(index=wanted))
    rest = [p for p in range(len(columns)) if p not in (names, labels)]
    if labels is None and rest:
        labels = rest.pop()
    if names is None and len(rest) == 1:
        names = rest.pop()
    if rest or labels is None:
        raise FileFormatError(
            f"it should have one column of labels, and at most one of sample names, but has "
            f"{len(columns)} columns"
        )
    return names, labels


def _position(columns: Sequence[str], name: str) -> int:
    if columns.count(name) > 1:
        raise InputError(f"there are {columns.count(name)} columns named {name!r}")
    return columns.index(name)


def view_table(
    path: Path,
    values: Any,
    columns: Sequence[str],
    special: tuple[int | None, int | None],
    index: Sequence[str] | None,
    labels: np.ndarray | None,
) -> Table:
    """Build the table of a view, with notes on the columns that are not part of it."""
    notes = [f"View {path.stem} has the {values.shape[1]} columns of {path.name}."]
    for position, what in zip(special, ("names the samples", "holds the labels"), strict=True):
        if position is not None:
            notes.append(f"Column {columns[position]!r} of {path.name} {what}.")
    if special[0] is not None and index is not None:
        check_unique(index, columns[special[0]])
    kept = tuple(name for p, name in enumerate(columns) if p not in special)
    return Table(path, values, kept, None if index is None else tuple(index), labels, tuple(notes))


def check_unique(index: Sequence[str], column: str) -> None:
    """Refuse sample names that occur more than once."""
    seen: set[str] = set()
    for name in index:
        if name in seen:
            raise FileFormatError(
                f"column {column!r} was taken for sample names, but {name!r} occurs repeatedly; "
                "name another column with index=..., or pass index=False"
            )
        seen.add(name)


def combine(
    tables: Sequence[Table], classes: Classes | None, request: Request, more_notes: Sequence[str]
) -> MultiView:
    """Build views from tables, aligned by sample names.

    `classes` is the file with the labels, if there is one.
    """
    notes = [note for table in tables for note in table.notes]
    kernels = _are_kernels(tables, request.kernels, notes)
    if not kernels and _samples_are_columns(tables, classes, request.transpose, notes):
        tables = [table.turned() for table in tables]
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
        turned = _headed(tables, classes.index)
        why = f"the header has the samples of {classes.path.name}"
    if turned:
        notes.append(f"Transposed: {why}.")
    return turned


def _headed(tables: Sequence[Table], samples: Sequence[str]) -> bool:
    """Return whether every header names these samples, and no row does."""
    return all(
        {*samples} == {*(table.columns or ())} and not {*samples} & {*(table.index or ())}
        for table in tables
    )


def _in_line(tables: Sequence[Table], kernels: bool, notes: list[str]) -> list[Table]:
    """Align all tables: the samples of the first named one in its order, then those of others."""
    first = next((table for table in tables if table.index is not None), None)
    other = next((t for t in tables if first and t.index not in (None, first.index)), None)
    if first is None or other is None:
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
    position = {name: row for row, name in enumerate(table.index or ())}
    rows = np.array([position.get(name, -1) for name in samples], dtype=np.intp)
    if (np.diff(rows[rows >= 0]) < 0).any():
        notes.append(f"Rows of {table.path.name} were reordered to follow {first.path.name}.")
    absent = [samples[i] for i in np.flatnonzero(rows < 0)]
    if absent:
        notes.append(lacking_words(table.name, absent))
    return table.placed(samples, rows, kernels)


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


def _order(index: Sequence[str], table: Table | Classes) -> np.ndarray:
    """Return the rows of the table that hold the named samples."""
    _check_present(index, table)
    position = {name: row for row, name in enumerate(table.index or ())}
    return np.array([position[name] for name in index], dtype=np.intp)


def _check_present(index: Sequence[str], table: Table | Classes) -> None:
    here = set(table.index or ())
    missing = [name for name in index if name not in here]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        shown = ", ".join(map(repr, missing[:SHOWN]))
        none = "; pass transpose=True if the headers name the samples"
        hint = none if len(missing) == len(index) else ""
        raise FileFormatError(f"{table.path} lacks {len(missing)} samples: {shown}{more}{hint}")


def _classes(
    tables: Sequence[Table], classes: Classes | None, request: Request, notes: list[str]
) -> np.ndarray | None:
    if request.labels is False:
        notes.append("No labels, as asked.")
        return None
    if classes is not None:
        notes.append(f"Labels come from {classes.path.name}.")
        if classes.index is None or tables[0].index is None:
            return classes.labels
        return classes.labels[_order(tables[0].index, classes)]
    found = [table for table in tables if table.labels is not None]
    if not found:
        notes.append("No labels: neither a file nor a column is named like them.")
        return None
    return _merged_labels(found)


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
