"""Measure graph fusion and kernel methods on several kernels of one view.

    MKCLUST_DATA=... python benchmarks/twelve_kernels.py [--seeds 5] [--only NAME ...] [--no-page]

Two families: the sets that come as several kernels of one view, and, to decide changes on, the
twelve kernels of every single view of six multi-view sets. Rows are shuffled by the seed. The
tables are filled into docs/research.md.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pages import fill

from mkclust import METHODS, MultiView, metrics
from mkclust.bench.registry import class_numbers, dataset, twelve_kernels
from mkclust.graph_fusion.diffusion_map import diffusion_map, n_components_for
from mkclust.graph_fusion.fusion import fuse
from mkclust.graph_fusion.view_graphs import ViewGraphs
from mkclust.graphs.affinity import default_n_neighbors
from mkclust.linalg.kmeans import kmeans_labels
from mkclust.preprocessing.suspects import MOST, isolated_share

PAGE = Path(__file__).resolve().parent.parent / "docs" / "research.md"
FAMILY = ("YALE", "JAFFE", "YALE-pixels", "JAFFE-pixels", "ORL-pixels", "tr11", "tr45")
DECIDING = ("MSRC-v1", "yaleA", "BBCSport", "CUB", "20NewsGroups", "Mfeat-200")
SAME = 0.95  # redundancy above which two kernels are taken for the same
Problem = tuple[str, MultiView, MultiView]  # name, kernels, and the view they are made of
Fitted = Callable[[MultiView, MultiView, int, int], np.ndarray]


def problems(names: tuple[str, ...], folder: Path) -> Iterator[Problem]:
    """Yield the kernels of every set of the family, or of every view of a multi-view set."""
    for name in names:
        entry = dataset(name, folder)
        views = entry.load(folder)
        if name in FAMILY:
            yield name, entry.kernels(views)[0], views
            continue
        for each in views.names:
            one = views.select([each])
            yield f"{name} {each}", twelve_kernels(one), one


def fit(method: str, data: MultiView, k: int, seed: int, **settings: object) -> np.ndarray:
    """Return the labels of a method that is given kernels, or a table where `data` is one."""
    if data.kernels:
        settings["indefinite"] = "ignore"
    return METHODS[method](k, random_state=seed, **settings).fit(data).labels_


def equal_weights(data: MultiView, k: int, seed: int) -> np.ndarray:
    """Return the labels of graph fusion with the same weight for every kernel."""
    graphs = ViewGraphs(data, default_n_neighbors(len(data), k), "ignore")
    fused = fuse(graphs, np.full(len(graphs), 1 / len(graphs)))
    embedding = diffusion_map(fused, n_components_for(len(data), k)).embedding
    return kmeans_labels(embedding, k, 10, seed)


def informative(data: MultiView) -> MultiView:
    """Leave out the kernels that are close to the identity."""
    return data.select(
        [name for name, K in zip(data.names, data.views, strict=True) if isolated_share(K) <= MOST]
    )


def once(data: MultiView, k: int) -> MultiView:
    """Keep one of several kernels with nearly the same graph or distances."""
    model = METHODS["graph-fusion"](k, indefinite="ignore", random_state=0)
    redundancy, kept = model.fit(data).redundancy_, []
    for p in range(data.n_views):
        if all(redundancy[p, q] <= SAME for q in kept):
            kept.append(p)
    return data.select([data.names[p] for p in kept])


def logarithms(data: MultiView) -> MultiView:
    r"""Return kernels with $D_{ij}^2 = -2\log K_{ij}$, K scaled to unit diagonal, where K > 0.

    All Gaussian kernels of one view then have the same neighbors and self-tuning affinities.
    """
    found = {}
    for name, K in zip(data.names, data.views, strict=True):
        length = np.sqrt(np.diagonal(K))
        C = K / length[:, None] / length
        found[name] = np.log(np.maximum(C, 1e-300)) if C.min() >= 0 else K
    return MultiView(found, kernels=True)


METHODS_OF_TABLE: dict[str, Fitted] = {
    "graph fusion": lambda K, X, k, s: fit("graph-fusion", K, k, s),
    "equal weights": lambda K, X, k, s: equal_weights(K, k, s),
    "near-identity out": lambda K, X, k, s: fit("graph-fusion", informative(K), k, s),
    "equal graphs once": lambda K, X, k, s: fit("graph-fusion", once(K, k), k, s),
    "D² = −2 log K": lambda K, X, k, s: fit("graph-fusion", logarithms(K), k, s),
    "the view": lambda K, X, k, s: fit("graph-fusion", X, k, s),
    "AKKM": lambda K, X, k, s: fit("akkm", K, k, s, kernel="precomputed"),
    "SNF": lambda K, X, k, s: fit("snf", K, k, s),
    "MKC-DNM": lambda K, X, k, s: fit("mkc-dnm", K, k, s, kernel="precomputed"),
    "MKC-DNM, near-identity out": (
        lambda K, X, k, s: fit("mkc-dnm", informative(K), k, s, kernel="precomputed")
    ),
}


def scores(labels: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    return 100 * metrics.accuracy(classes, labels), 100 * metrics.nmi(classes, labels)


def measured(kernels: MultiView, view: MultiView, seeds: int) -> dict[str, np.ndarray]:
    """Return the mean ACC and NMI of every method, and of graph fusion of each kernel alone."""
    classes = class_numbers(view)
    k, found = int(classes.max()) + 1, {}
    orders = [np.random.default_rng(seed).permutation(len(classes)) for seed in range(seeds)]
    shuffled = [(kernels[rows], view[rows], classes[rows]) for rows in orders]
    for name, labels in METHODS_OF_TABLE.items():
        if view.kernels and name == "the view":
            continue
        each = [scores(labels(K, X, k, s), y) for s, (K, X, y) in enumerate(shuffled)]
        found[name] = np.mean(each, axis=0)
    alone = [
        np.mean([scores(fit("graph-fusion", K.select([p]), k, s), y)
                 for s, (K, _, y) in enumerate(shuffled)], axis=0)
        for p in kernels.names
    ]  # fmt: skip
    found["one kernel, median"] = np.median(alone, axis=0)
    found["one kernel, best"] = np.max(alone, axis=0)
    return found


def weights_row(name: str, kernels: MultiView, view: MultiView) -> str:
    """Return what the near-identity kernels do to weights and to the dimensions of MKC-DNM."""
    k = int(class_numbers(view).max()) + 1
    out = np.array([isolated_share(K) > MOST for K in kernels.views])
    fused = METHODS["graph-fusion"](k, precomputed=True, indefinite="ignore", random_state=0)
    weights = fused.fit(kernels).weights_
    kept = []
    for data in (kernels, informative(kernels)):
        model = METHODS["mkc-dnm"](k, kernel="precomputed", indefinite="ignore", random_state=0)
        kept.append(f"{np.median(model.fit(data).dimensions_):.0f}")
    same = np.mean(fused.redundancy_[~out][:, ~out] > SAME)
    return (
        f"| {name} | {len(view)} | {k} | {out.sum()} of {len(out)} | {100 * same:.0f} % | "
        f"{100 * weights[out].sum():.0f} % | {np.sqrt(k * len(view)):.0f} | {kept[0]} | {kept[1]} |"
    )


def score_table(rows: dict[str, dict[str, np.ndarray]]) -> list[str]:
    """Return ACC/NMI of every method, one line per method, the mean last."""
    names = list(dict.fromkeys(method for row in rows.values() for method in row))
    lines = [f"| ACC/NMI | {' | '.join(rows)} | mean |", "|---" * (len(rows) + 2) + "|"]
    for method in names:
        known = [row.get(method) for row in rows.values()]
        cells = ["–" if each is None else f"{each[0]:.1f}/{each[1]:.1f}" for each in known]
        full = all(each is not None for each in known)
        mean = np.mean(known, axis=0) if full else None
        cells.append("–" if mean is None else f"{mean[0]:.1f}/{mean[1]:.1f}")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def mean_table(rows: dict[str, dict[str, np.ndarray]]) -> list[str]:
    """Return the means over all problems, and how often a method is a point away from the first."""
    lines = [
        "| method | ACC/NMI | a point or more above graph fusion | below |",
        "|---|---|---|---|",
    ]
    base = np.array([row["graph fusion"][0] for row in rows.values()])
    for method in next(iter(rows.values())):
        own = np.array([row[method] for row in rows.values()])
        more, less = np.sum(own[:, 0] >= base + 1), np.sum(own[:, 0] <= base - 1)
        lines.append(
            f"| {method} | {own[:, 0].mean():.1f}/{own[:, 1].mean():.1f} | {more} | {less} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[*FAMILY, *DECIDING])
    parser.add_argument("--no-page", action="store_true")
    asked = parser.parse_args()
    folder = Path(os.environ["MKCLUST_DATA"])
    warnings.simplefilter("ignore")
    tables: dict[str, list[str]] = {}
    for part, names, table in (
        ("twelve-deciding", DECIDING, mean_table), ("twelve-family", FAMILY, score_table)
    ):  # fmt: skip
        chosen, rows, sizes = tuple(name for name in names if name in asked.only), {}, []
        for name, kernels, view in problems(chosen, folder):
            rows[name] = measured(kernels, view, asked.seeds)
            sizes.append(weights_row(name, kernels, view))
            print(name, {m: v.round(1).tolist() for m, v in rows[name].items()}, flush=True)
        if rows:
            tables[part] = table(rows)
            tables[f"{part}-sizes"] = [
                "| set | n | k | near-identity kernels | pairs of the others with R > 0.95 | their "
                "weight | √(kn) | median d of MKC-DNM | without them |",
                "|---" * 9 + "|", *sizes,
            ]  # fmt: skip
    for part, lines in tables.items():
        print(f"\n{part}", *lines, sep="\n")
        if not asked.no_page and part != "twelve-deciding-sizes":
            fill(PAGE, part, lines)


if __name__ == "__main__":
    main()
