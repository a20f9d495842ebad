"""Time, memory and ARI of MKC-DNM over chunks of 1e5 to 1e7 rows, compared with k-means.

The script writes planted views (5 x 20 columns, 20 clusters, one view pure noise) as float32 .npy
parts to a temporary folder, runs each method in its own process, and writes benchmarks/SCALE.md:

    python benchmarks/scale.py                   # 1e5 and 1e6
    python benchmarks/scale.py 1e5 1e6 1e7 --components 100

The other methods run with their defaults (one k-means++ start, three for MiniBatchKMeans), MKC-DNM
with ten starts on a sample. Earlier results are kept in SCALE.json and shown with the new ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

K, WIDTH, CLEAN, NOISE = 20, 20, 4, 1
SEPARATION = 1.0  # standard deviation of the centers; that of the noise around them is 1
PART = 250_000  # rows per file
NAMES = [f"view{p + 1}" for p in range(CLEAN)] + ["noise"]
ROUTES = {
    "MKC-DNM": "mkclust",
    "KMeans, concatenated": "kmeans",
    "MiniBatchKMeans, concatenated": "minibatch",
    "Nyström + KMeans, concatenated": "nystroem",
}
STAGES = ("moments", "means", "cross-products", "small problem", "embedding", "k-means")


def make(folder: Path, n: int, seed: int = 0) -> None:
    """Write views and labels in parts."""
    centers = np.random.default_rng(seed).normal(size=(CLEAN, K, WIDTH)) * SEPARATION
    for number, start in enumerate(range(0, n, PART)):
        random = np.random.default_rng([seed, number])
        rows = min(PART, n - start)
        y = random.integers(K, size=rows)
        save(folder / "classes", number, y.astype(np.int32)[:, None])
        for p, name in enumerate(NAMES):
            X = random.standard_normal((rows, WIDTH), dtype=np.float32)
            if p < CLEAN:
                X += centers[p][y].astype(np.float32)
            save(folder / name, number, X)


def save(folder: Path, number: int, rows: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"part-{number:05}.npy", rows)


def classes(folder: Path) -> np.ndarray:
    parts = sorted((folder / "classes").glob("*.npy"))
    return np.concatenate([np.load(part) for part in parts]).ravel()


def run_mkclust(folder: Path, components: int | None) -> tuple[np.ndarray, dict]:
    from mkclust import MKCDNM

    model = MKCDNM(K, random_state=0, approximation="nystroem", n_components=components)
    model.fit([folder / name for name in NAMES])
    found = {
        "stages": model.stage_seconds_,
        "d": model.dimensions_.tolist(),
        "unrelated": model.unrelated_views_,
        "threshold": model.threshold_,
        "features": model.n_components_.tolist(),
    }
    return model.labels_, found


def run_sklearn(folder: Path, route: str, components: int | None) -> tuple[np.ndarray, dict]:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.empty((len(classes(folder)), WIDTH * len(NAMES)), dtype=np.float32)
    for p, name in enumerate(NAMES):
        start = 0
        for part in sorted((folder / name).glob("*.npy")):
            rows = np.load(part)
            X[start : start + len(rows), p * WIDTH : (p + 1) * WIDTH] = rows
            start += len(rows)
    steps = {
        "kmeans": [KMeans(K, random_state=0)],
        "minibatch": [MiniBatchKMeans(K, random_state=0)],
        "nystroem": [
            Nystroem(gamma=1 / X.shape[1], n_components=components or 300, random_state=0),
            KMeans(K, random_state=0),
        ],
    }[route]
    return make_pipeline(StandardScaler(copy=False), *steps).fit_predict(X), {}


def one(folder: Path, route: str, components: int | None) -> None:
    """Run one method in this process; print time, memory and ARI as a line of JSON."""
    from sklearn.metrics import adjusted_rand_score

    warnings.simplefilter("ignore")
    began, cpu = time.perf_counter(), time.process_time()
    if route == "mkclust":
        labels, found = run_mkclust(folder, components)
    else:
        labels, found = run_sklearn(folder, route, components)
    found |= {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    found["ari"] = adjusted_rand_score(classes(folder), labels)
    print(json.dumps(found))


def measured(folder: Path, route: str, components: int | None, limit: float) -> dict:
    command = [sys.executable, __file__, "--one", route, "--folder", str(folder)]
    if components:
        command += ["--components", str(components)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"failed": f"exit {done.returncode}: {last}"}
    return json.loads(done.stdout.splitlines()[-1])


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(results: dict, components: int | None) -> str:
    sizes = [int(n) for n in results]
    runs = {n: results[str(n)]["MKC-DNM"] for n in sizes}
    stages = [
        [stage, *(f"{runs[n]['stages'].get(stage, 0):.1f}" for n in sizes)] for stage in STAGES
    ]
    stages.append(["all", *(f"{runs[n]['seconds']:.1f}" for n in sizes)])
    growth = [
        f"{a:.0e} to {b:.0e}: {np.log(runs[b]['seconds'] / runs[a]['seconds']) / np.log(b / a):.2f}"
        for a, b in pairwise(sizes)
    ]
    compared = []
    for n in sizes:
        for name, found in results[str(n)].items():
            cells = ["-", "-", "-", found["failed"]] if "failed" in found else [
                f"{found['seconds']:.1f}", f"{found['cpu']:.1f}", f"{found['peak']:.2f}",
                f"{found['ari']:.4f}",
            ]  # fmt: skip
            compared.append([f"{n:.0e}", name, *cells])
    chosen = [
        [f"{n:.0e}", str(runs[n]["d"]), f"{runs[n]['threshold']:.2f}", str(runs[n]["unrelated"])]
        for n in sizes
    ]
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    return f"""# Scale

{CLEAN} views of {WIDTH} columns with {K} planted clusters (standard deviation of the centers
{SEPARATION:g}, of the noise 1) and one view of pure noise; float32 .npy parts on disk; Gaussian
kernels, {components or "300 (default)"} landmarks per view. {platform.machine()},
{os.cpu_count()} cores, OMP_NUM_THREADS={threads}, Python {platform.python_version()},
numpy {np.__version__}.
Every method runs in its own process and reads the same files. Made by `benchmarks/scale.py`.

## Seconds per stage

{table(["stage", *(f"{n:.0e} rows" for n in sizes)], stages)}

Growth exponent of the whole: {"; ".join(growth)}.

## Comparison with other methods

{table(["rows", "method", "seconds", "CPU seconds", "peak GiB", "ARI"], compared)}

## Dimensions

{table(["rows", "d", "final threshold", "unrelated views"], chosen)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--components", type=int)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", choices=list(ROUTES.values()))
    parser.add_argument("--limit", type=float, default=1800, help="seconds allowed to a method")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SCALE.md"))
    given = parser.parse_args()
    if given.one:
        one(given.folder, given.one, given.components)
        return
    kept = given.out.with_suffix(".json")
    results: dict = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for n in map(int, given.sizes):
        with tempfile.TemporaryDirectory(prefix="mkclust-scale-") as folder:
            make(Path(folder), n)
            found = results[str(n)] = {}
            results = dict(sorted(results.items(), key=lambda item: int(item[0])))
            for name, route in ROUTES.items():
                if given.only and route not in given.only:
                    continue
                found[name] = measured(Path(folder), route, given.components, given.limit)
                print(n, name, found[name], flush=True)
                kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
        given.out.write_text(page(results, given.components), encoding="utf-8")


if __name__ == "__main__":
    main()
