"""Read Parquet tables with pyarrow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, InputError
from ._guards.limits import Limits, check_texts, parsing
from ._guards.parquet_pages import check_pages
from .choose import Name, Request
from .columns import class_columns, not_numeric, special_columns
from .formats import view_name
from .tables import Classes, Table, class_table, view_table
from .variables import Variable, as_labels

ADVICE = "write it again, with one column per feature"


def describe(path: Path, request: Request, limits: Limits, classes: bool) -> Variable:
    """Return the shape of the table from its footer."""
    with _opened(path, limits) as file:
        shape = file.metadata.num_rows, len(file.schema_arrow.names)
    return Variable(view_name(path), "table", shape, "columns", path.stat().st_size)


def read_table(path: Path, request: Request, limits: Limits, tried: int) -> Table:
    """Read a view: numbers, with sample names and classes as separate columns."""
    with _opened(path, limits) as file:
        columns = file.schema_arrow.names
        header, text, index = _hints(file, request.index)
        special = special_columns(columns, header, text, replace(request, index=index), tried)
        kept = [p for p in range(len(columns)) if p not in special.apart]
        bad = [p for p in kept if not _is_numeric(file.schema_arrow.types[p])]
        if bad:
            kind = file.schema_arrow.types[bad[0]]
            kind = getattr(kind, "value_type", kind)  # of the values of a dictionary
            raise not_numeric([columns[p] for p in bad], f" but {kind}")
        if not kept or not file.metadata.num_rows:
            raise FileFormatError("it has no numbers")
        with parsing("Parquet file", ADVICE):
            table = file.read(use_threads=False)
            values = np.empty((table.num_rows, len(kept)))
            for place, position in enumerate(kept):
                values[:, place] = table.column(position).cast("float64").to_numpy()
            names, labels = (None if p is None else _listed(table.column(p)) for p in special[:2])
    samples = None if names is None else [str(name) for name in names]
    check_texts(samples or (), limits)
    found = None
    if labels is not None and request.labels is not False:
        found = as_labels(_typed(labels, limits))
    return view_table(path, values, columns, special, samples, found)


def read_classes(path: Path, request: Request, limits: Limits) -> Classes:
    """Read a file of labels: one column, or two with the sample names."""
    with _opened(path, limits) as file:
        columns = file.schema_arrow.names
        names, labels = class_columns(columns, *_hints(file, request.index))
        with parsing("Parquet file", ADVICE):
            table = file.read(use_threads=False)
            index = None if names is None else [str(v) for v in _listed(table.column(names))]
            found = as_labels(_typed(_listed(table.column(labels)), limits))
    check_texts(index or (), limits)
    return class_table(path, found, columns, names, index)


def _opened(path: Path, limits: Limits) -> Any:
    """Open the file once its footer is known to respect the limits."""
    try:
        import pyarrow.types as kinds
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError("reading .parquet needs pyarrow: pip install mkclust[parquet]") from None
    with parsing("Parquet file", ADVICE):
        check_pages(path, limits)
        file = ParquetFile(path)
        schema = file.schema_arrow
        columns = schema.names
        limits.allow("columns", len(columns), "it")
        if not columns or len(set(columns)) < len(columns):
            raise FileFormatError(f"its columns must have names, all different: {columns[:20]}")
        for name, kind in zip(columns, schema.types, strict=True):
            if kinds.is_nested(kind):  # every row must hold one value
                raise FileFormatError(
                    f"column {name!r} is not numeric but {kind}; write it without"
                )
        # texts as dictionaries, so that a repeated text is stored once
        texts = [n for n, kind in zip(columns, schema.types, strict=True) if _is_text(kind)]
        return ParquetFile(path, read_dictionary=texts) if texts else file


def _is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind))


def _listed(column: Any) -> list[Any]:
    """Return the values of a column; equal texts share one object."""
    import pyarrow.types as kinds

    if not kinds.is_dictionary(column.type):
        return list(column.to_pylist())
    found: list[Any] = []
    for chunk in column.chunks:
        texts = [*chunk.dictionary.to_pylist(), None]
        places = chunk.indices.cast("int64").fill_null(len(texts) - 1).to_pylist()
        found += [texts[place] for place in places]
    return found


def _hints(file: Any, index: Name) -> tuple[bool, bool, Name]:
    """Return (True for a header, whether the first column is text, the index column).

    pandas stores in the metadata which column was its index.
    """
    import pyarrow.types as kinds

    schema = file.schema_arrow
    with parsing("Parquet file", ADVICE):
        written = (schema.pandas_metadata or {}).get("index_columns", [])
        own = [name for name in written if isinstance(name, str) and name in schema.names]
    kind = schema.types[0]
    text = _is_text(kind) or kinds.is_dictionary(kind)
    return True, text, own[0] if index is None and len(own) == 1 else index


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(
        kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_boolean(kind)
        or kinds.is_decimal(kind)
    )


def _typed(values: list[Any], limits: Limits) -> np.ndarray:
    """Convert values to numbers if all are numbers, else to text."""
    if None in values:
        raise FileFormatError(f"the label in row {values.index(None)} is missing")
    if all(isinstance(value, (bool, int, float)) for value in values):
        return np.array(values)
    texts = [str(value) for value in values]
    check_texts(texts, limits)
    return np.array(texts)
