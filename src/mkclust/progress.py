"""Progress messages of long computations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def step(message: str) -> None:
    """Send a message about the step that starts now to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(message)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Send every message of `step` inside the block to `listener`.

    >>> with listening(print):
    ...     step("kernel of fou")
    kernel of fou
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
