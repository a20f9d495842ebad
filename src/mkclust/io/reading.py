"""`read` and `inspect`: one file with many variables, or tables with one view each."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import delimited, h5mu, mat, npz, parquet
from ._guards.limits import DEFAULT_LIMITS, Limits, as_path, check_regular, naming
from .assemble import as_labels, assemble
from .choose import Name, Request, choose_labels
from .plan import make_plan
from .tables import Classes, Table, combine
from .variables import Variable, is_label_name, listed

ARCHIVES: dict[str, Any] = {".mat": mat, ".npz": npz}  # many variables in one file
OMICS: dict[str, Any] = {".h5mu": h5mu, ".h5ad": h5mu}  # matrices with the names of their samples
TABLES: dict[str, Any] = {".csv": delimited, ".tsv": delimited, ".parquet": parquet}
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
    """Views from a .mat, .npz, .h5mu, .h5ad, .csv, .tsv or .parquet file, a folder or a list.

    What is not said is decided from names and shapes; the result's ``notes`` tell how.

    Parameters
    ----------
    path : path or list of paths
        In a folder or list every file is a view, named after the file; rows follow the sample
        names where the files have them, and samples that only some files have are kept.
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
    """What a file or folder holds, and the role `read` would give to each part.

    Headers are read, not arrays; only cells in .mat files are unpacked, and lines of text counted.
    """
    file = _archive(path)
    if file is not None:
        with naming(file):
            return _with_roles(_reader(file), file, limits)
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
    """The path, when it is a single file with many variables."""
    if not isinstance(path, str | os.PathLike):
        return None
    file = as_path(path)
    with naming(file):
        return file if not file.is_dir() and _reader(file) not in TABLES.values() else None


def _reader(file: Path) -> Any:
    """The module that reads this kind of file, once it is known to be a file."""
    readers = {**ARCHIVES, **OMICS, **TABLES}
    kind = file.suffix.lower()
    check_regular(file)
    if kind not in readers:
        raise FileFormatError(f"unknown extension {kind!r}; known are {', '.join(readers)}")
    return readers[kind]


def _read_archive(file: Path, request: Request, limits: Limits) -> MultiView:
    reader = _reader(file)
    if reader is h5mu:
        return h5mu.read_views(file, request, limits)
    plan = make_plan(reader.variables(file, limits), request, reader.STACK_AXIS, limits)
    return assemble(plan, reader.load(file, plan.wanted, limits))


def _with_roles(reader: Any, file: Path, limits: Limits) -> list[Variable]:
    variables = reader.variables(file, limits)
    if reader is h5mu:
        return list(variables)
    try:
        roles = make_plan(variables, Request(), reader.STACK_AXIS, limits).roles
    except InputError as error:
        roles = {variable.name: f"undecided: {error}" for variable in variables}
    return [replace(variable, role=roles[variable.name]) for variable in variables]


def _described(file: Path, role: str, limits: Limits) -> Variable:
    """A file that is one view, or labels, among others."""
    with naming(file):
        reader = _reader(file)
        if reader in TABLES.values():
            return replace(reader.describe(file, limits, role == "labels"), role=role)
        parts = [v for v in _with_roles(reader, file, limits) if v.role == role]
        return replace(parts[0], name=file.stem) if parts else Variable(file.stem, "archive", ())


def _read_tables(path: Paths, request: Request, limits: Limits) -> MultiView:
    files, classes, notes = _sorted_out(path, request, limits)
    # classes from their own file leave no need for a column or variable that holds them
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
        if reader in TABLES.values():
            return reader.read_table(file, request, limits)
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
        if reader in TABLES.values():
            return reader.read_classes(file, request, limits)
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
    """Files that are views, files that are labels, and notes about the others."""
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
        files = [entry for entry in there if entry.suffix.lower() in TABLES]
        if not files:
            known = ", ".join(TABLES)
            raise FileFormatError(f"a folder should hold one table per view ({known}): none here")
    others = sorted(entry.name for entry in there if entry not in files)
    notes = [f"Ignored {', '.join(others[:20])} in the folder."] if others else []
    return sorted(files, key=_natural), notes


def _natural(file: Path) -> list[Any]:
    """So that view2 comes before view10."""
    parts = re.split(r"(\d{1,18})", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
