"""Cost of the Dask engine: a run on threads, on two workers, and with one worker killed.

python benchmarks/scale_dask.py 1e6 [--method mkc-dnm]
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from scale import FAMILIES, make, names

from mkclust import MKCDNM, GraphFusion
from mkclust.progress import listening

FAMILY = "clusters"
K = FAMILIES[FAMILY][0]
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "67108864"}
MODELS = {
    "graph-fusion": (GraphFusion, {"neighbors": "anchors"}, "links"),
    "mkc-dnm": (MKCDNM, {"approximation": "nystroem", "n_components": 100}, "cross-products"),
}  # and the pass during which a worker is killed


def fitted(folder: Path, method: str, **settings: object) -> tuple[np.ndarray, float]:
    model, chosen, _ = MODELS[method]
    began = time.perf_counter()
    found = model(K, random_state=0, **chosen, **settings)
    found.fit([folder / name for name in names(FAMILY)])
    return found.labels_, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--method", choices=list(MODELS), default="graph-fusion")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ |= ALLOCATOR
    stage = MODELS[given.method][2]
    with tempfile.TemporaryDirectory(prefix="mkclust-dask-") as name:
        folder = Path(name)
        make(folder, given.n, FAMILY)
        plain, seconds = fitted(folder, given.method)
        print(f"{given.n} rows; threads of this process: {seconds:.1f} s", flush=True)
        workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(**workers) as cluster, Client(cluster) as client:
            labels, shared = fitted(folder, given.method, dask=client)
            same, more = np.array_equal(labels, plain), 100 * (shared / seconds - 1)
            print(f"two dask workers: {shared:.1f} s ({more:+.0f} %), same labels: {same}")
            victims = list(client.run(os.getpid).values())[:1]

            def kill(message: str) -> None:
                if message.startswith(stage) and victims:
                    os.kill(victims.pop(), signal.SIGKILL)

            with listening(kill):
                labels, killed = fitted(folder, given.method, dask=client)
            same, whole = np.array_equal(labels, plain), not victims
            print(f"one killed during {stage} ({whole}): {killed:.1f} s, same labels: {same}")


if __name__ == "__main__":
    main()
