"""Time and memory of a piece of work: best of several, threads stated, CPU beside wall."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    wall: float
    cpu: float

    def __truediv__(self, other):
        """Ratio of CPU seconds: the machine may be shared, CPU time is less so than wall time."""
        return self.cpu / other.cpu


def best(function, repeat=3):
    """Best wall and best CPU seconds of several runs, and the last result."""
    return in_turn({"": function}, repeat)[""]


def in_turn(functions, repeat):
    """The same of several, one after the other and again: a noisy spell meets all of them."""
    found = {}
    for _ in range(repeat):
        for name, function in functions.items():
            wall, cpu = time.perf_counter(), time.process_time()
            result = function()
            now = Measured(time.perf_counter() - wall, time.process_time() - cpu)
            before = found[name][0] if name in found else now
            found[name] = Measured(min(now.wall, before.wall), min(now.cpu, before.cpu)), result
    return found


def in_own_process(function, *arguments, cpu_limit=3600.0, memory_limit=float("inf")):
    """Wall, CPU and peak memory (GiB) of a call in a process of its own; or what went wrong.

    The limits are CPU seconds and GiB in memory, looked at five times a second.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, function, arguments))
    process.start()
    send.close()
    answer = None
    while answer is None:
        answer = _answer(receive) or _exceeded(process.pid, cpu_limit, memory_limit)
    process.terminate()
    process.join()
    return answer


def _answer(receive):
    """What the other process said within a fifth of a second; None if nothing."""
    try:
        return receive.recv() if receive.poll(0.2) else None
    except EOFError:
        return "the process ended without a word"


def _exceeded(pid, cpu_limit, memory_limit):
    """Which limit a process has passed; None if none, or where there is no /proc to say it."""
    folder = Path(f"/proc/{pid}")
    try:
        times = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        pages = int((folder / "statm").read_text().split()[1])
    except OSError:
        return None
    if pages * os.sysconf("SC_PAGE_SIZE") > memory_limit * 2**30:
        return f"more than {memory_limit:g} GiB"
    cpu = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    return f"more than {cpu_limit:.0f} s of CPU" if cpu > cpu_limit else None


def _peak():
    """The most memory this process had (GiB). What getrusage says includes the parent's, from the
    moment between fork and exec."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(kib) / 2**20


def _child(send, function, arguments):
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        send.send((wall, cpu, _peak(), result))
    except MemoryError:
        send.send("out of memory")
    except Exception as error:  # whoever asked lists it
        send.send(f"{type(error).__name__}: {error}")
