"""Time and memory of a piece of work: best of several, threads stated, CPU beside wall."""

from __future__ import annotations

import multiprocessing
import resource
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    wall: float
    cpu: float

    def __truediv__(self, other):
        """Ratio of CPU seconds: the machine may be shared, CPU time is less so than wall time."""
        return self.cpu / other.cpu


def best(function, repeat=3):
    """Best wall and best CPU seconds of several runs, and the last result."""
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Measured(min(walls), min(cpus)), result


def in_own_process(function, *arguments, time_limit=3600):
    """Wall, CPU and peak memory (GiB) of a call in a process of its own; or what went wrong."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, function, arguments))
    process.start()
    answer = receive.recv() if receive.poll(time_limit) else "out of time"
    process.terminate() if answer == "out of time" else process.join()
    return answer


def _child(send, function, arguments):
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        send.send((wall, cpu, peak, result))
    except MemoryError:
        send.send("out of memory")
