"""CPU time, memory and ARI of graph fusion and MKC-DNM on planted rows in .npy parts on disk.

    python -m benchmarks.scale                                  # 1e5 and 1e6 rows of both families
    python -m benchmarks.scale 1e7 --families rings --methods graph-fusion k-means

Families of data: round clusters (20 clusters in 4 views) and rings (3 concentric rings in 3 views,
each at another angle), 20 columns per view, and one view of pure noise. Every fit has a process of
its own. k-means gets all columns side by side, in memory. The script prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

FAMILIES = {"clusters": (20, 4), "rings": (3, 3)}  # number of clusters, views with clusters
METHODS = ("graph-fusion", "mkc-dnm", "k-means")
WIDTH = 20
PART = 250_000  # rows per file


def names(family: str) -> list[str]:
    return [f"view{p + 1}" for p in range(FAMILIES[family][1])] + ["noise"]


def make(folder: Path, n: int, family: str, seed: int = 0) -> None:
    """Write views and labels in parts."""
    k, clean = FAMILIES[family]
    fixed = np.random.default_rng(seed)
    centers = fixed.normal(size=(clean, k, WIDTH))
    planes = np.linalg.qr(fixed.normal(size=(clean, WIDTH, 2)))[0]
    for number, start in enumerate(range(0, n, PART)):
        random = np.random.default_rng([seed, number])
        rows = min(PART, n - start)
        y = random.integers(k, size=rows)
        save(folder / "classes", number, y.astype(np.int32)[:, None])
        for p, name in enumerate(names(family)):
            X = random.standard_normal((rows, WIDTH), dtype=np.float32)
            if name != "noise" and family == "clusters":
                X += centers[p][y].astype(np.float32)
            elif name != "noise":
                angle = random.uniform(0, 2 * np.pi, rows)
                ring = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 2 * y)[:, None]
                X = (0.1 * X + ring @ planes[p].T).astype(np.float32)
            save(folder / name, number, X)


def save(folder: Path, number: int, rows: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"part-{number:05}.npy", rows)


def load(folder: Path) -> np.ndarray:
    return np.concatenate([np.load(part) for part in sorted(folder.glob("*.npy"))])


def fit(folder: Path, family: str, method: str) -> np.ndarray:
    """Return the labels of one method."""
    from mkclust import METHODS as ESTIMATORS

    k, views = FAMILIES[family][0], [folder / name for name in names(family)]
    if method == "k-means":
        X = StandardScaler(copy=False).fit_transform(np.hstack([load(view) for view in views]))
        return KMeans(k, random_state=0).fit_predict(X)
    return ESTIMATORS[method](k, random_state=0).fit(views).labels_


def measure(folder: Path, family: str, method: str) -> dict[str, float]:
    """Measure one fit in this process."""
    warnings.simplefilter("ignore")
    began, cpu = time.perf_counter(), time.process_time()
    labels = fit(folder, family, method)
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - began}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found | {"ari": adjusted_rand_score(load(folder / "classes").ravel(), labels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        print(json.dumps(measure(given.folder, given.families[0], given.methods[0])))
        return
    print("| rows | family | method | CPU s | wall s | peak GiB | ARI |")
    print("|---:|---|---|---:|---:|---:|---:|")
    for n in map(int, given.sizes):
        for family in given.families:
            with tempfile.TemporaryDirectory(prefix="mkclust-scale-") as name:
                make(Path(name), n, family)
                for method in given.methods:
                    command = [sys.executable, __file__, "--folder", name]
                    command += ["--families", family, "--methods", method]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    found = json.loads(done.stdout.splitlines()[-1])
                    print(
                        f"| {n} | {family} | {method} | {found['cpu']:.1f} | {found['wall']:.1f} "
                        f"| {found['peak']:.2f} | {found['ari']:.4f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
