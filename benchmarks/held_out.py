"""Accuracy of `predict` on the half that was not fitted, compared with fitting all samples.

    MKCLUST_DATA=folder python benchmarks/held_out.py [FILE ...]

Each data set is split at random into two halves, without stratification; one half is fitted, the
other predicted. By default the data sets are the bundled digits and, if MKCLUST_DATA holds it,
BBCSport; otherwise the named files of that folder. The methods are graph fusion, and MKC-DNM with
several kernels. The script prints a Markdown table.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mkclust import MKCDNM, GraphFusion, MultiView, datasets, metrics, read
from mkclust.exceptions import MkclustWarning

HALVES = 10
BBCSPORT = "bbcsport_2view.mat"
MODELS = {
    "graph fusion": lambda k: GraphFusion(k, random_state=0),
    **{
        f"MKC-DNM, {kernel}": lambda k, kernel=kernel: MKCDNM(k, kernel=kernel, random_state=0)
        for kernel in ("gaussian", "linear", "cosine", "knn", "self-tuning")
    },
}


def data_sets(files: list[str], folder: str | None) -> Iterator[tuple[str, MultiView]]:
    if not files:
        yield "Mfeat", datasets.load_mfeat()
    if not files and folder:
        yield "BBCSport", read(Path(folder) / BBCSPORT)
    for file in files:
        yield Path(file).stem, read(Path(folder or ".") / file)


def halves(views: MultiView, method: str) -> Iterator[tuple[float, float, float]]:
    """Yield the ACC of the fitted half, the predicted half, and both together, for each split."""
    k = len(np.unique(views.labels))
    for seed in range(HALVES):
        order = np.random.default_rng(seed).permutation(len(views))
        fitted, held_out = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        model = MODELS[method](k).fit(views[fitted])
        labels = np.empty(len(views), dtype=int)
        labels[fitted], labels[held_out] = model.labels_, model.predict(views[held_out])
        parts = (fitted, held_out, slice(None))
        yield tuple(metrics.accuracy(views.labels[rows], labels[rows]) for rows in parts)


def row(name: str, views: MultiView, method: str) -> str:
    k = len(np.unique(views.labels))
    full = metrics.accuracy(views.labels, MODELS[method](k).fit(views).labels_)
    scores = 100 * np.array(list(halves(views, method)))
    mean, low = scores.mean(axis=0), scores.min(axis=0)
    cells = [f"{mean[part]:.1f} ({low[part]:.1f})" for part in range(3)]
    cells = [name, method, f"{100 * full:.1f}", *cells, f"{mean[2] - 100 * full:+.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore", MkclustWarning)
    print(f"ACC in percent: mean over {HALVES} random halves, the lowest in brackets.\n")
    print("| data | method | all fitted | fitted half | predicted half | both | difference |")
    print("|---|---|---|---|---|---|---|")
    for name, views in data_sets(sys.argv[1:], os.environ.get("MKCLUST_DATA")):
        for method in MODELS:
            print(row(name, views, method), flush=True)


if __name__ == "__main__":
    main()
