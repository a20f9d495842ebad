"""Read views from files: one file with many variables, or one table per view."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ._guards.limits import DEFAULT_LIMITS, Limits, as_path, check_regular, naming
from .assemble import as_labels, assemble
from .choose import Name, Request, choose_labels
from .manifest import NAME as MANIFEST
from .manifest import is_output_folder, is_result, refuse_result
from .plan import make_plan
from .tables import Classes, Table, combine
from .variables import Variable, is_label_name, listed

# The module that reads each kind of file. It is imported on first use.
ARCHIVES = {".mat": "mat", ".npz": "npz"}  # many variables in one file
OMICS = {".h5mu": "h5mu", ".h5ad": "h5mu"}  # matrices with sample names
TABLES = {".csv": "delimited", ".tsv": "delimited", ".parquet": "parquet"}  # one table
READERS = ARCHIVES | OMICS | TABLES
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read(
    path: Paths,
    *,
    views: str | Sequence[str] | None = None,
    labels: Name = None,
    index: Name = None,
    transpose: bool | None = None,
    kernels: bool | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> MultiView:
    """Read views from a .mat, .npz, .h5mu, .h5ad, .csv, .tsv or .parquet file, or several files.

    Parameters left at None are decided from names and shapes. The ``notes`` of the result state
    every decision.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, or a list of files. In a folder or list every file is a view, named
        after the file. Rows are aligned by sample names where the files have them. Samples that
        are missing from some files are kept.
    views : str or list of str, optional
        Variables (or files) to use, in this order.
    labels : str or False, optional
        Variable, file or column with the classes; False for none.
    index : str or False, optional
        Column (or variable) with the sample names; False for none.
    transpose : bool, optional
        Whether samples are columns.
    kernels : bool, optional
        Whether the views are kernel matrices.
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
    request = Request(chosen, labels, index, transpose, kernels)
    _check(request)
    file = _archive(path)
    if file is None:
        return _read_tables(path, request, limits)
    with naming(file):
        return _read_archive(file, request, limits)


def inspect(path: Paths, *, limits: Limits = DEFAULT_LIMITS) -> list[Variable]:
    """List what a file or folder holds, with the role that `read` would give to each part.

    Only headers are read, except that cells in .mat files are decompressed and the lines of text
    tables are counted.

    Parameters
    ----------
    path : path or list of paths
        As in `read`.
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
    views, classes, _ = _sorted_out(path, Request(), limits)
    pairs = [(view, "views") for view in views] + [(table, "labels") for table in classes]
    return [_described(table, role, limits) for table, role in pairs]


def _check(request: Request) -> None:
    for name in ("labels", "index"):
        value = getattr(request, name)
        if not (value is None or value is False or isinstance(value, str)):
            raise InputError(f"{name} must be a name, False or None, got {value!r}")
    if request.views is not None and not all(isinstance(name, str) for name in request.views):
        raise InputError(f"views must be names, got {request.views!r}")
    if request.views == ():
        raise InputError("views is empty: name at least one, or leave it out")


def _archive(path: Paths) -> Path | None:
    """Return the path if it is a single file with many variables."""
    if not isinstance(path, str | os.PathLike):
        return None
    file = as_path(path)
    with naming(file):
        if file.is_dir():
            return None
        _check_readable(file)
        return None if _kind(file) in TABLES else file


def _kind(file: Path) -> str:
    return file.suffix.lower()


def _check_readable(file: Path) -> None:
    check_regular(file)
    refuse_result(file)
    if _kind(file) not in READERS:
        raise FileFormatError(f"unknown extension {_kind(file)!r}; known are {', '.join(READERS)}")


def _reader(file: Path) -> Any:
    """Import the module that reads this kind of file."""
    _check_readable(file)
    return import_module(f".{READERS[_kind(file)]}", __package__)


def _read_archive(file: Path, request: Request, limits: Limits) -> MultiView:
    reader = _reader(file)
    if _kind(file) in OMICS:
        found: MultiView = reader.read_views(file, request, limits)
        return found
    plan = make_plan(reader.variables(file, limits), request, reader.STACK_AXIS, limits)
    return assemble(plan, reader.load(file, plan.wanted, limits))


def _with_roles(file: Path, limits: Limits) -> list[Variable]:
    reader = _reader(file)
    variables = reader.variables(file, limits)
    if _kind(file) in OMICS:
        return list(variables)
    try:
        roles = make_plan(variables, Request(), reader.STACK_AXIS, limits).roles
    except InputError as error:
        roles = {variable.name: f"undecided: {error}" for variable in variables}
    return [replace(variable, role=roles[variable.name]) for variable in variables]


def _described(file: Path, role: str, limits: Limits) -> Variable:
    """Describe a file that is one view, or the labels, among several files."""
    with naming(file):
        reader = _reader(file)
        if _kind(file) in TABLES:
            return replace(reader.describe(file, limits, role == "labels"), role=role)
        parts = [v for v in _with_roles(file, limits) if v.role == role]
        return replace(parts[0], name=file.stem) if parts else Variable(file.stem, "archive", ())


def _read_tables(path: Paths, request: Request, limits: Limits) -> MultiView:
    files, classes, notes = _sorted_out(path, request, limits)
    # with a file of labels, no column or variable is needed for them
    inner = replace(request, labels=False) if classes else request
    tables = [_read_table(file, inner, limits) for file in files]
    if isinstance(inner.labels, str) and all(table.labels is None for table in tables):
        raise InputError(f"{path}: labels={inner.labels!r} is neither a file nor a column of it")
    found = None
    if classes and request.labels is not False:
        found = _read_classes(classes[0], request, limits)
    return combine(tables, found, request, notes)


def _read_table(file: Path, request: Request, limits: Limits) -> Table:
    with naming(file):
        reader = _reader(file)
        if _kind(file) in TABLES:
            table: Table = reader.read_table(file, request, limits)
            return table
        alone = Request(labels=request.labels, transpose=request.transpose, kernels=False)
        views = _read_archive(file, alone, limits)
        if views.n_views > 1:
            raise FileFormatError(f"it holds {views.n_views} views; a list takes one per file")
        note = f"View {file.stem} is {views.names[0]} of {file.name}."
        done = request.transpose is not None
        index = None if views.index is None else tuple(map(str, views.index))
        return Table(
            file, views.views[0], index=index, labels=views.labels, notes=(note,), oriented=done
        )


def _read_classes(file: Path, request: Request, limits: Limits) -> Classes:
    with naming(file):
        reader = _reader(file)
        if _kind(file) in TABLES:
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
    limits.allow("views", len(files), str(path)[:200])
    if isinstance(request.labels, str):
        classes = [file for file in files if request.labels in (file.stem, file.name)]
    else:
        classes = [file for file in files if is_label_name(file.stem)] if len(files) > 1 else []
    views = [file for file in files if file not in classes]
    if request.views is not None:
        views = [_file_named(files, name) for name in request.views]
        classes = [file for file in classes if file not in views]
        notes += [f"Ignored {f.name}." for f in files if f not in views and f not in classes]
    notes += [f"Ignored {file.name}, as {classes[0].name} has labels." for file in classes[1:]]
    if not views:
        raise FileFormatError(f"{path}: only labels, no views")
    return views, classes, notes


def _file_named(files: Sequence[Path], name: str) -> Path:
    for file in files:
        if name in (file.stem, file.name):
            return file
    raise InputError(f"views={name!r} is none of the files {', '.join(f.name for f in files)}")


def _tables_in(folder: Path) -> tuple[list[Path], list[str]]:
    with naming(folder):
        there = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        results = [entry for entry in there if is_result(entry) or is_output_folder(entry)]
        files = [e for e in there if e.suffix.lower() in TABLES and e not in results]
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
