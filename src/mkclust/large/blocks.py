"""One function mapped over blocks of rows, with sums in a fixed order."""

from __future__ import annotations

import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._version import __version__
from ..exceptions import InputError
from ..linalg.threads import blas_threads, in_parallel, one_blas_thread
from ..progress import step
from .arrays import FileRows, dask_module

BLOCK = 32 << 20  # bytes of rows per block: smaller ones have more overhead
MOST_BLOCKS = 4000  # a scheduler takes about a millisecond for each
LEAST_BLOCKS = 4  # so that small data are shared among threads too
KEPT = 512 << 20  # bytes: larger results of stored rows do not stay in memory
PATIENCE = "30s"  # to reach a scheduler, and for its first worker
AHEAD = 4  # blocks per thread that dask is given at a time

Sums = dict[Any, np.ndarray]


def block_height(n: int, row_bytes: int) -> int:
    """Return the rows of a block: about 32 MB, more where there would be more than 4000 blocks.

    It does not depend on how the rows are stored, so that sums do not either.
    """
    size = min(max(BLOCK, row_bytes * n // MOST_BLOCKS), 8 * BLOCK)
    return min(max(1, size // max(row_bytes, 1)), max(256, -(-n // LEAST_BLOCKS)))


def is_dask(array: Any) -> bool:
    """Return whether an array is a dask array."""
    return type(array).__module__.startswith("dask.array")


def map_blocks(
    name: str, function: Callable[..., Any], arrays: Sequence[Any], height: int
) -> Iterator[Any]:
    """Yield ``function(start, *blocks)`` for all blocks of rows, in their order.

    Parameters
    ----------
    name : str
        Name of the pass in messages of progress.
    function : callable
        Its first argument is the position of the first row of the block. BLAS has one thread.
    arrays : sequence of (n, ...) arrays, sparse matrices, dask arrays or None
        A block has `height` rows of each, in memory; None stays None. If all are in memory this
        is a loop on the threads of this process. Otherwise dask runs it: on threads, or on the
        workers of the active `dask.distributed.Client`.
    """
    n = next(array.shape[0] for array in arrays if array is not None)
    begun, done = perf_counter(), 0
    stored = any(is_dask(array) for array in arrays)
    for result in (_by_dask if stored else _in_memory)(function, arrays, n, height):
        done = min(done + height, n)
        rate = done / max(perf_counter() - begun, 1e-9)
        left = int((n - done) / rate)
        clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
        step(f"{name}: {100 * done / n:.0f} %, {rate:,.0f} rows/s, {clock} left")
        yield result


def sum_blocks(
    name: str, function: Callable[..., Sums], arrays: Sequence[Any], height: int
) -> Sums:
    """Add up the results of a function over all blocks of rows; parameters as in `map_blocks`.

    Sums are pairwise: rounding grows as log n, and the order depends on nothing but the blocks.
    """
    stack: list[tuple[int, Sums]] = []
    for value in map_blocks(name, function, arrays, height):
        level = 0
        while stack and stack[-1][0] == level:
            value = _add(stack.pop()[1], value)
            level += 1
        stack.append((level, value))
    total = stack.pop()[1]
    while stack:
        total = _add(stack.pop()[1], total)
    return total


def compute_rows(
    name: str,
    function: Callable[..., np.ndarray],
    arrays: Sequence[Any],
    height: int,
    shape: tuple[int, int],
    dtype: Any,
) -> Any:
    """Return ``function(start, *blocks)`` of all blocks as one array of a shape.

    Of stored rows, results of more than 512 MB are a dask array that the workers of a cluster
    keep, and on one machine a memory map of a temporary file, which is removed with the map. Other
    parameters are those of `map_blocks`.
    """
    large = shape[0] * shape[1] * np.dtype(dtype).itemsize > KEPT
    if not large or not any(is_dask(array) for array in arrays):
        return np.concatenate(list(map_blocks(name, function, arrays, height)))
    if active_client() is not None:
        step(name)
        da, tasks = dask_module("dask.array"), _delayed(function, arrays, shape[0], height)
        heights = [min(height, shape[0] - start) for start in range(0, shape[0], height)]
        parts = [
            da.from_delayed(task, (rows, shape[1]), dtype)
            for task, rows in zip(tasks, heights, strict=True)
        ]
        return da.concatenate(parts).persist()
    folder = tempfile.TemporaryDirectory(prefix="mkclust-")
    rows = FileRows(Path(folder.name) / "rows", dtype, shape, create=True)
    for number, block in enumerate(map_blocks(name, function, arrays, height)):
        rows[number * height : number * height + len(block)] = block
    found = rows.map()
    weakref.finalize(found, folder.cleanup)
    return found


def active_client() -> Any:
    """Return the active `dask.distributed.Client`; None where there is none."""
    if "distributed" not in sys.modules:
        return None
    try:
        return dask_module("distributed").default_client()
    except ValueError:
        return None


@contextmanager
def open_client(address: str | None) -> Iterator[None]:
    """Run everything inside the block on the dask cluster whose scheduler is at `address`."""
    if address is None:
        yield
        return
    distributed = dask_module("distributed")
    try:
        client = distributed.Client(address, timeout=PATIENCE)
        client.wait_for_workers(1, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no dask cluster answers at {address}: {error}") from None
    with client:
        for worker, version in client.run(_version, on_error="return").items():
            if version != __version__:
                raise InputError(
                    f"dask worker {worker} needs mkclust {__version__} with its extra 'large', and "
                    f"has {version}"
                )
        yield


def _version() -> str:
    return __version__


def _in_memory(
    function: Callable[..., Any], arrays: Sequence[Any], n: int, height: int
) -> Iterator[Any]:
    def run(start: int) -> Any:
        blocks = (None if array is None else array[start : start + height] for array in arrays)
        return _run(function, start, *blocks)

    threads = blas_threads()
    starts = range(0, n, height)
    for first in range(0, len(starts), threads):  # an interrupt ends after the running blocks
        yield from in_parallel(run, starts[first : first + threads], threads)


def _by_dask(
    function: Callable[..., Any], arrays: Sequence[Any], n: int, height: int
) -> Iterator[Any]:
    dask = dask_module("dask")
    client = active_client()
    threads = dask.config.get("num_workers", None) or dask.system.CPU_COUNT
    if client is not None:
        threads = sum(client.nthreads().values())
    tasks = _delayed(function, arrays, n, height)
    ahead = AHEAD * max(threads, 1)
    for first in range(0, len(tasks), ahead):
        yield from dask.compute(*tasks[first : first + ahead])


def _delayed(function: Callable[..., Any], arrays: Sequence[Any], n: int, height: int) -> list[Any]:
    """Return a delayed result for every block; workers get the function once."""
    dask = dask_module("dask")
    (shared,) = dask.persist(dask.delayed(function, pure=False, traverse=False))
    run = dask.delayed(_run, pure=False)
    starts = range(0, n, height)
    columns = [_slices(array, starts, height) for array in arrays]
    return [run(shared, start, *blocks) for start, *blocks in zip(starts, *columns, strict=True)]


def _slices(array: Any, starts: range, height: int) -> list[Any]:
    if array is None:
        return [None] * len(starts)
    if not is_dask(array):
        return [array[start : start + height] for start in starts]
    whole = dict.fromkeys(range(1, array.ndim), -1)
    return list(array.rechunk({0: height} | whole).to_delayed().ravel())


def _run(function: Callable[..., Any], start: int, *blocks: Any) -> Any:
    with one_blas_thread():
        # sums depend on the layout
        parts = (x if x is None or sp.issparse(x) else np.ascontiguousarray(x) for x in blocks)
        return function(start, *parts)


def _add(left: Sums, right: Sums) -> Sums:
    return {key: left[key] + right[key] for key in left}
