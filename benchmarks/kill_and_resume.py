"""Kill a resumable run with SIGKILL, resume it, and compare its labels.

    python benchmarks/kill_and_resume.py --kills 10 --samples 60000 --method graph-fusion

Each trial starts the fit in a process of its own, kills it after a random share of the time of a
whole run, damages one random file of the work folder in every second trial, and lets another
process finish. The labels must be those of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mkclust.data.datasets import make_views

FIT = """
import sys, warnings, numpy as np
from mkclust import cluster
warnings.simplefilter("ignore")
folder, work, out, method = sys.argv[1:]
views = {name: f"{folder}/{name}.npy" for name in ("a", "b", "c")}
print("started", flush=True)
chosen = {"neighbors": "anchors"}
if method == "mkc-dnm":
    chosen = {"approximation": "nystroem", "n_components": 200}
model = cluster(views, 5, method=method, parameters={**chosen, "work": work}, random_state=0)
np.save(out, model.labels_)
"""
METHODS = ("graph-fusion", "mkc-dnm")


def start(folder: Path, work: Path, method: str) -> subprocess.Popen:
    """Start a fit in a process of its own; return it once its imports are done."""
    command = [sys.executable, "-c", FIT, folder, work, f"{work}.npy", method]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def main() -> None:
    """Run all trials and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--samples", type=int, default=60_000)
    parser.add_argument("--method", choices=METHODS, default=METHODS[0])
    asked = parser.parse_args()
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        views = make_views(asked.samples, n_clusters=5, n_views=3, noise=0.5, random_state=0)
        for view, stem in zip(views.views, "abc", strict=True):
            np.save(folder / f"{stem}.npy", view)
        began = time.perf_counter()
        start(folder, folder / "whole", asked.method).wait()
        whole = time.perf_counter() - began
        reference = np.load(folder / "whole.npy")
        equal = 0
        for trial in range(asked.kills):
            work, share = folder / f"work{trial}", chance.random()
            process = start(folder, work, asked.method)
            time.sleep(share * whole)
            process.send_signal(signal.SIGKILL)
            process.wait()
            files = sorted(p for p in work.rglob("*") if p.is_file() and p.name != "run.json")
            damaged = damage(chance.choice(files)) if files and trial % 2 else "-"
            start(folder, work, asked.method).wait()
            same = np.array_equal(np.load(f"{work}.npy"), reference)
            equal += same
            print(
                f"killed at {share:4.0%}, {len(files):3} files, damaged {damaged}: "
                f"{'the same labels' if same else 'OTHER LABELS'}"
            )
    print(f"{equal} of {asked.kills} trials gave the labels of the uninterrupted run")


def damage(path: Path) -> str:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    return path.name


if __name__ == "__main__":
    main()
