"""Time, memory and ARI of graph fusion and MKC-DNM over chunks of rows, compared with k-means.

The script writes planted views as float32 .npy parts to a temporary folder, runs each method in
its own process, and writes benchmarks/SCALE.md. There are two families of data: round clusters
(20 clusters in 4 x 20 columns) and rings (3 concentric rings in 3 x 20 columns), each with one view
of pure noise.

    python benchmarks/scale.py                   # 1e5 and 1e6 rows of both families
    python benchmarks/scale.py 1e7 --families clusters --only fusion

The other methods run with their defaults (one k-means++ start, three for MiniBatchKMeans), graph
fusion and MKC-DNM with ten starts on a sample. Earlier results are kept in SCALE.json and shown
with the new ones.
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

FAMILIES = {"clusters": (20, 4), "rings": (3, 3)}  # number of clusters, views with clusters
WIDTH = 20
SEPARATION = 1.0  # standard deviation of the centers; that of the noise around them is 1
PART = 250_000  # rows per file
ROUTES = {
    "Graph fusion": "fusion",
    "MKC-DNM": "mkclust",
    "KMeans, concatenated": "kmeans",
    "MiniBatchKMeans, concatenated": "minibatch",
    "Nyström + KMeans, concatenated": "nystroem",
}
STAGES = ("sample", "links", "embedding", "k-means")


def names(family: str) -> list[str]:
    return [f"view{p + 1}" for p in range(FAMILIES[family][1])] + ["noise"]


def make(folder: Path, n: int, family: str, seed: int = 0) -> None:
    """Write views and labels in parts."""
    k, clean = FAMILIES[family]
    fixed = np.random.default_rng(seed)
    centers = fixed.normal(size=(clean, k, WIDTH)) * SEPARATION
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


def classes(folder: Path) -> np.ndarray:
    parts = sorted((folder / "classes").glob("*.npy"))
    return np.concatenate([np.load(part) for part in parts]).ravel()


def run_mkclust(folder: Path, family: str, route: str) -> tuple[np.ndarray, dict]:
    from mkclust import MKCDNM, GraphFusion

    k = FAMILIES[family][0]
    if route == "fusion":
        model = GraphFusion(k, random_state=0)
    else:
        model = MKCDNM(k, random_state=0)
    model.fit([folder / name for name in names(family)])
    return model.labels_, {"stages": model.stage_seconds_, "unrelated": model.unrelated_views_}


def run_sklearn(folder: Path, family: str, route: str) -> tuple[np.ndarray, dict]:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    k = FAMILIES[family][0]
    X = np.empty((len(classes(folder)), WIDTH * len(names(family))), dtype=np.float32)
    for p, name in enumerate(names(family)):
        start = 0
        for part in sorted((folder / name).glob("*.npy")):
            rows = np.load(part)
            X[start : start + len(rows), p * WIDTH : (p + 1) * WIDTH] = rows
            start += len(rows)
    steps = {
        "kmeans": [KMeans(k, random_state=0)],
        "minibatch": [MiniBatchKMeans(k, random_state=0)],
        "nystroem": [
            Nystroem(gamma=1 / X.shape[1], n_components=300, random_state=0),
            KMeans(k, random_state=0),
        ],
    }[route]
    return make_pipeline(StandardScaler(copy=False), *steps).fit_predict(X), {}


def one(folder: Path, family: str, route: str) -> None:
    """Run one method in this process; print time, memory and ARI as a line of JSON."""
    from sklearn.metrics import adjusted_rand_score

    warnings.simplefilter("ignore")
    began, cpu = time.perf_counter(), time.process_time()
    run = run_mkclust if route in ("fusion", "mkclust") else run_sklearn
    labels, found = run(folder, family, route)
    found |= {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    found["ari"] = adjusted_rand_score(classes(folder), labels)
    print(json.dumps(found))


def measured(folder: Path, family: str, route: str, limit: float) -> dict:
    command = [sys.executable, __file__, "--one", route, "--folder", str(folder)]
    command += ["--families", family]
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


def section(family: str, results: dict) -> str:
    """Return the tables of one family of data: results by number of rows, then by method."""
    k, clean = FAMILIES[family]
    sizes = sorted(map(int, results))
    runs = {n: results[str(n)]["Graph fusion"] for n in sizes}
    stages = [
        [stage, *(f"{runs[n]['stages'].get(stage, 0):.1f}" for n in sizes)] for stage in STAGES
    ]
    stages.append(["all", *(f"{runs[n]['seconds']:.1f}" for n in sizes)])
    growth = [
        f"{a:.0e} to {b:.0e}: {np.log(runs[b]['cpu'] / runs[a]['cpu']) / np.log(b / a):.2f}"
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
    return f"""## {family.capitalize()}: {k} in {clean} views, and a view of noise

{table(["rows", "method", "seconds", "CPU seconds", "peak GiB", "ARI"], compared)}

Seconds per stage of graph fusion:

{table(["stage", *(f"{n:.0e} rows" for n in sizes)], stages)}

Growth exponent of its CPU time: {"; ".join(growth) or "one size only"}.
"""


def page(results: dict) -> str:
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    parts = "\n".join(section(family, found) for family, found in results.items())
    return f"""# Scale

Planted views of {WIDTH} columns in float32 .npy parts on disk. Clusters: standard deviation of the
centers {SEPARATION:g}, of the noise 1. Rings: radii 1, 3 and 5, noise 0.1, with an
angle of its own in every view. Graph fusion uses its defaults (1000 anchors per metric),
MKC-DNM 300 landmarks per view. {platform.machine()}, {os.cpu_count()} cores,
OMP_NUM_THREADS={threads}, Python
{platform.python_version()}, numpy {np.__version__}. Every method runs in its own process and reads
the same files. Other programs ran at the same time: compare CPU seconds, not seconds. Made by
`benchmarks/scale.py`.

{parts}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", choices=list(ROUTES.values()))
    parser.add_argument("--limit", type=float, default=1800, help="seconds allowed to a method")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SCALE.md"))
    given = parser.parse_args()
    if given.one:
        one(given.folder, given.families[0], given.one)
        return
    kept = given.out.with_suffix(".json")
    results: dict = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for n in map(int, given.sizes):
        for family in given.families:
            found = results.setdefault(family, {}).setdefault(str(n), {})
            with tempfile.TemporaryDirectory(prefix="mkclust-scale-") as folder:
                make(Path(folder), n, family)
                for name, route in ROUTES.items():
                    if given.only and route not in given.only:
                        continue
                    found[name] = measured(Path(folder), family, route, given.limit)
                    print(n, family, name, found[name], flush=True)
                    kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
            given.out.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
