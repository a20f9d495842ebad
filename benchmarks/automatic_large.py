"""What the default recipe costs beyond the in-memory route: planted views, n growing.

    python benchmarks/automatic_large.py 2e4 5e4 1e5 [--views 3] [--clusters 10] [--columns 20]
                                         [--noise 2] [--recipes auto published]

Every fit in a process of its own: processor and wall seconds of `cluster`, the peak of memory above
what the data and the libraries took before, and ACC against the planted clusters. One view of noise
is added to those that show the clusters. Writes a Markdown table to standard output.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

from mkclust import cluster, datasets, metrics
from mkclust.dual_noise.estimator import RECIPES

MEGABYTE = 1024  # ru_maxrss counts kilobytes


def measured(given: argparse.Namespace, n: int, recipe: str) -> dict[str, object]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    views = datasets.make_views(
        n, given.clusters, given.views, n_features=given.columns, noise=given.noise,
        n_noise_views=1, random_state=0,
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    model = cluster(views, given.clusters, recipe=recipe, random_state=0)
    return {
        "route": model.approximation_ or ("graphs" if recipe == "auto" else "kernels"),
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "peak": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEGABYTE,
        "acc": 100 * metrics.accuracy(views.labels, model.labels_),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="+", type=lambda text: int(float(text)))
    parser.add_argument("--views", type=int, default=3)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--noise", type=float, default=2.0)
    parser.add_argument("--recipes", nargs="*", choices=tuple(RECIPES), default=tuple(RECIPES))
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given, given.n[0], given.recipes[0])))
        return
    print("| n | recipe | route | CPU s | wall s | peak MB | bytes a sample | ACC |")
    print("|---|---|---|---|---|---|---|---|")
    options = [
        f"--{name}={getattr(given, name)}" for name in ("views", "clusters", "columns", "noise")
    ]
    for n in given.n:
        for recipe in given.recipes:
            command = [sys.executable, __file__, str(n), "--one", "--recipes", recipe, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
                print(f"| {n} | {recipe} | {reason[0]} | | | | | |", flush=True)
                continue
            row = json.loads(done.stdout)
            print(
                f"| {n} | {recipe} | {row['route']} | {row['cpu']:.0f} | {row['wall']:.0f} | "
                f"{row['peak']:.0f} | {row['peak'] * 2**20 / n:.0f} | {row['acc']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
