"""The join of tables: which rows of which view are the same sample, by name.

Rows are named by the index of a frame, or by a key column that is given or recognized. Only
tables without any names are joined by position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..exceptions import InputError, KeyColumnWarning, MissingRowsWarning, PositionWarning, warn
from .values import SHOWN, is_frame, list_names, text_columns

# Compared without case, spaces and punctuation.
OWNERS = (
    "animal", "article", "case", "cell", "client", "customer", "doc", "document", "donor",
    "employee", "entity", "household", "image", "individual", "item", "member", "object", "obs",
    "observation", "participant", "patient", "person", "product", "record", "respondent", "row",
    "sample", "specimen", "student", "subj", "subject", "user", "usubj",
)  # fmt: skip
SUFFIXES = ("id", "ids", "identifier", "name", "names", "barcode", "uuid", "guid", "accession")
NUMBERS = ("key", "code", "no", "nr", "num", "number")  # a feature may be named so, too
KEYS = frozenset(
    {*SUFFIXES, "index", "sample", "samples", "rowname", "rownames", "unnamed0", "subject",
     "patient", *(owner + suffix for owner in OWNERS for suffix in (*SUFFIXES, *NUMBERS))}
)  # fmt: skip
POSSIBLE_KEYS = frozenset({*OWNERS, *NUMBERS, "pid", "uid", "sid", "eid", "iid", "mrn"})
FEATURE = 3  # rank of whole numbers under any name, after those of keys
FEW = 10  # rows: below, distinct whole numbers are no evidence for a key
ROWS = "names of rows"  # the index of a table of annotations, in messages
OVERLAP = 0.5  # share of the smaller table's key values that another table must have


# ---------------------------------------------------------------- the names of the rows


def set_sample_names(
    items: Sequence[Any], names: Sequence[str], key: Any = None
) -> tuple[list[Any], tuple[Any, ...], list[str]]:
    """Make the column with the sample names the index of every frame.

    Parameters
    ----------
    items : sequence of frames, arrays and sparse matrices
    names : sequence of str
        Names of the views.
    key : str or sequence, optional
        The column with the sample names, or one per view (None: recognized). By default the
        index where it has names, else a column that all tables have, with distinct values that
        largely agree, else a column that is first and text or named like a key.

    Returns
    -------
    items : list
        Frames with a key column without that column, and with it as the index.
    keys : tuple of str or None
        The key column of every view.
    notes : list of str
    """
    given = list(key) if isinstance(key, (list, tuple)) else [key] * len(items)
    if len(given) != len(items):
        raise InputError(f"{len(items)} views but id for {len(given)}", parameter="id")
    tables = [p for p, item in enumerate(items) if is_frame(item)]
    keys: dict[int, Any] = {}
    for p in tables:
        if given[p] is not None and _require_key(items[p], names[p], given[p]):
            keys[p] = given[p]
    unnamed = [p for p in tables if given[p] is None and not _has_names(items[p])]
    found, notes = _recognize_keys(items, names, unnamed)
    keys |= found
    made = [item.set_index(keys[p]) if p in keys else item for p, item in enumerate(items)]
    said = [f"Column {keys[p]!r} of view {names[p]!r} names the samples." for p in sorted(keys)]
    return made, tuple(keys.get(p) for p in range(len(items))), [*notes, *said]


@lru_cache(maxsize=1 << 16)
def is_key_name(name: str) -> bool:
    """Return whether a column of this name usually holds sample names.

    >>> [is_key_name(n) for n in ("participant_id", "UserID", "docid", "", "acid", "bmi index")]
    [True, True, True, True, False, False]
    """
    parts = _words(name)
    return not name.strip() or plain(name) in KEYS or (bool(parts) and parts[-1] in SUFFIXES)


@lru_cache(maxsize=1 << 16)
def may_be_key_name(name: str) -> bool:
    """Return whether a column of this name holds sample names if its values are distinct.

    >>> [may_be_key_name(name) for name in ("Key", "case", "record number", "height")]
    [True, True, True, False]
    """
    parts = _words(name)
    return (
        (bool(name.strip()) and is_key_name(name))
        or plain(name) in POSSIBLE_KEYS
        or (bool(parts) and parts[-1] in NUMBERS)
    )


def plain(name: str) -> str:
    """Return a name in lower case without punctuation and spaces.

    >>> plain("True_Label")
    'truelabel'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def names_each_row(values: Sequence[Any] | np.ndarray) -> bool:
    """Return whether the values are distinct, and whole numbers or texts.

    >>> names_each_row([3, 1, 2]), names_each_row(["a", "b"]), names_each_row([0.5, 1.5])
    (True, True, False)
    """
    found = np.asarray(values)
    if found.dtype.kind == "f" and not _are_whole(found):
        return False
    if found.dtype.kind == "O" and not all(isinstance(value, (str, int)) for value in found):
        return False
    return found.dtype.kind in "iufUO" and len(set(found.tolist())) == len(found)


def as_text(names: Any) -> list[str]:
    """Return sample names as texts; leading zeros are kept, whole floats lose their ".0".

    >>> as_text(["007", 7, 7.0])
    ['007', '7', '7']
    """
    given = names.tolist() if hasattr(names, "tolist") else names
    if getattr(names, "inferred_type", "") != "string":  # as the index of most tables is
        given = [str(int(n)) if isinstance(n, float) and n.is_integer() else str(n) for n in given]
    return list(given)


def _require_key(frame: Any, name: str, key: Any) -> bool:
    """Return whether the given key is a column, False for the index; refuse anything else."""
    if key not in list(frame.columns):
        if frame.index.name == key:
            return False
        raise InputError(
            f"view {name!r} has no column {key!r}; its columns are "
            f"{list_names([str(c) for c in frame.columns])}",
            parameter="id",
        )
    values = _column(frame, key)
    if not names_each_row(values):
        counts = Counter(values.tolist())
        odd = [value for value in counts if value is None or value != value or counts[value] > 1]
        why = f"{list_names(odd)} is missing or occurs repeatedly" if odd else "not whole numbers"
        raise InputError(
            f"view {name!r}: column {key!r} cannot name the samples: {why}", parameter="id"
        )
    return True


def _has_names(item: Any) -> bool:
    """Return whether the index of a frame names the samples: no unnamed whole numbers."""
    if not is_frame(item):
        return False
    index = item.index
    return index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"


def _recognize_keys(
    items: Sequence[Any], names: Sequence[str], unnamed: Sequence[int]
) -> tuple[dict[int, Any], list[str]]:
    """Return the key columns of frames whose index has no names, and notes."""
    of_tables = [names[p] for p in unnamed]
    shared, rank = _shared_key([items[p] for p in unnamed], of_tables)
    if rank < FEATURE:
        note = f"Column {shared!r} has the same distinct values in the tables: it is the key."
        return dict.fromkeys(unnamed, shared), [] if may_be_key_name(str(shared)) else [note]
    keys = {p: _own_key(items[p]) for p in unnamed}
    without = [p for p in unnamed if keys[p] is None]
    if not without:
        return keys, []
    if len(without) < len(unnamed) and _are_numbered(items[p].index for p in without):
        with_key = next(p for p in unnamed if keys[p] is not None)
        raise InputError(
            f"view {names[with_key]!r} has the sample names in column {keys[with_key]!r}, but view "
            f"{names[without[0]]!r} has neither such a column nor an index of names: make the "
            "sample names the index of every frame, name the column by id=, or drop it"
        )
    if shared is not None:
        _warn_of_key(shared, of_tables)
    else:
        for p in unnamed:
            _warn_of_first(items[p], names[p])
    return {}, []


def _are_numbered(indices: Iterable[Any]) -> bool:
    """Return whether the rows are only numbered 0, 1, ..."""
    return all(np.array_equal(index, np.arange(len(index))) for index in indices)


def _shared_key(frames: Sequence[Any], names: Sequence[str]) -> tuple[Any, int]:
    """Return the column of several tables whose distinct values agree, or None, and its rank.

    Columns named like keys come first, then texts, then whole numbers under any name, which are
    features. Keys that pair the rows in different ways are refused.
    """
    if len(frames) < 2:
        return None, FEATURE
    counts = [Counter(frame.columns) for frame in frames]
    common = [column for column in frames[0].columns if all(own[column] == 1 for own in counts)]
    ranks = {c: rank for c in common if (rank := _key_rank(frames, c)) is not None}
    rank = min(ranks.values(), default=FEATURE)
    best = [column for column in common if ranks.get(column) == rank]
    pairings = (_pairing(frames, column) for column in best)
    if len(best) > 1 and any(a != b for a, b in pairwise(pairings)):
        if rank == FEATURE:
            return None, rank
        raise InputError(
            f"columns {list_names(best)} of {', '.join(names)} could each name the "
            "samples, but pair the rows differently: say by id= which one does",
            parameter="id",
        )
    return next(iter(best), None), rank


def _key_rank(frames: Sequence[Any], column: Any) -> int | None:
    """Return how surely a column names the samples in all tables, 0 most; None for not at all."""
    name, texts = str(column), frames[0][column].dtype.kind not in "iufb"
    rank = 0 if is_key_name(name) else 1 if may_be_key_name(name) else 2 if texts else FEATURE
    if rank == FEATURE and min(len(frame) for frame in frames) < FEW:
        return None
    if not all(names_each_row(_column(frame, column)) for frame in frames):
        return None
    sets = [set(as_text(_column(frame, column))) for frame in frames]
    alike = all(len(a & b) >= OVERLAP * min(len(a), len(b)) for a, b in combinations(sets, 2))
    return rank if alike else None


def _pairing(frames: Sequence[Any], column: Any) -> list[list[int]]:
    first = as_text(_column(frames[0], column))
    return [rows_of(first, as_text(_column(frame, column))).tolist() for frame in frames[1:]]


def _own_key(frame: Any) -> Any:
    """Return the column of one table with the sample names, by its name or as first text."""
    columns = list(frame.columns)
    if len(columns) < 2:
        return None
    named = [c for c in columns if isinstance(c, str) and may_be_key_name(c)]
    first = [columns[0]] if columns[0] in text_columns(frame) else []
    strong = [c for c in named if c == columns[0] and is_key_name(c)]
    for column in dict.fromkeys([*strong, *first, *named]):
        if columns.count(column) > 1:
            continue
        if names_each_row(_column(frame, column)):
            return column
        if column in strong:
            raise InputError(
                f"column {column!r} is named like sample names, but some occur repeatedly: name "
                "another column by id=, or make the names different"
            )
    return None


def _column(frame: Any, column: Any) -> np.ndarray:
    return np.asarray(frame[column].to_numpy())


def _warn_of_first(frame: Any, name: str) -> None:
    """Warn of a first column that looks like a key but is used as a feature.

    It has a distinct whole number in every row, and these are consecutive or one of the other
    columns has fractions. Text is refused elsewhere.
    """
    if text_columns(frame) or frame.shape[1] < 2 or len(frame) < FEW:
        return
    first, *others = (frame.iloc[:, p].to_numpy() for p in range(frame.shape[1]))
    if first.dtype.kind not in "iuf" or not names_each_row(first):
        return
    consecutive = float(first.max()) - float(first.min()) == len(first) - 1
    if consecutive or not all(_are_whole(other) for other in others):
        _warn_of_key(next(iter(frame.columns)), [name])


def _warn_of_key(column: Any, names: Sequence[str]) -> None:
    warn(
        f"view {', '.join(map(repr, names))}: column {column!r} has a different whole number in "
        "every row, as a key has, but is used as a feature; if it names the samples, make it the "
        "index of the frame or name it by id=, otherwise drop it or pass an index",
        KeyColumnWarning,
    )


def _are_whole(values: np.ndarray) -> bool:
    return values.dtype.kind in "iub" or bool(
        values.dtype.kind == "f"
        and (values == np.round(values)).all()
        and np.isfinite(values).all()
    )


def _words(name: str) -> list[str]:
    """Split a name at punctuation and at capitals: PatientID and patient_id are alike."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


# ---------------------------------------------------------------- one order of the samples


def align(
    items: Sequence[Any], names: Sequence[str]
) -> tuple[tuple[np.ndarray | None, ...], np.ndarray, list[str]]:
    """Find a common order: the samples of the first frame, then those that only others have.

    At least one of the views is a frame. Views without sample names are accepted only if all
    frames have the same samples in the same order; they are then joined by position, with a
    warning where the frames have names. Names of different types, such as 7 and "7", are compared
    as texts.

    Returns
    -------
    rows : tuple of (n,) int arrays or None
        Per view the row of each sample, -1 where the view lacks it; None where the view is
        unchanged.
    index : (n,) array
        Sample names.
    notes : list of str
        Which views were reordered, and which lack which samples.
    """
    frames = [p for p, item in enumerate(items) if is_frame(item)]
    for p in frames:
        _refuse_missing_names(items[p].index, names[p])
    indices = _of_one_type([items[p].index for p in frames])
    first, named = indices[0], any(_has_names(items[p]) for p in frames)
    by_view = dict(zip([names[p] for p in frames], indices, strict=True))
    others = {name: index for name, index in by_view.items() if not index.equals(first)}
    if named or others:
        _check_unique(by_view)
    if not others:
        if named and len(frames) < len(items):
            _warn_of_position(items, names)
        return (None,) * len(items), first.to_numpy(), []
    if _are_numbered(items[p].index for p in frames):
        sizes = ", ".join(f"{names[p]} {len(items[p])}" for p in frames)
        raise InputError(
            f"views must have the same rows, got {sizes}, and none has sample names: make them the "
            "index of every frame, or a column of it"
        )
    if len(frames) < len(items):
        _refuse_unnamed(names[frames[0]], first, *next(iter(others.items())))
    _check_linked(by_view)
    every = first
    for index in others.values():
        every = every.append(index.difference(every, sort=False))
    _warn_of_spelling(every)
    rows = tuple(index.get_indexer(every) for index in indices)
    notes = [lacking_words(name, every[row < 0]) for name, row in zip(names, rows, strict=True)]
    by_name = [name for name, index in others.items() if len(index.intersection(first))]
    if by_name and named:
        said = ", ".join(map(repr, by_name))
        notes.insert(0, f"Rows of {said} were joined to those of {names[0]!r} by sample name.")
    return rows, every.to_numpy(), [note for note in notes if note]


def turn_transposed(items: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Transpose frames whose columns are the samples of the others, such as genes by samples."""
    turned, notes = list(items), []
    rows = [set(as_text(item.index)) if _has_names(item) else set() for item in items]
    alone = [
        p for p, own in enumerate(rows)
        if own and all(own.isdisjoint(other) for other in rows if other is not own)
    ]  # fmt: skip
    for p in alone:
        item, others = items[p], set().union(*(own for own in rows if own is not rows[p]))
        columns = [str(column) for column in item.columns]
        shared = len(others & set(columns))
        most = 2 * shared > min(len(columns), len(others))
        if most and shared > 1 and not text_columns(item):
            turned[p] = item.set_axis(columns, axis="columns").T
            notes.append(
                f"View {names[p]!r} has the samples as columns: it was transposed to "
                f"{len(columns)} samples x {len(item)} features."
            )
    return turned, notes


def place_rows(matrix: Any, rows: np.ndarray, kernels: bool) -> Any:
    """Rearrange the rows of a matrix, and the columns of a kernel, as `rows` gives them.

    A sample the view lacks gets a row of NaN; in a sparse matrix a row of zeros.

    >>> place_rows(np.array([[1.0], [2.0]]), np.array([1, -1, 0]), False).ravel()
    array([ 2., nan,  1.])
    """
    there = np.flatnonzero(rows >= 0)
    n, own = len(rows), matrix.shape[0]
    if sp.issparse(matrix):
        S = sp.csr_array((np.ones(len(there)), (there, rows[there])), shape=(n, own))
        return sp.csr_array(S @ matrix @ S.T if kernels else S @ matrix)
    if len(there) == n:
        return matrix[rows][:, rows] if kernels else matrix[rows]
    dtype = matrix.dtype if matrix.dtype.kind == "f" else np.float64
    full = np.full((n, n if kernels else matrix.shape[1]), np.nan, dtype=dtype)
    if kernels:
        full[np.ix_(there, there)] = matrix[np.ix_(rows[there], rows[there])]
    else:
        full[there] = matrix[rows[there]]
    return full


def rows_of(samples: Iterable[Any], names: Iterable[Any]) -> np.ndarray:
    """Return the row of every sample (n,) among rows with these names, -1 where it has none.

    >>> rows_of(["b", "c"], ["a", "b"])
    array([ 1, -1])
    """
    place = {name: row for row, name in enumerate(names)}
    return np.array([place.get(sample, -1) for sample in samples], dtype=np.intp)


def order_columns_as_rows(kernel: Any) -> Any:
    """Reorder the columns of a kernel's frame as its rows, where both have the sample names."""
    same = is_frame(kernel) and kernel.index.is_unique and set(kernel.columns) == set(kernel.index)
    return kernel.loc[:, kernel.index] if same else kernel


def check_index(index: Any, samples: np.ndarray) -> Any:
    """Return the index that was given; refuse one that renames the samples of frames."""
    if not _are_numbered([samples]) and as_text(index) != as_text(samples):
        raise InputError(
            "the frames have other sample names than index, or in another order: leave index out",
            parameter="index",
        )
    return index


def order_labels(labels: Any, index: np.ndarray | None) -> Any:
    """Return labels that have sample names in the order of the views; they may have more.

    Names are compared as text. Without names, labels are taken by position if the samples have
    none either.
    """
    if index is None or not hasattr(labels, "reindex"):
        return labels
    rows = rows_of(as_text(index), as_text(labels.index))
    if rows.min() >= 0 and labels.index.is_unique:
        return labels.iloc[rows]
    if _are_numbered([index]):
        return labels
    lacking = index[rows < 0].tolist()
    what = f"lacks {_count_samples(lacking)}" if lacking else "has repeated names"
    raise InputError(
        f"{getattr(labels, 'name', None) or 'labels'} {what}; are the samples the rows of every "
        "table (transpose=)? Pass labels=False for none",
        parameter="labels",
    )


def lacking_words(name: str, samples: Sequence[Any]) -> str:
    """Return a sentence with the samples that a view lacks; empty if there are none.

    >>> lacking_words("rna", ["s1", "s2"])
    "View 'rna' lacks 2 samples: 's1', 's2'."
    """
    return f"View {name!r} lacks {_count_samples(samples)}." if len(samples) else ""


def _count_samples(samples: Sequence[Any]) -> str:
    return f"{len(samples)} sample{'s' * (len(samples) > 1)}: {list_names(samples)}"


def _of_one_type(indices: Sequence[Any]) -> list[Any]:
    """Return the indices, as texts where they are of different types."""
    if len({index.inferred_type for index in indices}) == 1 or any(i.nlevels > 1 for i in indices):
        return list(indices)
    return [pd.Index(as_text(index), name=index.name, dtype=object) for index in indices]


def _refuse_missing_names(index: Any, name: str) -> None:
    if len(missing := np.flatnonzero(index.isna() | (index == ""))):
        found = repr(index[missing[0]])
        raise InputError(f"view {name!r}: row {missing[0]} has no sample name, but {found}")


def _check_unique(indices: dict[str, Any]) -> None:
    for name, index in indices.items():
        if index.has_duplicates:
            twice = list(index[index.duplicated()].unique()[:SHOWN])
            raise InputError(
                f"view {name!r} has several rows named {twice}: give every sample a name of its own"
            )


def _warn_of_position(items: Sequence[Any], names: Sequence[str]) -> None:
    bare = [name for name, item in zip(names, items, strict=True) if not is_frame(item)]
    warn(
        f"{', '.join(bare)}: no sample names, so that rows are joined by position to those of the "
        "tables that have names; give every view as a frame to join by name",
        PositionWarning,
    )


def _refuse_unnamed(first_name: str, first: Any, name: str, index: Any) -> None:
    what = f"view {name!r} has its rows in another order than {first_name!r}"
    for here, there, owner in ((index, first, first_name), (first, index, name)):
        if len(missing := here.difference(there, sort=False)):
            what = f"view {owner!r} lacks {_count_samples(missing)}"
    raise InputError(
        f"{what}, and views without an index cannot be aligned; give every view as a frame"
    )


def _warn_of_spelling(every: Any) -> None:
    """Warn of names that differ only by case, spaces or the encoding of accents."""
    spelled: dict[str, list[str]] = {}
    for name in as_text(every):
        spelled.setdefault(normalize("NFKC", name).casefold().strip(), []).append(name)
    if twice := [names for names in spelled.values() if len(names) > 1]:
        warn(
            f"names are written in several ways, {len(twice)} in all, such as "
            f"{list_names(twice[0])}: they count as different samples",
            MissingRowsWarning,
        )


def _check_linked(indices: dict[str, Any]) -> None:
    """Refuse a view without common samples: its names are probably spelled differently."""
    for name, index in indices.items():
        others = {other: there for other, there in indices.items() if other != name}
        if not any(index.isin(there).any() for there in others.values()):
            other, there = next(iter(others.items()))
            raise InputError(
                f"view {name!r} has no sample in common with any other view: its first is "
                f"{index[0]!r}, that of {other!r} {there[0]!r}; are the names written alike (see "
                "id=), and are the samples the rows of every table (.T; of files transpose=True)?"
            )


# ---------------------------------------------------------------- annotations


def match_samples(table: Any, samples: Sequence[Any], id: str | None = None) -> Any:
    """Index a table of annotations by the sample names that it holds.

    Parameters
    ----------
    table : DataFrame
    samples : sequence
        Names of the samples.
    id : str, optional
        The column of names. By default the index if it has names, else a column named like a key,
        else the column that holds most of the names.

    Returns
    -------
    frame : DataFrame
        Indexed by names, all different, as text; copies of the column are dropped.

    Raises
    ------
    InputError
        No column holds the names, several could, or a name is repeated.
    """
    frame = table.set_axis(table.columns.astype(str), axis=1).reset_index(drop=True)
    frame.insert(0, ROWS, as_text(table.index))
    if id is not None and id not in frame.columns:
        raise InputError(f"the annotations have no column {id!r}", parameter="id")
    key = _find_names(frame, set(as_text(samples)), _has_names(table)) if id is None else id
    if lacking := int(frame[key].isna().sum()):
        raise InputError(f"{lacking} rows have no name in column {key!r}")
    text = as_text(frame[key])
    if twice := [name for name, count in Counter(text).items() if count > 1]:
        raise InputError(f"several rows are of one sample, by column {key!r}: {list_names(twice)}")
    rest = [c for c in frame.columns[1:] if c != key and as_text(frame[c]) != text]
    name = table.index.name or ROWS if key == ROWS else key
    return frame[rest].set_axis(pd.Index(text, name=name))


def _find_names(frame: Any, names: set[str], named: bool) -> str:
    """Return the column with the names; the first of `frame` is its index, `named` or numbered.

    That index, else a column named like a key, else a text, a column of whole numbers or the
    numbers of the rows: each time the one that holds most of the names.
    """
    rows, *columns = [str(c) for c in frame.columns]
    held = {c: len(names & {*as_text(frame[c].dropna())}) for c in (rows, *columns)}
    if named and held[rows]:
        return rows
    texts, least = text_columns(frame), OVERLAP * len(frame)
    keys = [c for c in columns if is_key_name(c)]
    others = [
        c for c in columns
        if c in texts or may_be_key_name(c)
        or (held[c] >= least and names_each_row(_column(frame, c)))
    ]  # fmt: skip
    numbered = [rows] if held[rows] == len(names) else []
    for able in (keys, [*others, *numbered], [rows]):
        most = max([1, *(held[c] for c in able)])
        best = [c for c in able if held[c] == most]
        if any(as_text(frame[c]) != as_text(frame[best[0]]) for c in best):
            raise InputError(
                f"columns {list_names(best)} could name the samples: choose with id=",
                parameter="id",
            )
        if best:
            return best[0]
    raise InputError(
        f"no column holds names of the samples, such as {min(names, default='')!r}; its columns "
        f"are {list_names(columns)}; choose one with id=",
        parameter="id",
    )
