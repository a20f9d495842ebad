"""The machine, installed versions, running processes, and the time and memory they use.

A unit is watched from outside. Its time is what its process group computes plus what it sleeps,
without the time it waits for a processor, so that the load of the machine does not count. Its
memory is the resident size of the group, read several times a second. A limit on address space
would also count mapped files and reserved areas, and makes BLAS fail without a clear message.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from .._version import __version__


@cache
def machine() -> str:
    """Describe the machine in one line: processor, cores, memory, system."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {pages / 2**30:.0f} GB, "
        f"{platform.system()} {platform.release()}"
    )


@cache
def versions() -> str:
    """Return the versions that results depend on, as JSON."""
    found = {"mkclust": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn"):
        found[name] = version(name)
    return json.dumps(found)


def owner_name(pid: int | None = None) -> str:
    """Identify a process by host, process id and start time, because ids are reused."""
    pid = os.getpid() if pid is None else pid
    return f"{socket.gethostname()}:{pid}:{_began(pid)}"


def alive(owner: str, lease: float) -> bool:
    """Return whether the owner of a claim runs; on another machine, whether its lease is valid."""
    host, pid, began = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return lease > time.time()
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _began(int(pid)) == began


def _began(pid: int) -> str:
    """Return when a process started, in ticks since boot; empty where this is unknown.

    A zombie process counts as not running.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


@dataclass(frozen=True)
class Usage:
    """CPU seconds of a process group so far and its resident bytes now.

    `awake` says that one of its threads computes or waits for a processor.
    """

    cpu: float = 0.0
    memory: float = 0.0
    awake: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.memory + other.memory, self.awake or other.awake)


def usages() -> dict[int, Usage]:
    """Return the usage of every process group, in one pass over the process table."""
    if not Path("/proc/self/stat").exists():
        return _usages_by_ps()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found: dict[int, Usage] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # the process has ended
                continue
            group, cpu = int(fields[2]), (int(fields[11]) + int(fields[12])) / ticks
            awake = fields[0] == "R" or (int(fields[17]) > 1 and _threads_awake(entry))
            own = Usage(cpu, float(int(fields[21]) * page), awake)
            found[group] = found.get(group, Usage()) + own
    return found


def _threads_awake(pid: str) -> bool:
    """Return whether any thread of a process runs; its own state is that of the main thread."""
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended
            if path.read_text().rpartition(")")[2].split()[0] == "R":
                return True
    return False


def _usages_by_ps() -> dict[int, Usage]:
    """Without /proc: memory only; all count as asleep, so that wall time is measured."""
    command = ["ps", "-axo", "pgid=,rss="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[int, Usage] = {}
    for group, size in (map(int, line.split()) for line in listed.splitlines()):
        found[group] = found.get(group, Usage()) + Usage(0.0, 1024.0 * size)
    return found
