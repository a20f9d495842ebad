"""The default recipe beside others, and what noise and copies do to it.

    MKCLUST_DATA=... python benchmarks/automatic.py published|recipes|robustness [--rows 4500]
                                                    [--seeds 5] [--only NAME ...] [--out FILE]

`published`: on every set of several views, the default beside the published recipe, which is the
table of README.md, and what both cost in processor time.
`recipes`: the default beside four methods on kernels of five families; the best of those twenty per
set is chosen with the labels, which the default never sees.
`robustness`: the default with views added: noise, others with clusters of their own, copies.
Sets of more than `--rows` samples are left out. Rows already in the file are kept.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.stats import wilcoxon
from sets import SETS, load, short

from mkclust import METHODS, MultiView, cluster, metrics
from mkclust.dual_noise.estimator import RECIPES
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.kmeans import kmeans_labels

FAMILIES = ("gaussian", "linear", "cosine", "knn", "self-tuning")
WAYS = {
    "average": ("akkm", {}),
    "MKKM-MR": ("mkkm-mr", {}),
    "MKC-DNM": ("mkc-dnm", {}),
    "MKC-DNM exact": ("mkc-dnm", {"solver": "exact"}),
}
NAMES = ("acc", "nmi", "ari")


def scores(embedding: np.ndarray, views: MultiView, k: int, seeds: int) -> list[float]:
    """ACC, NMI and ARI in percent, means over seeds of k-means."""
    found = [
        metrics.evaluate(views.labels, kmeans_labels(embedding, k, random_state=seed))
        for seed in range(seeds)
    ]
    return [100 * float(np.mean([each[name] for each in found])) for name in NAMES]


def published(views: MultiView, k: int, seeds: int) -> dict[str, object]:
    """Both recipes of `cluster`, and processor seconds of each."""
    found: dict[str, object] = {"views": views.n_views, "k": k}
    for recipe in RECIPES:
        began = time.process_time()
        model = cluster(views, k, recipe=recipe, random_state=0, indefinite="shift")
        found[f"{recipe} seconds"] = time.process_time() - began
        found[recipe] = scores(model.embedding_, views, k, seeds)
    return found


def recipes(views: MultiView, k: int, seeds: int) -> dict[str, object]:
    began = time.process_time()
    model = cluster(views, k, random_state=0)
    found: dict[str, object] = {"seconds": time.process_time() - began}
    found["default"] = scores(model.embedding_, views, k, seeds)
    for family in ("precomputed",) if views.kernels else FAMILIES:
        bank = KernelBank(views, KernelRecipe(family, indefinite="shift"))
        bank._keep = True
        for way, (method, settings) in WAYS.items():
            fitted = METHODS[method](k, random_state=0, **settings).fit_kernels(bank)
            found[f"{family}, {way}"] = scores(fitted.embedding_, views, k, seeds)
    return found


def altered(views: MultiView, k: int) -> dict[str, MultiView]:
    """The views with others added."""
    rng = np.random.default_rng(0)
    n, own = len(views), list(views.views)
    narrow, wide = rng.standard_normal((n, 100)), rng.standard_normal((n, 1000))
    apart = 5 * rng.standard_normal((k, 20))[rng.integers(0, k, n)] + rng.standard_normal((n, 20))
    return {
        "nothing": views,
        "one view of noise": MultiView([*own, narrow]),
        "two views of noise": MultiView([*own, narrow, wide]),
        "a view with clusters of its own": MultiView([*own, apart]),
        "all views three times": MultiView([view.copy() for view in own * 3]),
        "all views three times, two disturbed": MultiView(
            [*own, *(disturbed(view, rng) for view in own * 2)]
        ),
        "the last view three times, two disturbed": MultiView(
            [*own, *(disturbed(own[-1], rng) for _ in range(2))]
        ),
        "all views three times, entries of two scaled": MultiView(
            [*own, *(scaled(view, rng) for view in own * 2)]
        ),
    }


def disturbed(view: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A view with a tenth of each column's deviation added as noise."""
    X = view.toarray() if sp.issparse(view) else np.asarray(view, dtype=float)
    return X + 0.1 * X.std(axis=0) * rng.standard_normal(X.shape)


def scaled(view: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A view with every entry changed by about a tenth of itself: zeros stay, and so do counts."""
    X = view.toarray() if sp.issparse(view) else np.asarray(view, dtype=float)
    return X * np.exp(0.1 * rng.standard_normal(X.shape))


def robustness(views: MultiView, k: int, seeds: int) -> dict[str, object] | None:
    if views.kernels:
        return None
    cases = altered(views, k).items()
    return {
        name: scores(cluster(case, k, random_state=0).embedding_, views, k, seeds)
        for name, case in cases
    }


def published_table(rows: list[dict]) -> str:
    lines = [f"| set | n | views | k | {' | '.join(RECIPES)} |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [f"{row[recipe][0]:.1f} / {row[recipe][1]:.1f}" for recipe in RECIPES]
        size = [short(row["set"]), row["n"], row["views"], row["k"]]
        lines.append(f"| {' | '.join(map(str, [*size, *cells]))} |")
    means = [np.mean([row[recipe] for row in rows], axis=0) for recipe in RECIPES]
    cells = " | ".join(f"{mean[0]:.1f} / {mean[1]:.1f}" for mean in means)
    lines += [f"| mean of {len(rows)} | | | | {cells} |", ""]
    times = " | ".join(f"{recipe}, CPU s" for recipe in RECIPES)
    lines += [f"| set | n | views | k | {times} | ratio |", "|---|---|---|---|---|---|---|"]
    ratios = []
    for row in rows:
        ours, theirs = (row[f"{recipe} seconds"] for recipe in RECIPES)
        ratios.append(ours / theirs)
        size = [short(row["set"]), row["n"], row["views"], row["k"]]
        cells = [f"{ours:.2f}", f"{theirs:.2f}", f"{ratios[-1]:.1f}"]
        lines.append(f"| {' | '.join(map(str, [*size, *cells]))} |")
    lines += ["", f"Ratio: median {np.median(ratios):.1f}, largest {max(ratios):.1f}."]
    return "\n".join(lines)


def robustness_table(rows: list[dict]) -> str:
    lines = ["| added | ACC | NMI | ARI |", "|---|---|---|---|"]
    for name in [name for name in rows[0] if name not in ("set", "n")]:
        mean = np.mean([row[name] for row in rows], axis=0)
        lines.append(f"| {name} | {' | '.join(f'{value:.1f}' for value in mean)} |")
    return "\n".join([*lines, "", f"Means over {len(rows)} sets."])


def recipes_table(rows: list[dict]) -> str:
    whole = [row for row in rows if len(row) == max(map(len, rows))]
    names = [name for name in whole[0] if name not in ("set", "n", "seconds")]
    values = {name: np.array([row[name] for row in whole]) for name in names}
    best = np.max([values[name][:, 0] for name in names if name != "default"], axis=0)
    lines = ["| recipe | ACC | NMI | ARI |", "|---|---|---|---|"]
    for name in sorted(names, key=lambda name: -values[name][:, 0].mean()):
        cells = " | ".join(f"{value:.1f}" for value in values[name].mean(axis=0))
        lines.append(f"| {name} | {cells} |")
    lines += [f"| best per set, chosen with labels | {best.mean():.1f} | | |", ""]
    second = max((n for n in names if n != "default"), key=lambda name: values[name][:, 0].mean())
    ours = values["default"][:, 0]
    p = wilcoxon(ours, values[second][:, 0]).pvalue
    lines.append(f"Means over {len(whole)} sets; against {second}: Wilcoxon p = {p:.4f}.")
    lines += ["", "| set | n | default | best of the others |", "|---|---|---|---|"]
    for row, top in zip(whole, best, strict=True):
        lines.append(f"| {short(row['set'])} | {row['n']} | {row['default'][0]:.1f} | {top:.1f} |")
    return "\n".join(lines)


TABLES = {
    "published": (published, published_table),
    "recipes": (recipes, recipes_table),
    "robustness": (robustness, robustness_table),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=TABLES)
    parser.add_argument("--rows", type=int, default=4500)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    out = given.out or Path(f"{given.what}.jsonl")
    kept = out.read_text().splitlines() if out.exists() else []
    rows = {row["set"]: row for row in map(json.loads, kept)}
    warnings.simplefilter("ignore")
    for name in given.only:
        views = load(name, 10**9)
        if name in rows or views.n_views == 1 or len(views) > given.rows:
            continue
        k = len(set(views.labels.tolist()))
        found = TABLES[given.what][0](views, k, given.seeds)
        if found is not None:
            rows[name] = {"set": name, "n": len(views), **found}
            with out.open("a") as file:
                file.write(json.dumps(rows[name]) + "\n")
    print(TABLES[given.what][1](list(rows.values())))


if __name__ == "__main__":
    main()
