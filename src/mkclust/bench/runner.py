"""Run a suite: select its units, give them to workers, enforce limits and store the outcomes."""

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..methods import METHODS
from .machine import Usage, owner_name, usages
from .peers import PEERS, uses_kernels
from .registry import Dataset, dataset
from .shared import Shared, remove_empty
from .store import DONE, FAILED, OUT_OF_MEMORY, OUT_OF_TIME, Limits, Outcome, Store
from .suite import KERNELS, Planned, Suite, Unit, expand, load_suite
from .workers import Server, Worker

BATCH = 24  # units of one method on one data set that a worker gets at once
TICK = 0.2  # seconds between two checks of the limits
BEAT = 15.0  # seconds between two heartbeats
START = 600.0  # seconds that a worker may take to start
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Options:
    """Where a suite runs, and what overrides its file; None keeps the value of the file."""

    data: Path | None = None
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    jobs: int = 1
    time_limit: float | None = None
    memory_limit: float | None = None
    peers_python: str | None = None
    retry: bool = False
    order: str | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1, got {self.jobs}")

    def python(self, method: str) -> str:
        """Return the interpreter that runs a method."""
        foreign = method in PEERS and PEERS[method].package
        return self.peers_python if foreign and self.peers_python else sys.executable

    def applied(self, suite: Suite) -> Suite:
        """Return the suite with the values that override its file."""
        names = ("datasets", "methods", "order", "time_limit", "memory_limit")
        given = {name: getattr(self, name) for name in names}
        return replace(suite, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Experiment:
    """The units to run, the data sets that are absent and the peers that are not installed."""

    options: Options
    suite: Suite
    planned: list[Planned]
    absent: list[Dataset]
    not_installed: list[str]

    @property
    def limits(self) -> Limits:
        return Limits(self.suite.time_limit, self.suite.memory_limit * 2**30)


@dataclass
class Job:
    """A worker with its units; the first of `units` is the one that runs or runs next."""

    worker: Worker
    units: list[Unit]
    since: float = field(default_factory=time.monotonic)
    begun: bool = False
    before: float = 0.0  # CPU seconds of the worker when the unit started
    slept: float = 0.0  # seconds asleep since then
    looked: float = 0.0
    text: bytes = b""

    def look(self, usage: Usage) -> None:
        """Count the time since the last look as slept, if no process is awake."""
        now = time.monotonic()
        self.slept += 0.0 if usage.awake else now - max(self.looked, self.since)
        self.looked = now

    def lines(self) -> list[dict[str, Any]]:
        """Return the complete answers that have arrived; none at the end of the stream."""
        arrived = os.read(self.worker.input, 1 << 16)
        if not arrived:
            return []
        *whole, self.text = (self.text + arrived).split(b"\n")
        return [json.loads(line) for line in whole]


class Runner:
    """Runs the open units of an experiment; `report` is called after every change."""

    def __init__(
        self, store: Store, experiment: Experiment, cache: Path, report: Callable[[Runner], None]
    ) -> None:
        self.store = store
        self.options = experiment.options
        self.limits = experiment.limits
        self.cache = cache
        self.report = report
        self.owner = owner_name()
        self.jobs: list[Job] = []
        self.finished = 0
        self._selector = selectors.DefaultSelector()
        self._servers: dict[str, Server] = {}
        self._beaten = 0.0

    def run(self) -> None:
        """Run until no unit of the suite is open, here or in other runners.

        On return, and after an error, all workers have ended and all claims are released.
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
        """Start workers up to the number of jobs; return whether any was started."""
        started = False
        while len(self.jobs) < self.options.jobs:
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
        data = self.options.data
        job = {
            "data": None if data is None else str(data.resolve()),
            "cache": str(self.cache.resolve()),
            "seconds": self.limits.seconds,
            "units": [unit.text() for unit in units],
        }
        python = self.options.python(units[0].method)
        if python not in self._servers:
            self._servers[python] = Server(python, environment())
        worker = self._servers[python].start()
        with os.fdopen(os.dup(worker.output), "wb") as pipe:
            pipe.write(json.dumps(job).encode() + b"\n")
        started = Job(worker, list(units))
        self._selector.register(worker.input, selectors.EVENT_READ, started)
        return started

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
        self.store.finish(unit.id, outcome, self.limits)
        self.finished += 1
        if unit.method == KERNELS and outcome.status != DONE:
            reason = f"kernels: {outcome.message}" if outcome.message else "kernels"
            for waiting in self.store.waiting(unit.id):
                status = Outcome(outcome.status, reason)
                self.store.finish(waiting, status, self.limits)
        self.report(self)

    def _hold_to_limits(self) -> None:
        now, most = usages(), self.limits
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
        """End a worker whose first unit exceeded a limit; release the other units."""
        self._remove(job)
        self._finish(job.units.pop(0), outcome)
        self.store.release(self.owner, [unit.id for unit in job.units])

    def _ended(self, job: Job) -> None:
        """Handle a worker that has ended, regularly or by a crash."""
        self._remove(job)
        if job.units:
            self._finish(job.units.pop(0), Outcome(FAILED, "the worker process ended unexpectedly"))
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
    """Return the environment of workers: one thread each, and this installation of mkclust."""
    own = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


def installed_peers(names: Sequence[str], python: str | None) -> list[str]:
    """Return the peers whose package is installed for the interpreter that runs them."""
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
    """Handle SIGTERM like Ctrl-C."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def prepare(name: str, options: Options) -> Experiment:
    """Select data sets, methods and limits; list what is absent."""
    suite = options.applied(load_suite(name))
    members = suite.members(options.data)
    absent = [entry for entry in members if not entry.present(options.data)]
    present = [entry for entry in members if entry.present(options.data)]
    named = [method for method in suite.methods if method in PEERS]
    there = installed_peers(named, options.peers_python)
    missing = [method for method in named if method not in there]
    kept = tuple(method for method in suite.methods if method not in missing)
    planned = expand(replace(suite, methods=kept), present, options.data)
    planned = [item for item in planned if _applies(item.unit, options.data)]
    return Experiment(options, suite, planned, absent, missing)


def run(
    experiment: Experiment,
    path: Path,
    report: Callable[[Runner], None] = lambda _: None,
    keep_kernels: bool = False,
) -> Store:
    """Run the open units of a suite into the store at `path`.

    Shared kernels are kept beside the store until no unit needs them.
    """
    store = Store(path)
    store.plan(experiment.suite.stored_as, experiment.planned, experiment.limits)
    if experiment.options.retry:
        store.retry()
    cache = path.with_name(path.name + ".kernels")
    units = [item.unit for item in experiment.planned if item.unit.needs_kernels]
    shared = {unit.shared().id: Shared.of(cache, unit) for unit in units}
    for unit_id, kernels in shared.items():
        if not kernels.ready:
            store.forget(unit_id)
    Runner(store, experiment, cache, report).run()
    for unit_id, kernels in () if keep_kernels else shared.items():
        if not store.waiting(unit_id):
            store.forget(unit_id)
            kernels.remove()
    remove_empty(cache)
    return store


def _applies(unit: Unit, data: Path | None) -> bool:
    """Return False for a peer that needs features on a data set that holds kernels."""
    if unit.method in METHODS or uses_kernels(unit.method):
        return True
    return dataset(unit.dataset, data).kernel != ""
