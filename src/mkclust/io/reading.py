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

from ..data.alignment import as_text, set_sample_names, turn_transposed
from ..data.values import list_names
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from . import files, roles, tables
from .files import KNOWN, OMICS, TABLES, TEXTS, as_path, kind_of, naming, view_name
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
        A file, a folder, or a list of files. In a folder or list every file is a view, named
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
    names = None if found.index is None else [str(name) for name in found.index]
    labels = _select_labels(_read_classes(beside, request), names, str(beside.path))
    notes = [note for note in found.notes if note != "No labels, as asked."]
    notes.append(f"Labels come from {beside.path.name}.")
    return MultiView(found, labels=labels, notes=notes)


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
    """A file or a sheet of a workbook, and the name of its view."""

    name: str
    path: Path
    sheet: str | None = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """What it may be called in `views` and `labels`."""
        return self.name, self.path.name, str(self.sheet)


@dataclass
class Item:
    """One view on its way from a file.

    Attributes
    ----------
    name, path
        As in `Source`.
    values : DataFrame, array or sparse matrix
        The index of a frame names the samples once `named` is True.
    notes : list of str
    labels : Series, optional
    decimal : {".", ","}
    """

    name: str
    path: Path
    values: Any
    notes: list[str] = field(default_factory=list)
    labels: Any = None
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

    @property
    def numbered(self) -> bool:
        """Whether the columns have no names."""
        return self.columns == [str(p) for p in range(len(self.columns))]

    def turn(self) -> None:
        """Transpose the table."""
        if len({*self.columns}) < len(self.columns):
            raise FileFormatError(
                f"{self.path}: several columns have the same name, so they cannot name samples"
            )
        turned = self.values.T
        if self.is_table:
            turned.index = range(len(turned)) if self.numbered else self.columns
            turned.columns = turned.columns if self.named else range(turned.shape[1])
        self.values = turned


def _check_request(request: Request) -> None:
    """Refuse choices of the wrong type."""
    sep, decimal = request.sep, request.decimal
    names = (*(request.views or ()), *request.drop_columns)
    wrong = [
        f"{name} must be a name, False or None, got {value!r}"
        for name, value in (("labels", request.labels), ("id", request.id))
        if not (value is None or value is False or isinstance(value, str))
    ]
    if request.views == () or not all(isinstance(name, str) for name in names):
        wrong.append("views and drop_columns must be names, and views at least one")
    if decimal not in (None, ".", ","):
        wrong.append(f"decimal must be '.' or ',', got {decimal!r}")
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in UNUSABLE):
        wrong.append(f"sep must be one character between cells, such as ';', got {sep!r}")
    if sep is not None and sep == decimal:
        wrong.append(f"sep={sep!r} and decimal={decimal!r} are the same")
    if wrong:
        raise InputError("; ".join(wrong))


def _check_only_tables(request: Request, paths: Sequence[Path]) -> None:
    """Refuse choices that apply to tables, or to text, where there is none of them."""
    kinds = {kind_of(path) for path in paths}
    applies = {"drop_columns": TABLES, "sep": TEXTS, "decimal": (*TEXTS, ".xlsx")}
    for name, allowed in applies.items():
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
        paths, notes = _list_folder(folder) if folder.is_dir() else ([folder], [])
    elif isinstance(path, Sequence):
        paths, notes = [as_path(file) for file in path], []
    else:
        raise InputError(f"neither a path nor a list of paths: {path!r}")
    if not paths:
        raise InputError("an empty list of files: at least one is needed")
    sources = _with_sheets(paths, notes)
    beside = _labels_elsewhere(request.labels, sources)
    if beside is None:
        classes = _classes_among(sources, request.labels)
    else:
        sources = [s for s in sources if s.path.resolve() != beside.path.resolve()]
        classes = [beside]
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
        of_r = [entry for entry in there if kind_of(entry) in files.EXPORTS]
        aside = [e for e in there if e.name.startswith((".", "~$"))]  # of systems and of Excel
        found = [e for e in there if kind_of(e) in TABLES and e not in (*results, *aside)]
        exports = [
            f"{e.name} is a file of R: write it as a table by {files.export_line(e)}" for e in of_r
        ]
        if not found:
            only = [f"only results of mkclust, listed in {RESULT}"] if results else ["none here"]
            raise FileFormatError(
                f"a folder should hold one table per view ({', '.join(TABLES)}): "
                f"{'; '.join(exports or only)}"
            )
    others = [e.name for e in there if e not in (*found, *of_r)]
    notes = [f"Ignored {', '.join(others[:20])} in the folder."] if others else []
    return sorted(found, key=_natural), notes + [f"Ignored: {export}" for export in exports]


def _natural(file: Path) -> list[Any]:
    """Sort key that puts view2 before view10."""
    parts = re.split(r"(\d{1,18})", file.name.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _with_sheets(paths: Sequence[Path], notes: list[str]) -> list[Source]:
    """Name the view of every file; a workbook with several sheets becomes its sheets."""
    found: list[Source] = []
    problems = []
    for file in paths:
        if kind_of(file) != ".xlsx":
            found.append(Source(view_name(file), file))
            continue
        try:
            with naming(file):
                check_readable(file)
                sheets, more = tables.find_sheets(file)
        except InputError as error:
            problems.append(str(error))
            continue
        notes += more
        names = [view_name(file)] if len(sheets) == 1 else sheets
        found += [Source(name, file, sheet) for name, sheet in zip(names, sheets, strict=True)]
    _raise_problems(problems)
    return found


def _classes_among(sources: Sequence[Source], labels: Name) -> list[Source]:
    """Return the files that hold the classes: those named so, else those named like labels."""
    if isinstance(labels, str):
        return [source for source in sources if labels in source.spellings]
    return [s for s in sources if roles.is_label_name(s.name)] if len(sources) > 1 else []


def _labels_elsewhere(labels: Name, sources: Sequence[Source]) -> Source | None:
    """Return a file of labels that is none of the files by its name."""
    if not isinstance(labels, str) or _classes_among(sources, labels):
        return None
    path = as_path(labels)
    known = kind_of(path) in KNOWN and path.is_file()
    return Source(view_name(path), path) if known else None


def _named(sources: Sequence[Source], name: str) -> Source:
    for source in sources:
        if name in source.spellings:
            return source
    names = ", ".join(source.name for source in sources)
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
    for name in request.drop_columns:
        if not any(name in item.columns for item in items):
            raise InputError(f"{path}: no column {name!r} for drop_columns=...")
    for item in items:
        _drop_columns(item, request.drop_columns)
        _set_labels_aside(item, inner.labels)
    if isinstance(inner.labels, str) and all(item.labels is None for item in items):
        raise InputError(f"{path}: labels={inner.labels!r} is neither a file nor a column of it")
    classes = _read_classes(beside[0], request) if beside else None
    notes = [] if request.id is False else _name_rows(items, request.id)
    kernels = _are_kernels(items, request.kernels, notes)
    if not kernels:
        _orient(items, classes, request.transpose, notes)
        _check_values(items, request)
    if request.labels is False:
        labels = None
        notes.append("No labels, as asked.")
    else:
        labels = _find_labels(items, classes, str(beside[0].path) if beside else "", notes)
    return MultiView(
        [item.values.to_numpy() if item.is_table and not item.named else item.values
         for item in items],
        names=[item.name for item in items],
        kernels=kernels,
        labels=labels,
        notes=[note for item in items for note in item.notes] + notes + more_notes,
        feature_names=None if kernels else [
            item.columns if item.is_table and not item.numbered else None for item in items],
    )  # fmt: skip


def _load_item(source: Source, request: Request) -> Item:
    name, file = source.name, source.path
    with naming(file):
        check_readable(file)
        if kind_of(file) in TABLES:
            table = tables.load_table(file, request.sep, request.decimal, sheet=source.sheet)
            notes = [f"View {name} has the columns of {file.name}."]
            notes += [f"{file.name}: {note}" for note in table.notes]
            return Item(name, file, table.frame, notes, decimal=table.decimal)
        alone = Request(labels=request.labels, transpose=request.transpose, kernels=False)
        views = _read_archive(file, alone)
        if views.n_views > 1:
            raise FileFormatError(f"it holds {views.n_views} views; a list takes one per file")
        import pandas as pd

        values = views.views[0]
        if views.index is not None:
            make = pd.DataFrame.sparse.from_spmatrix if sp.issparse(values) else pd.DataFrame
            values = make(values, index=as_text(views.index), columns=views.feature_names[0])
        labels = None if views.labels is None else pd.Series(views.labels)
        return Item(
            name, file, values, [f"View {name} is {views.names[0]} of {file.name}."], labels
        )


def _drop_columns(item: Item, names: Sequence[str]) -> None:
    dropped = [name for name in names if name in item.columns]
    item.notes += [
        f"Column {name!r} of {item.path.name} was dropped, as asked." for name in dropped
    ]
    item.values = item.values.drop(columns=dropped) if dropped else item.values


def _set_labels_aside(item: Item, wanted: Name) -> None:
    """Move the column of classes out of a table, also where no labels are asked for."""
    with naming(item.path):
        column = roles.label_column(item.columns, wanted if isinstance(wanted, str) else None)
        if column is None or item.values.shape[1] == 1:
            return
        item.notes.append(f"Column {column!r} of {item.path.name} holds the labels.")
        values = item.values.iloc[:, item.columns.index(column)]
        item.values = item.values.drop(columns=[values.name])
        if wanted is not False:
            item.labels = _as_classes(values)


def _name_rows(items: Sequence[Item], wanted: Name) -> list[str]:
    """Make the column with the sample names the index of every table, as text."""
    import pandas as pd

    for item in items:
        if item.is_table and wanted is None:
            _name_features(item)
    values, names = [item.values for item in items], [item.name for item in items]
    frames, _, notes = set_sample_names(values, names, wanted or None)
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


def _orient(items: Sequence[Item], classes: Any, forced: bool | None, notes: list[str]) -> None:
    """Transpose tables whose columns are samples: as asked, else by names."""
    import pandas as pd

    if forced is not None:
        notes.append(f"{'Transposed' if forced else 'Not transposed'}, as asked.")
    elif _share_header(items):
        notes.append("Transposed: the tables share their columns, and no rows.")
    else:
        beside = [] if classes is None else [pd.DataFrame(index=classes.index)]
        given = [item.values for item in items]
        frames, more = turn_transposed([*given, *beside], [*(item.name for item in items), ""])
        notes += more
        for item, frame in zip(items, frames, strict=False):
            item.values = frame
        unturned = [i for i, own in zip(items, given, strict=True) if i.values is own and i.named]
        _ask_about_features(unturned, items)
        return
    for item in items:
        if forced is None or (forced and item.is_table):  # `assign` turned matrices of archives
            item.turn()


def _share_header(items: Sequence[Item]) -> bool:
    """Return whether all tables share most columns, and no names of rows."""
    if len(items) < 2 or not all(item.named for item in items):
        return False
    rows = [name for item in items for name in {*item.values.index}]
    headers = [{*item.columns} for item in items]
    shared = len(set.intersection(*headers))
    return len({*rows}) == len(rows) and shared > max(1, min(map(len, headers)) / 2)


def _ask_about_features(tables: Sequence[Item], items: Sequence[Item]) -> None:
    """Refuse tables that seem to have a row per gene, until `transpose` is given."""
    problems = []
    for item in tables:
        index = item.values.index
        others = {name for other in items if other is not item and other.named
                  for name in other.values.index}  # fmt: skip
        if others.isdisjoint(index) and (
            roles.is_feature_name(index.name or "?") or roles.are_features(list(index))
        ):
            problems.append(
                f"{item.path}: its rows seem to be genes or other features "
                f"({list_names(list(index[:2]), '')}), and its {item.values.shape[1]} columns the "
                "samples; pass transpose=True if so, otherwise transpose=False"
            )
    _raise_problems(problems)


def _check_values(items: Sequence[Item], request: Request) -> None:
    """Refuse clinical tables beside others, and columns that are not numbers."""
    several = len(items) > 1 and request.views is None
    clinical = {item.name: _clinical(item) if several else [] for item in items}
    others = [item.name for item in items if not clinical[item.name]]
    problems = []
    for item in items:
        if found := clinical[item.name]:
            problems.append(
                f"{item.path}: it seems to be a clinical table (columns {list_names(found)}), "
                "which would be clustered with the others; compare it with the clusters instead, "
                f"--annotations {item.path.name}, and name the views with views={others}"
            )
        elif item.is_table and (bad := tables.not_numeric(item.values, item.decimal)):
            problems.append(f"{item.path}: {bad}")
    _raise_problems(problems)


def _clinical(item: Item) -> list[str]:
    """Return the columns that make a table clinical; none for a view."""
    if not item.is_table or "pass decimal=" in tables.not_numeric(item.values, item.decimal):
        return []  # its texts are numbers in another notation
    numeric = [getattr(kind, "kind", "O") in "iufb" for kind in item.values.dtypes]
    pairs = list(zip(item.columns, numeric, strict=True))
    return roles.clinical_columns(
        [c for c, own in pairs if not own], [c for c, own in pairs if own]
    )


def _describe_table(source: Source, role: str, request: Request, several: bool) -> Variable:
    """Describe a file that is one view, or the labels, among several files."""
    with naming(source.path):
        check_readable(source.path)
        if kind_of(source.path) not in TABLES:
            parts = [v for v in _with_roles(source.path) if v.role == role]
            return replace(parts[0] if parts else Variable("", "archive", ()), name=source.name)
        found = tables.load_table(source.path, request.sep, None, role == "labels", source.sheet)
        item = Item(source.name, source.path, found.frame)
        shape = (len(found.frame), found.frame.shape[1] + item.named)
        if role == "views" and several:
            _name_rows([item], None)
            role = "annotations" if _clinical(item) else role
        return Variable(source.name, "table", shape, STORED[kind_of(source.path)], role)


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
    import pandas as pd

    missing = column.isna() | (column.astype(str).str.strip() == "")
    if missing.any():
        raise FileFormatError(f"the label in row {int(missing.argmax())} is missing")
    values = column.to_numpy()
    if values.dtype.kind not in "iufb":
        cells = [str(cell).strip() for cell in values]
        text = any(tables.is_text(cell, ".") or cell.lower() in tables.MISSING for cell in cells)
        values = np.array(cells if text else list(map(float, cells)))
    return pd.Series(roles.as_labels(values), index=column.index)


def _find_labels(items: Sequence[Item], classes: Any, source: str, notes: list[str]) -> Any:
    """Return the labels of all samples, from a file or from columns of the tables."""
    import pandas as pd

    named = [item for item in items if item.named]
    samples = list(dict.fromkeys(name for item in named for name in item.values.index)) or None
    if classes is not None:
        notes.append(f"Labels come from {Path(source).name}.")
        return _select_labels(classes, samples, source)
    found = [item for item in items if item.labels is not None]
    if not found:
        notes.append("No labels: neither a file nor a column is named like them.")
        return None
    for item in found:
        if item.named and len(item.labels) == len(item.values):
            item.labels.index = item.values.index
    merged = pd.concat([item.labels for item in found])
    source = ", ".join(item.path.name for item in found)
    if (merged.groupby(level=0).nunique() > 1).any():
        raise FileFormatError(f"{source} have different labels; choose one with labels=...")
    return _select_labels(merged[~merged.index.duplicated()], samples, source)


def _select_labels(labels: Any, samples: list[str] | None, source: str) -> Any:
    """Return labels by sample name where both have names, else in the order of rows."""
    import pandas as pd

    if samples is None or isinstance(labels.index, pd.RangeIndex):
        return labels.to_numpy()
    lacking = [name for name in samples if name not in labels.index]
    if lacking:
        hint = "; pass transpose=True if the headers name the samples, or labels=False"
        raise FileFormatError(f"{source} lacks {len(lacking)} samples: {list_names(lacking)}{hint}")
    return labels[samples]
