"""Who and where: the machine, the versions at work, and whether a process still lives."""

from __future__ import annotations

import json
import os
import platform
import socket
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .._version import __version__


@cache
def machine() -> str:
    """The machine in a line: processor, cores, memory, system."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {pages / 2**30:.0f} GB, "
        f"{platform.system()} {platform.release()}"
    )


@cache
def versions() -> str:
    """The versions that results depend on, as JSON."""
    found = {"mkclust": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn"):
        found[name] = package_version(name) or "?"
    return json.dumps(found)


def package_version(name: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def owner_name(pid: int | None = None) -> str:
    """This process, so that nobody takes another one with the same number for it."""
    pid = os.getpid() if pid is None else pid
    return f"{socket.gethostname()}:{pid}:{_began(pid)}"


def alive(owner: str, lease: float) -> bool:
    """Whether a claim's owner still lives: on this machine we look, elsewhere the lease says."""
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
    """When a process began, in ticks since the system did; empty where the system does not say.

    One that ended and waits for its parent to notice began never.
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
