"""The default recipe of `cluster` beside the published one, on the benchmark data sets.

    MKCLUST_DATA=folder python benchmarks/recipes.py [--rows 3100] [--only NAME ...]

ACC / NMI in percent, means over two seeds of k-means, the best of ten starts each. Sets of one
view, or of more than `--rows` samples, are left out. Writes the Markdown table of README.md to
standard output.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sets import SETS, load, short

from mkclust import MultiView, cluster, metrics
from mkclust.dual_noise import RECIPES

SEEDS = (0, 1)


def measured(views: MultiView, recipe: str) -> str:
    k = len(np.unique(views.labels))
    scores = []
    for seed in SEEDS:
        model = cluster(views, k, recipe=recipe, random_state=seed, indefinite="shift")
        found = metrics.evaluate(views.labels, model.labels_)
        scores.append((found["acc"], found["nmi"]))
    acc, nmi = 100 * np.mean(scores, axis=0)
    return f"{acc:.1f} / {nmi:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3100)
    parser.add_argument("--only", nargs="*", default=SETS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| set | n | views | k | {' | '.join(RECIPES)} |")
    print("|---|---|---|---|---|---|")
    for name in given.only:
        views = load(name, given.rows + 1)
        if len(views) > given.rows or views.n_views < 2:
            continue
        size = [len(views), views.n_views, len(np.unique(views.labels))]
        cells = [short(name), *size, *(measured(views, recipe) for recipe in RECIPES)]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
