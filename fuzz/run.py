"""Read damaged files of every format with ``untrusted=True``, and print what came of them.

    python fuzz/run.py                     every format, ten minutes in all
    python fuzz/run.py --seconds 60 npz    one of them, a minute
    python fuzz/run.py --runs 100          as many files of each, however long

A file is read or refused by a `FileFormatError`. Anything else is a finding: its bytes are kept in
fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import mutations
import targets

HERE = Path(__file__).parent
BOUND = 512 << 20  # bytes by which this process may grow
ROW = "{:<9}{:>8}{:>10}{:>11}{:>11}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    names = sorted(targets.TARGETS)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--seconds", type=float, default=600, help="in all (600)")
    parser.add_argument("--runs", type=int, help="files of each format, instead of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (0)")
    chosen = parser.parse_args()
    unknown = sorted({*chosen.names} - {*names})
    if unknown:
        parser.error(f"no format {unknown[0]!r}; there are {', '.join(names)}")
    wanted = chosen.names or names
    print(ROW.format("format", "files", "seconds", "grown MiB", "findings"), flush=True)
    seconds = chosen.seconds / len(wanted)
    return int(any([fuzz(name, chosen.seed, chosen.runs, seconds) for name in wanted]))


def fuzz(name: str, seed: int, runs: int | None, seconds: float) -> int:
    """Read the corpus of a format, then damaged files; return how many are findings."""
    rng = random.Random(f"{name} {seed}")
    seeds = [file.read_bytes() for file in sorted((HERE / "corpus" / name).iterdir())]
    start, before, count, found = time.monotonic(), _peak(), 0, 0
    with TemporaryDirectory() as folder:
        while count < runs if runs else time.monotonic() - start < seconds:
            data = mutations.mutated(name, rng.choice(seeds), rng)
            count += 1
            try:
                targets.run(name, data, Path(folder), untrusted=True)
                if _peak() - before > BOUND:
                    raise targets.FoundError(f"{(_peak() - before) >> 20} MiB were taken")
            except Exception as error:
                found += 1
                kept = HERE / "found" / f"{name}-{seed}-{count}"
                kept.parent.mkdir(exist_ok=True)
                kept.write_bytes(data)
                print(f"{kept}: {type(error).__name__}: {error}", flush=True)
    grown = (_peak() - before) >> 20
    print(ROW.format(name, count, f"{time.monotonic() - start:.0f}", grown, found), flush=True)
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    sys.exit(main())
