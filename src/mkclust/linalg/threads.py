"""Parallel work on the cores that the user allows, without oversubscription by BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

ALL = 1 << 10  # items at once: as many as there are threads
Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = Lock()
_inside = 0  # blocks of all threads that limit BLAS now
_before: list[tuple[Any, int]] = []  # every BLAS library, and its threads before the first of them


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], at_once: int
) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed up to `at_once` at a time.

    BLAS uses one thread per item, so that the result does not depend on the number of threads.
    For `at_once` of 1 BLAS keeps its threads. The context variables of the caller are copied, so
    progress messages reach the same listener.

    >>> in_parallel(abs, [-1, 2, -3], at_once=2)
    [1, 2, 3]
    """
    todo = list(items)
    workers = min(at_once, blas_threads(), len(todo))
    if at_once <= 1:
        return [function(item) for item in todo]
    with one_blas_thread():
        if workers <= 1:
            return [function(item) for item in todo]
        with ThreadPoolExecutor(workers) as pool:
            tasks = [pool.submit(copy_context().run, function, item) for item in todo]
            return [task.result() for task in tasks]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside the block.

    OpenMP has a number of its own in every thread, so that its blocks cannot overlap. Its
    libraries are selected first, because `limit` restores all libraries of its controller.
    """
    with one_blas_thread(), _controller().select(user_api="openmp").limit(limits=1):
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    The number belongs to the process, and blocks in several threads may overlap: the first one
    to be entered records the number of every library, and the last one to be left restores it.
    """
    global _inside
    with _lock:
        if not _inside:
            libraries = _controller().select(user_api="blas").lib_controllers
            _before[:] = [(library, library.num_threads) for library in libraries]
            for library, _ in _before:
                _set_threads(library, 1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for library, number in _before:
                    _set_threads(library, number)


def blas_threads() -> int:
    """Return the number of threads BLAS may use now: as the user set it, or all cores."""
    pools = _controller().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


def _set_threads(library: Any, number: int) -> None:
    """Set the threads of a library from any thread.

    threadpoolctl 3.8 ignores calls while another thread controls OpenBLAS, such as the one that
    entered a block which is still open. The count of blocks orders the calls.
    """
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)
    library.set_num_threads(number)


@cache
def _controller() -> ThreadpoolController:
    """Return the controller; cached, because finding the libraries takes milliseconds."""
    return ThreadpoolController()
