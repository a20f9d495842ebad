"""Read views from files: one file with many variables, or one table per view."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.alignment import as_text, rows_of, set_sample_names
from ..data.values import list_names
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import roles, tables
from .files import (
    EXPORTS,
    KNOWN,
    OMICS,
    TABLES,
    TEXTS,
    WORKBOOKS,
    as_path,
    check_known,
    check_regular,
    export_line,
    file_of,
    is_sheet,
    kind_of,
    naming,
    view_name,
)
from .results import RESULT, is_result, refuse_result
from .roles import Name, Request, Variable

UNUSABLE = "\"'\r\n0123456789+-"  # as a separator of cells
STACK_AXIS = {".mat": 2, ".npz": 0}  # along which MATLAB and NumPy stack matrices
STORED = dict.fromkeys(TEXTS, "text") | {".parquet": "columns", ".xlsx": "cells"}
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(
    path: Paths,
    *,
    views: str | Sequence[str] | None = None,
    labels: Name = None,
    id: Name = None,
    transpose: bool | None = None,
    kernels: bool | None = None,
    drop_columns: str | Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    untrusted: bool = False,
    memory_limit: float | None = None,
    time_limit: float = 600.0,
) -> MultiView:
    """Read views from one or more files.

    Files are .mat, .npz, .h5mu, .h5ad, .csv, .tsv, .txt (or .gz of these), .xlsx or .parquet.
    Parameters left at None are decided from names and shapes. The ``notes`` of the result state
    every decision. Nothing is unpickled.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, or a list of files. In a folder or list every file is a view, named
        after the file; of a workbook with several sheets, every sheet is one. Rows are joined by
        sample names where the files have them. Samples that are missing from some files are kept.
    views : str or list of str, optional
        Variables (or files) to use, in this order.
    labels : str or False, optional
        Variable, file or column with the classes; a path for a file elsewhere; False for none.
    id : str or False, optional
        Column (or variable) with the sample names; False for none.
    transpose : bool, optional
        Whether samples are columns.
    kernels : bool, optional
        Whether the views are kernel matrices.
    drop_columns : str or list of str
        Columns to leave out, of every table that has them.
    sep : str, optional
        Character between the cells of a text table.
    decimal : {".", ","}, optional
        Decimal sign in a text table.
    untrusted : bool
        Read in a child process with limits: a file that crashes a library, or asks for too much
        memory or time, raises a FileFormatError and harms nothing.
    memory_limit : float, optional
        Bytes that the child may allocate (half of the machine's memory).
    time_limit : float
        Seconds that the child may take.

    Returns
    -------
    views : MultiView

    Raises
    ------
    FileFormatError
        Files cannot be read; the message lists what is wrong with each, and what to do.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "views.npz")
    >>> np.savez(path, shape=np.ones((4, 2)), colour=np.ones((4, 3)), y=[0, 0, 1, 1])
    >>> read(path)
    MultiView(4 samples: shape 2, colour 3)
    >>> read(path).notes[-1]
    'Labels come from y.'
    >>> folder.cleanup()
    """
    chosen = (views,) if isinstance(views, str) else None if views is None else tuple(views)
    dropped = (drop_columns,) if isinstance(drop_columns, str) else tuple(drop_columns)
    request = Request(chosen, labels, id, transpose, kernels, dropped, sep, decimal)
    _check_request(request)
    if untrusted:
        from .untrusted import call_in_child

        found: MultiView = call_in_child("read", path, vars(request), memory_limit, time_limit)
        return found
    file = _archive(path)
    if file is None:
        return _read_tables(path, request)
    _check_only_tables(request, [file])
    with naming(file):
        beside = _labels_elsewhere(request.labels, [Source(view_name(file), file)])
        if beside is None:
            return _read_archive(file, request)
        found = _read_archive(file, replace(request, labels=False))
    return _with_classes(found, _read_classes(beside, request))


def inspect(
    path: Paths,
    *,
    sep: str | None = None,
    untrusted: bool = False,
    memory_limit: float | None = None,
    time_limit: float = 600.0,
) -> list[Variable]:
    """List what a file or folder holds, with the role that `read` would give to each part.

    Parameters
    ----------
    path : path or list of paths
        As in `read`.
    sep : str, optional
        Character between the cells of a text table.
    untrusted, memory_limit, time_limit
        As in `read`.

    Returns
    -------
    variables : list of Variable
    """
    request = Request(sep=sep)
    _check_request(request)
    if untrusted:
        from .untrusted import call_in_child

        listed: list[Variable] = call_in_child(
            "inspect", path, {"sep": sep}, memory_limit, time_limit
        )
        return listed
    file = _archive(path)
    if file is not None:
        with naming(file):
            return _with_roles(file)
    views, classes, _ = _find_sources(path, request)
    several = len(views) > 1
    found = [_describe_table(source, "views", request, several) for source in views]
    return found + [_describe_table(source, "labels", request, False) for source in classes]


class Source(NamedTuple):
    """A file or sheet, and the name of its view."""

    name: str
    path: Path


class Classes(NamedTuple):
    """A file of labels, and the sample names if it has them."""

    path: Path
    labels: np.ndarray
    names: list[str] | None = None


@dataclass
class Item:
    """One view on its way from a file: a frame, or a matrix of an archive.

    Attributes
    ----------
    name, path
        As in `Source`.
    values : DataFrame, array or sparse matrix
        The index of a frame names the samples once `named` is True.
    notes : list of str
    labels : Series or array, optional
    oriented : bool
        Whether it is known that rows are samples.
    """

    name: str
    path: Path
    values: Any
    notes: list[str] = field(default_factory=list)
    labels: Any = None
    oriented: bool = False
    decimal: str = "."

    @property
    def is_table(self) -> bool:
        return hasattr(self.values, "iloc")

    @property
    def named(self) -> bool:
        """Whether the rows have names, as texts."""
        return self.is_table and self.values.index.dtype.kind not in "iu"

    @property
    def columns(self) -> list[str]:
        return [str(column) for column in self.values.columns] if self.is_table else []

    def turn(self) -> None:
        """Transpose the table, unless it is known that rows are samples."""
        if self.oriented:
            return
        if len({*self.columns}) < len(self.columns):
            raise FileFormatError(
                f"{self.path}: several columns have the same name, so they cannot name samples"
            )
        if not self.is_table:
            self.values = self.values.T
            return
        numbered = self.columns == [str(p) for p in range(len(self.columns))]
        turned = self.values.T
        turned.index = range(len(turned)) if numbered else self.columns
        if not self.named:
            turned.columns = range(turned.shape[1])
        self.values, self.oriented = turned, True


def _check_request(request: Request) -> None:
    for name in ("labels", "id"):
        value = getattr(request, name)
        if not (value is None or value is False or isinstance(value, str)):
            raise InputError(f"{name} must be a name, False or None, got {value!r}")
    if request.views is not None and not all(isinstance(name, str) for name in request.views):
        raise InputError(f"views must be names, got {request.views!r}")
    if request.views == ():
        raise InputError("views is empty: name at least one, or leave it out")
    if not all(isinstance(name, str) for name in request.drop_columns):
        raise InputError(f"drop_columns must be names, got {request.drop_columns!r}")
    sep, decimal = request.sep, request.decimal
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal must be '.' or ',', got {decimal!r}")
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in UNUSABLE):
        raise InputError(f"sep must be one character between cells, such as ';', got {sep!r}")
    if sep is not None and sep == decimal:
        raise InputError(f"sep={sep!r} and decimal={decimal!r} are the same")


def _check_only_tables(request: Request, files: Sequence[Path]) -> None:
    """Refuse choices that apply to tables, or to text, where there is none of them."""
    kinds = {kind_of(file) for file in files}
    for name, allowed in (
        ("drop_columns", TABLES),
        ("sep", TEXTS),
        ("decimal", (*TEXTS, *WORKBOOKS)),
    ):
        if getattr(request, name) and not kinds & {*allowed}:
            given = ", ".join(sorted(kinds))
            raise InputError(f"{name}=... applies to {', '.join(allowed)} only, not to {given}")


def _raise_problems(problems: Sequence[str]) -> None:
    """Raise one error that lists all problems of the files."""
    if len(problems) == 1:
        raise FileFormatError(problems[0])
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise FileFormatError(f"{len(problems)} files cannot be used:\n{listed}")


# ---------------------------------------------------------------- files with many variables


def _archive(path: Paths) -> Path | None:
    """Return the path if it is a single file with many variables."""
    if not isinstance(path, str | os.PathLike):
        return None
    file = as_path(path)
    with naming(file):
        if file.is_dir() or is_sheet(file):
            return None
        _check_readable(file)
        return None if kind_of(file) in TABLES else file


def _check_readable(file: Path) -> None:
    check_regular(file_of(file))
    refuse_result(file_of(file))
    check_known(file)


def _load_archive(file: Path) -> dict[str, Any]:
    from . import matlab, npz

    return matlab.load(file) if kind_of(file) == ".mat" else npz.load(file)


def _read_archive(file: Path, request: Request) -> MultiView:
    _check_readable(file)
    if kind_of(file) in OMICS:
        from . import h5mu

        return h5mu.read_views(file, request)
    _, arguments = roles.assign(_load_archive(file), request, STACK_AXIS[kind_of(file)])
    return MultiView(**arguments)


def _with_roles(file: Path) -> list[Variable]:
    if kind_of(file) in OMICS:
        from . import h5mu

        return h5mu.variables(file)
    loaded = _load_archive(file)
    variables = [roles.describe(name, value) for name, value in loaded.items()]
    try:
        by_name, _ = roles.assign(loaded, Request(), STACK_AXIS[kind_of(file)])
    except InputError as error:
        by_name = {variable.name: f"undecided: {error}" for variable in variables}
    return [replace(variable, role=by_name[variable.name]) for variable in variables]


# ---------------------------------------------------------------- which files


def _find_sources(path: Paths, request: Request) -> tuple[list[Source], list[Source], list[str]]:
    """Return the files that are views, the files that are labels, and notes on the others."""
    if isinstance(path, str | os.PathLike):
        folder = as_path(path)
        files, notes = _list_folder(folder) if folder.is_dir() else ([folder], [])
    elif isinstance(path, Sequence):
        files, notes = [as_path(file) for file in path], []
    else:
        raise InputError(f"neither a path nor a list of paths: {path!r}")
    if not files:
        raise InputError("an empty list of files: at least one is needed")
    sources = _with_sheets(files, notes)
    classes = _classes_among(sources, request.labels)
    beside = _labels_elsewhere(request.labels, sources)
    if beside is not None:
        sources = [s for s in sources if s.path.resolve() != beside.resolve()]
        classes = [Source(view_name(beside), beside)]
    views = [source for source in sources if source not in classes]
    if request.views is not None:
        views = [_named(sources, name) for name in request.views]
        classes = [source for source in classes if source not in views]
        others = [s for s in sources if s not in views and s not in classes]
        notes += [f"Ignored {source.path.name}." for source in others]
    notes += [f"Ignored {s.path.name}, as {classes[0].path.name} has labels." for s in classes[1:]]
    if not views:
        raise FileFormatError(f"{path}: only labels, no views")
    return views, classes, notes


def _list_folder(folder: Path) -> tuple[list[Path], list[str]]:
    with naming(folder):
        there = list(folder.iterdir())
        results = [entry for entry in there if is_result(entry) or is_result(entry / RESULT)]
        aside = [e for e in there if e.name.startswith((".", "~$"))]  # of systems and of Excel
        tables_in = [e for e in there if kind_of(e) in TABLES and e not in (*results, *aside)]
        of_r = [entry for entry in there if kind_of(entry) in EXPORTS]
        if not tables_in:
            found = f"only results of mkclust, listed in {RESULT}" if results else "none here"
            lines = "; ".join(
                f"{e.name} is a file of R, write it by {export_line(e)}" for e in of_r
            )
            raise FileFormatError(
                f"a folder should hold one table per view ({', '.join(TABLES)}): {lines or found}"
            )
    others = [e for e in there if e not in (*tables_in, *results, *of_r)]
    notes = _note_ignored(others, "in the folder")
    notes += _note_ignored(results, "in the folder, which are results of mkclust")
    notes += [f"Ignored {e.name}, a file of R: write it as a table by {export_line(e)}"
              for e in of_r]  # fmt: skip
    return sorted(tables_in, key=_natural), notes


def _note_ignored(entries: Sequence[Path], where: str) -> list[str]:
    names = sorted(entry.name for entry in entries)
    return [f"Ignored {', '.join(names[:20])} {where}."] if names else []


def _natural(file: Path) -> list[Any]:
    """Sort key that puts view2 before view10."""
    parts = re.split(r"(\d{1,18})", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _with_sheets(files: Sequence[Path], notes: list[str]) -> list[Source]:
    """Name the view of every file; a workbook with several sheets becomes its sheets."""
    found: list[Source] = []
    problems = []
    for file in files:
        if kind_of(file) not in WORKBOOKS or is_sheet(file):
            found.append(Source(view_name(file), file))
            continue
        try:
            with naming(file):
                _check_readable(file)
                sheets, more = tables.find_sheets(file)
        except InputError as error:
            problems.append(str(error))
            continue
        notes += more
        alone = len(sheets) == 1
        found += [Source(view_name(file) if alone else sheet.name, sheet) for sheet in sheets]
    _raise_problems(problems)
    names = [source.name for source in found]
    return [
        source if names.count(source.name) == 1 or not is_sheet(source.path)
        else Source(f"{view_name(source.path.parent)} {source.name}", source.path)
        for source in found
    ]  # fmt: skip


def _classes_among(sources: Sequence[Source], labels: Name) -> list[Source]:
    """Return the files that hold the classes: those named so, else those named like labels."""
    if isinstance(labels, str):
        return [s for s in sources if labels in (s.name, s.path.name, file_of(s.path).name)]
    return [s for s in sources if roles.is_label_name(s.name)] if len(sources) > 1 else []


def _labels_elsewhere(labels: Name, sources: Sequence[Source]) -> Path | None:
    """Return the path of a file of labels that is none of the files by its name."""
    if not isinstance(labels, str) or _classes_among(sources, labels):
        return None
    path = as_path(labels)
    return path if kind_of(path) in KNOWN and file_of(path).is_file() else None


def _named(sources: Sequence[Source], name: str) -> Source:
    for source in sources:
        if name in (source.name, source.path.name, file_of(source.path).name):
            return source
    names = ", ".join(source.path.name for source in sources)
    raise InputError(f"views={name!r} is none of the files {names}")


# ---------------------------------------------------------------- one table per view


def _read_tables(path: Paths, request: Request) -> MultiView:
    sources, beside, more_notes = _find_sources(path, request)
    # with a file of labels, no column or variable is needed for them
    inner = replace(request, labels=False) if beside else request
    _check_only_tables(request, [source.path for source in sources])
    items, problems = [], []
    for source in sources:
        try:
            items.append(_load_item(source, inner))
        except InputError as error:
            problems.append(str(error))
    _raise_problems(problems)
    _drop_columns(items, request.drop_columns, path)
    classes = _read_classes(beside[0].path, request) if beside else None
    if isinstance(inner.labels, str) and not any(
        item.labels is not None or inner.labels in item.columns for item in items
    ):
        raise InputError(f"{path}: labels={inner.labels!r} is neither a file nor a column of it")
    return _combine(items, classes, request, inner.labels, more_notes)


def _load_item(source: Source, request: Request) -> Item:
    file = source.path
    with naming(file):
        _check_readable(file)
        if kind_of(file) in TABLES:
            path = tables.find_sheets(file)[0][0] if kind_of(file) in WORKBOOKS and not is_sheet(
                file) else file  # fmt: skip
            table = tables.load_table(path, request.sep, request.decimal)
            notes = [f"View {source.name} has the columns of {file.name}."]
            notes += [f"{file.name}: {note}" for note in table.notes]
            return Item(source.name, file, table.frame, notes, decimal=table.decimal)
        alone = Request(labels=request.labels, transpose=request.transpose, kernels=False)
        views = _read_archive(file, alone)
        if views.n_views > 1:
            raise FileFormatError(f"it holds {views.n_views} views; a list takes one per file")
        values = views.views[0]
        if views.index is not None:
            values = _as_frame(values, [str(name) for name in views.index], views.feature_names[0])
        note = f"View {source.name} is {views.names[0]} of {file.name}."
        done = request.transpose is not None
        return Item(source.name, file, values, [note], views.labels, oriented=done)


def _as_frame(values: Any, index: list[str], columns: Any) -> Any:
    import pandas as pd

    make = pd.DataFrame.sparse.from_spmatrix if sp.issparse(values) else pd.DataFrame
    return make(values, index=index, columns=columns)


def _drop_columns(items: Sequence[Item], names: Sequence[str], path: Paths) -> None:
    found = set()
    for item in items:
        dropped = [name for name in names if name in item.columns]
        found |= {*dropped}
        if dropped:
            item.values = item.values.drop(columns=dropped)
            item.notes += [
                f"Column {n!r} of {item.path.name} was dropped, as asked." for n in dropped
            ]
    for name in names:
        if name not in found:
            raise InputError(f"{path}: no column {name!r} for drop_columns=...")


def _combine(
    items: list[Item],
    classes: Classes | None,
    request: Request,
    label_column: Name,
    more_notes: Sequence[str],
) -> MultiView:
    """Build views from tables; `MultiView` joins their rows."""
    for item in items:
        _set_labels_aside(item, label_column)
    key_notes = _name_rows(items, request.id)
    notes: list[str] = []
    kernels = _are_kernels(items, request.kernels, notes)
    if not kernels:
        _orient(items, classes, request.transpose, notes)
        _check_values(items, request)
    labels = _find_labels(items, classes, request.labels, notes)
    told = [note for item in items for note in item.notes]
    return MultiView(
        [item.values if item.named else _matrix(item) for item in items],
        names=[item.name for item in items],
        kernels=kernels,
        labels=labels,
        notes=[*told, *key_notes, *notes, *more_notes],
        feature_names=None if kernels else [_feature_names(item) for item in items],
    )


def _matrix(item: Item) -> Any:
    return item.values.to_numpy() if item.is_table else item.values


def _feature_names(item: Item) -> list[str] | None:
    numbered = item.columns == [str(p) for p in range(len(item.columns))]
    return None if not item.is_table or numbered else item.columns


def _set_labels_aside(item: Item, wanted: Name) -> None:
    """Move the column of classes out of a table, also where no labels are asked for."""
    if not item.is_table or not isinstance(item.columns, list):
        return
    with naming(item.path):
        column = roles.label_column(item.columns, wanted if isinstance(wanted, str) else None)
        if column is None or item.values.shape[1] == 1:
            return
        item.notes.append(f"Column {column!r} of {item.path.name} holds the labels.")
        values = item.values.iloc[:, item.columns.index(column)]
        item.values = item.values.drop(columns=[item.values.columns[item.columns.index(column)]])
        if wanted is not False:
            item.labels = _typed_labels(values)


def _typed_labels(column: Any) -> Any:
    if column.isna().any():
        raise FileFormatError(f"the label in row {int(column.isna().argmax())} is missing")
    values = column.to_numpy()
    return roles.as_labels(np.array(list(map(str, values))) if values.dtype == object else values)


def _name_rows(items: Sequence[Item], wanted: Name) -> list[str]:
    """Make the column with the sample names the index of every table, as text."""
    if wanted is False:
        return []
    for item in items:
        if item.is_table and wanted is None:
            _name_features(item)
    import pandas as pd

    frames, _, notes = set_sample_names(
        [item.values for item in items], [item.name for item in items], wanted
    )
    for item, frame in zip(items, frames, strict=True):
        if item.is_table and frame is not item.values:
            item.values = frame.set_axis(pd.Index(as_text(frame.index), name=frame.index.name))
    return notes


def _name_features(item: Item) -> None:
    """Take a first column of gene names as names of rows, and leave out other columns of such.

    Repeated names, which occur where several rows are of one gene, get a number.
    """
    frame, columns = item.values, item.columns
    if item.named or not columns or not roles.is_feature_name(columns[0]):
        return
    others = [p for p in range(1, len(columns)) if roles.is_feature_name(columns[p])]
    kept = [p for p in range(1, len(columns)) if p not in others]
    if frame.dtypes.iloc[0].kind != "O" or any(frame.dtypes.iloc[p].kind == "O" for p in kept):
        return
    names = frame.iloc[:, 0].fillna("unnamed").astype(str)
    again = names.groupby(names).cumcount()
    names = names.where(again == 0, names + "." + again.astype(str))
    if others:
        left = list_names([columns[p] for p in others])
        item.notes.append(f"Left out of {item.path.name}, beside {columns[0]!r}: {left}.")
    item.values = frame.iloc[:, kept].set_axis(names.rename(columns[0]))


def _are_kernels(items: Sequence[Item], forced: bool | None, notes: list[str]) -> bool:
    if forced is not None:
        notes.append(f"Read as {'kernels' if forced else 'features'}, as asked.")
        return forced
    square = len({size for item in items for size in item.values.shape}) == 1
    kernels = square and all(roles.is_kernel_name(item.name) for item in items)
    notes.append(f"Read as {'kernels: square and named like kernels' if kernels else 'features'}.")
    return kernels


def _orient(
    items: Sequence[Item], classes: Classes | None, forced: bool | None, notes: list[str]
) -> None:
    """Transpose tables whose columns are samples: as asked, else by names, else by labels."""
    if forced is not None:
        notes.append(f"{'Transposed' if forced else 'Not transposed'}, as asked.")
        for item in items if forced else ():
            item.turn()
        return
    if classes is not None and classes.names is None:
        shapes = [item.values.shape for item in items]
        turned, why = roles.orientation(shapes, len(classes.labels), classes.path.name)
        for item in items if turned else ():
            item.turn()
        notes += [f"Transposed: {why}."] if turned else []
        return
    rows = [{*item.values.index} if item.named else set() for item in items]
    samples = set() if classes is None else {*(classes.names or ())}
    turned_items = []
    for p, item in enumerate(items):
        others = samples.union(*(own for q, own in enumerate(rows) if q != p))
        if rows[p] and rows[p].isdisjoint(others):
            shared = len(others & {*item.columns})
            if shared > len({*item.columns}) / 2 or (shared > 1 and shared > len(others) / 2):
                turned_items.append(item)
    if not turned_items and _share_header(items, rows):
        turned_items = list(items)
    for item in turned_items:
        item.turn()
        n, f = item.values.shape
        notes.append(
            f"{item.path.name} has the samples as columns: transposed to {n} samples x {f} columns."
        )
    _ask_about_features([item for item in items if item not in turned_items], rows, items)


def _share_header(items: Sequence[Item], rows: Sequence[set[str]]) -> bool:
    """Return whether all tables share most columns, and no names of rows."""
    if len(items) < 2 or not all(rows):
        return False
    disjoint = len(set().union(*rows)) == sum(map(len, rows))
    headers = [{*item.columns} for item in items]
    return disjoint and len(set.intersection(*headers)) > max(1, min(map(len, headers)) / 2)


def _ask_about_features(
    items: Sequence[Item], rows: Sequence[set[str]], every: Sequence[Item]
) -> None:
    """Refuse tables that seem to have a row per gene, until `transpose` is given."""
    problems = []
    for item in items:
        others = set().union(*(own for q, own in enumerate(rows) if every[q] is not item))
        if not item.named or {*item.values.index} & others or item.oriented:
            continue
        key = item.values.index.name
        if roles.is_feature_name(key or "?") or roles.are_features(list(item.values.index)):
            first = list_names(list(item.values.index[:2]), "")
            problems.append(
                f"{item.path}: its rows seem to be genes or other features ({first}), and its "
                f"{item.values.shape[1]} columns the samples; pass transpose=True if so, otherwise "
                "transpose=False"
            )
    _raise_problems(problems)


def _check_values(items: Sequence[Item], request: Request) -> None:
    """Refuse clinical tables beside others, and columns that are not numbers."""
    problems = []
    several = len(items) > 1 and request.views is None
    clinical = {item.name: _clinical(item) for item in items if item.is_table and several}
    others = [item.name for item in items if not clinical.get(item.name)]
    for item in [item for item in items if item.is_table]:
        if found := clinical.get(item.name):
            problems.append(
                f"{item.path}: it seems to be a clinical table (columns {list_names(found)}), "
                "which would be clustered with the others; compare it with the clusters instead, "
                f"--annotations {file_of(item.path).name}, and name the views with views={others}"
            )
        elif bad := tables.not_numeric(item.values, item.decimal):
            problems.append(f"{item.path}: {bad}")
    _raise_problems(problems)


def _clinical(item: Item) -> list[str]:
    if "pass decimal=" in tables.not_numeric(item.values, item.decimal):
        return []  # its texts are numbers in another notation
    kinds = [getattr(kind, "kind", "O") for kind in item.values.dtypes]
    texts = [c for c, kind in zip(item.columns, kinds, strict=True) if kind not in "iufb"]
    numbers = [c for c, kind in zip(item.columns, kinds, strict=True) if kind in "iufb"]
    return roles.clinical_columns(texts, numbers)


def _describe_table(source: Source, role: str, request: Request, several: bool) -> Variable:
    """Describe a file that is one view, or the labels, among several files."""
    with naming(source.path):
        if kind_of(source.path) in TABLES:
            _check_readable(source.path)
            table = tables.load_table(source.path, request.sep, None, role == "labels")
            item = Item(source.name, source.path, table.frame)
            shape = (len(table.frame), table.frame.shape[1] + item.named)
            if role == "views" and several:
                _name_rows([item], None)
                role = "annotations" if _clinical(item) else role
            return Variable(source.name, "table", shape, STORED[kind_of(source.path)], role)
        parts = [v for v in _with_roles(source.path) if v.role == role]
        found = parts[0] if parts else Variable("", "archive", ())
        return replace(found, name=source.name)


# ---------------------------------------------------------------- labels


def _read_classes(file: Path, request: Request) -> Classes:
    with naming(file):
        _check_readable(file)
        if kind_of(file) not in TABLES:
            loaded = _load_archive(file)
            variables = [roles.describe(name, value) for name, value in loaded.items()]
            vectors = [v for v in variables if (v.entries or 0) > 1]
            found = roles.choose_labels(variables, None) or (
                vectors[0] if len(vectors) == 1 else None
            )
            if found is None:
                shown = roles.list_variables(variables)
                raise FileFormatError(f"no labels found; it has {shown}")
            return Classes(file, roles.as_labels(loaded[found.name]))
        path = file
        if kind_of(file) in WORKBOOKS and not is_sheet(file):
            path = tables.find_sheets(file)[0][0]
        frame = tables.load_table(path, request.sep, request.decimal, classes=True).frame
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        first = frame.iloc[:, 0].map(lambda cell: tables.is_text(str(cell), ".")).any()
        names, labels = roles.split_classes(list(frame.columns), bool(first), request.id)
        values = _as_classes(frame[labels])
        if names is None:
            return Classes(file, values)
        index = frame[names].map(lambda cell: as_text([cell])[0].strip())
        if index.duplicated().any():
            twice = index[index.duplicated()].iloc[0]
            raise FileFormatError(
                f"column {names!r} names samples, but {twice!r} occurs repeatedly"
            )
        return Classes(file, values, index.tolist())


def _as_classes(column: Any) -> np.ndarray:
    """Return labels of a file as numbers if all are numbers, else as text."""
    cells = ["" if cell is None or cell != cell else str(cell).strip() for cell in column]
    if "" in cells:
        raise FileFormatError(f"the label in row {cells.index('')} is missing")
    if any(tables.is_text(cell, ".") or cell.lower() in tables.MISSING for cell in cells):
        return np.array(cells)
    return roles.as_labels(np.array(list(map(float, cells))))


def _rows_of_classes(index: Sequence[str], classes: Classes) -> np.ndarray:
    """Return the rows of the labels that hold the named samples."""
    rows = rows_of(index, classes.names or ())
    missing = [name for name, row in zip(index, rows, strict=True) if row < 0]
    if missing:
        none = "; pass transpose=True if the headers name the samples"
        hint = none if len(missing) == len(index) else ""
        raise FileFormatError(
            f"{classes.path} lacks {len(missing)} samples: {list_names(missing)}{hint}"
        )
    return rows


def _find_labels(
    items: Sequence[Item], classes: Classes | None, wanted: Name, notes: list[str]
) -> Any:
    """Return the labels of all samples: a Series by name where the samples have names."""
    import pandas as pd

    if wanted is False:
        notes.append("No labels, as asked.")
        return None
    named = [item for item in items if item.named]
    samples = list(dict.fromkeys(name for item in named for name in item.values.index))
    if classes is not None:
        notes.append(f"Labels come from {classes.path.name}.")
        if classes.names is None or not named:
            if classes.names is not None:
                notes.append(
                    f"{classes.path.name} follows the order of rows: no view names its samples."
                )
            return classes.labels
        return pd.Series(classes.labels[_rows_of_classes(samples, classes)], index=samples)
    found = [item for item in items if item.labels is not None]
    if not found:
        notes.append("No labels: neither a file nor a column is named like them.")
        return None
    by_row = [samples if len(samples) == len(item.labels) else None for item in found]
    merged = pd.concat(
        [
            pd.Series(item.labels, index=item.values.index if item.named else rows)
            for item, rows in zip(found, by_row, strict=True)
        ]
    ).groupby(level=0, sort=False)
    if (merged.nunique() > 1).any() or len({len(i.labels) for i in found if not i.named}) > 1:
        raise FileFormatError(
            f"{', '.join(item.path.name for item in found)} have different labels; choose a file "
            "or column with labels=..., or pass labels=False"
        )
    labels = merged.first()
    lacking = [sample for sample in samples if sample not in labels.index]
    if lacking:
        raise FileFormatError(
            f"no file has the label of sample {lacking[0]!r}; pass labels=False for none"
        )
    return labels[samples] if samples else labels.to_numpy()


def _with_classes(views: MultiView, classes: Classes) -> MultiView:
    """Return views with the labels of a file beside them, matched by sample names if both have."""
    labels = classes.labels
    if classes.names is not None and views.index is not None:
        labels = labels[_rows_of_classes([str(name) for name in views.index], classes)]
    notes = [note for note in views.notes if note != "No labels, as asked."]
    notes.append(f"Labels come from {classes.path.name}.")
    return MultiView(views, labels=labels, notes=notes)
