"""Memoize graphs and eigenvectors of views inside `with shared_views()`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

Made = TypeVar("Made")


@dataclass
class _Entry:
    """What was made for a key; the lock is held while it is made."""

    key: Any
    owner: Any
    lock: Lock = field(default_factory=Lock)
    made: list[Any] = field(default_factory=list)


_known: ContextVar[list[_Entry] | None] = ContextVar("known", default=None)
_listing = Lock()  # held while an entry is looked up or added


@contextmanager
def shared_views() -> Iterator[None]:
    """Compute graphs and eigenvectors of the same view only once inside the block.

    A fit, the fits without one view and those for other numbers of clusters need the same ones.
    They stay in memory until the block ends.

    Examples
    --------
    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, 2, 2, random_state=0)
    >>> with shared_views():
    ...     one, two = cluster(views, 2, random_state=0), cluster(views, 3, random_state=0)
    """
    token = None if _known.get() is not None else _known.set([])
    try:
        yield
    finally:
        if token is not None:
            _known.reset(token)


def reused(key: Any, owner: Any, make: Callable[[], Made]) -> Made:
    """Return what was made for an equal `key` in this block, or make it.

    `key` may hold the `id` of an object; `owner` keeps that object alive as long as the entry.
    A second thread that asks for the same key waits for the first.
    """
    known = _known.get()
    if known is None:
        return make()
    with _listing:
        entry = next((entry for entry in known if entry.key == key), None)
        if entry is None:
            entry = _Entry(key, owner)
            known.append(entry)
    with entry.lock:
        if not entry.made:
            entry.made.append(make())
        found: Made = entry.made[0]
        return found
