"""Execution on a dask cluster: tasks as futures, sums computed on the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from .. import _version
from ..exceptions import InputError
from ..linalg.threads import one_thread
from .engine import Engine, LocalEngine, Results, Task, Tree
from .rows import Piece
from .sources import ArraySource, DaskSource
from .work import Arrays

AHEAD = 4  # pieces in flight for every thread of the cluster
PATIENCE = "30s"  # time limit to reach a scheduler, and for its first worker


@dataclass(frozen=True)
class HeldBlock:
    """Rows of the embedding that stay on a worker; dask can recompute them."""

    start: int
    stop: int
    future: Any

    def load(self) -> np.ndarray:
        return np.asarray(self.future.result().load())


class DaskEngine:
    """Run tasks as futures of a `dask.distributed.Client`.

    A task is sent once per pass, as the result of a future. When a worker fails, dask recomputes
    the lost futures.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        _check_workers(client)

    def totals(self, task: Task, stretches: Iterable[Sequence[Any]]) -> Results:
        held = self._submit(_itself, task)
        waiting: deque[tuple[Any, int]] = deque()
        flying = 0
        for stretch in stretches:
            tree = Tree(lambda left, right: self._submit(_combined, held, left, right))
            for piece in stretch:
                tree.add(self._apply(held, piece))
            waiting.append((tree.total(), len(stretch)))
            flying += len(stretch)
            while flying - waiting[0][1] >= self._window():
                flying -= waiting[0][1]
                yield self._result(waiting.popleft()[0])
        while waiting:
            yield self._result(waiting.popleft()[0])

    def hold(self, task: Callable[[Any], Any], pieces: Sequence[Any]) -> Generator[Any, None, None]:
        held = self._submit(_itself, task)
        futures = [(piece, self._apply(held, piece)) for piece in pieces]
        for piece, future in futures:
            if getattr(task, "folder", None) is not None:
                yield self._result(future)
            else:
                if future.exception() is not None:
                    self._result(future)
                yield HeldBlock(piece.start, piece.stop, future)

    def _apply(self, held: Any, piece: Any) -> Any:
        if isinstance(piece, HeldBlock):
            return self._submit(_applied, held, piece.future)
        computed = {}
        if isinstance(piece, Piece):
            sources = list(piece.sources)
            for p, source in enumerate(piece.sources):
                if isinstance(source, DaskSource):  # the worker adds its rows
                    computed[p] = self._client.compute(source.array[piece.start : piece.stop])
                    sources[p] = ArraySource(np.empty((0, source.width)), piece.start)
            piece = replace(piece, sources=tuple(sources))
        return self._submit(_applied, held, piece, list(computed), list(computed.values()))

    def _submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False)

    def _window(self) -> int:
        return max(1, AHEAD * sum(self._client.nthreads().values()))

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except ModuleNotFoundError as error:
            raise InputError(_lacking(f"a worker lacks {error.name}")) from None
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise InputError(
                    f"the same piece of work ended several dask workers: {error}. Is their "
                    "memory limit too low?"
                ) from None
            raise


@contextmanager
def engine_for(dask: Any) -> Iterator[Engine]:
    """Return the engine of this machine, or of a dask cluster given by address or client.

    A client opened here is closed at the end; a given client stays open.
    """
    if dask is None:
        yield LocalEngine()
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError("dask is not installed here: pip install 'mkclust[dask]'") from None
    if not isinstance(dask, str):
        yield DaskEngine(dask)
        return
    try:
        client = distributed.Client(dask, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no dask scheduler answers at {dask}: {error}") from None
    with client:
        yield DaskEngine(client)


def _check_workers(client: Any) -> None:
    """Check before the work that every worker has this version of the package."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(f"the dask scheduler has no workers after {PATIENCE}") from None
    found = client.run(eval, "__import__('mkclust').__version__", on_error="return")
    for address, version in found.items():
        if isinstance(version, ModuleNotFoundError):
            raise InputError(_lacking(f"dask worker {address} lacks {version.name}"))
        if isinstance(version, Exception):
            raise InputError(f"dask worker {address} cannot import mkclust: {version}")
        if version != _version.__version__:
            raise InputError(
                f"dask worker {address} has mkclust {version}, not {_version.__version__}"
            )


def _lacking(what: str) -> str:
    return f"{what}: every worker needs the same packages, pip install 'mkclust[dask]'"


def _itself(task: Any) -> Any:
    return task


def _combined(task: Task, left: Arrays, right: Arrays) -> Arrays:
    return task.combine(left, right)


def _applied(
    task: Callable[[Any], Any], piece: Any, positions: Sequence[int] = (), arrays: Any = ()
) -> Any:
    """Apply the task to one piece; views that are dask arrays are passed as `arrays`."""
    if positions:
        sources = list(piece.sources)
        for p, rows in zip(positions, arrays, strict=True):
            sources[p] = ArraySource(rows, piece.start)
        piece = replace(piece, sources=tuple(sources))
    with one_thread():
        return task(piece)
