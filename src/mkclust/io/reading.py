"""Read views from files: one file with many variables, or one table per view."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..data.alignment import as_text, set_sample_names, turn_transposed
from ..data.values import list_names
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import roles, tables
from .files import OMICS, TABLES, TEXTS, as_path, kind_of, naming, view_name
from .results import RESULT, check_readable, is_result
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
        A file, a folder, or a list of tables, .h5ad and .h5mu files. In a folder or list every
        file is a view, named after the file; of a workbook with several sheets, every sheet is
        one. Rows are joined by sample names where the files have them. Samples that are missing
        from some files are kept.
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
    request = Request(
        _as_names(views),
        labels,
        id,
        transpose,
        kernels,
        _as_names(drop_columns) or (),
        sep,
        decimal,
    )
    _check_request(request)
    if untrusted:
        from .untrusted import call_in_child

        return call_in_child("read", path, vars(request), memory_limit, time_limit)
    file = _archive(path)
    if file is None:
        return _read_tables(path, request)
    beside = _find_table(labels)
    with naming(file):
        if request.drop_columns:
            raise InputError(f"drop_columns=... applies to {', '.join(TABLES)} only")
        found = _read_archive(file, replace(request, labels=False) if beside else request)
    if beside is None:
        return found
    samples = None if found.index is None else as_text(found.index)
    classes = _select_labels(_read_classes(beside, request), samples, str(beside.path))
    notes = [note for note in found.notes if note != roles.NO_LABELS]
    return MultiView(found, labels=classes, notes=[*notes, f"Labels come from {beside.path.name}."])


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

        return call_in_child("inspect", path, {"sep": sep}, memory_limit, time_limit)
    file = _archive(path)
    if file is not None:
        with naming(file):
            return _describe_archive(file)
    views, classes, _ = _find_sources(path, request)
    found = [_describe_table(source, request, several=len(views) > 1) for source in views]
    return found + [_describe_table(source, request, labels=True) for source in classes]


@dataclass(eq=False)
class Source:
    """A file, or a sheet of a workbook, that is one view, and what was read from it.

    Attributes
    ----------
    name : str
        Name of the view.
    path : Path
    sheet : str, optional
    frame : DataFrame
        Its index names the samples once `named` is True.
    decimal : {".", ","}
    notes : list of str
    labels : Series, optional
    """

    name: str
    path: Path
    sheet: str | None = None
    frame: Any = None
    decimal: str = "."
    notes: list[str] = field(default_factory=list)
    labels: Any = None

    def is_called(self, name: str) -> bool:
        """Return whether `views` or `labels` may call it so."""
        spellings = (self.name, self.path.name, self.sheet)
        return name in spellings or as_path(name).resolve() == self.path.resolve()

    @property
    def named(self) -> bool:
        """Whether the rows have names, as texts."""
        return self.frame.index.dtype.kind not in "iu"

    @property
    def columns(self) -> list[str]:
        return [str(column) for column in self.frame.columns]

    @property
    def numbered(self) -> bool:
        """Whether the columns have no names."""
        return self.columns == [str(p) for p in range(len(self.columns))]

    def transpose(self) -> None:
        columns = self.columns
        if len({*columns}) < len(columns):
            raise FileFormatError(
                f"{self.path}: several columns have the same name, so they cannot name samples"
            )
        turned = self.frame.T
        turned.index = range(len(turned)) if self.numbered else columns
        turned.columns = turned.columns if self.named else range(turned.shape[1])
        self.frame = turned


def _as_names(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _check_request(request: Request) -> None:
    """Refuse choices of the wrong type."""
    sep, decimal = request.sep, request.decimal
    names = (*(request.views or ()), *request.drop_columns)
    for name, value in (("labels", request.labels), ("id", request.id)):
        if not (value is None or value is False or isinstance(value, str)):
            raise InputError(f"{name} must be a name, False or None, got {value!r}")
    if request.views == () or not all(isinstance(name, str) for name in names):
        raise InputError("views and drop_columns must be names, and views at least one")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal must be '.' or ',', got {decimal!r}")
    unusable = (*UNUSABLE, decimal)
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in unusable):
        raise InputError(f"sep must be one character between cells, such as ';', got {sep!r}")


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


def _find_sources(path: Paths, request: Request) -> tuple[list[Source], list[Source], list[str]]:
    """Return the files that are views, the file of labels, if any, and notes on the others."""
    if isinstance(path, str | os.PathLike):
        folder = as_path(path)
        paths, notes = _list_folder(folder) if folder.is_dir() else ([folder], [])
    elif isinstance(path, Sequence):
        paths, notes = [as_path(file) for file in path], []
    else:
        raise InputError(f"neither a path nor a list of paths: {path!r}")
    if not paths:
        raise InputError("an empty list of files: at least one is needed")
    sources = [source for file in paths for source in _list_sheets(file, notes)]
    wanted = request.labels
    if isinstance(wanted, str):
        elsewhere = _find_table(wanted)
        classes = [s for s in sources if s.is_called(wanted)]
        if not classes and elsewhere is not None:
            classes = [elsewhere]
    else:
        classes = [s for s in sources if roles.is_label_name(s.name) and len(sources) > 1]
    views = [source for source in sources if source not in classes]
    if request.views is not None:
        views = [_named(sources, name) for name in request.views]
        classes = [source for source in classes if source not in views]
        notes += [f"Ignored {s.path.name}." for s in sources if s not in (*views, *classes)]
    notes += [f"Ignored {s.path.name}, as {classes[0].path.name} has labels." for s in classes[1:]]
    if not views:
        raise FileFormatError(f"{path}: only labels, no views")
    return views, classes, notes


def _list_folder(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the tables of a folder in natural order, and notes on what else it holds."""
    with naming(folder):
        there = sorted(folder.iterdir())
    results = [entry for entry in there if is_result(entry) or is_result(entry / RESULT)]
    aside = [e for e in there if e.name.startswith((".", "~$"))]  # of systems and of Excel
    found = [e for e in there if kind_of(e) in TABLES and e not in (*results, *aside)]
    others = ", ".join([e.name for e in there if e not in found][:20])
    if not found:
        only = f"only results of mkclust, listed in {RESULT}" if results else others or "nothing"
        raise FileFormatError(
            f"{folder}: a folder should hold one table per view ({', '.join(TABLES)}), but it has "
            f"{only}"
        )
    return sorted(found, key=_natural), [f"Ignored {others} in the folder."] if others else []


def _natural(file: Path) -> list[Any]:
    """Sort key that puts view2 before view10."""
    parts = re.split(r"(\d{1,18})", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _list_sheets(file: Path, notes: list[str]) -> list[Source]:
    """Return a file, or the sheets of a workbook that has several."""
    sheets: list[str] = []
    if kind_of(file) == ".xlsx" and file.is_file():
        try:
            sheets, ignored = tables.find_sheets(file)
        except InputError:
            pass  # it is reported when the table is read, together with those of other files
        else:
            notes += ignored
    if len(sheets) < 2:
        return [Source(view_name(file), file)]
    return [Source(sheet, file, sheet) for sheet in sheets]


def _find_table(labels: Name) -> Source | None:
    """Return the table with labels whose path was given."""
    path = as_path(labels) if isinstance(labels, str) else Path()
    return Source(view_name(path), path) if kind_of(path) in TABLES and path.is_file() else None


def _named(sources: Sequence[Source], name: str) -> Source:
    for source in sources:
        if source.is_called(name):
            return source
    names = ", ".join(source.name for source in sources)
    raise InputError(f"views={name!r} is none of the files {names}")


# ---------------------------------------------------------------- one table per view


def _read_tables(path: Paths, request: Request) -> MultiView:
    sources, beside, ignored = _find_sources(path, request)
    # with a file of labels, no column or variable is needed for them
    inner = replace(request, labels=False) if beside else request
    problems = []
    for source in sources:
        try:
            _load(source, inner)
        except InputError as error:
            problems.append(str(error))
    _raise_problems(problems)
    for name in request.drop_columns:
        if not any(name in source.columns for source in sources):
            raise InputError(f"{path}: no column {name!r} for drop_columns=...")
    for source in sources:
        _drop_columns(source, request.drop_columns)
        _set_labels_aside(source, inner.labels)
    if isinstance(inner.labels, str) and all(source.labels is None for source in sources):
        raise InputError(f"{path}: labels={inner.labels!r} is neither a file nor a column of it")
    classes = _read_classes(beside[0], request) if beside else None
    notes = [] if request.id is False else _name_rows(sources, request.id)
    kernels, why = roles.are_kernels(
        [source.frame.shape for source in sources],
        all(roles.is_kernel_name(source.name) for source in sources),
        request.kernels,
    )
    notes.append(why)
    if not kernels:
        _orient(sources, classes, request.transpose, notes)
        _check_values(sources, several=len(sources) > 1 and request.views is None)
    if request.labels is False:
        labels = None
        notes.append(roles.NO_LABELS)
    else:
        labels = _find_labels(sources, classes, str(beside[0].path) if beside else "", notes)
    return MultiView(
        [source.frame if source.named else source.frame.to_numpy() for source in sources],
        names=[source.name for source in sources],
        kernels=kernels,
        labels=labels,
        notes=[note for source in sources for note in source.notes] + notes + ignored,
        feature_names=None
        if kernels
        else [None if source.numbered else source.columns for source in sources],
    )


def _load(source: Source, request: Request) -> None:
    """Read the table of a source."""
    name, file = source.name, source.path
    with naming(file):
        check_readable(file)
        if kind_of(file) in TABLES:
            table = tables.load_table(file, request.sep, request.decimal, sheet=source.sheet)
            source.frame, source.decimal = table.frame, table.decimal
            source.notes.append(f"View {name} has the columns of {file.name}.")
            source.notes += [f"{file.name}: {note}" for note in table.notes]
            return
        if kind_of(file) not in OMICS:
            raise FileFormatError(
                "a list takes files with sample names; write the matrices to one file and read that"
            )
        views = _read_archive(file, Request(labels=request.labels, transpose=request.transpose))
    if views.n_views > 1:
        raise FileFormatError(f"{file}: it holds {views.n_views} views; a list takes one per file")
    values = views.views[0]
    make = pd.DataFrame.sparse.from_spmatrix if sp.issparse(values) else pd.DataFrame
    source.frame = make(values, index=as_text(views.index), columns=views.feature_names[0])
    source.labels = None if views.labels is None else pd.Series(views.labels)
    source.notes.append(f"View {name} is {views.names[0]} of {file.name}.")


def _drop_columns(source: Source, names: Sequence[str]) -> None:
    dropped = [name for name in names if name in source.columns]
    source.frame = source.frame.drop(columns=dropped)
    source.notes += [
        f"Column {name!r} of {source.path.name} was dropped, as asked." for name in dropped
    ]


def _set_labels_aside(source: Source, wanted: Name) -> None:
    """Move the column of classes out of a table, also where no labels are asked for."""
    with naming(source.path):
        column = roles.label_column(source.columns, wanted if isinstance(wanted, str) else None)
        if column is None or source.frame.shape[1] == 1:
            return
        source.notes.append(f"Column {column!r} of {source.path.name} holds the labels.")
        values = source.frame.iloc[:, source.columns.index(column)]
        source.frame = source.frame.drop(columns=[values.name])
        if wanted is not False:
            source.labels = _as_classes(values)


def _name_rows(sources: Sequence[Source], wanted: Name) -> list[str]:
    """Make the column with the sample names the index of every table, as text."""
    if wanted is None:
        for source in sources:
            _name_features(source)
    given, names = [source.frame for source in sources], [source.name for source in sources]
    frames, _, notes = set_sample_names(given, names, wanted or None)
    for source, frame in zip(sources, frames, strict=True):
        if frame is not source.frame:
            source.frame = frame.set_axis(pd.Index(as_text(frame.index), name=frame.index.name))
    return notes


def _name_features(source: Source) -> None:
    """Take a first column of gene names as names of rows, and leave out other columns of such.

    Repeated names, which occur where several rows are of one gene, get a number.
    """
    frame, columns = source.frame, source.columns
    if source.named or not columns or not roles.is_feature_name(columns[0]):
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
        source.notes.append(f"Left out of {source.path.name}, beside {columns[0]!r}: {left}.")
    source.frame = frame.iloc[:, kept].set_axis(names.rename(columns[0]))


def _orient(sources: Sequence[Source], classes: Any, forced: bool | None, notes: list[str]) -> None:
    """Transpose tables whose columns are samples: as asked, else by names."""
    shared = forced is None and _share_header(sources)
    if forced is not None:
        notes.append(f"{'Transposed' if forced else 'Not transposed'}, as asked.")
    if shared:
        notes.append("Transposed: the tables share their columns, and no rows.")
    if forced or shared:
        for source in sources:
            source.transpose()
    if forced is not None or shared:
        return
    given = [source.frame for source in sources]
    beside = [] if classes is None else [pd.DataFrame(index=classes.index)]
    turned, more = turn_transposed([*given, *beside], [*(s.name for s in sources), ""])
    notes += more
    for source, frame in zip(sources, turned, strict=False):
        source.frame = frame
    _ask_about_features(
        [s for s, own in zip(sources, given, strict=True) if s.frame is own and s.named], sources
    )


def _share_header(sources: Sequence[Source]) -> bool:
    """Return whether all tables share most columns, and no names of rows."""
    if len(sources) < 2 or not all(source.named for source in sources):
        return False
    rows = [name for source in sources for name in {*source.frame.index}]
    headers = [{*source.columns} for source in sources]
    shared = len(set.intersection(*headers))
    return len({*rows}) == len(rows) and shared > max(1, min(map(len, headers)) / 2)


def _ask_about_features(unturned: Sequence[Source], sources: Sequence[Source]) -> None:
    """Refuse tables that seem to have a row per gene, until `transpose` is given."""
    problems = []
    for source in unturned:
        index = source.frame.index
        joined = any(
            other.named and not index.intersection(other.frame.index).empty
            for other in sources
            if other is not source
        )
        if not joined and (roles.is_feature_name(index.name) or roles.are_features(list(index))):
            problems.append(
                f"{source.path}: its rows seem to be genes or other features "
                f"({list_names(list(index[:2]), '')}), and its {source.frame.shape[1]} columns the "
                "samples; pass transpose=True if so, otherwise transpose=False"
            )
    _raise_problems(problems)


def _check_values(sources: Sequence[Source], several: bool) -> None:
    """Refuse clinical tables beside others, and columns that are not numbers."""
    clinical = {source.name: _clinical(source) if several else [] for source in sources}
    others = [name for name, found in clinical.items() if not found]
    problems = []
    for source in sources:
        if found := clinical[source.name]:
            problems.append(
                f"{source.path}: it seems to be a clinical table (columns {list_names(found)}), "
                "which would be clustered with the others; compare it with the clusters instead, "
                f"--annotations {source.path} --views {','.join(others)} (in Python "
                f"views={others}, then compare_annotations)"
            )
        elif bad := tables.not_numeric(source.frame, source.decimal):
            problems.append(f"{source.path}: {bad}")
    _raise_problems(problems)


def _clinical(source: Source) -> list[str]:
    """Return the columns that make a table clinical; none for a view."""
    if "pass decimal=" in tables.not_numeric(source.frame, source.decimal):
        return []  # its texts are numbers in another notation
    texts = [str(source.frame.columns[p]) for p in tables.text_positions(source.frame)]
    return roles.clinical_columns(texts, [c for c in source.columns if c not in texts])


def _describe_table(
    source: Source, request: Request, labels: bool = False, several: bool = False
) -> Variable:
    """Describe a file that is one view, or the labels, of one or several files."""
    file, role = source.path, "labels" if labels else "views"
    with naming(file):
        check_readable(file)
        if kind_of(file) not in TABLES:
            parts = [v for v in _describe_archive(file) if v.role == role]
            return replace(parts[0] if parts else Variable("", "archive", ()), name=source.name)
        source.frame = tables.load_table(file, request.sep, None, labels, source.sheet).frame
        shape = (len(source.frame), source.frame.shape[1] + source.named)
        if several:
            _name_rows([source], None)
            role = "annotations" if _clinical(source) else role
        return Variable(source.name, "table", shape, STORED[kind_of(file)], role)


# ---------------------------------------------------------------- labels


def _read_classes(source: Source, request: Request) -> Any:
    """Return a file of labels as a Series, by sample names if it has them."""
    with naming(source.path):
        check_readable(source.path)
        if kind_of(source.path) not in TABLES:
            raise FileFormatError(f"labels beside views are read from {', '.join(TABLES)}")
        frame = tables.load_table(
            source.path, request.sep, request.decimal, classes=True, sheet=source.sheet
        ).frame
        names, labels = roles.split_classes([str(c) for c in frame.columns], request.id)
        values = _as_classes(frame.iloc[:, labels])
        if names is None:
            return values
        index = frame.iloc[:, names].astype(str).str.strip()
        if index.duplicated().any():
            twice = index[index.duplicated()].iloc[0]
            raise FileFormatError(f"{twice!r} occurs repeatedly in its column of sample names")
        return values.set_axis(index)


def _as_classes(column: Any) -> Any:
    """Return a column of labels as numbers if all are numbers, else as text."""
    missing = column.isna() | (column.astype(str).str.strip() == "")
    if missing.any():
        raise FileFormatError(f"the label in row {int(missing.argmax())} is missing")
    values = column.to_numpy()
    if values.dtype.kind not in "iufb":
        cells = [str(cell).strip() for cell in values]
        text = any(tables.is_text(cell, ".") or cell.lower() in tables.MISSING for cell in cells)
        values = np.array(cells if text else list(map(float, cells)))
    return pd.Series(roles.as_labels(values), index=column.index)


def _find_labels(sources: Sequence[Source], classes: Any, path: str, notes: list[str]) -> Any:
    """Return the labels of all samples, from a file or from columns of the tables."""
    named = [source.frame.index for source in sources if source.named]
    samples = list(dict.fromkeys(name for index in named for name in index)) or None
    if classes is not None:
        notes.append(f"Labels come from {Path(path).name}.")
        return _select_labels(classes, samples, path)
    found = [source for source in sources if source.labels is not None]
    if not found:
        notes.append("No labels: neither a file nor a column is named like them.")
        return None
    for source in found:
        if source.named and len(source.labels) == len(source.frame):
            source.labels.index = source.frame.index
    merged = pd.concat([source.labels for source in found])
    files = ", ".join(source.path.name for source in found)
    if (merged.groupby(level=0).nunique() > 1).any():
        raise FileFormatError(f"{files} have different labels; choose one with labels=...")
    return _select_labels(merged[~merged.index.duplicated()], samples, files)


def _select_labels(labels: Any, samples: list[str] | None, source: str) -> Any:
    """Return labels by sample name where both have names, else in the order of rows."""
    if samples is None or isinstance(labels.index, pd.RangeIndex):
        return labels.to_numpy()
    lacking = [name for name in samples if name not in labels.index]
    if lacking:
        hint = "; pass transpose=True if the headers name the samples, or labels=False"
        raise FileFormatError(f"{source} lacks {len(lacking)} samples: {list_names(lacking)}{hint}")
    return labels[samples]
