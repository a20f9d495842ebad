"""Fill the tables of docs/methods.md: CPU time, and BBCSport by the protocol of the paper.

MKCLUST_DATA=folder python benchmarks/method_tables.py [time] [bbcsport]
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from pages import fill

from mkclust import METHODS, datasets, metrics, read
from mkclust.bench import published
from mkclust.bench.peers import uses_kernels
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.kmeans import kmeans_labels

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
AS_PUBLISHED = {"swmc": {"graph": "kernel"}, "lfmkc": {"init": "identity", "accumulate": True}}


def accuracies(method, setting, views, kernels, runs=20):
    """Return the ACC of 20 runs of k-means on one fit, or of the labels of a method without it."""
    classes = views.labels
    if uses_kernels(method):
        ready = {"kernel": "precomputed", "center": False, "normalize": False}
        model = METHODS[method](5, random_state=0, **ready, **setting).fit(kernels)
    else:
        model = METHODS[method](5, random_state=0, **setting).fit(views)
    if not hasattr(model, "embedding_") or method == "oplf":
        return [metrics.accuracy(classes, model.labels_)]
    return [
        metrics.accuracy(classes, kmeans_labels(model.embedding_, 5, 10, seed, init="random"))
        for seed in range(runs)
    ]


def bbcsport(folder):
    views = read(Path(folder) / "bbcsport_2view.mat")
    kernels = list(KernelBank(views, KernelRecipe()))
    yield "| method | published | tuned with labels | default | spread over the grid |"
    yield "|---|---|---|---|---|"
    for method, kind in METHODS.items():
        default = np.mean(accuracies(method, {}, views, kernels))
        base = AS_PUBLISHED.get(method, {})
        grid = kind.published_grid(5) if hasattr(kind, "published_grid") else [{}]
        scores = [
            np.mean(accuracies(method, base | point, views, kernels, runs=2)) for point in grid
        ]
        tuned = np.mean(accuracies(method, base | grid[int(np.argmax(scores))], views, kernels))
        spread = f"{100 * min(scores):.1f} – {100 * max(scores):.1f}" if len(grid) > 1 else "-"
        acc = published.scores().get(("bbcsport", published.plain(kind.title), "acc"))
        printed = "-" if acc is None else f"{100 * acc:.1f}"
        row = f"{printed} | {100 * tuned:.1f} | {100 * default:.1f} | {spread}"
        print(method, row, flush=True)
        yield f"| {kind.title} | {row} |"


def times(folder):
    sets = {
        "BBCSport (544 × 2, k = 5)": (read(Path(folder) / "bbcsport_2view.mat"), 5),
        "Mfeat, every second row (1000 × 6, k = 10)": (datasets.load_mfeat()[::2], 10),
    }
    yield "| method | " + " | ".join(sets) + " |"
    yield "|---|---|---|"
    for method, kind in METHODS.items():
        cells = []
        for views, k in sets.values():
            began = time.process_time()
            kind(k, random_state=0).fit(views)
            cells.append(f"{time.process_time() - began:.2f}")
        print(method, cells, flush=True)
        yield f"| {kind.title} | {' | '.join(cells)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = sys.argv[1:] or ["time", "bbcsport"]
    for part, rows in (("time", times), ("bbcsport", bbcsport)):
        if part in parts:
            fill(PAGE, part, list(rows(os.environ["MKCLUST_DATA"])))
