"""The values of one view: a frame, array or sparse matrix as a matrix of numbers, checked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_random_state

from ..exceptions import InputError

SHOWN = 5  # names of samples or columns listed in an error or a note
ADVICE = (
    "which are not numbers: convert them, such as to days by (t - t.min()) / "
    "np.timedelta64(1, 'D'), or drop them"
)
DATES = (np.datetime64, np.timedelta64, date, time, timedelta)


def is_frame(value: Any) -> bool:
    """Return whether `value` is a pandas frame, whose index names its rows."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_polars(value: Any) -> bool:
    """Return whether `value` is a polars frame, whose rows have no names."""
    return type(value).__module__.startswith("polars") and hasattr(value, "get_columns")


def column_names(view: Any) -> np.ndarray | None:
    """Return the column names of a frame, (f,) objects of type str; None where it has none.

    Numbers that name columns are converted. The numbers 0, 1, ..., which pandas uses by default,
    are no names.
    """
    if not (is_frame(view) or is_polars(view)):
        return None
    columns = list(view.columns)
    if columns == list(range(len(columns))):
        return None
    return np.array([str(column) for column in columns], dtype=object)


def text_columns(view: Any) -> list[Any]:
    """Return the names of the non-numeric columns of a frame; none for anything else."""
    if is_polars(view):
        kinds = view.schema.items()
        return [name for name, kind in kinds if not (kind.is_numeric() or str(kind) == "Boolean")]
    if not is_frame(view):
        return []
    return [name for name, kind in view.dtypes.items() if getattr(kind, "kind", "O") not in "iufb"]


def named_index(names: Any) -> Any:
    """Return names (n,) as a pandas Index of the type they have."""
    import pandas as pd

    return pd.Index(list(names), tupleize_cols=False)


def list_names(names: Any, more: str = " and {} more") -> str:
    """Return the first names, and how many others there are.

    >>> list_names(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = names[:SHOWN]
    shown = ", ".join(map(repr, first.tolist() if hasattr(first, "tolist") else first))
    return shown + (more.format(len(names) - SHOWN) if len(names) > SHOWN else "")


def check_width(name: str, width: int, fitted: int, what: str = "the same columns") -> None:
    """Refuse new samples with another number of columns than the fit."""
    if width != fitted:
        raise InputError(
            f"view {name!r} has {width} columns, but was fitted on {fitted}: new samples need "
            f"{what}"
        )


def random_generator(random_state: Any) -> np.random.RandomState:
    """Return the random numbers of a seed or generator; InputError for anything else."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise InputError(f"random_state: {error}", parameter="random_state") from None
    return generator


def to_utf8(name: str) -> str:
    """Return a name with escapes for bytes of file names that are not UTF-8.

    >>> to_utf8("rna"), to_utf8("rna" + chr(0xDCFF))
    ('rna', 'rna\\\\xff')
    """
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return name.encode("utf-8", "backslashreplace").decode("utf-8")


def fill_masked(view: Any, name: str) -> Any:
    """Return a view with NaN for masked cells, and lists as arrays; other views are unchanged.

    Refused are empty frames, datetimes, which numpy would convert to numbers, and sparse matrices
    with indices out of range, which compiled code would follow.

    >>> fill_masked(np.ma.array([[1, 2]], mask=[[False, True]]), "rna")
    array([[ 1., nan]])
    """
    if isinstance(view, np.ma.MaskedArray):
        view = _filled(view) if np.ma.is_masked(view) else np.ma.getdata(view)
    if is_frame(view) or is_polars(view):
        _refuse_empty(view, name)
        return view
    if sp.issparse(view):
        _check_indices(view, name)
        return view
    if isinstance(view, (list, tuple)):
        try:
            view = np.asarray(view)
        except ValueError as error:  # rows of several lengths
            raise InputError(f"view {name!r}: {error}") from None
    if isinstance(view, np.ndarray):
        _refuse_dates(view, name)
    return view


def as_matrix(
    view: Any, name: str, kernel: bool, index: Any, columns: Sequence[Any] | None = None
) -> tuple[Any, np.ndarray | None]:
    """Return one view as a 2-D ndarray or csr array of its numeric dtype, and its absent rows.

    Absent rows are NaN in all columns. Other NaN cells of a dense feature table are kept; in a
    sparse matrix or a kernel they are refused, and infinity is refused everywhere.
    """
    _refuse_text(view, name)
    if columns is None and (is_frame(view) or is_polars(view)):
        columns = list(view.columns)
    samples = view.index if is_frame(view) else index
    try:
        matrix = check_array(
            view, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0,
            ensure_min_features=0, input_name=name, order="C",  # sums depend on the layout
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"view {name!r}: {error}") from None
    _refuse_empty(matrix, name)
    _refuse_dates(matrix, name)
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return matrix, None
    absent = np.zeros(matrix.shape[0], dtype=bool)
    if not sp.issparse(matrix):
        absent = np.isnan(matrix).all(axis=1)
    at = _cells_to_refuse(matrix, absent, kernel)
    if len(at):
        count = "1 value that is" if len(at) == 1 else f"{len(at)} values that are"
        row, column = at[0].tolist()
        raise InputError(
            f"view {name!r} has {count} infinite (inf), or NaN that is not filled, the first at "
            f"{place_of(row, column, samples, columns)}: correct them or drop the column; NaN of "
            "a kernel or a sparse view is not filled, and a sample may lack one of several views "
            "only as a whole, its row (and its column of a kernel) all NaN"
        )
    return matrix, absent


def place_of(row: int, column: int, samples: Any, columns: Any) -> str:
    """Return the place of a cell in words, by sample and column name where there are names.

    >>> place_of(1, 0, ["s1", "s2"], None), place_of(1, 0, None, ["x"])
    ("row 1 ('s2'), column 0", "row 1, column 'x'")
    """
    own = [] if samples is None else np.asarray(samples).ravel()[row : row + 1].tolist()
    whose = f" ({own[0]!r})" if own and own[0] != row else ""
    return f"row {row}{whose}, column {column if columns is None else repr(columns[column])}"


def _filled(view: Any) -> np.ndarray:
    if view.dtype.kind in "biu":
        view = view.astype(np.float64)
    # other kinds are refused, masked or not
    return np.asarray(view.filled(np.nan) if view.dtype.kind in "fO" else view.data)


def _refuse_dates(array: Any, name: str) -> None:
    objects = array.flat if array.dtype.kind == "O" else ()
    if array.dtype.kind in "mM" or any(isinstance(value, DATES) for value in objects):
        raise InputError(f"view {name!r} holds datetimes, {ADVICE}")


def _refuse_empty(view: Any, name: str) -> None:
    if 0 in view.shape:  # in the words that scikit-learn's own checks look for
        lacking = "0 sample(s)" if not view.shape[0] else "0 feature(s)"
        raise InputError(
            f"view {name!r} is empty: found array with {lacking} (shape={view.shape}) while a "
            "minimum of 1 is required."
        )


def _refuse_text(view: Any, name: str) -> None:
    """Refuse a frame with non-numeric columns; where they are most, it holds annotations."""
    bad = text_columns(view)
    if not bad:
        return
    advice = "encode or drop them, or make a column of sample names the index, or name it by id="
    if 2 * len(bad) > view.shape[1] > 2:
        advice = (
            "it looks like annotations of the samples, not like measurements. Leave it out of the "
            "views and give it as annotations, or encode its columns as numbers"
        )
    noun = "column" if len(bad) == 1 else "columns"
    raise InputError(
        f"view {name!r} has {len(bad)} non-numeric {noun} ({list_names(bad, ' ...')}) of "
        f"{view.shape[1]}: {advice}"
    )


def _check_indices(matrix: Any, name: str) -> None:
    """Refuse sparse matrices whose indices or pointers are out of range: O(stored entries)."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            for indices, size in zip(matrix.coords, matrix.shape, strict=True):
                if len(indices) and (indices.min() < 0 or indices.max() >= size):
                    raise ValueError("indices out of range")
    except ValueError as error:
        raise InputError(
            f"view {name!r} is a sparse matrix with indices outside its shape {matrix.shape} "
            f"({error}): it is damaged; build it again from its entries"
        ) from None


def _cells_to_refuse(matrix: Any, absent: np.ndarray, kernel: bool) -> np.ndarray:
    """Return the rows and columns of infinities, and of NaN where it cannot be filled."""
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        return np.column_stack(coo.coords)[~np.isfinite(coo.data)]
    bad = np.isinf(matrix)
    if kernel:
        outside = ~absent[:, None] & (~absent if len(absent) == matrix.shape[1] else True)
        bad |= np.isnan(matrix) & outside
    return np.argwhere(bad)
