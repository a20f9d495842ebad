"""Recognition of key columns: columns that name the samples and are no features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..exceptions import InputError, KeyColumnWarning, warn
from .frames import is_frame, is_polars, text_columns

# Compared without case, spaces and punctuation.
OWNERS = (
    "animal", "article", "case", "cell", "client", "customer", "doc", "document", "donor",
    "employee", "entity", "household", "image", "individual", "item", "member", "object", "obs",
    "observation", "participant", "patient", "person", "product", "record", "respondent", "row",
    "sample", "specimen", "student", "subject", "user",
)  # fmt: skip
SUFFIXES = ("id", "ids", "identifier", "name", "names", "barcode", "uuid", "guid", "accession")
NUMBERS = ("key", "code", "no", "nr", "num", "number")  # a feature may be named so, too
KEYS = (*SUFFIXES, "index", "sample", "samples", "rowname", "rownames", "unnamed0", "subject",
        "patient")  # fmt: skip
SHORT = ("pid", "uid", "sid", "eid", "iid", "mrn")
FEW = 10  # rows: below, distinct whole numbers are no evidence for a key


def is_index_name(name: str) -> bool:
    """Return whether a column of this name usually holds sample names.

    >>> [is_index_name(n) for n in ("participant_id", "UserID", "docid", "", "acid", "bmi index")]
    [True, True, True, True, False, False]
    """
    word, parts = plain(name), _words(name)
    owners = tuple(f"{owner}{suffix}" for owner in OWNERS for suffix in (*SUFFIXES, *NUMBERS))
    return (
        not name.strip()
        or word in KEYS
        or word in owners
        or (bool(parts) and parts[-1] in SUFFIXES)
    )


def may_name_samples(name: str) -> bool:
    """Return whether a column of this name holds sample names if its values are distinct.

    >>> [may_name_samples(name) for name in ("Key", "case", "record number", "height")]
    [True, True, True, False]
    """
    word, parts = plain(name), _words(name)
    return (
        (bool(name.strip()) and is_index_name(name))
        or word in (*OWNERS, *NUMBERS, *SHORT)
        or (bool(parts) and parts[-1] in NUMBERS)
    )


def plain(name: str) -> str:
    """Return a name in lower case without punctuation and spaces.

    >>> plain("True_Label")
    'truelabel'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _words(name: str) -> list[str]:
    """Split a name at punctuation and at capitals: PatientID and patient_id are alike."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def names_each_row(values: Sequence[Any] | np.ndarray) -> bool:
    """Return whether the values are distinct, and whole numbers or texts.

    >>> names_each_row([3, 1, 2]), names_each_row(["a", "b"]), names_each_row([0.5, 1.5])
    (True, True, False)
    """
    found = np.asarray(values)
    if found.dtype.kind == "f" and not _whole(found):
        return False
    if found.dtype.kind == "O" and not all(isinstance(value, (str, int)) for value in found):
        return False
    if found.dtype.kind not in "iufUO":
        return False
    return len(set(found.tolist())) == len(found)


def looks_like_key(column: np.ndarray, others: Iterable[np.ndarray]) -> bool:
    """Return whether a numeric column looks like a key.

    It does if it has a distinct whole number in every row, and these are consecutive or one of
    the other columns has fractions.
    """
    if len(column) < FEW or column.dtype.kind not in "iuf" or not names_each_row(column):
        return False
    consecutive = float(column.max()) - float(column.min()) == len(column) - 1
    return consecutive or not all(_whole(other) for other in others)


def warn_of_key(place: str, column: Any, advice: str) -> None:
    """Warn that a column looks like a key but is used as a feature."""
    warn(
        f"{place}: column {column!r} has a different whole number in every row, as a key has, but "
        f"is used as a feature; {advice}",
        KeyColumnWarning,
    )


def keyed(items: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Make the key column of frames their index.

    A frame whose index has no names of samples (unnamed whole numbers) may have a column that
    does: a first column of distinct texts, or a column named like a key with distinct values.

    Returns
    -------
    items : list
        The views; frames with a key column without that column, and with it as the index.
    notes : list of str
    """
    frames = [p for p, item in enumerate(items) if _without_names(item)]
    keys = {p: _key(items[p]) for p in frames}
    without = [p for p in frames if keys[p] is None]
    if len(without) < len(frames) and all(_numbered(items[p]) for p in without):
        _check_every(keys, names)
    elif without:
        for p in frames:
            _warn_of_first(items[p], names[p])
        return list(items), []
    made = [_indexed(item, keys[p]) if p in keys else item for p, item in enumerate(items)]
    notes = [f"Column {keys[p]!r} of view {names[p]!r} names the samples." for p in keys]
    return made, notes


def _without_names(item: Any) -> bool:
    if not is_frame(item):
        return is_polars(item)
    index = item.index
    return index.nlevels == 1 and index.name is None and index.dtype.kind in "iu"


def _key(frame: Any) -> Any:
    """Return the name of the column with the sample names, or None."""
    columns = list(frame.columns)
    if len(columns) < 2:
        return None
    named = [c for c in columns if isinstance(c, str) and may_name_samples(c)]
    first = [columns[0]] if columns[0] in text_columns(frame) else []
    strong = [c for c in named if c == columns[0] and is_index_name(c)]
    for column in dict.fromkeys([*strong, *first, *named]):
        if columns.count(column) > 1:
            continue
        if names_each_row(frame[column].to_numpy()):
            return column
        if column in strong:
            raise InputError(
                f"column {column!r} is named like sample names, but some occur repeatedly: make "
                "another column the index, or drop it"
            )
    return None


def _indexed(frame: Any, key: Any) -> Any:
    if is_frame(frame):
        return frame.set_index(key)
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            f"aligning polars frames by column {key!r} needs pandas: pip install mkclust[pandas]"
        ) from None
    rest = frame.drop(key)
    columns = {name: rest[name].to_numpy() for name in rest.columns}
    return pd.DataFrame(columns, index=pd.Index(frame[key].to_list(), name=key))


def _numbered(frame: Any) -> bool:
    """Return whether the rows of a frame are only numbered 0, 1, ..."""
    return is_polars(frame) or np.array_equal(frame.index, np.arange(len(frame)))


def _check_every(keys: dict[int, Any], names: Sequence[str]) -> None:
    """Refuse frames without sample names beside frames with a key column."""
    other = next(p for p, key in keys.items() if key is not None)
    for p in [p for p, key in keys.items() if key is None]:
        raise InputError(
            f"view {names[other]!r} has the sample names in column {keys[other]!r}, but view "
            f"{names[p]!r} has neither such a column nor an index of names: make the sample names "
            "the index of every frame, or drop the column"
        )


def _warn_of_first(frame: Any, name: str) -> None:
    if text_columns(frame) or frame.shape[1] < 2:
        return  # text is refused elsewhere
    columns = list(frame.columns)
    others = (_values(frame, p) for p in range(1, len(columns)))
    if looks_like_key(_values(frame, 0), others):
        warn_of_key(
            f"view {name!r}",
            columns[0],
            "if it names the samples, make it the index of the frame, otherwise drop it or pass "
            "an index",
        )


def _values(frame: Any, position: int) -> np.ndarray:
    column = frame.iloc[:, position] if is_frame(frame) else frame.to_series(position)
    return np.asarray(column.to_numpy())


def _whole(values: np.ndarray) -> bool:
    return values.dtype.kind in "iub" or bool(
        values.dtype.kind == "f"
        and (values == np.round(values)).all()
        and np.isfinite(values).all()
    )
