"""One view as a matrix of numbers: checks of its columns and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..exceptions import InputError
from .alignment import some_of
from .frames import is_frame, is_polars, text_columns
from .values import refuse_empty


def as_matrix(
    view: Any, name: str, kernel: bool, index: Any, columns: Sequence[Any] | None = None
) -> tuple[Any, np.ndarray | None]:
    """Return one view as a 2-D ndarray or csr array of its numeric dtype, and its absent rows.

    Absent rows are NaN in all columns. Other NaN cells of a dense feature table are kept; in a
    sparse matrix or a kernel they are refused, and infinity is refused everywhere.
    """
    from sklearn.utils.validation import check_array  # imports pandas, which readers do not need

    if bad := text_columns(view):
        raise InputError(
            f"view {name!r} has {len(bad)} non-numeric columns ({some_of(bad, ' ...')}): encode or "
            "drop them, or make a column of sample names the index"
        )
    if columns is None and (is_frame(view) or is_polars(view)):
        columns = list(view.columns)
    samples = view.index if is_frame(view) else index
    try:
        matrix = check_array(
            view, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0,
            ensure_min_features=0, input_name=name, order="C",  # sums depend on the layout
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise InputError(f"view {name!r}: {error}") from None
    refuse_empty(matrix, name)
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return matrix, None
    absent = np.zeros(matrix.shape[0], dtype=bool)
    if not sp.issparse(matrix):
        absent = np.isnan(matrix).all(axis=1)
    _check_values(matrix, name, samples, columns, absent, kernel)
    return matrix, absent


def _check_values(
    matrix: Any,
    name: str,
    samples: Any,
    columns: Sequence[Any] | None,
    absent: np.ndarray,
    kernel: bool,
) -> None:
    """Refuse infinity, and NaN where it cannot be filled, naming sample and column."""
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        bad = ~np.isfinite(coo.data)
        at, found = np.column_stack([coords[bad] for coords in coo.coords]), coo.data[bad]
    else:
        bad = np.isinf(matrix)
        if kernel:
            outside = ~absent[:, None] & (~absent if len(absent) == matrix.shape[1] else True)
            bad |= np.isnan(matrix) & outside
        at, found = np.argwhere(bad), matrix[bad]
    if not len(at):
        return
    row, column = at[0]
    where = repr(columns[column]) if columns is not None else str(column)
    own = [] if samples is None else np.asarray(samples).ravel()[row : row + 1].tolist()
    whose = f" ({own[0]!r})" if own and own[0] != row else ""
    count = "1 value that is" if len(at) == 1 else f"{len(at)} values that are"
    kinds = ["NaN"] * bool(np.isnan(found).any()) + ["infinite (inf)"] * bool(np.isinf(found).any())
    what = "a kernel" if kernel else "a sparse view"
    note = f"; NaN cells of {what} are not filled" if "NaN" in kinds else ""
    lacking = "its row and column" if kernel else "its row"
    raise InputError(
        f"view {name!r} has {count} {' or '.join(kinds)}, the first at row {row}{whose}, column "
        f"{where}: correct them or drop the column{note}"
        + (f"; a sample may lack one of several views only as a whole, {lacking} all NaN"
           if "NaN" in kinds and not sp.issparse(matrix) else "")
    )  # fmt: skip
