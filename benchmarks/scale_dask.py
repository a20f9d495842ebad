"""Cost of the Dask engine: a run on threads, on two workers, and with one worker killed.

python benchmarks/scale_dask.py 1e6
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from scale import NAMES, K, make

from mkclust import MKCDNM
from mkclust.progress import listening

COMPONENTS = 100
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "67108864"}


def fitted(folder: Path, **settings: object) -> tuple[MKCDNM, float]:
    began = time.perf_counter()
    model = MKCDNM(K, random_state=0, approximation="nystroem", n_components=COMPONENTS)
    model.set_params(**settings).fit([folder / name for name in NAMES])
    return model, time.perf_counter() - began


def main() -> None:
    warnings.simplefilter("ignore")
    os.environ |= ALLOCATOR
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="mkclust-dask-") as name:
        folder = Path(name)
        make(folder, n)
        plain, seconds = fitted(folder)
        print(f"{n} rows; threads of this process: {seconds:.1f} s", flush=True)
        workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(**workers) as cluster, Client(cluster) as client:
            found, shared = fitted(folder, dask=client)
            same = np.array_equal(found.labels_, plain.labels_)
            overhead = 100 * (shared / seconds - 1)
            print(f"two dask workers: {shared:.1f} s ({overhead:+.0f} %), same labels: {same}")
            victims = list(client.run(os.getpid).values())[:1]

            def kill(message: str) -> None:
                if message.startswith("cross-products") and victims:
                    os.kill(victims.pop(), signal.SIGKILL)

            with listening(kill):
                found, killed = fitted(folder, dask=client)
            same = np.array_equal(found.labels_, plain.labels_)
            print(f"one killed during the cross-products: {killed:.1f} s, same labels: {same}")


if __name__ == "__main__":
    main()
