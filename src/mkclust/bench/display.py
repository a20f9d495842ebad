"""Progress of a run: a bar on a terminal, otherwise a line every half minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from .runner import Runner

EVERY = 30.0  # seconds between two lines without a terminal


@contextmanager
def following(console: Console, quiet: bool = False) -> Iterator[Callable[[Runner], None]]:
    """Yield a function that displays the state of a runner."""
    if quiet:
        yield lambda _: None
    elif console.is_terminal:
        with _bar(console) as bar:
            clock = _Clock()
            task = bar.add_task("", total=None, left="")

            def update(runner: Runner) -> None:
                done, total = progress(runner)
                words = f"{under_way(runner)}  {clock.left(runner, total - done)}"
                bar.update(task, completed=done, total=total, left=words)

            yield update
    else:
        yield _Lines(console)


def progress(runner: Runner) -> tuple[int, int]:
    """Return the number of finished units, and of all units."""
    counts = runner.store.counts()
    total = sum(counts.values())
    return total - counts.get("", 0), total


def under_way(runner: Runner) -> str:
    """Return what the workers compute, such as ``hmkc on Mfeat``."""
    return ", ".join(
        f"{job.units[0].method} on {job.units[0].dataset}" for job in runner.jobs if job.units
    )


class _Clock:
    """Estimates the time left from the pace of this run."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def left(self, runner: Runner, units: int) -> str:
        if not runner.finished:
            return ""
        passed = time.monotonic() - self._began
        seconds = passed / runner.finished * units
        return (
            f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
        )


class _Lines:
    """Prints a line every half minute, and one at the end."""

    def __init__(self, console: Console) -> None:
        self._console, self._clock, self._last = console, _Clock(), time.monotonic()

    def __call__(self, runner: Runner) -> None:
        done, total = progress(runner)
        if done < total and time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        words = (
            f"{under_way(runner)}; {self._clock.left(runner, total - done)}" if done < total else ""
        )
        self._console.print(f"{done}/{total} units  {words}", soft_wrap=True)


def _bar(console: Console) -> Progress:
    columns = (
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[left]}"),
    )
    return Progress(*columns, console=console)
