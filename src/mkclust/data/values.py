"""The values of one view: checked as a matrix of numbers, their kind, and hashes of their rows.

The kind (measurements, counts or components) decides how samples are compared. It is found once,
on all samples that were given, and stays with the views: some of the samples, or a draw of the
null model, would not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_random_state

from ..exceptions import EntryTypeError, InputError

R_MISSING = -(2**31)  # what R stores for NA in a column of integers
SHOWN = 5  # names of samples or columns listed in an error or a note
MEASUREMENTS, COUNTS, COMPONENTS, KERNEL = "measurements", "counts", "components", "kernel"
KINDS = MEASUREMENTS, COUNTS, COMPONENTS  # of tables
COUNTS_UP_TO = 0.8  # share of nonzero entries below which a nonnegative view is counts
UNCORRELATED = 1e-3  # of the correlation that chance gives independent columns, 1 / sqrt(n)
NEGLIGIBLE = 1e-10  # of the largest deviation in a view: smaller ones are rounding
COMPARED = 64  # columns whose correlations are computed, at most
BLOCK = 1 << 18  # entries of a dense block to be hashed
SEED = 8_675_309  # of the multipliers of columns
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits that look random
ABSENT = np.uint64(1)  # the hash of a row that a view lacks


def is_frame(value: Any) -> bool:
    """Return whether `value` is a pandas frame, whose index names its rows."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_omics(data: Any) -> bool:
    """Return whether data is a MuData or an AnnData, or a dict or list of AnnData."""
    if isinstance(data, (list, tuple, dict)):
        items = list(data.values()) if isinstance(data, dict) else data
        return len(items) > 0 and all(is_omics(item) for item in items)
    return all(hasattr(data, name) for name in ("obs_names", "obs", "obsm", "uns"))


def column_names(view: Any) -> np.ndarray | None:
    """Return the column names of a frame, (f,) objects of type str; None where it has none.

    Numbers that name columns are converted. The numbers 0, 1, ..., which pandas uses by default,
    are no names.
    """
    if not is_frame(view) or list(view.columns) == list(range(view.shape[1])):
        return None
    return np.array([str(column) for column in view.columns], dtype=object)


def text_columns(view: Any) -> list[Any]:
    """Return the names of the non-numeric columns of a frame; none for anything else."""
    kinds = view.dtypes.items() if is_frame(view) else ()
    return [name for name, kind in kinds if getattr(kind, "kind", "O") not in "iufb"]


def list_names(names: Any, more: str = " and {} more") -> str:
    """Return the first names, and how many others there are.

    >>> list_names(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = names[:SHOWN]
    shown = ", ".join(map(repr, first.tolist() if hasattr(first, "tolist") else first))
    return shown + (more.format(len(names) - SHOWN) if len(names) > SHOWN else "")


def count_columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def percent(share: float) -> str:
    """Return a share in percent, with two digits.

    >>> percent(1.0), percent(0.0011)
    ('100 %', '0.11 %')
    """
    return f"{100 * share:.2g} %".replace("1e+02", "100")


def random_generator(random_state: Any) -> np.random.RandomState:
    """Return the random numbers of a seed or generator; InputError for anything else."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise InputError(f"random_state: {error}", parameter="random_state") from None
    return generator


def to_utf8(name: str) -> str:
    """Return a name with escapes for what UTF-8 cannot encode, such as bytes of file names.

    >>> to_utf8("rna"), to_utf8("rna" + chr(0xDCFF))
    ('rna', 'rna\\\\udcff')
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


# ---------------------------------------------------------------- one view as a matrix


def as_table(view: Any, name: str) -> Any:
    """Return a view as a pandas frame, an array or a sparse matrix; masked cells become NaN.

    Refused are empty frames and sparse matrices with indices out of range, which compiled code
    would follow.

    >>> as_table(np.ma.array([[1, 2]], mask=[[False, True]]), "rna")
    array([[ 1., nan]])
    """
    if np.ma.is_masked(view) and view.dtype.kind in "biufO":  # other kinds are refused
        kept = view.astype(np.float64) if view.dtype.kind in "biu" else view
        return kept.filled(np.nan)
    if hasattr(view, "get_columns"):  # of polars
        view = pd.DataFrame({column.name: column.to_numpy() for column in view.get_columns()})
    if is_omics(view):
        raise InputError(
            f"view {name!r} is an AnnData or MuData beside other tables: give its .to_df(), or "
            "choose its matrices by mkclust.omics.views_of(data, use)"
        )
    if is_frame(view):
        _refuse_empty(view, name)
        if view.index.nlevels > 1:
            raise InputError(
                f"view {name!r} has row names of {view.index.nlevels} levels: make one name of "
                'them, such as by view.index = view.index.map("{0[0]}-{0[1]}".format)'
            )
    elif sp.issparse(view) and hasattr(view, "check_format"):
        try:
            view.check_format(full_check=True)
        except ValueError as error:
            raise InputError(
                f"view {name!r} is a sparse matrix with indices outside its shape {view.shape} "
                f"({error}): it is damaged; build it again from its entries"
            ) from None
    elif isinstance(view, (list, tuple)):
        try:
            return np.asarray(view)
        except ValueError:
            raise InputError(
                f"view {name!r} is a list of parts of several shapes: give one table, a list of "
                "tables, or a dict of tables by name"
            ) from None
    return view


def as_matrix(
    view: Any, name: str, kernel: bool, index: Any, columns: Sequence[Any] | None = None
) -> tuple[Any, np.ndarray | None]:
    """Return one view as a 2-D ndarray or csr array of its numeric dtype, and its absent rows.

    Absent rows are NaN in all columns. Other NaN cells of a dense feature table are kept; in a
    sparse matrix or a kernel they are refused, and infinity is refused everywhere.
    """
    _refuse_text(view, name)
    samples, columns = (view.index, list(view.columns)) if is_frame(view) else (index, columns)
    # scikit-learn refuses repeated names of columns, such as gene symbols
    table = view.set_axis(range(view.shape[1]), axis=1) if is_frame(view) else view
    try:
        matrix = check_array(
            table, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0,
            ensure_min_features=0, input_name=name, order="C",  # sums depend on the layout
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as error:
        kind = EntryTypeError if isinstance(error, TypeError) else InputError
        said = str(error).partition("\n[")[0]  # without the values
        raise kind(f"view {name!r}: {said}") from None
    _refuse_empty(matrix, name)
    if kernel and matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"kernel {name!r} must be square, got shape {matrix.shape}")
    if matrix.dtype.kind in "mM":
        raise InputError(
            f"view {name!r} holds datetimes, which are not numbers: convert them, such as to days "
            "by (t - t.min()) / np.timedelta64(1, 'D'), or drop them"
        )
    sparse = sp.issparse(matrix)
    matrix = sp.csr_array(matrix) if sparse else matrix
    values = matrix.data if sparse else matrix
    if is_frame(view) and not kernel and values.dtype.kind in "if" and values.itemsize >= 4:
        _refuse_missing_of_r(matrix, name, samples, columns)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return matrix, None
    absent = np.zeros(matrix.shape[0], dtype=bool) if sparse else np.isnan(matrix).all(axis=1)
    at = _cells_to_refuse(matrix, absent, kernel)
    if len(at):
        count = "1 value that is" if len(at) == 1 else f"{len(at)} values that are"
        place = place_of(int(at[0, 0]), int(at[0, 1]), samples, columns)
        raise InputError(
            f"view {name!r} has {count} infinite (inf), or NaN that is not filled, the first at "
            f"{place}: correct them, or leave the column out (in files by drop_columns=); NaN of a "
            "kernel or a sparse view is not filled, and a sample may lack one of several views "
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


def _refuse_missing_of_r(matrix: np.ndarray, name: str, samples: Any, columns: Any) -> None:
    at = np.argwhere(matrix == R_MISSING)
    if len(at):
        place = place_of(int(at[0, 0]), int(at[0, 1]), samples, columns)
        raise InputError(
            f"view {name!r} has {len(at)} cells of {R_MISSING}, which is how NA of R arrives from "
            f"a column of integers, the first at {place}: make the columns double in R, or NaN here"
        )


def _cells_to_refuse(matrix: Any, absent: np.ndarray, kernel: bool) -> np.ndarray:
    """Return the rows and columns of infinities, and of NaN where it cannot be filled."""
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        return np.column_stack(coo.coords)[~np.isfinite(coo.data)]
    bad = np.isinf(matrix)
    if kernel:
        bad |= np.isnan(matrix) & np.outer(~absent, ~absent)
    return np.argwhere(bad)


# ---------------------------------------------------------------- kind


def kind_of(view: Any) -> str:
    """Return the kind of the columns of a table (n, f), dense or sparse.

    NaN cells take the value above them, which leaves the share of zeros in a column as it is.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 5)) * [9.0, 5.0, 3.0, 2.0, 1.0]
    >>> U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    >>> kind_of(X), kind_of(U * s), kind_of(np.eye(20))
    ('measurements', 'components', 'counts')
    """
    if 0 in view.shape:
        return MEASUREMENTS
    if not sp.issparse(view) and np.isnan(view).any():
        view = pd.DataFrame(view.astype(np.float64)).ffill().bfill().fillna(0.0).to_numpy()
    origin = None if sp.issparse(view) else view[0].astype(np.float64)
    return kind_by_sums(view.shape[0], column_sums(view, origin))


def column_sums(X: Any, origin: Any) -> dict[str, np.ndarray]:
    """Return sums over rows (n, f), by which `kind_by_sums` finds the kind of all rows.

    `origin` (f,) is any row: sums of differences from it lose no digits to a large mean.
    """
    sums = {"stored": np.asarray((X != 0).sum(axis=0)).ravel(), "negative": np.sum(X < 0)}
    if not sp.issparse(X):
        some = np.unique(np.linspace(0, X.shape[1] - 1, min(COMPARED, X.shape[1])).astype(int))
        with np.errstate(over="ignore", invalid="ignore"):
            Z = X[:, some].astype(np.float64) - origin[some]
            sums |= {"total": Z.sum(axis=0), "products": Z.T @ Z}
    return sums


def kind_by_sums(n: int, sums: dict[str, np.ndarray]) -> str:
    r"""Return the kind of a table of n rows by its `column_sums`.

    Counts are not negative, and at least a fifth of their cells are zero; columns of zeros, such
    as genes that no sample expresses, do not count.

    Components, such as all or the first principal ones, are uncorrelated on the samples that they
    were computed from: $r_{ij} = 0$ up to rounding, where independent columns have
    $|r_{ij}| \approx 1 / \sqrt n$. That must hold for half of the pairs of at most 64 columns, so
    that a few further columns hide nothing, and for the longest column with half of the others.
    Columns that vary by less than 1e-10 of the largest deviation do not count. Fewer than three
    columns and sparse tables are no components.
    """
    stored = sums["stored"]
    filled = stored.sum() / max(1, n * np.count_nonzero(stored))
    if not sums["negative"] and 0 < filled < COUNTS_UP_TO:
        return COUNTS
    if "products" not in sums:
        return MEASUREMENTS
    with np.errstate(all="ignore"):  # values that are huge or not finite are no components
        C = sums["products"] - np.outer(sums["total"], sums["total"]) / n
        length = np.sqrt(np.diagonal(C))
        kept = np.flatnonzero(length > NEGLIGIBLE * length.max())
        r = np.abs(C / length / length[:, None])[np.ix_(kept, kept)]
    if len(kept) < 3 or n < 4:
        return MEASUREMENTS
    limit, first = UNCORRELATED / np.sqrt(n), np.argmax(length[kept])
    pairs, own = r[np.triu_indices(len(r), 1)], np.delete(r[first], first)
    return COMPONENTS if np.median(pairs) < limit and np.median(own) < limit else MEASUREMENTS


# ---------------------------------------------------------------- hashes


def hash_rows(block: Any) -> np.ndarray:
    r"""Return a number of 64 bits for every row of a matrix (b, f), dense or sparse.

    $$h_i = \sum_j r_j \cdot \text{mix}(x_{ij}) \bmod 2^{64}$$

    Every column has its own random odd $r_j$; mix spreads the bits of a double, and mix(0) is 0.
    So equal rows have equal numbers in any storage and type, and different rows in all
    likelihood different ones. About 1 s per GB.

    >>> X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    >>> h = hash_rows(X)
    >>> bool(h[0] == h[1] != h[2]), np.array_equal(h, hash_rows(sp.csr_array(X.astype(int))))
    (True, True)
    """
    n, width = block.shape
    factors = np.random.default_rng(SEED).integers(0, 2**64, width, dtype=np.uint64)
    factors |= np.uint64(1)
    if sp.issparse(block):
        X = sp.csr_array(block, copy=not block.has_canonical_format)
        X.sum_duplicates()
        sums = np.zeros(X.nnz + 1, dtype=np.uint64)
        np.cumsum(_mix(X.data) * factors[X.indices], out=sums[1:])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    found, height = np.empty(n, dtype=np.uint64), max(1, BLOCK // max(width, 1))
    for start in range(0, n, height):
        found[start : start + height] = _mix(block[start : start + height]) @ factors
    return found


def _mix(values: Any) -> np.ndarray:
    """Return the bits of numbers as doubles, spread; 0 for zero of either sign."""
    with np.errstate(invalid="ignore"):  # NaN of some patterns of bits, such as NA of R
        X = np.asarray(values).astype(np.float64) + 0.0  # turns a negative zero into zero
    if np.isnan(X).any():
        X[np.isnan(X)] = np.nan  # one pattern of bits
    bits = X.view(np.uint64) * SPREAD
    bits ^= bits >> np.uint64(32)
    return bits
