"""CPU time of the functions of a fit of graph fusion; writes benchmarks/PROFILE.md.

    python benchmarks/profile_fit.py [mfeat] [Hdigit] [planted]

Hdigit is read from MKCLUST_DATA; planted data have 20 000 samples. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path

from fits import planted
from sets import load

from mkclust import GraphFusion, datasets

SHOWN = 14  # functions per fit
HERE = Path(__file__).parent
DATA = {
    "mfeat": datasets.load_mfeat,
    "Hdigit": lambda: load("Hdigit", 20_000),
    "planted": planted,
}


def profiled(name):
    """Yield the lines of a table: functions by their own CPU time."""
    views = DATA[name]()
    if name == "mfeat":  # the first fit also imports
        GraphFusion(10, random_state=0).fit(views)
    profile = cProfile.Profile(time.process_time)
    profile.runcall(GraphFusion(10, random_state=0).fit, views)
    found = pstats.Stats(profile)
    columns, total = sum(views.widths), found.total_tt
    yield f"## {name}: {len(views)} samples, {columns} columns, {total:.2f} CPU s"
    yield from ("", "| function | calls | own CPU s | share |", "|---|---|---|---|")
    rows = sorted(found.stats.items(), key=lambda row: -row[1][2])[:SHOWN]
    for (file, _, function), (_, calls, own, *_) in rows:
        place = "" if file == "~" else f"{Path(file).name}: "
        share = 100 * own / total
        yield f"| {place}`{function.strip('<>')}` | {calls} | {own:.3f} | {share:.0f} % |"
    yield ""


def main(names):
    lines = ["# Profile of graph fusion", "", "Made by `benchmarks/profile_fit.py`.", ""]
    for name in names or DATA:
        for line in profiled(name):
            print(line, flush=True)
            lines.append(line)
    (HERE / "PROFILE.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
