"""Passes over all rows, saved in stretches, with progress messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from time import perf_counter
from typing import Any

from ..progress import step
from .engine import Engine, Task, Tree
from .work import Arrays, Work

STRETCH = 16  # pieces per entry of the work folder


class Meter:
    """Report the progress of a pass: share done, rows per second, time left.

    >>> from mkclust.progress import listening
    >>> with listening(print):
    ...     Meter("cross-products", 200).done(50)
    cross-products: 25 %, ... rows/s, 0:00:00 left
    """

    def __init__(self, name: str, n_rows: int) -> None:
        self._name = name
        self._rows = n_rows
        self._done = 0
        self._counted = 0
        self._began = perf_counter()
        self.seconds = 0.0

    def skip(self, rows: int) -> None:
        """Count rows that an earlier run has done."""
        self._done += rows

    def done(self, rows: int) -> None:
        """Count rows done now, and report."""
        self._done += rows
        self._counted += rows
        self.seconds = perf_counter() - self._began
        rate = self._counted / max(self.seconds, 1e-9)
        left = int((self._rows - self._done) / rate)
        clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
        share = 100 * self._done / self._rows
        step(f"{self._name}: {share:.0f} %, {_rounded(rate)} rows/s, {clock} left")


def total(
    name: str, task: Task, pieces: Sequence[Any], engine: Engine, work: Work | None
) -> Arrays:
    """Combine the results of a task over all pieces; stretches in the work folder are not repeated.

    The order of the sums depends on the pieces alone, and not on the engine or interruptions.
    """
    if work is not None and (kept := work.load(name)) is not None:
        return kept
    stretches = [pieces[a : a + STRETCH] for a in range(0, len(pieces), STRETCH)]
    names = [f"{name}-{number:05}" for number in range(len(stretches))]
    finished = {key: work.load(key) for key in names} if work is not None else {}
    missing = [s for key, s in zip(names, stretches, strict=True) if finished.get(key) is None]
    meter = Meter(name, sum(_height(piece) for piece in pieces))
    tree = Tree(task.combine)
    with closing(engine.totals(task, missing)) as fresh:
        for key, stretch in zip(names, stretches, strict=True):
            value = finished.pop(key, None)
            rows = sum(_height(piece) for piece in stretch)
            if value is not None:
                meter.skip(rows)
            else:
                value = next(fresh)
                meter.done(rows)
                if work is not None:
                    work.save(key, value)
            tree.add(value)
    result: Arrays = tree.total()
    if work is not None:
        work.save(name, result)
    return result


def each(name: str, task: Task, pieces: Sequence[Any], engine: Engine) -> Iterator[Arrays]:
    """Yield the result of a task for every piece, in order."""
    meter = Meter(name, sum(_height(piece) for piece in pieces))
    results = engine.totals(task, ([piece] for piece in pieces))
    for piece, result in zip(pieces, results, strict=True):
        meter.done(_height(piece))
        yield result


def _height(piece: Any) -> int:
    return int(piece.stop - piece.start)


def _rounded(rate: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g} {letter}"
    return f"{rate:.3g}"
