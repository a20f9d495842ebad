"""Shared by the tests of faults: a command in its own process, and ways to make it fail."""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import scipy.linalg

from mkclust.cli import app as cli
from mkclust.data.datasets import make_views
from mkclust.io.manifest import read_manifest

SECOND = 1.0  # in which a command must end
WHOLE = {
    "labels.csv", "embedding.npz", "graph.npz", "result.json", "report.html", "stability.csv",
    "markers.csv", "annotations.csv", "mkclust.json",
}  # fmt: skip
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
PRIVATE, READ_ONLY, REMOUNT = 0x44000, 1, 32


class Command:
    """`mkclust` with arguments, in its own process; `before` runs there first."""

    def __init__(self, folder, *arguments, before=lambda: None, after=lambda: None, out=None):
        self.said = folder / f"said-{time.monotonic_ns()}"
        self.pid = os.fork()
        if self.pid:
            return
        code = 99
        try:
            os.setpgrp()
            os.chdir(folder)
            for number, path in ((1, out or os.devnull), (2, self.said)):
                flags = os.O_WRONLY | (0 if isinstance(path, int) else os.O_CREAT)
                end = path if isinstance(path, int) else os.open(path, flags)
                os.dup2(end, number)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
            cli.errors.file = sys.stderr
            sys.argv = ["mkclust", *map(str, arguments)]
            before()
            cli.command()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
            sys.stdout.flush()
        finally:
            after()
            os._exit(code)

    def end(self, number=None, patience=60.0):
        """Send a signal, if given; return exit code, standard error and seconds until the end."""
        began = time.monotonic()
        if number is not None:
            os.kill(self.pid, number)
        while time.monotonic() < began + patience:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return code, self.said.read_text(), time.monotonic() - began
            time.sleep(0.005)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"still there after {patience} s")

    def survivors(self):
        """Return the processes of its group that are still running."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[2]) == self.pid and fields[0] != "Z":
                    found.append(int(entry.name))
        return found


def written_views(folder):
    """Write a file with 60 samples in two views."""
    made = make_views(60, 3, 2, noise=0.5, random_state=0)
    np.savez(folder / "views.npz", **dict(zip(made.names, made.views, strict=True)))
    return folder / "views.npz"


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)


def leftovers(folder):
    return [*folder.rglob("*.tmp")]


def assert_whole(folder):
    """Check that every file can be read to its end, and is what the manifest lists."""
    for path in folder.rglob("*") if folder.exists() else ():
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                assert all(stored[name].size for name in stored.files)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.name == "labels.csv":
            assert len(path.read_text().splitlines()) == 61
        elif path.name == "report.html":
            assert path.read_text().rstrip().endswith("</html>")
        elif path.name == "mkclust.json":
            found = read_manifest(path.parent)
            assert all(found.wrote(path.parent, name) for name in found.files)


def long_lapack(marker):
    """Create the marker, then make one call of LAPACK that takes many seconds."""
    A = np.random.default_rng(0).random((2500, 2500))
    A += A.T.copy()
    marker.touch()
    scipy.linalg.eigh(A, driver="evd")


def in_own_mounts(folder, size=None, read_only=False):
    """Mount a small disk at `folder` for this process only; False where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = NEW_MOUNTS | (0 if os.geteuid() == 0 else NEW_USER)
    if libc.unshare(flags) or libc.mount(b"none", b"/", None, PRIVATE, None):
        return False
    options = None if size is None else f"size={size}".encode()
    folder.mkdir(exist_ok=True)
    if libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, options):
        return False
    return not read_only or make_read_only(folder)


def make_read_only(folder):
    return not ctypes.CDLL(None).mount(b"none", bytes(folder), None, REMOUNT | READ_ONLY, None)


def can_mount(folder):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if in_own_mounts(folder) else 1)
    return os.waitpid(pid, 0)[1] == 0
