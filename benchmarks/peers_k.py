"""How many clusters: choose_k, two common rules and other packages in all families of data sets.

    MKCLUST_DATA=folder python benchmarks/peers_k.py [--only SET ...]

Run it with a Python that has leidenalg and imml. Sets with at most 20 classes: several views and
twelve kernels of one view (up to 700 samples; choose_k gets the kernels, the packages the view),
the cohort TCGA-BRCA, views with gaps (cells filled with medians), and the large sets, of which 5000
samples are drawn. Eigengap and silhouette are those of the fused graph and its embedding. Leiden
has its default resolution, 1, on the graph of the leaderboard; NEMO takes the eigengap of its own
fused graph, for up to 700 samples. All but Leiden choose from 2 to 20. The error is
|log(answer / classes)|; the answer 1 counts as such.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from choose_k import load, rivals

from mkclust import GraphFusion, MultiView, choose_k
from mkclust.bench.peers import dense, neighbor_graph
from mkclust.bench.registry import (
    GROUPS,
    Dataset,
    dataset,
    registered,
    twelve_kernels,
    with_gaps,
)
from mkclust.bench.suite import load_suite

MOST = 700  # samples, where sets are many, and for NEMO
RULES = ("choose_k", "eigengap", "silhouette", "Leiden", "NEMO")
NUMBERS = list(range(2, 21))
FAMILIES = {
    "paper": "multiview", "views": "multiview", "omics": "omics", "single": "kernels",
    "kernels": "kernels", "large": "large",
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


def filled(views: MultiView) -> MultiView:
    """Return the views with the median of its column in every NaN cell."""
    if not any(views.gaps):
        return views
    tables = [np.where(np.isnan(X), np.nanmedian(X, axis=0), X) for X in views.views]
    return MultiView(tables, names=views.names, labels=views.labels)


def answers(entry: Dataset, views: MultiView) -> dict[str, int]:
    """Return the number of clusters by each rule."""
    own = filled(twelve_kernels(views) if entry.kernel == "twelve" else views)
    model = GraphFusion(2, precomputed=own.kernels)
    others = rivals(model, own)
    found = {"choose_k": choose_k(model, own).k}
    found |= {rule: others[rule] for rule in ("eigengap", "silhouette")}
    if not views.kernels:
        found["Leiden"] = leiden(views)
        if views.n_views > 1 and len(views) <= MOST:  # NEMO refuses a single view
            found["NEMO"] = nemo(views)
    return found


def wanted(folder: Path) -> Iterator[tuple[str, Dataset]]:
    """Yield the data sets with their families."""
    for entry in registered().values():
        family = FAMILIES.get(entry.group)
        small = entry.n <= MOST or family == "large"
        known = not entry.truth.endswith("survival") and entry.k <= NUMBERS[-1]
        if family and small and known and entry.find(folder):
            yield family, entry
    for family in ("large", "missing"):
        for name in load_suite(family).datasets:
            if name not in GROUPS and (entry := dataset(name, folder)).k <= NUMBERS[-1]:
                yield family, entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+")
    given = parser.parse_args()
    folder = Path(os.environ["MKCLUST_DATA"])
    warnings.simplefilter("ignore")
    errors: dict[tuple[str, str], list[float]] = {}
    print(f"| family | set | classes | {' | '.join(RULES)} |\n|---|---|---|" + "---|" * len(RULES))
    for family, entry in wanted(folder):
        if given.only is not None and entry.name not in given.only:
            continue
        views = load(entry)
        if entry.gaps is not None:
            views = with_gaps(views, *entry.gaps, 0)
        found = answers(entry, views)
        for rule, k in found.items():
            errors.setdefault((family, rule), []).append(abs(np.log(k / entry.k)))
        cells = [str(found.get(rule, "–")) for rule in RULES]
        print(f"| {family} | {entry.name} | {entry.k} | " + " | ".join(cells) + " |", flush=True)
    print("\n| family | rule | sets | mean error | exact |\n|---|---|---|---|---|")
    for (family, rule), values in errors.items():
        exact = sum(value == 0 for value in values)
        print(f"| {family} | {rule} | {len(values)} | {np.mean(values):.2f} | {exact} |")


if __name__ == "__main__":
    main()
