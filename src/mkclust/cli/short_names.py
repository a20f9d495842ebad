"""Names of views shortened to a column of a table, so that they still differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

DOTS = "…"
SHARED = 4  # characters in common that are worth replacing by dots


def short_names(names: Sequence[str], width: int) -> list[str]:
    """Return names of at most `width` characters that differ where the names do.

    The words that all names begin and end with are replaced by dots, then the middle of each.

    >>> short_names(["rna", "protein"], 10)
    ['rna', 'protein']
    >>> short_names(["TCGA.expression.rna.log2", "TCGA.expression.protein.log2"], 12)
    ['…rna…', '…protein…']
    >>> short_names(["a-very-long-name"], 9)
    ['a-ve…name']
    """
    if all(len(name) <= width for name in names):
        return list(names)
    start, end = "", ""
    if len(set(names)) > 1:
        start = _whole_words(_shared(names))
        end = _whole_words(_shared([name[len(start) :][::-1] for name in names]))
    start, end = (part if len(part) >= SHARED else "" for part in (start, end))
    inner = [
        DOTS * bool(start) + name[len(start) : len(name) - len(end)] + DOTS * bool(end)
        for name in names
    ]
    short = [_cut(name, width) for name in inner]
    if len(set(short)) == len(set(names)):
        return short
    digits = len(str(len(names)))
    return [
        f"{p:>{digits}} {_cut(name, width - digits - 1)}" for p, name in enumerate(inner, start=1)
    ]


def _shared(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike)


def _whole_words(start: str) -> str:
    """Return a common start up to its last punctuation.

    >>> _whole_words("TCGA.normalized.bat")
    'TCGA.normalized.'
    """
    while start and start[-1].isalnum():
        start = start[:-1]
    return start


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}{DOTS}{name[len(name) - tail :]}"
