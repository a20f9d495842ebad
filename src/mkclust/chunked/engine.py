"""Execution of tasks over pieces of rows on the threads of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from ..linalg.threads import blas_threads, one_blas_thread
from .work import Arrays

Results = Generator[Arrays, None, None]


class Task(Protocol):
    """A function of one piece of rows, and the combination of two results: by default their sum."""

    def __call__(self, piece: Any, /) -> Arrays: ...

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        return {key: left[key] + right[key] for key in left}


class Engine(Protocol):
    """Runs a task over pieces; the order of the sums does not depend on the engine."""

    def totals(self, task: Task, stretches: Iterable[Sequence[Any]]) -> Results:
        """Yield the combined result of each stretch of pieces, in order."""
        ...

    def hold(self, task: Callable[[Any], Any], pieces: Sequence[Any]) -> Generator[Any, None, None]:
        """Yield the result of each piece, in order; it may stay on a worker."""
        ...


class Tree:
    """Pairwise summation: rounding grows as log n, and the order is fixed.

    >>> tree = Tree(lambda left, right: f"({left}{right})")
    >>> for letter in "abcde":
    ...     tree.add(letter)
    >>> tree.total()
    '(((ab)(cd))e)'
    """

    def __init__(self, combine: Callable[[Any, Any], Any]) -> None:
        self._combine = combine
        self._stack: list[tuple[int, Any]] = []

    def add(self, value: Any) -> None:
        """Append a value and combine completed pairs."""
        level = 0
        while self._stack and self._stack[-1][0] == level:
            value = self._combine(self._stack.pop()[1], value)
            level += 1
        self._stack.append((level, value))

    def total(self) -> Any:
        """Return the combination of all values, and start anew."""
        value = self._stack.pop()[1]
        while self._stack:
            value = self._combine(self._stack.pop()[1], value)
        return value


class LocalEngine:
    """Run tasks on the threads of this machine: one piece per thread, BLAS on one thread.

    The result does not depend on the number of threads. After an interrupt the running pieces
    are completed, which takes seconds at most, and no others are started.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or blas_threads()

    def totals(self, task: Task, stretches: Iterable[Sequence[Any]]) -> Results:
        lengths: deque[int] = deque()

        def pieces() -> Iterator[Any]:
            for stretch in stretches:
                lengths.append(len(stretch))
                yield from stretch

        tree = Tree(task.combine)
        added = 0
        for result in self.hold(task, pieces()):
            tree.add(result)
            added += 1
            if added == lengths[0]:
                yield tree.total()
                lengths.popleft()
                added = 0

    def hold(self, task: Callable[[Any], Any], pieces: Iterable[Any]) -> Generator[Any, None, None]:
        waiting: deque[Future[Any]] = deque()
        pool = ThreadPoolExecutor(self.threads)
        try:
            with one_blas_thread():
                for piece in pieces:
                    waiting.append(pool.submit(task, piece))
                    if len(waiting) > self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
