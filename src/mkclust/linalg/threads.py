"""Views side by side on the cores the user allows, without BLAS copies fighting over them."""

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
    """``[function(item) for item in items]``, up to `at_once` of them at a time.

    BLAS gets one thread in each while several run, so the result does not depend on how many
    there are; with one at a time BLAS keeps all it had. Progress goes where the caller's goes.

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
    """BLAS and OpenMP on one thread inside the block, as they were after it."""
    with _controller().limit(limits=1):
        yield


def blas_threads() -> int:
    """How many threads BLAS may use now: what the user set, or all cores."""
    pools = _controller().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so once."""
    return ThreadpoolController()
