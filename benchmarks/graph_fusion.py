"""Compare graph fusion with other methods, and measure the effect of noise views and copies.

    MKCLUST_DATA=... python -m benchmarks.graph_fusion published|kernels|robustness [--rows 4500]
                                                       [--seeds 5] [--only NAME ...] [--out FILE]

`published`: graph fusion and MKC-DNM on every data set of several views, which is the table of
README.md, with the CPU time of both.
`kernels`: graph fusion and four methods on kernels of five families. The best of these twenty per
data set is chosen with the labels, which graph fusion does not use.
`robustness`: graph fusion with added views: noise, other clusters, copies.
Data sets of more than `--rows` samples are left out. Rows already in the file are kept.
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

from mkclust import METHODS, MultiView, cluster, metrics
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.kmeans import kmeans_labels

from .sets import SETS, load, short

COMPARED = {"graph-fusion": {}, "mkc-dnm": {"indefinite": "shift"}}  # parameters
FAMILIES = ("gaussian", "linear", "cosine")
WAYS = {
    "average": ("akkm", {}),
    "MKKM-MR": ("mkkm-mr", {}),
    "MKC-DNM": ("mkc-dnm", {}),
    "MKC-DNM exact": ("mkc-dnm", {"solver": "exact"}),
}
NAMES = ("acc", "nmi", "ari")


def scores(embedding: np.ndarray, views: MultiView, k: int, seeds: int) -> list[float]:
    """Return ACC, NMI and ARI in percent, averaged over seeds of k-means."""
    found = [
        metrics.evaluate(views.labels, kmeans_labels(embedding, k, random_state=seed))
        for seed in range(seeds)
    ]
    return [100 * float(np.mean([each[name] for each in found])) for name in NAMES]


def published(views: MultiView, k: int, seeds: int) -> dict[str, object]:
    """Return scores and CPU seconds of graph fusion and of MKC-DNM."""
    found: dict[str, object] = {"views": views.n_views, "k": k}
    for method, parameters in COMPARED.items():
        began = time.process_time()
        model = cluster(views, k, method=method, parameters=parameters, random_state=0)
        found[f"{method} seconds"] = time.process_time() - began
        found[method] = scores(model.embedding_, views, k, seeds)
    return found


def kernels(views: MultiView, k: int, seeds: int) -> dict[str, object]:
    """Return scores of graph fusion and of four methods on kernels of five families."""
    began = time.process_time()
    model = cluster(views, k, random_state=0)
    found: dict[str, object] = {"seconds": time.process_time() - began}
    found["graph-fusion"] = scores(model.embedding_, views, k, seeds)
    for family in ("precomputed",) if views.kernels else FAMILIES:
        bank = KernelBank(views, KernelRecipe(family, indefinite="shift"))
        bank._keep = True
        for way, (method, settings) in WAYS.items():
            fitted = METHODS[method](k, random_state=0, **settings).fit_kernels(bank)
            found[f"{family}, {way}"] = scores(fitted.embedding_, views, k, seeds)
    return found


def altered(views: MultiView, k: int) -> dict[str, MultiView]:
    """Return the views with others added."""
    rng = np.random.default_rng(0)
    n, own = len(views), list(views.views)
    narrow, wide = rng.standard_normal((n, 100)), rng.standard_normal((n, 1000))
    apart = 5 * rng.standard_normal((k, 20))[rng.integers(0, k, n)] + rng.standard_normal((n, 20))
    return {
        "nothing": views,
        "one view of noise": MultiView([*own, narrow]),
        "two views of noise": MultiView([*own, narrow, wide]),
        "a view with other clusters": MultiView([*own, apart]),
        "all views three times": MultiView([view.copy() for view in own * 3]),
        "all views three times, two with noise": MultiView(
            [*own, *(with_noise(view, rng) for view in own * 2)]
        ),
        "the last view three times, two with noise": MultiView(
            [*own, *(with_noise(own[-1], rng) for _ in range(2))]
        ),
        "all views three times, entries of two scaled": MultiView(
            [*own, *(scaled(view, rng) for view in own * 2)]
        ),
    }


def with_noise(view: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add noise of a tenth of the standard deviation of each column."""
    X = view.toarray() if sp.issparse(view) else np.asarray(view, dtype=float)
    return X + 0.1 * X.std(axis=0) * rng.standard_normal(X.shape)


def scaled(view: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scale every entry by about a tenth; zeros stay zero."""
    X = view.toarray() if sp.issparse(view) else np.asarray(view, dtype=float)
    return X * np.exp(0.1 * rng.standard_normal(X.shape))


def robustness(views: MultiView, k: int, seeds: int) -> dict[str, object] | None:
    """Return scores of graph fusion with added views; None for kernels."""
    if views.kernels:
        return None
    cases = altered(views, k).items()
    return {
        name: scores(cluster(case, k, random_state=0).embedding_, views, k, seeds)
        for name, case in cases
    }


def published_table(rows: list[dict]) -> str:
    lines = [f"| set | n | views | k | {' | '.join(COMPARED)} |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [f"{row[method][0]:.1f} / {row[method][1]:.1f}" for method in COMPARED]
        size = [short(row["set"]), row["n"], row["views"], row["k"]]
        lines.append(f"| {' | '.join(map(str, [*size, *cells]))} |")
    means = [np.mean([row[method] for row in rows], axis=0) for method in COMPARED]
    cells = " | ".join(f"{mean[0]:.1f} / {mean[1]:.1f}" for mean in means)
    lines += [f"| mean of {len(rows)} | | | | {cells} |", ""]
    times = " | ".join(f"{method}, CPU s" for method in COMPARED)
    lines += [f"| set | n | views | k | {times} | ratio |", "|---|---|---|---|---|---|---|"]
    ratios = []
    for row in rows:
        ours, theirs = (row[f"{method} seconds"] for method in COMPARED)
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


def kernels_table(rows: list[dict]) -> str:
    whole = [row for row in rows if len(row) == max(map(len, rows))]
    names = [name for name in whole[0] if name not in ("set", "n", "seconds")]
    values = {name: np.array([row[name] for row in whole]) for name in names}
    best = np.max([values[name][:, 0] for name in names if name != "graph-fusion"], axis=0)
    lines = ["| method | ACC | NMI | ARI |", "|---|---|---|---|"]
    for name in sorted(names, key=lambda name: -values[name][:, 0].mean()):
        cells = " | ".join(f"{value:.1f}" for value in values[name].mean(axis=0))
        lines.append(f"| {name} | {cells} |")
    lines += [f"| best per set, chosen with labels | {best.mean():.1f} | | |", ""]
    second = max(
        (n for n in names if n != "graph-fusion"), key=lambda name: values[name][:, 0].mean()
    )
    ours = values["graph-fusion"][:, 0]
    p = wilcoxon(ours, values[second][:, 0]).pvalue
    lines.append(f"Means over {len(whole)} sets; against {second}: Wilcoxon p = {p:.4f}.")
    lines += ["", "| set | n | graph fusion | best of the others |", "|---|---|---|---|"]
    for row, top in zip(whole, best, strict=True):
        lines.append(
            f"| {short(row['set'])} | {row['n']} | {row['graph-fusion'][0]:.1f} | {top:.1f} |"
        )
    return "\n".join(lines)


TABLES = {
    "published": (published, published_table),
    "kernels": (kernels, kernels_table),
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
