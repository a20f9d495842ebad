"""A worker process: takes units of one method on one data set, answers line by line.

Started as ``python -m mkclust.bench.work``; a job comes as one line of JSON on standard input, and
for every unit two lines go back: that it began, and what it came to.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from .record import FAILED, OUT_OF_MEMORY

MESSAGE = 300  # characters of an error's message that are kept


def main() -> None:
    """Do the job on standard input."""
    job = json.loads(sys.stdin.readline())
    die_with_the_runner()
    answers = _take_standard_output()
    from .protocol import Place
    from .units import Unit

    data = None if job["data"] is None else Path(job["data"])
    place = Place(data, Path(job["cache"]), job["seconds"])
    for text in job["units"]:
        unit = Unit.parsed(text)
        _say(answers, {"began": unit.id})
        reset_peak()
        _say(answers, {"unit": unit.id, **attempt(unit, place), "peak": peak()})


def attempt(unit: Any, place: Any) -> dict[str, Any]:
    """The outcome as a dict, errors included."""
    from .protocol import compute

    try:
        return asdict(compute(unit, place))
    except MemoryError as error:
        return {"status": OUT_OF_MEMORY, "message": str(error)[:MESSAGE]}
    except Exception as error:  # whatever a method or a peer raises is a result to be recorded
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return {"status": FAILED, "message": said[:MESSAGE]}


def die_with_the_runner() -> None:
    """Have the system end this process group when the other end of standard input closes.

    A signal needs no Python to act on it: a worker deep in a LAPACK call ends at once, too.
    """
    stdin = sys.stdin.fileno()
    fcntl.fcntl(stdin, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(stdin, fcntl.F_SETFL, fcntl.fcntl(stdin, fcntl.F_GETFL) | os.O_ASYNC)
    if _hung_up(stdin):  # before we asked
        os._exit(1)


def _hung_up(pipe: int) -> bool:
    poll = select.poll()
    poll.register(pipe, select.POLLHUP)
    return bool(poll.poll(0))


def reset_peak() -> None:
    """Begin to measure peak memory anew, where the system lets us."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Most bytes that were resident since the last reset, mapped kernels included."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024.0


def _take_standard_output() -> TextIO:
    """Keep the pipe for answers; what methods print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
