"""Measure time and memory of function calls: CPU and wall seconds, best of several runs."""

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
        """Return the ratio of CPU seconds, which depend less than wall time on other load."""
        return self.cpu / other.cpu


def best(function, repeat=3):
    """Return the best wall and CPU seconds of several runs, and the last result."""
    return in_turn({"": function}, repeat)[""]


def in_turn(functions, repeat):
    """Measure several functions in turn, so that other load affects all of them alike."""
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
    """Call a function in its own process; return wall, CPU, peak GiB and result, or an error text.

    The limits are CPU seconds and GiB of resident memory, checked five times a second.
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
    """Return what the other process sent within a fifth of a second; None if nothing."""
    try:
        return receive.recv() if receive.poll(0.2) else None
    except EOFError:
        return "the process ended without a result"


def _exceeded(pid, cpu_limit, memory_limit):
    """Return which limit a process has exceeded; None if none, or without /proc."""
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
    """Return the peak memory of this process in GiB.

    The value of getrusage may include memory of the parent, from between fork and exec.
    """
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
    except Exception as error:  # the caller lists it
        send.send(f"{type(error).__name__}: {error}")
