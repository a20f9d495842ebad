"""What a unit may take: watched from outside, and ended with everything it started.

Time is what the process group computes plus what it sleeps, but not what it waits for a
processor, so that a busy machine makes nobody fail. Memory is watched as the resident size of
the group, several times a second, and not set as a limit on address space: that would count
mapped files, stacks and reserved areas nobody uses, and makes BLAS fail in places where it
cannot say why. What asks for too much at once is refused by the system, as a MemoryError.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """What a process group takes: seconds of processor time so far, resident bytes now.

    `awake` says that one of its processes computes, or could if there were a processor free.
    """

    cpu: float = 0.0
    memory: float = 0.0
    awake: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.memory + other.memory, self.awake or other.awake)


def usages() -> dict[int, Usage]:
    """The usage of every process group there is: one pass over the process table."""
    if not Path("/proc/self/stat").exists():
        return _usages_by_ps()
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found: dict[int, Usage] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            group, cpu = int(fields[2]), (int(fields[11]) + int(fields[12])) / ticks
            own = Usage(cpu, float(int(fields[21]) * page), fields[0] == "R")
            found[group] = found.get(group, Usage()) + own
    return found


def end_group(group: int) -> None:
    """End all processes of a group at once, if there are any left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _usages_by_ps() -> dict[int, Usage]:
    """Where there is no /proc: memory only; all count as asleep, so that time is by the clock."""
    command = ["ps", "-axo", "pgid=,rss="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[int, Usage] = {}
    for group, size in (map(int, line.split()) for line in listed.splitlines()):
        found[group] = found.get(group, Usage()) + Usage(0.0, 1024.0 * size)
    return found
