"""Read views from files: one file with many variables, or one table per view."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.alignment import as_text, is_key_name, set_sample_names, turn_transposed
from ..data.values import list_names, text_columns
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import files, roles
from .files import EXPORTS, OMICS, TABLES, as_path, check_readable, kind_of, naming, view_name
from .roles import Name, Request, Variable
from .tables import Table, load_table, not_numeric, read_sheets

STACK_AXIS = {".mat": 2, ".npz": 0}  # along which MATLAB and NumPy stack matrices
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
        A file, a folder, or a list of tables. In a folder or list every file is a view, named
        after the file; of a workbook with several sheets, every sheet is one. Rows are joined by
        sample names where the files have them. Samples that are missing from some files are kept.
    views : str or list of str, optional
        Variables (or files) to use, in this order.
    labels : str or False, optional
        Variable, file or column with the classes; a path for a table elsewhere; False for none.
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
    names, dropped = _as_names(views), _as_names(drop_columns) or ()
    request = Request(names, labels, id, transpose, kernels, dropped, sep, decimal)
    if untrusted:
        from .untrusted import call_in_child

        return call_in_child("read", path, vars(request), memory_limit, time_limit)
    file = _archive(path)
    if file is None:
        return _read_tables(path, request)
    beside = _find_table(labels)
    with naming(file):
        if dropped:
            raise InputError(f"drop_columns=... applies to {', '.join(TABLES)} only")
        found = _read_archive(file, replace(request, labels=False) if beside else request)
    if beside is None:
        return found
    notes = (*found.notes, f"Labels come from {beside.path.name}.")
    return MultiView(found, labels=_by_position(_read_classes(beside, request)), notes=notes)


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
    if untrusted:
        from .untrusted import call_in_child

        return call_in_child("inspect", path, {"sep": sep}, memory_limit, time_limit)
    if (file := _archive(path)) is not None:
        with naming(file):
            return _describe_archive(file)
    tables, beside, _ = _find_tables(path, request)
    views = [_describe_table(table, request, len(tables) > 1) for table in tables]
    return views + [replace(_describe_table(table, request), role="labels") for table in beside]


def _as_names(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(names, Mapping):
        raise InputError("views and columns are listed by name, not by a dict")
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _each(tables: list[Table], problems: list[str], step: Callable[[Table], Any]) -> None:
    """Do a step with every table; collect the problems, and remove the tables that have some."""
    for table in list(tables):
        failed: list[str] = []
        with files.collect(failed), naming(table.path):
            step(table)
        if failed:
            problems += failed
            tables.remove(table)


def _together(tables: list[Table], problems: list[str], step: Callable[[list[Table]], Any]) -> Any:
    """Do a step with all tables at once; if it fails, collect the problems of each alone."""
    failed: list[str] = []
    with files.collect(failed):
        return step(tables)
    count = len(tables)
    _each(tables, problems, lambda table: step([table]))
    if len(tables) == count:  # only together they have a problem
        problems += failed
    elif tables:
        _together(tables, problems, step)
    return None


# ---------------------------------------------------------------- files with many variables


def _archive(path: Paths) -> Path | None:
    """Return the path if it is a single file with many variables."""
    if not isinstance(path, str | os.PathLike):
        return None
    file = as_path(path)
    with naming(file):
        if file.is_dir():
            return None
        check_readable(file)
        return None if kind_of(file) in TABLES else file


def _load_archive(file: Path) -> dict[str, Any]:
    from . import matlab, npz

    return matlab.load(file) if kind_of(file) == ".mat" else npz.load(file)


def _read_archive(file: Path, request: Request) -> MultiView:
    if kind_of(file) in OMICS:
        from . import h5mu

        return h5mu.read_views(file, request)
    _, arguments = roles.assign(_load_archive(file), request, STACK_AXIS[kind_of(file)])
    return MultiView(**arguments)


def _describe_archive(file: Path) -> list[Variable]:
    if kind_of(file) in OMICS:
        from . import h5mu

        return h5mu.variables(file)
    loaded = _load_archive(file)
    try:
        by_name, _ = roles.assign(loaded, Request(), STACK_AXIS[kind_of(file)])
    except InputError as error:
        by_name = dict.fromkeys(loaded, f"undecided: {error}")
    return [replace(roles.describe(n, value), role=by_name[n]) for n, value in loaded.items()]


# ---------------------------------------------------------------- which files


def _find_tables(path: Paths, request: Request) -> tuple[list[Table], list[Table], list[str]]:
    """Return the tables that are views, the one with labels, if any, and notes on the others."""
    if isinstance(path, str | os.PathLike):
        folder = as_path(path)
        paths, notes = _list_folder(folder) if folder.is_dir() else ([folder], [])
    elif isinstance(path, Sequence) and path:
        paths, notes = [as_path(file) for file in path], []
    else:
        raise InputError(f"neither a path nor a list with at least one: {path!r}")
    tables = [table for file in paths for table in _list_sheets(file, notes)]
    wanted = request.labels
    if isinstance(wanted, str):
        beside = _called(tables, wanted) or list(filter(None, [_find_table(wanted)]))
    else:
        beside = [t for t in tables if roles.is_label_name(t.name) and len(tables) > 1]
    views = [table for table in tables if table not in beside]
    if request.views is not None:
        views = [table for name in request.views for table in _called(tables, name)[:1]]
        if unknown := [name for name in request.views if not _called(tables, name)]:
            names = ", ".join(table.name for table in tables)
            raise InputError(f"views={unknown[0]!r} is none of the files {names}")
        beside = [table for table in beside if table not in views]
    notes += [f"Ignored {t.path.name}." for t in tables if t not in (*views, *beside[:1])]
    if not views:
        raise FileFormatError(f"{path}: only labels, no views")
    return views, [] if wanted is False else beside[:1], notes


def _list_folder(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the tables of a folder in natural order, and notes on what else it holds."""
    with naming(folder):
        there = sorted(folder.iterdir())
    aside, kinds = (".", "~$"), {*TABLES, *EXPORTS}  # of systems and of Excel; R is told how
    found = [e for e in there if kind_of(e) in kinds and not e.name.startswith(aside)]
    others = ", ".join([e.name for e in there if e not in found][:20])
    if not found:
        raise FileFormatError(f"{folder}: needs one table per view, but has {others or 'nothing'}")
    return sorted(found, key=_natural), [f"Ignored {others} in the folder."] if others else []


def _natural(file: Path) -> str:
    """Sort key that puts view2 before view10."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), file.name.lower())


def _list_sheets(file: Path, notes: list[str]) -> list[Table]:
    """Return the table in a file, or those in the sheets of a workbook."""
    if kind_of(file) == ".xlsx" and file.is_file():
        with suppress(InputError):  # reported when the table is read, with those of other files
            sheets, ignored = read_sheets(file)
            notes += ignored
            return sheets
    return [Table(view_name(file), file)]


def _find_table(labels: Name) -> Table | None:
    """Return the table with labels whose path was given."""
    path = as_path(labels) if isinstance(labels, str) else Path()
    return Table(view_name(path), path) if kind_of(path) in TABLES and path.is_file() else None


def _called(tables: Sequence[Table], name: str) -> list[Table]:
    """Return the tables that `views` or `labels` call so: by view, file or path."""
    path = as_path(name).resolve()
    return [t for t in tables if name in (t.name, t.path.name) or t.path.resolve() == path]


# ---------------------------------------------------------------- one table per view


def _read_tables(path: Paths, request: Request) -> MultiView:
    """Read one view per table; one error lists the problems of all of them.

    A table with a problem is left out of the steps that follow, so that these find the problems
    of the others.
    """
    tables, beside, ignored = _find_tables(path, request)
    problems: list[str] = []
    every = [table.name for table in tables]
    _each(tables, problems, partial(_load, request=request))
    for name in request.drop_columns:
        if not problems and not any(name in table.columns for table in tables):
            problems.append(f"{path}: no column {name!r} for drop_columns={name!r}")
    # with a file of labels, no column is needed for them
    wanted = False if beside else request.labels
    _each(tables, problems, partial(_set_aside, request.drop_columns, wanted))
    if isinstance(wanted, str) and not problems and all(t.labels is None for t in tables):
        problems.append(f"{path}: labels={wanted!r} is neither a file nor a column of it")
    classes, kernels, why = None, False, ""
    name_rows = partial(_name_rows, request.id)
    notes = [] if request.id is False else _together(tables, problems, name_rows) or []
    with files.collect(problems):
        classes = _read_classes(beside[0], request) if beside else _merge_labels(tables)
    with files.collect(problems):
        named = all(roles.is_kernel_name(table.name) for table in tables)
        shapes = [table.frame.shape for table in tables]
        kernels, why = roles.are_kernels(shapes, named, request.kernels)
    if len(tables) > 1 and not any(table.named for table in tables):
        why += " No sample names: row i of every table is taken for the same sample."
    notes.append(why)
    if not kernels:
        with files.collect(problems):
            _orient(tables, classes if beside else None, request.transpose, notes)
        clinical = _clinical_tables(tables) if len(every) > 1 and request.views is None else {}
        views = ",".join(name for name in every if name not in clinical)
        _each(tables, problems, partial(_refuse_values, clinical, views, request.transpose))
    if beside:
        notes.append(f"Labels come from {beside[0].path.name}.")
    elif classes is None and request.labels is None:
        notes.append("No labels: neither a file nor a column is named like them.")
    notes = [note for table in tables for note in table.notes] + notes + ignored

    def join(some: list[Table]) -> MultiView:
        return MultiView(
            [table.frame if table.named else table.frame.to_numpy() for table in some],
            names=[table.name for table in some],
            kernels=kernels,
            labels=_by_position(classes, some) if len(some) == len(every) else None,
            notes=notes,
            feature_names=None if kernels else [table.feature_names for table in some],
        )

    joined = _together(tables, problems, join) if tables else None
    if isinstance(joined, MultiView) and not problems:
        return joined
    several = "\n- ".join([f"{len(problems)} problems:", *problems])
    raise FileFormatError(several if len(problems) > 1 else problems[0])


def _load(table: Table, request: Request) -> None:
    """Read a table; its notes begin with the name of the file."""
    file = table.path
    check_readable(file)
    if kind_of(file) not in TABLES:
        raise FileFormatError("a list takes tables; write matrices to one .h5mu or .npz file")
    table.id = request.id
    load_table(table, request.sep, request.decimal)
    table.notes = [f"{file.name}: {note}" for note in table.notes]


def _set_aside(dropped: Sequence[str], wanted: Name, table: Table) -> None:
    """Leave out columns as asked, and move the column of classes out of a table.

    The classes are no view where no labels are asked for, either.
    """
    for name in [name for name in dropped if name in table.columns]:
        table.frame = table.frame.loc[:, [column != name for column in table.columns]]
        table.notes.append(f"Column {name!r} of {table.path.name} was dropped, as asked.")
    column = roles.label_column(table.columns, wanted)
    if column is None or table.frame.shape[1] == 1:
        return
    table.notes.append(f"Column {column!r} of {table.path.name} holds the labels.")
    values = table.frame.iloc[:, table.columns.index(column)]
    table.frame = table.frame.drop(columns=[values.name])
    if wanted is not False:
        table.labels = _as_classes(values)


def _name_rows(wanted: Name, tables: list[Table]) -> list[str]:
    """Make the column with the sample names the index of every table, as text."""
    if wanted is None:
        for table in tables:
            _name_features(table)
    names = [table.name for table in tables]
    given = [t.filled if t.labels is None else t.frame for t in tables]
    frames, keys, notes = set_sample_names(given, names, wanted or None)
    for table, frame, key in zip(tables, frames, keys, strict=True):
        if key is not None:
            texts = table.written.get(key, frame.index).dropna()
            frame.index = pd.Index(as_text(texts), name=frame.index.name)
            table.frame = frame
        if table.labels is not None:
            table.labels.index = table.frame.index
    return notes


def _name_features(table: Table) -> None:
    """Take a first column of gene names as names of rows, and leave out other columns of such.

    Repeated names, which occur where several rows are of one gene, get a number.
    """
    frame, columns = table.frame, table.columns
    if table.named or not columns or not roles.is_feature_name(columns[0]):
        return
    others = [name for name in columns[1:] if roles.is_feature_name(name)]
    values = frame.iloc[:, 1:].drop(columns=others)
    if frame.dtypes.iloc[0].kind != "O" or text_columns(values):
        return
    names = frame.iloc[:, 0].fillna("unnamed").astype(str)
    again = names.groupby(names).cumcount()
    names = names.where(again == 0, names + "." + again.astype(str))
    if others:
        left = list_names(others)
        table.notes.append(f"Left out of {table.path.name}, beside {columns[0]!r}: {left}.")
    table.frame = values.set_axis(names.rename(columns[0]))


def _orient(tables: Sequence[Table], classes: Any, forced: bool | None, notes: list[str]) -> None:
    """Transpose tables whose columns are samples: as asked, else by names.

    Tables that share columns but no rows may have genes as rows, or samples that are spelled
    differently: they are transposed only if rows of one are named like features.
    """
    if forced is not None:
        notes.append(f"{'Transposed' if forced else 'Not transposed'}, as asked.")
        for table in tables if forced else ():
            turned, names = table.frame.T, table.feature_names
            if names is not None and len({*names}) < len(names):
                raise FileFormatError(f"{table.path}: columns of one name cannot name samples")
            table.frame = turned.set_axis(range(len(turned)) if names is None else names)
        return
    beside = [] if classes is None else [pd.DataFrame(index=classes.index)]
    frames, names = [table.frame for table in tables], [table.name for table in tables]
    turned, more = turn_transposed([*frames, *beside], [*names, ""])
    if not more and _list_features_as_rows(tables):
        turned = [frame.set_axis(frame.columns.astype(str), axis="columns").T for frame in frames]
        more = ["Transposed: the tables share their columns, and their rows are features."]
    notes += more
    for table, frame in zip(tables, turned, strict=False):
        table.frame, table.turned = frame, frame is not table.frame


def _list_features_as_rows(tables: Sequence[Table]) -> bool:
    """Return whether several tables of numbers share columns, no rows, and rows are features."""
    if len(tables) < 2 or any(not t.named or text_columns(t.frame) for t in tables):
        return False
    headers = [set(table.columns) for table in tables]
    rows = [name for table in tables for name in set(as_text(table.frame.index))]
    return (
        len(set.intersection(*headers)) > max(1, min(map(len, headers)) / 2)
        and len(set(rows)) == len(rows)
        and any(roles.lists_features(table.frame.index) for table in tables)
        and not any(roles.lists_features(table.frame.columns) for table in tables)
    )


def _refuse_values(
    clinical: Mapping[str, list[str]], views: str, transpose: bool | None, table: Table
) -> None:
    """Refuse a clinical table beside others, genes as rows, text, and repeated sample names."""
    index, wrong = table.frame.index, not_numeric(table)
    if found := clinical.get(table.name):
        wrong = (
            f"it seems to be a clinical table (columns {list_names(found)}); compare it with the "
            f"clusters instead of clustering it, --annotations {table.path} --views {views} (in "
            "Python compare_annotations)"
        )
    elif transpose is None and table.named and not table.turned and roles.lists_features(index):
        wrong = (
            f"its rows seem to be genes or other features ({list_names(list(index[:2]), '')}), and "
            "its columns the samples; pass transpose=True if so, otherwise transpose=False"
        )
    elif not wrong and "," in views and table.named and index.has_duplicates:
        twice = list_names(list(index[index.duplicated()].unique()))
        wrong = f"several rows are named {twice}; name another column by id=..."
    if wrong:
        raise FileFormatError(wrong)


def _clinical_tables(tables: Sequence[Table]) -> dict[str, list[str]]:
    """Return the tables that are clinical, and for each the columns that make it so."""
    found = {}
    for table in tables:
        texts = [str(column) for column in text_columns(table.frame)]
        numbers = [column for column in table.columns if column not in texts]
        columns = roles.clinical_columns(texts, numbers)
        if columns and "pass decimal=" not in not_numeric(table):  # texts may be numbers
            found[table.name] = columns
    return found


def _describe_table(table: Table, request: Request, several: bool = False) -> Variable:
    """Describe a table that is one view, or the labels, of one or several files."""
    readable = [table]
    _each(readable, [], partial(_load, request=request))
    if not readable:
        return Variable(table.name, "table", (), kind_of(table.path), "not readable")
    shape = (len(table.frame), table.frame.shape[1] + table.named)
    _each(readable, [], lambda _: _name_rows(None, readable))
    role = "annotations" if several and _clinical_tables([table]) else "views"
    return Variable(table.name, "table", shape, kind_of(table.path), role)


# ---------------------------------------------------------------- labels


def _read_classes(table: Table, request: Request) -> Any:
    """Return a file of labels as a Series, by sample names if it has them."""
    with naming(table.path):
        _load(table, request)
        frame = table.frame.reset_index() if table.named else table.frame
        columns = [str(column) for column in frame.columns]
        titled = roles.is_label_name(columns[-1]) or (columns[1:] and is_key_name(columns[0]))
        if len(text_columns(frame)) == len(columns) and not titled:
            frame = pd.DataFrame([columns, *frame.to_numpy().tolist()])  # the header is a row
            columns = [str(column) for column in frame.columns]
        names, labels = roles.split_classes(columns, request.id)
        values = _as_classes(frame.iloc[:, labels]).rename(table.path.name)
        if names is None:
            return values
        texts = table.written.get(frame.columns[names], frame.iloc[:, names])
        index = pd.Index(as_text(texts))
        if index.has_duplicates:
            twice = index[index.duplicated()][0]
            raise FileFormatError(f"{twice!r} occurs repeatedly in its column of sample names")
        return values.set_axis(index)


def _by_position(classes: Any, tables: Sequence[Table] = ()) -> Any:
    """Return classes without names as an array, unless the rows of the tables are reordered."""
    in_order = all(table.frame.index.equals(tables[0].frame.index) for table in tables)
    unnamed = in_order and isinstance(getattr(classes, "index", None), pd.RangeIndex)
    return classes.to_numpy() if unnamed else classes


def _as_classes(column: Any) -> Any:
    """Return a column of labels as numbers if all are numbers, else as text."""
    if column.isna().any():
        raise FileFormatError(f"the label in row {int(column.isna().argmax())} is missing")
    return pd.Series(roles.as_labels(column.to_numpy(), str(column.name)), index=column.index)


def _merge_labels(tables: Sequence[Table]) -> Any:
    """Return the labels in columns of the tables; None if there are none."""
    found = [table for table in tables if table.labels is not None]
    if not found:
        return None
    sources = ", ".join(table.path.name for table in found)
    merged = pd.concat([table.labels for table in found]).rename(sources)
    if (merged.groupby(level=0).nunique() > 1).any():
        raise FileFormatError(f"{sources} have different labels; choose one with labels=...")
    return merged[~merged.index.duplicated()]
