"""Worker processes, and the server that imports everything once and forks them.

``python -m mkclust.bench.workers`` starts the server; its standard input is one end of a socket.
For every pair of pipe ends that arrives there, it forks a worker with these as its standard input
and output, and answers with the process id. The server and its workers end with the runner.

A worker reads a job, one line of JSON with units of one method on one data set, and writes two
lines for every unit: that it has started, and its outcome.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .peers import import_peers
from .protocol import Place, compute
from .store import FAILED, OUT_OF_MEMORY
from .suite import Unit

MESSAGE = 300  # characters of an error message that are kept
READY = b"ready"


class Server:
    """Starts workers of one interpreter; used by the runner."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            [python, "-m", __name__],
            stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=self._errors, env=environment,
        )  # fmt: skip
        theirs.close()
        self._ready = False

    def start(self) -> Worker:
        """Start a worker, which waits for its job."""
        if not self._ready:
            self._await_imports()
        their_input, our_output = os.pipe()
        our_input, their_output = os.pipe()
        try:
            socket.send_fds(self._socket, [b"fork"], [their_input, their_output])
        finally:
            os.close(their_input)
            os.close(their_output)
        return Worker(int(self._socket.recv(32)), our_output, our_input)

    def close(self) -> None:
        """Kill the server process."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _await_imports(self) -> None:
        if self._socket.recv(len(READY)) != READY:
            self._process.wait()
            self._errors.seek(0)
            text = self._errors.read().decode(errors="replace").strip()
            reason = (text.splitlines() or ["no reason"])[-1]
            raise OSError(f"worker processes cannot be started: {reason}")
        self._ready = True


class Worker:
    """The runner's ends of the pipes: jobs go to `output`, answers come from `input`."""

    def __init__(self, pid: int, output: int, input_: int) -> None:
        self.pid, self.output, self.input = pid, output, input_

    def end(self) -> None:
        """Kill the worker and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self.output)
        os.close(self.input)


def serve(runner: socket.socket) -> None:
    """Fork workers until the runner closes its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers leave no zombies
    gc.freeze()  # the memory pages of modules stay shared with all workers
    runner.sendall(READY)
    while True:
        message, ends, _, _ = socket.recv_fds(runner, 16, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            _become_worker(runner, *ends)
        os.setpgid(pid, pid)
        for end in ends:
            os.close(end)
        runner.sendall(str(pid).encode())


def _become_worker(runner: socket.socket, input_: int, output: int) -> None:
    code = 1
    try:
        os.setpgrp()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        runner.close()
        os.dup2(input_, 0)
        os.dup2(output, 1)
        os.close(input_)
        os.close(output)
        work()
        code = 0
    finally:
        os._exit(code)


def work() -> None:
    """Do the job that arrives on standard input."""
    job = json.loads(sys.stdin.readline())
    end_with_the_runner()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what methods print goes to standard error
    data = None if job["data"] is None else Path(job["data"])
    place = Place(data, Path(job["cache"]), job["seconds"])
    for text in job["units"]:
        unit = Unit.parsed(text)
        print(json.dumps({"began": unit.id}), file=answers, flush=True)
        reset_peak()
        outcome = {"unit": unit.id, **attempt(unit, place), "peak": peak()}
        print(json.dumps(outcome), file=answers, flush=True)


def attempt(unit: Unit, place: Place) -> dict[str, Any]:
    """Return the outcome of a unit as a dict; an error is an outcome too."""
    try:
        return asdict(compute(unit, place))
    except MemoryError as error:
        return {"status": OUT_OF_MEMORY, "message": str(error)[:MESSAGE]}
    except Exception as error:  # any error of a method or a peer is recorded
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return {"status": FAILED, "message": message[:MESSAGE]}


def end_with_the_runner() -> None:
    """Have the system kill this process group when the runner closes standard input.

    The signal needs no Python code, so a worker inside a LAPACK call ends at once, too.
    """
    stdin = sys.stdin.fileno()
    fcntl.fcntl(stdin, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(stdin, fcntl.F_SETFL, fcntl.fcntl(stdin, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(stdin, select.POLLHUP)
    if poll.poll(0):  # closed before the signal was requested
        os._exit(1)


def reset_peak() -> None:
    """Reset the peak memory of this process, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Return the largest resident size in bytes since the last reset, mapped kernels included."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024.0


if __name__ == "__main__":
    import_peers()
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as runner:
        serve(runner)
