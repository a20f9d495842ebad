"""The loop that hands units to workers, holds them to their limits, and keeps the books."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .limits import Usage, usages
from .machine import owner_name
from .peers import PEERS
from .record import DONE, FAILED, OUT_OF_MEMORY, OUT_OF_TIME
from .server import Server, Worker
from .store import Limits, Outcome, Store
from .units import KERNELS, Unit

BATCH = 24  # units of one method on one data set that a process takes in a row
TICK = 0.2  # seconds between two looks at what the workers take
BEAT = 15.0  # seconds between two signs of life
START = 600.0  # seconds a worker may take to begin
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Setting:
    """Where a run finds and keeps things, and what each unit may take."""

    data: Path | None
    cache: Path
    limits: Limits
    jobs: int = 1
    peers_python: str | None = None

    def python(self, method: str) -> str:
        """The interpreter that has what a method needs."""
        foreign = method in PEERS and PEERS[method].package
        return self.peers_python if foreign and self.peers_python else sys.executable


@dataclass
class Job:
    """A worker process with its units; the first of `units` is the one under way or next."""

    worker: Worker
    units: list[Unit]
    since: float = field(default_factory=time.monotonic)
    begun: bool = False
    before: float = 0.0  # processor time spent when the unit began
    slept: float = 0.0  # seconds it was seen asleep since then
    looked: float = 0.0
    text: bytes = b""

    def look(self, usage: Usage) -> None:
        """Count the time since the last look as slept, if nothing is awake."""
        now = time.monotonic()
        self.slept += 0.0 if usage.awake else now - max(self.looked, self.since)
        self.looked = now

    def lines(self) -> list[dict[str, Any]]:
        """The answers that have arrived in full; none at the end of the stream."""
        arrived = os.read(self.worker.input, 1 << 16)
        if not arrived:
            return []
        *whole, self.text = (self.text + arrived).split(b"\n")
        return [json.loads(line) for line in whole]


class Runner:
    """Works through the open units of a suite; `report` hears after every change."""

    def __init__(
        self, store: Store, setting: Setting, report: Callable[[Runner], None] = lambda _: None
    ) -> None:
        self.store = store
        self.setting = setting
        self.report = report
        self.owner = owner_name()
        self.jobs: list[Job] = []
        self.finished = 0
        self._selector = selectors.DefaultSelector()
        self._servers: dict[str, Server] = {}
        self._beaten = 0.0

    def run(self) -> None:
        """Until nothing of the suite is left to do, here or in other runners.

        However it ends, no worker survives and no claim stays.
        """
        try:
            with _term_as_interrupt():
                while self._fill() or self.jobs or self._others_at_work():
                    self._listen()
                    self._hold_to_limits()
                    self._beat()
        finally:
            for job in self.jobs:
                job.worker.end()
            for server in self._servers.values():
                server.close()
            self.store.release(self.owner)

    def _fill(self) -> bool:
        """Start workers while there is room and work; whether any was started."""
        started = False
        while len(self.jobs) < self.setting.jobs:
            units = self.store.claim(self.owner, BATCH)
            if not units:
                break
            self.jobs.append(self._start(units))
            started = True
        return started

    def _others_at_work(self) -> bool:
        if not self.store.counts().get("", 0):
            return False
        time.sleep(TICK)
        return True

    def _start(self, units: list[Unit]) -> Job:
        setting = self.setting
        job = {
            "data": None if setting.data is None else str(setting.data.resolve()),
            "cache": str(setting.cache.resolve()),
            "seconds": setting.limits.seconds,
            "units": [unit.text() for unit in units],
        }
        worker = self._server(setting.python(units[0].method)).start()
        with os.fdopen(os.dup(worker.output), "wb") as pipe:
            pipe.write(json.dumps(job).encode() + b"\n")
        started = Job(worker, list(units))
        self._selector.register(worker.input, selectors.EVENT_READ, started)
        return started

    def _server(self, python: str) -> Server:
        if python not in self._servers:
            self._servers[python] = Server(python, environment())
        return self._servers[python]

    def _listen(self) -> None:
        for key, _ in self._selector.select(TICK):
            job: Job = key.data
            answers = job.lines()
            for answer in answers:
                self._hear(job, answer)
            if not answers and not job.text:
                self._ended(job)

    def _hear(self, job: Job, answer: dict[str, Any]) -> None:
        job.since = time.monotonic()
        if "began" in answer:
            job.begun, job.slept = True, 0.0
            job.before = usages().get(job.worker.pid, Usage()).cpu
            self.store.started(answer["began"])
            return
        job.begun = False
        unit = job.units.pop(0)
        assert answer.pop("unit") == unit.id
        metrics = [tuple(row) for row in answer.pop("metrics", ())]
        self._finish(unit, Outcome(**answer, metrics=metrics))

    def _finish(self, unit: Unit, outcome: Outcome) -> None:
        self.store.finish(unit.id, outcome, self.setting.limits)
        self.finished += 1
        if unit.method == KERNELS and outcome.status != DONE:
            said = f"kernels: {outcome.message}" if outcome.message else "kernels"
            for waiting in self.store.waiting(unit.id):
                status = Outcome(outcome.status, said)
                self.store.finish(waiting, status, self.setting.limits)
        self.report(self)

    def _hold_to_limits(self) -> None:
        now, most = usages(), self.setting.limits
        for job in list(self.jobs):
            usage = now.get(job.worker.pid, Usage())
            passed = time.monotonic() - job.since
            job.look(usage)
            spent = usage.cpu - job.before
            if (spent + job.slept > most.seconds) if job.begun else (passed > START):
                self._stop(job, Outcome(OUT_OF_TIME, "", (), 0, spent, passed, usage.memory))
            elif usage.memory > most.bytes:
                self._stop(job, Outcome(OUT_OF_MEMORY, "", (), 0, spent, passed, usage.memory))

    def _stop(self, job: Job, outcome: Outcome) -> None:
        """End a worker whose first unit took too much; the others go back."""
        self._remove(job)
        self._finish(job.units.pop(0), outcome)
        self.store.release(self.owner, [unit.id for unit in job.units])

    def _ended(self, job: Job) -> None:
        """A worker closed its answers: done, or dead on the way."""
        self._remove(job)
        if job.units:
            self._finish(job.units.pop(0), Outcome(FAILED, "the process died on the way"))
        self.store.release(self.owner, [unit.id for unit in job.units])

    def _remove(self, job: Job) -> None:
        self._selector.unregister(job.worker.input)
        job.worker.end()
        self.jobs.remove(job)

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self.store.beat(self.owner)
            self._beaten = time.monotonic()
            self.report(self)


def environment() -> dict[str, str]:
    """One thread per worker, and this very package, whichever interpreter it is."""
    own = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


def installed_peers(names: Sequence[str], python: str | None) -> list[str]:
    """Those of the peers whose package the interpreter that would run them has."""
    if python is None:
        return [name for name in names if PEERS[name].installed]
    code = (
        "import sys; from mkclust.bench.peers import PEERS; "
        "print(*[name for name in sys.argv[1:] if PEERS[name].installed])"
    )
    listed = subprocess.run(
        [python, "-c", code, *names], env=environment(), capture_output=True, text=True, check=False
    )
    return listed.stdout.split()


@contextmanager
def _term_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the run in the same orderly way as Ctrl-C."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
