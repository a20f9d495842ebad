"""Fit all methods to generated problems, and count results, refusals and unexpected outcomes.

    python benchmarks/any_input.py [--problems 10000] [--store FILE] [--page]

The problems 0, 1, 2 ... of tests/_support/problems.py are given to every method in a worker process
with limits of memory and of seconds per fit; a worker that exceeds them is ended and counted. The
script prints the outcomes per method, the first problems of every unexpected outcome, and the
slowest fit. With a store an interrupted run is resumed. The exit code is 1 if any outcome was
unexpected. Set OMP_NUM_THREADS=1: one thread is enough.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from pages import fill

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from _support.problems import ALL, Outcome, outcome, problem

PAGE = Path(__file__).parent.parent / "docs" / "faults.md"
CHUNK = 100
Fit = tuple[int, str]


def work(pipe: Connection, fits: list[Fit], gigabytes: float) -> None:
    """Run the fits one after the other, and send the outcome of each."""
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for seed, name in fits:
        began = time.process_time()
        found = outcome(name, problem(seed))
        pipe.send((found.kind, found.message, time.process_time() - began))


@dataclass
class Tally:
    """Counts of outcomes by method, the unexpected outcomes, and the slowest fits."""

    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    unexpected: dict[str, list[str]] = field(default_factory=dict)
    slowest: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, fit: Fit, found: Outcome, seconds: float) -> None:
        seed, name = fit
        counts = self.kinds.setdefault(name, {})
        counts[found.kind] = counts.get(found.kind, 0) + 1
        self._keep_slowest([(seconds, seed, name)])
        if not found.expected:
            key = f"{name}: {found.kind}"
            self.unexpected.setdefault(key, []).append(f"problem {seed}: {found.message}")

    def merge(self, other: Tally) -> None:
        for name, counts in other.kinds.items():
            mine = self.kinds.setdefault(name, {})
            for kind, count in counts.items():
                mine[kind] = mine.get(kind, 0) + count
        for key, places in other.unexpected.items():
            self.unexpected.setdefault(key, []).extend(places)
        self._keep_slowest([(s, seed, name) for s, seed, name in other.slowest])

    def _keep_slowest(self, more: list[tuple[float, int, str]]) -> None:
        self.slowest = sorted([*self.slowest, *more])[-5:]

    def lines(self) -> list[str]:
        """Return the counts as a Markdown table, and a summary."""
        kinds = sorted({kind for counts in self.kinds.values() for kind in counts})
        found = [f"| method | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
        for name, counts in self.kinds.items():
            found.append(f"| {name} | {' | '.join(str(counts.get(kind, 0)) for kind in kinds)} |")
        fits = sum(sum(counts.values()) for counts in self.kinds.values())
        wrong = sum(map(len, self.unexpected.values()))
        seconds, seed, name = self.slowest[-1]
        found += ["", f"{fits} fits, {wrong} unexpected; the slowest took {seconds:.1f} s of "]
        found[-1] += f"processor time ({name}, problem {seed})."
        return found

    def details(self) -> list[str]:
        return [
            f"{key}: {place}" for key, places in self.unexpected.items() for place in places[:5]
        ]


def run(fits: list[Fit], seconds: float, gigabytes: float) -> Tally:
    """Run all fits in worker processes; a new one replaces each that was ended."""
    tally, context = Tally(), multiprocessing.get_context("fork")
    while fits:
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(theirs, fits[:5000], gigabytes), daemon=True)
        worker.start()
        theirs.close()
        left = len(fits[:5000])
        while left:
            if not mine.poll(seconds):
                found, took = Outcome("unexpected time", f"more than {seconds} s"), seconds
                left = 0
            else:
                try:
                    kind, message, took = mine.recv()
                    found, left = Outcome(kind, message), left - 1
                except EOFError:
                    found, took, left = Outcome("unexpected death", "the process ended"), 0.0, 0
            tally.add(fits.pop(0), found, took)
        worker.terminate()
        worker.join()
    return tally


def stored(path: Path | None) -> dict[int, Tally]:
    """Return the chunks that an earlier run finished, by their first problem."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line.pop("first"): Tally(**line) for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--memory", type=float, default=4.0, help="GiB of address space")
    parser.add_argument("--store", type=Path, help="JSON lines: finished chunks are not run again")
    parser.add_argument("--page", action="store_true", help="fill the table of docs/faults.md")
    asked = parser.parse_args()
    done, total = stored(asked.store), Tally()
    for first in range(asked.first, asked.first + asked.problems, CHUNK):
        last = min(first + CHUNK, asked.first + asked.problems)
        if first not in done:
            fits = [(seed, name) for seed in range(first, last) for name in ALL]
            done[first] = run(fits, asked.seconds, asked.memory)
            if asked.store is not None:
                with asked.store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"first": first, **asdict(done[first])}) + "\n")
        total.merge(done[first])
    print("\n".join([*total.lines(), *total.details()]))
    if asked.page:
        fill(PAGE, "any input", [f"The first {asked.problems} problems:", "", *total.lines()])
    sys.exit(1 if total.unexpected else 0)


if __name__ == "__main__":
    main()
