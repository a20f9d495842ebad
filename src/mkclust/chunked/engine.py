"""Who does the work: the threads of this machine. A task over pieces of rows, summed as a tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from ..linalg.threads import blas_threads
from .work import Arrays

Results = Generator[Arrays, None, None]


class Task(Protocol):
    """What is done to one piece of rows, and how two results become one."""

    def __call__(self, piece: Any, /) -> Arrays: ...

    def combine(self, left: Arrays, right: Arrays) -> Arrays: ...


class Engine(Protocol):
    """Runs a task over pieces; the same sums in the same order whoever computes them."""

    def totals(self, task: Task, stretches: Iterable[Sequence[Any]]) -> Results:
        """The combined result of each stretch of pieces, in order."""
        ...

    def hold(self, task: Callable[[Any], Any], pieces: Sequence[Any]) -> Generator[Any, None, None]:
        """The result of each piece, in order, left where it was made."""
        ...


class Tree:
    """Sums in pairs, pairs of pairs, ...: rounding grows as log n, and the order is fixed.

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
        level = 0
        while self._stack and self._stack[-1][0] == level:
            value = self._combine(self._stack.pop()[1], value)
            level += 1
        self._stack.append((level, value))

    def total(self) -> Any:
        value = self._stack.pop()[1]
        while self._stack:
            value = self._combine(self._stack.pop()[1], value)
        return value


class LocalEngine:
    """The threads of this machine, one piece each, every product on one thread.

    The number of threads changes the time and not a bit of the result. An interrupt waits for
    the pieces at work, seconds at most, and starts no others.
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
            with threadpool_limits(1):
                for piece in pieces:
                    waiting.append(pool.submit(task, piece))
                    if len(waiting) > self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
