"""Parallel work on the cores that the user allows, without oversubscription by BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], at_once: int
) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed up to `at_once` at a time.

    BLAS uses one thread per item while several run, so that the result does not depend on the
    number of threads. With one item at a time BLAS keeps its threads. The context variables of
    the caller are copied, so progress messages reach the same listener.

    >>> in_parallel(abs, [-1, 2, -3], at_once=2)
    [1, 2, 3]
    """
    todo = list(items)
    workers = min(at_once, blas_threads(), len(todo))
    if at_once <= 1 or len(todo) <= 1:
        return [function(item) for item in todo]
    with _controller().limit(limits=1, user_api="blas"):
        if workers == 1:
            return [function(item) for item in todo]
        with ThreadPoolExecutor(workers) as pool:
            tasks = [pool.submit(copy_context().run, function, item) for item in todo]
            return [task.result() for task in tasks]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside the block."""
    with _controller().limit(limits=1):
        yield


def blas_threads() -> int:
    """Return the number of threads BLAS may use now: as the user set it, or all cores."""
    pools = _controller().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


@cache
def _controller() -> ThreadpoolController:
    """Return the controller; cached, because finding the libraries takes milliseconds."""
    return ThreadpoolController()
