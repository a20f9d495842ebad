"""Fuzz the readers, one after the other, and print what each went through.

    python fuzz/run.py                          every reader, ten minutes in all
    python fuzz/run.py --seconds 3600 npz csv   two of them, an hour in all
    python fuzz/run.py --runs 100000            as many executions of each, however long

The bytes behind a finding are kept in fuzz/found; ``python fuzz/one.py NAME FILE`` repeats it.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(folder.name for folder in (HERE / "corpus").iterdir())
OPTIONS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1",
           "-reload=0", "-len_control=0")  # fmt: skip
ROW = "{:<9}{:>12}{:>9}{:>9}{:>9}{:>9}{:>11}{:>10}  {}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--seconds", type=float, default=600, help="in all (600)")
    parser.add_argument("--runs", type=int, help="executions of each, instead of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer (0: by the clock)")
    chosen = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: it has wheels for Linux on x86_64 with Python 3.11 to "
              "3.14; nothing was fuzzed")  # fmt: skip
        return 0
    names = chosen.names or NAMES
    unknown = sorted({*names} - {*NAMES})
    if unknown:
        parser.error(f"no reader {unknown[0]!r}; there are {', '.join(NAMES)}")
    print(ROW.format("reader", "executions", "seconds", "per s", "edges", "corpus", "slowest s",
                     "peak MiB", "found"), flush=True)  # fmt: skip
    each = f"-runs={chosen.runs}" if chosen.runs else (
        f"-max_total_time={max(1, round(chosen.seconds / len(names)))}")  # fmt: skip
    rows = [fuzz(name, each, f"-seed={chosen.seed}") for name in names]
    print(f"{sum(count for count, _ in rows):,} executions, {sum(bad for _, bad in rows)} findings")
    return int(any(bad for _, bad in rows))


def fuzz(name: str, *limits: str) -> tuple[int, int]:
    """One reader in a process of its own; executions, and whether they ended in a finding."""
    grown, found = HERE / "grown" / name, HERE / "found"
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, HERE / "one.py", name, *limits, *OPTIONS,
               f"-artifact_prefix={found}/{name}-", grown, HERE / "corpus" / name]  # fmt: skip
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    seconds = time.monotonic() - start
    told = done.stderr
    statistics = {key: int(value) for key, value in re.findall(r"stat::(\w+):\s+(\d+)", told)}
    progress = re.findall(r"^#(\d+).*cov: (\d+) ft: \d+ corp: (\d+)", told, re.MULTILINE)
    last, edges, corpus = map(int, progress[-1]) if progress else (0, 0, 0)
    count = statistics.get("number_of_executed_units", last)
    kept = re.findall(r"Test unit written to (\S+)", told)
    bad = done.returncode != 0
    print(ROW.format(name, f"{count:,}", f"{seconds:.0f}", f"{count / seconds:.0f}", edges, corpus,
                     statistics.get("slowest_unit_time_sec", "?"),
                     statistics.get("peak_rss_mb", "?"), kept[0] if kept else "-" if not bad else
                     f"exit code {done.returncode}"), flush=True)  # fmt: skip
    if bad:
        print((done.stdout + told)[-4000:], flush=True)
    return count, int(bad)


if __name__ == "__main__":
    sys.exit(main())
