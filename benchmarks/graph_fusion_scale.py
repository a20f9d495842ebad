"""Time, memory and ACC of graph fusion and MKC-DNM on planted views with many samples.

    python benchmarks/graph_fusion_scale.py 2e4 5e4 1e5 [--views 3] [--clusters 10] [--columns 20]
                                            [--noise 2] [--methods graph-fusion mkc-dnm]

Every fit runs in its own process. The script prints a Markdown table of CPU and wall seconds, peak
memory above that of the data and the libraries, and ACC. One view of pure noise is added.
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

METHODS = ("graph-fusion", "mkc-dnm")
MEGABYTE = 1024  # ru_maxrss is in kilobytes


def measured(given: argparse.Namespace, n: int, method: str) -> dict[str, object]:
    """Measure one fit in this process."""
    warnings.simplefilter("ignore")
    views = datasets.make_views(
        n, given.clusters, given.views, n_features=given.columns, noise=given.noise,
        n_noise_views=1, random_state=0,
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    model = cluster(views, given.clusters, method=method, random_state=0)
    return {
        "notes": "; ".join(model.notes_),
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
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given, given.n[0], given.methods[0])))
        return
    print("| n | method | CPU s | wall s | peak MB | bytes per sample | ACC | notes |")
    print("|---|---|---|---|---|---|---|---|")
    options = [
        f"--{name}={getattr(given, name)}" for name in ("views", "clusters", "columns", "noise")
    ]
    for n in given.n:
        for method in given.methods:
            command = [sys.executable, __file__, str(n), "--one", "--methods", method, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
                print(f"| {n} | {method} | | | | | | {reason[0]} |", flush=True)
                continue
            row = json.loads(done.stdout)
            print(
                f"| {n} | {method} | {row['cpu']:.0f} | {row['wall']:.0f} | {row['peak']:.0f} | "
                f"{row['peak'] * 2**20 / n:.0f} | {row['acc']:.1f} | {row['notes']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
