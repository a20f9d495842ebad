"""How many clusters other packages find when they are not told, beside choose_k.

    MKCLUST_DATA=folder python benchmarks/peers_k.py [--only SET ...]

Run it with a Python that has leidenalg and imml. Sets of up to 700 samples: several views, the
cohort TCGA-BRCA, and twelve kernels of one view (choose_k gets the kernels, the packages the view).
Leiden has its default resolution, 1, on the graph of the leaderboard. NEMO and choose_k choose from
2 to 20, NEMO by the eigengap of its fused graph. The error is |log(answer / classes)|.
"""

from __future__ import annotations

import argparse
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mkclust import GraphFusion, MultiView, choose_k
from mkclust.bench.peers import dense, neighbor_graph
from mkclust.bench.registry import Dataset, registered, twelve_kernels

MOST = 700
NUMBERS = list(range(2, 21))
FAMILIES = {
    "paper": "multiview", "views": "multiview", "omics": "omics", "single": "kernels",
    "kernels": "kernels",
}  # fmt: skip


def leiden(views: MultiView) -> int:
    """Return the number of communities at the default resolution."""
    leidenalg = import_module("leidenalg")
    kind = leidenalg.RBConfigurationVertexPartition
    return len(leidenalg.find_partition(neighbor_graph(arrays(views)), kind, seed=0))


def nemo(views: MultiView) -> int:
    """Return the number of clusters that NEMO finds by itself."""
    frame = import_module("pandas").DataFrame
    model = import_module("imml.cluster").NEMO(n_clusters=NUMBERS, random_state=0)
    return len(np.unique(model.fit_predict([frame(dense(X)) for X in arrays(views)])))


def arrays(views: MultiView) -> list[Any]:
    """Return the views with NaN rows for samples that they lack."""
    if views.present is None:
        return list(views.views)
    pairs = zip(views.views, views.present.T, strict=True)
    return [np.where(held[:, None], dense(X), np.nan) for X, held in pairs]


def answers(entry: Dataset, views: MultiView) -> dict[str, int]:
    """Return the number of clusters by each rule."""
    own = twelve_kernels(views) if entry.kernel == "twelve" else views
    found = {"choose_k": choose_k(GraphFusion(2, precomputed=own.kernels), own).k}
    if not views.kernels:
        found["Leiden"] = leiden(views)
        if views.n_views > 1:  # NEMO refuses a single view
            found["NEMO"] = nemo(views)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+")
    given = parser.parse_args()
    folder = Path(os.environ["MKCLUST_DATA"])
    warnings.simplefilter("ignore")
    errors: dict[tuple[str, str], list[float]] = {}
    print("| family | set | classes | choose_k | Leiden | NEMO |\n|---|---|---|---|---|---|")
    for entry in registered().values():
        survival = entry.truth.endswith("survival")
        wanted = given.only is None or entry.name in given.only
        if entry.group not in FAMILIES or entry.n > MOST or survival or not wanted:
            continue
        if entry.find(folder) is None or entry.k > 20:
            continue
        found = answers(entry, entry.load(folder))
        family = FAMILIES[entry.group]
        for rule, k in found.items():
            errors.setdefault((family, rule), []).append(abs(np.log(k / entry.k)))
        cells = [str(found.get(rule, "–")) for rule in ("choose_k", "Leiden", "NEMO")]
        print(f"| {family} | {entry.name} | {entry.k} | " + " | ".join(cells) + " |", flush=True)
    print("\n| family | rule | sets | mean error | exact |\n|---|---|---|---|---|")
    for (family, rule), values in errors.items():
        exact = sum(value == 0 for value in values)
        print(f"| {family} | {rule} | {len(values)} | {np.mean(values):.2f} | {exact} |")


if __name__ == "__main__":
    main()
