"""Accuracy of `predict` on halves that were not fitted, against fitting on everything.

    MKCLUST_DATA=folder python benchmarks/held_out.py [FILE ...]

Random halves of each data set, not stratified: one half is fitted, the other predicted. By default
the bundled digits and, where MKCLUST_DATA holds it, BBCSport; or the files named, of that folder.
The kernel "auto" is what `cluster` takes, the others are for MKC-DNM as published.
Writes a Markdown table to standard output.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mkclust import MKCDNM, MultiView, datasets, metrics, read
from mkclust.exceptions import MkclustWarning

HALVES = 10
BBCSPORT = "bbcsport_2view.mat"
KERNELS = ("auto", "gaussian", "linear", "cosine", "knn", "self-tuning")


def data_sets(files: list[str], folder: str | None) -> Iterator[tuple[str, MultiView]]:
    if not files:
        yield "Mfeat", datasets.load_mfeat()
    if not files and folder:
        yield "BBCSport", read(Path(folder) / BBCSPORT)
    for file in files:
        yield Path(file).stem, read(Path(folder or ".") / file)


def halves(views: MultiView, kernel: str) -> Iterator[tuple[float, float, float]]:
    """ACC of the fitted half, of the predicted half, and of both together, for each split."""
    k = len(np.unique(views.labels))
    for seed in range(HALVES):
        order = np.random.default_rng(seed).permutation(len(views))
        fitted, held_out = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        model = MKCDNM(k, kernel=kernel, random_state=0).fit(views[fitted])
        labels = np.empty(len(views), dtype=int)
        labels[fitted], labels[held_out] = model.labels_, model.predict(views[held_out])
        parts = (fitted, held_out, slice(None))
        yield tuple(metrics.accuracy(views.labels[rows], labels[rows]) for rows in parts)


def row(name: str, views: MultiView, kernel: str) -> str:
    k = len(np.unique(views.labels))
    full = metrics.accuracy(
        views.labels, MKCDNM(k, kernel=kernel, random_state=0).fit(views).labels_
    )
    scores = 100 * np.array(list(halves(views, kernel)))
    mean, low = scores.mean(axis=0), scores.min(axis=0)
    cells = [f"{mean[part]:.1f} ({low[part]:.1f})" for part in range(3)]
    cells = [name, kernel, f"{100 * full:.1f}", *cells, f"{mean[2] - 100 * full:+.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore", MkclustWarning)
    print(f"ACC in percent; mean over {HALVES} random halves, the worst of them in brackets.\n")
    print("| data | kernel | all fitted | fitted half | predicted half | both | difference |")
    print("|---|---|---|---|---|---|---|")
    for name, views in data_sets(sys.argv[1:], os.environ.get("MKCLUST_DATA")):
        for kernel in KERNELS:
            print(row(name, views, kernel), flush=True)


if __name__ == "__main__":
    main()
