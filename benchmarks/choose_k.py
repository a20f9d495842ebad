"""How many clusters: choose_k beside other rules: ``python -m benchmarks.choose_k [FOLDER ...]``.

Without folders, the registered sets with at most 20 classes; with folders, the .npz sets that
`unseen_sets` and `fresh_sets` wrote there. Numbers tried are 2 to 20, labels only score, and sets
of more than 5000 samples are cut to 5000. The error of an answer is |log(answer / classes)|.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import silhouette_score

from mkclust import GraphFusion, MultiView, choose_k, read
from mkclust.graph_fusion.diffusion_map import diffusion_map, n_components_for

from .data import dataset, registry
from .tables import markdown

ROWS, MOST = 5000, 20


def sets(folders: list[str]) -> dict[str, MultiView]:
    """Return the sets by name, in alphabetical order."""
    if folders:
        paths = sorted(path for folder in folders for path in Path(folder).glob("*.npz"))
        return {path.stem: read(path) for path in paths}
    groups = ("paper", "views", "kernels", "single")
    chosen = [e for e in registry().values() if e.group in groups and e.k <= MOST and e.present]
    return {e.name: dataset(e.name).load()[0] for e in sorted(chosen, key=lambda e: e.name.lower())}


def answers(views: MultiView) -> dict[str, int]:
    """Return the number of clusters by choose_k, eigengap and silhouette of the same graph."""
    model = GraphFusion(2, random_state=0, precomputed=views.kernels)
    ks = range(2, min(MOST, len(views) // 2) + 1)
    scan = model.partitions(views, list(ks), 0, 3)
    mapped = diffusion_map(scan.graph, n_components_for(len(views), ks[-1]))
    gaps = {
        k: mapped.eigenvalues[k - 1] - mapped.eigenvalues[k]
        for k in ks
        if k < len(mapped.eigenvalues)
    }
    some = np.sort(np.random.default_rng(0).permutation(len(views))[:1000])
    shape = {k: silhouette_score(mapped.embedding[some], scan.labels[k][some]) for k in ks}
    return {
        "choose_k": choose_k(model, views).k,
        "eigengap": max(gaps, key=gaps.__getitem__),
        "silhouette": max(shape, key=shape.__getitem__),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    rows = {}
    for name, views in sets(sys.argv[1:]).items():
        if len(views) > ROWS:
            views = views[np.sort(np.random.default_rng(0).choice(len(views), ROWS, replace=False))]
        rows[name] = {"classes": len(np.unique(views.labels)), **answers(views)}
        print(name, rows[name], file=sys.stderr, flush=True)
    table = pd.DataFrame(rows).T
    errors = np.abs(np.log(table.drop(columns="classes").div(table.classes, axis=0).astype(float)))
    print("\n".join(markdown(table, "data set")))
    print("\nmean error: " + ", ".join(f"{rule} {e:.2f}" for rule, e in errors.mean().items()))


if __name__ == "__main__":
    main()
