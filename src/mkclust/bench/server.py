"""Worker processes without the wait: one process imports everything once, and forks the others.

``python -m mkclust.bench.server`` is given one end of a socket as its standard input. Over it come
pairs of pipe ends; for each pair it forks a worker with these as its standard input and output, and
answers with its number. It ends, and its workers with it, when the runner does.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile

from .limits import end_group
from .work import main as work

READY = b"ready"


class Server:
    """The runner's end: starts workers in one interpreter."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        self._process = subprocess.Popen(
            [python, "-m", __spec__.name],
            stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=self._said, env=environment,
        )  # fmt: skip
        theirs.close()
        self._ready = False

    def start(self) -> Worker:
        """A new worker, waiting for its job."""
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
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def _await_imports(self) -> None:
        if self._socket.recv(len(READY)) != READY:
            self._process.wait()
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines() or ["no reason"]
            raise OSError(f"worker processes cannot be started: {said[-1]}")
        self._ready = True


class Worker:
    """One worker: it reads what is written to `output`, and what it answers comes at `input`."""

    def __init__(self, pid: int, output: int, input_: int) -> None:
        self.pid, self.output, self.input = pid, output, input_

    def end(self) -> None:
        """End it and all it started."""
        end_group(self.pid)
        os.close(self.output)
        os.close(self.input)


def serve(runner: socket.socket) -> None:
    """Fork workers until the other end closes."""

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the dead
    gc.freeze()  # pages of modules stay shared with all workers
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


if __name__ == "__main__":
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as runner:
        serve(runner)
