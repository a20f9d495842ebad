"""Work on single views that several fits share, inside the block that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Made = TypeVar("Made")
_known: ContextVar[list[tuple[Any, Any, Any]] | None] = ContextVar("known", default=None)


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
    """
    known = _known.get()
    if known is None:
        return make()
    for other, _, value in known:
        if other == key:
            return value
    value = make()
    known.append((key, owner, value))
    return value
