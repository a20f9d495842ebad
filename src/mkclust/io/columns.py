"""Find the columns of a table that hold sample names and classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..data.alignment import is_key_name, may_be_key_name, plain
from ..data.values import SHOWN, list_names
from ..exceptions import FileFormatError, InputError
from .choose import Name, Request
from .variables import is_label_name


class NotAKeyError(FileFormatError):
    """A column that may name the samples has repeated values: another is to be tried."""


class Special(NamedTuple):
    """Positions of the columns that are no features.

    Attributes
    ----------
    names, labels : int or None
        The columns with the sample names and with the classes.
    sure : bool
        False if the column names the samples only where its values are distinct.
    refused : tuple of int
        Columns named like keys whose values are not distinct: features.
    dropped : tuple of int
        Columns that are left out, as asked.
    """

    names: int | None
    labels: int | None
    sure: bool = True
    refused: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    @property
    def aside(self) -> tuple[int, ...]:
        """The columns of names and classes."""
        return tuple(p for p in (self.names, self.labels) if p is not None)

    @property
    def apart(self) -> set[int]:
        """All columns that are no features."""
        return {*self.aside, *self.dropped}


def special_columns(
    columns: Sequence[str],
    has_header: bool,
    first_is_text: bool,
    request: Request,
    tried: int = 0,
) -> Special:
    """Find the columns with the sample names and with the classes.

    Sample names are in the column that was asked for; else in a first column that is named like
    a key or holds text; else in a column named like a key whose values are distinct. `tried` is
    the number of candidates whose values were not.

    >>> special_columns(["id", "height", "class"], True, False, Request())[:2]
    (0, 2)
    >>> special_columns(["height", "user_id"], True, False, Request())
    Special(names=1, labels=None, sure=False, refused=(), dropped=())
    """
    dropped = tuple(p for p, name in enumerate(columns) if name in request.drop_columns)
    labels = _label_column(columns, request, dropped)
    if isinstance(request.index, str):
        if request.index not in columns:
            shown = list_names(columns, "")
            raise InputError(f"no column {request.index!r} for index=...; it has {shown} ...")
        return Special(_position(columns, request.index), labels, dropped=dropped)
    if request.index is False:
        return Special(None, labels, dropped=dropped)
    strong = has_header and is_key_name(columns[0])
    first = [0] if strong or first_is_text else []
    others = [p for p, name in enumerate(columns) if has_header and may_be_key_name(name)]
    found = [p for p in dict.fromkeys([*first, *others]) if p not in (labels, *dropped)]
    refused = tuple(found[:tried])
    if tried == len(found):
        return Special(None, labels, True, refused, dropped)
    sure = found[tried] == 0 and (strong or (first_is_text and len(found) == 1))
    return Special(found[tried], labels, sure, refused, dropped)


def _label_column(columns: Sequence[str], request: Request, dropped: Sequence[int]) -> int | None:
    if isinstance(request.labels, str):
        return _position(columns, request.labels) if request.labels in columns else None
    # a single letter does not identify classes: x, y, z are coordinates
    left = [name for p, name in enumerate(columns) if p not in dropped]
    like = [name for name in left if is_label_name(name) and len(plain(name)) > 1]
    if len(like) > 1:
        raise FileFormatError(
            f"several columns are named like labels ({', '.join(like)}): choose with labels=..."
        )
    return columns.index(like[0]) if like else None


def class_columns(
    columns: Sequence[str], has_header: bool, first_is_text: bool, index: Name
) -> tuple[int | None, int]:
    """Return the same positions for a file of labels, where the other column has the classes.

    >>> class_columns(["sample", "species"], True, True, None)
    (0, 1)
    """
    wanted: Name = index if isinstance(index, str) else None if len(columns) > 1 else False
    names, labels, *_ = special_columns(columns, has_header, first_is_text, Request(index=wanted))
    rest = [p for p in range(len(columns)) if p not in (names, labels)]
    if labels is None and rest:
        labels = rest.pop()
    if names is None and len(rest) == 1:
        names = rest.pop()
    if rest or labels is None:
        raise FileFormatError(
            f"it should have one column of labels, and at most one of sample names, but has "
            f"{len(columns)} columns"
        )
    return names, labels


def _position(columns: Sequence[str], name: str) -> int:
    if columns.count(name) > 1:
        raise InputError(f"there are {columns.count(name)} columns named {name!r}")
    return columns.index(name)


def check_unique(index: Sequence[str], column: str) -> None:
    """Refuse sample names that occur more than once."""
    seen: set[str] = set()
    for name in index:
        if name in seen:
            raise FileFormatError(
                f"column {column!r} was taken for sample names, but {name!r} occurs repeatedly; "
                "name another column with index=..., or pass index=False to use it as a feature"
            )
        seen.add(name)


def not_numeric(columns: Sequence[str], found: str) -> FileFormatError:
    """Return the error for columns of text, with the ways out; `found` says what they hold."""
    what = f"columns {list_names(columns)} are" if len(columns) > 1 else f"column {columns[0]!r} is"
    drop = list(columns[:SHOWN]) if len(columns) > 1 else repr(columns[0])
    return FileFormatError(
        f"{what} not numeric{found}; leave out with drop_columns={drop}, encode as numbers, or "
        "name with labels=... or index=... a column that holds those"
    )
