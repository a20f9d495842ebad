"""Read views from files: one file with many variables, or one table per view."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ._guards.limits import DEFAULT_LIMITS, Limits, as_path, check_regular, naming
from .choose import Name, Request, choose_labels
from .columns import NotAKeyError
from .formats import (
    OMICS,
    READERS,
    STACK_AXIS,
    TABLES,
    TEXTS,
    WORKBOOKS,
    file_of,
    is_sheet,
    kind_of,
    view_name,
)
from .manifest import NAME as MANIFEST
from .manifest import is_result, read_manifest, refuse_result
from .plan import make_plan
from .tables import Classes, Table, combine, with_classes
from .variables import Variable, as_labels, is_label_name, listed

UNUSABLE = "\"'\r\n0123456789+-"  # as a separator of cells
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(
    path: Paths,
    *,
    views: str | Sequence[str] | None = None,
    labels: Name = None,
    index: Name = None,
    transpose: bool | None = None,
    kernels: bool | None = None,
    drop_columns: str | Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> MultiView:
    """Read views from one or more files.

    Files are .mat, .npz, .h5mu, .h5ad, .csv, .tsv (or .csv.gz, .tsv.gz), .xlsx or .parquet.
    Parameters left at None are decided from names and shapes. The ``notes`` of the result state
    every decision.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, or a list of files. In a folder or list every file is a view, named
        after the file; in a workbook every sheet is one. Rows are aligned by sample names where
        the files have them. Samples that are missing from some files are kept.
    views : str or list of str, optional
        Variables (or files) to use, in this order.
    labels : str or False, optional
        Variable, file or column with the classes; a path for a file elsewhere; False for none.
    index : str or False, optional
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
    limits : Limits
        What a file may claim before it is refused.

    Returns
    -------
    views : MultiView

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
    request = Request(chosen, labels, index, transpose, kernels, dropped, sep, decimal)
    _check(request)
    file = _archive(path)
    if file is None:
        return _read_tables(path, request, limits)
    _check_only_tables(request, [file])
    with naming(file):
        beside = _labels_elsewhere(request.labels, [file])
        if beside is None:
            return _read_archive(file, request, limits)
        found = _read_archive(file, replace(request, labels=False), limits)
    return with_classes(found, _read_classes(beside, request, limits))


def inspect(
    path: Paths, *, sep: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> list[Variable]:
    """List what a file or folder holds, with the role that `read` would give to each part.

    Only headers are read, except that cells in .mat files are decompressed and the lines of text
    tables are counted.

    Parameters
    ----------
    path : path or list of paths
        As in `read`.
    sep : str, optional
        Character between the cells of a text table.
    limits : Limits
        What a file may claim before it is refused.

    Returns
    -------
    variables : list of Variable
    """
    file = _archive(path)
    if file is not None:
        with naming(file):
            return _with_roles(file, limits)
    request = Request(sep=sep)
    _check(request)
    views, classes, _ = _sorted_out(path, request, limits)
    pairs = [(view, "views") for view in views] + [(table, "labels") for table in classes]
    return [_described(table, role, request, limits) for table, role in pairs]


def _check(request: Request) -> None:
    for name in ("labels", "index"):
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
        ("decimal", TEXTS | WORKBOOKS),
    ):
        if getattr(request, name) and not kinds & {*allowed}:
            given = ", ".join(sorted(kinds))
            raise InputError(f"{name}=... applies to {', '.join(allowed)} only, not to {given}")


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
    if kind_of(file) not in READERS:
        raise FileFormatError(
            f"unknown extension {kind_of(file)!r}; known are {', '.join(READERS)}"
        )


def _reader(file: Path) -> Any:
    """Import the module that reads this kind of file."""
    _check_readable(file)
    name = READERS[kind_of(file)]
    if name == "mat5":
        import h5py  # slow to import, and not needed for other formats

        name = "mat73" if h5py.is_hdf5(file) else name
    module = import_module(f".{name}", __package__)
    return getattr(module, "READER", module)


def _read_archive(file: Path, request: Request, limits: Limits) -> MultiView:
    reader = _reader(file)
    if kind_of(file) in OMICS:
        found: MultiView = reader.read_views(file, request, limits)
        return found
    variables = reader.variables(file, limits)
    plan = make_plan(variables, request, STACK_AXIS[kind_of(file)], limits)
    return plan.views(reader.load(file, plan.wanted, limits))


def _with_roles(file: Path, limits: Limits) -> list[Variable]:
    reader = _reader(file)
    variables = reader.variables(file, limits)
    if kind_of(file) in OMICS:
        return list(variables)
    try:
        roles = make_plan(variables, Request(), STACK_AXIS[kind_of(file)], limits).roles
    except InputError as error:
        roles = {variable.name: f"undecided: {error}" for variable in variables}
    return [replace(variable, role=roles[variable.name]) for variable in variables]


def _described(file: Path, role: str, request: Request, limits: Limits) -> Variable:
    """Describe a file that is one view, or the labels, among several files."""
    with naming(file):
        reader = _reader(file)
        if kind_of(file) in TABLES:
            return replace(reader.describe(file, request, limits, role == "labels"), role=role)
        parts = [v for v in _with_roles(file, limits) if v.role == role]
        found = parts[0] if parts else Variable("", "archive", ())
        return replace(found, name=view_name(file))


def _read_tables(path: Paths, request: Request, limits: Limits) -> MultiView:
    files, classes, notes = _sorted_out(path, request, limits)
    # with a file of labels, no column or variable is needed for them
    inner = replace(request, labels=False) if classes else request
    _check_only_tables(request, files)
    tables = [_read_table(file, inner, limits) for file in files]
    for name in request.drop_columns:
        if not any(name in table.dropped for table in tables):
            raise InputError(f"{path}: no column {name!r} for drop_columns=...")
    if isinstance(inner.labels, str) and all(table.labels is None for table in tables):
        raise InputError(f"{path}: labels={inner.labels!r} is neither a file nor a column of it")
    found = None
    if classes and request.labels is not False:
        found = _read_classes(classes[0], request, limits)
    return combine(tables, found, request, notes)


def _read_table(file: Path, request: Request, limits: Limits) -> Table:
    with naming(file):
        reader = _reader(file)
        for tried in count() if kind_of(file) in TABLES else ():  # candidates for sample names
            with suppress(NotAKeyError):
                table: Table = reader.read_table(file, request, limits, tried)
                return table
        alone = Request(labels=request.labels, transpose=request.transpose, kernels=False)
        views = _read_archive(file, alone, limits)
        if views.n_views > 1:
            raise FileFormatError(f"it holds {views.n_views} views; a list takes one per file")
        note = f"View {view_name(file)} is {views.names[0]} of {file.name}."
        done = request.transpose is not None
        index = None if views.index is None else tuple(map(str, views.index))
        return Table(
            file, views.views[0], index=index, labels=views.labels, notes=(note,), oriented=done
        )


def _read_classes(file: Path, request: Request, limits: Limits) -> Classes:
    with naming(file):
        reader = _reader(file)
        if kind_of(file) in TABLES:
            found: Classes = reader.read_classes(file, request, limits)
            return found
        variables = reader.variables(file, limits)
        vectors = [v for v in variables if (v.entries or 0) > 1]
        variable = choose_labels(variables, None) or (vectors[0] if len(vectors) == 1 else None)
        if variable is None:
            raise FileFormatError(f"no labels found; it has {listed(variables)}")
        limits.allow("bytes", variable.room, variable.name)
        loaded = reader.load(file, [variable], limits)
        return Classes(file, as_labels(loaded[variable.name]))


def _sorted_out(
    path: Paths, request: Request, limits: Limits
) -> tuple[list[Path], list[Path], list[str]]:
    """Return the files that are views, the files that are labels, and notes on the others."""
    if isinstance(path, str | os.PathLike):
        folder = as_path(path)
        files, notes = _tables_in(folder) if folder.is_dir() else ([folder], [])
    elif isinstance(path, Sequence):
        files, notes = [as_path(file) for file in path], []
    else:
        raise InputError(f"neither a path nor a list of paths: {path!r}")
    if not files:
        raise InputError("an empty list of files: at least one is needed")
    files = _with_sheets(files, notes, limits)
    limits.allow("views", len(files), str(path)[:200])
    classes = _classes_among(files, request.labels)
    beside = _labels_elsewhere(request.labels, files)
    if beside is not None:
        files = [file for file in files if file.resolve() != beside.resolve()]
        classes = [beside]
    views = [file for file in files if file not in classes]
    if request.views is not None:
        views = [_file_named(files, name) for name in request.views]
        classes = [file for file in classes if file not in views]
        notes += [f"Ignored {f.name}." for f in files if f not in views and f not in classes]
    notes += [f"Ignored {file.name}, as {classes[0].name} has labels." for file in classes[1:]]
    if not views:
        raise FileFormatError(f"{path}: only labels, no views")
    return views, classes, notes


def _with_sheets(files: Sequence[Path], notes: list[str], limits: Limits) -> list[Path]:
    """Replace every workbook by its sheets."""
    found: list[Path] = []
    for file in files:
        if kind_of(file) not in WORKBOOKS or is_sheet(file):
            found.append(file)
            continue
        with naming(file):
            from .excel import sheets

            _check_readable(file)
            inside, more = sheets(file, limits)
        found += inside
        notes += more
    return found


def _classes_among(files: Sequence[Path], labels: Name) -> list[Path]:
    """Return the files that hold the classes: those named so, else those named like labels."""
    if isinstance(labels, str):
        return [file for file in files if labels in (view_name(file), file.name)]
    return [file for file in files if is_label_name(view_name(file))] if len(files) > 1 else []


def _labels_elsewhere(labels: Name, files: Sequence[Path]) -> Path | None:
    """Return the path of a file of labels that is none of the files by its name."""
    if not isinstance(labels, str) or _classes_among(files, labels):
        return None
    path = as_path(labels)
    return path if kind_of(path) in READERS and file_of(path).is_file() else None


def _file_named(files: Sequence[Path], name: str) -> Path:
    for file in files:
        if name in (view_name(file), file.name):
            return file
    raise InputError(f"views={name!r} is none of the files {', '.join(f.name for f in files)}")


def _tables_in(folder: Path) -> tuple[list[Path], list[str]]:
    with naming(folder):
        there = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        results = [entry for entry in there if is_result(entry) or read_manifest(entry)]
        files = [e for e in there if kind_of(e) in TABLES and e not in results]
        if not files:
            known = ", ".join(TABLES)
            found = f"only results of mkclust, listed in {MANIFEST}" if results else "none here"
            raise FileFormatError(f"a folder should hold one table per view ({known}): {found}")
    notes = _ignored([e for e in there if e not in files and e not in results], "in the folder")
    notes += _ignored(results, "in the folder, which are results of mkclust")
    return sorted(files, key=_natural), notes


def _ignored(entries: Sequence[Path], where: str) -> list[str]:
    names = sorted(entry.name for entry in entries)
    return [f"Ignored {', '.join(names[:20])} {where}."] if names else []


def _natural(file: Path) -> list[Any]:
    """Sort key that puts view2 before view10."""
    parts = re.split(r"(\d{1,18})", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
