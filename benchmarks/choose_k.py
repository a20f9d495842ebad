"""How many clusters: choose_k beside eigengap and silhouette, on every benchmark data set.

    MKCLUST_DATA=... python benchmarks/choose_k.py [--rows 4500] [--only NAME ...] [--out FILE]
                                                   [--recipe published]

Candidates are 2 to max(12, 1.5 k): every number up to 30, then every fifth. Sets of more than
`--rows` samples are cut to that many, by a seeded draw. Three splits into halves each. Rows
already in the file are kept. The table of docs/how-many-clusters.md is of the published recipe.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sets import SETS, load, short
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, silhouette_score

from mkclust import MultiView, choose_k
from mkclust.dual_noise.estimator import RECIPES
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.scaling import standardised

SPLITS = 3  # for each of up to 53 candidates


def candidates(true: int) -> list[int]:
    most = max(12, int(np.ceil(1.5 * true)))
    return [*range(2, min(most, 30) + 1), *range(35, most + 1, 5)]


def recipe(views: MultiView, center: bool) -> KernelRecipe:
    kernel = "precomputed" if views.kernels else "gaussian"
    return KernelRecipe(kernel, center=center, indefinite="shift")


def eigengap(views: MultiView, ks: list[int]) -> int:
    """Largest gap of the normalised Laplacian of the mean kernel, not centred."""
    A = sum(KernelBank(views, recipe(views, center=False)))
    A = np.maximum(A, 0.0)
    scale = 1 / np.sqrt(A.sum(axis=0))
    A *= scale[:, None] * scale
    most = min(max(ks) + 1, len(A) - 1)
    values = np.sort(eigsh(A, most, which="LA", return_eigenvectors=False))[::-1]
    return max(ks, key=lambda k: values[k - 1] - values[k] if k < len(values) else -1.0)


def silhouette(views: MultiView, ks: list[int]) -> int:
    """Best silhouette of k-means on all views side by side, columns z-scored."""
    X = concatenated(views)
    distances = pairwise_distances(X)
    scores = {}
    for k in ks:
        labels = KMeans(k, n_init=3, random_state=0).fit(X).labels_
        scores[k] = silhouette_score(distances, labels, metric="precomputed")
    return max(scores, key=lambda k: scores[k])


def concatenated(views: MultiView) -> np.ndarray:
    """Coordinates with the distances of the concatenation, in at most n columns."""
    if views.kernels:
        G = sum(KernelBank(views, recipe(views, center=True)))
    else:
        tables = [standardised(view) for view in views.views]
        dense = [table.toarray() if sp.issparse(table) else np.asarray(table) for table in tables]
        if sum(table.shape[1] for table in dense) <= len(views):
            return np.hstack(dense)
        G = sum(table @ table.T for table in dense)
    values, V = scipy.linalg.eigh(G)
    kept = values > 1e-10 * values[-1]
    return np.asarray(V[:, kept] * np.sqrt(values[kept]))


def measured(name: str, rows: int, asked: str) -> dict[str, object]:
    views = load(name, rows)
    true = len(set(views.labels.tolist()))
    ks = [k for k in candidates(true) if k <= len(views) // 2]
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose_k(views, ks, n_splits=SPLITS, recipe=asked, indefinite="shift")
        seconds = time.process_time() - began
        others = {"eigengap": eigengap(views, ks), "silhouette": silhouette(views, ks)}
    row = next(row for row in found.table if row.k == found.k)
    at = {
        rule: max(found.table, key=lambda row: getattr(row, rule)).k
        for rule in ("stability", "information", "separation", "gap")
    }
    return {
        "set": name, "n": len(views), "true": true, "most": max(ks), "answer": found.k,
        "second": found.second, "margin": found.margin, "certainty": found.certainty,
        "stability": row.stability, "words": str(found), "seconds": seconds, "alone": at, **others,
    }  # fmt: skip


def table(rows: list[dict]) -> str:
    rules = ("answer", "eigengap", "silhouette")
    lines = [
        "| set | n | true k | tried to | choose_k | next | margin | halves' ARI | eigengap "
        "| silhouette | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        marked = [f"**{row[rule]}**" if row[rule] == row["true"] else row[rule] for rule in rules]
        lines.append(
            f"| {short(row['set'])} | {row['n']} | {row['true']} | {row['most']} | {marked[0]} "
            f"| {row['second']} | {100 * row['margin']:.0f} % | {row['stability']:.2f} "
            f"| {marked[1]} | {marked[2]} | {row['seconds']:.1f} |"
        )
    lines.append("")
    halves = {"all sets": rows, "even places": [], "odd places": []}
    for row in rows:
        place = SETS.index(row["set"]) + 1
        halves["odd places" if place % 2 else "even places"].append(row)
    lines += ["| | sets | rule | exactly right | mean \\|log(answer / true)\\| |",
              "|---|---|---|---|---|"]  # fmt: skip
    for title, some in halves.items():
        for rule in rules if some else ():
            error = np.mean([abs(np.log(row[rule] / row["true"])) for row in some])
            right = sum(row[rule] == row["true"] for row in some)
            name = "choose_k" if rule == "answer" else rule
            lines.append(f"| {title} | {len(some)} | {name} | {right} | {error:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4500)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--recipe", choices=RECIPES, default="published")
    parser.add_argument("--out", type=Path, help="one for each recipe; choose_k-RECIPE.jsonl")
    given = parser.parse_args()
    given.out = given.out or Path(f"choose_k-{given.recipe}.jsonl")
    kept = given.out.read_text().splitlines() if given.out.exists() else []
    rows = {row["set"]: row for row in map(json.loads, kept)}
    for name in given.only:
        if name not in rows:
            rows[name] = measured(name, given.rows, given.recipe)
            with given.out.open("a") as file:
                file.write(json.dumps(rows[name]) + "\n")
            print(name, rows[name]["true"], rows[name]["words"], flush=True)
    print(table([rows[name] for name in SETS if name in rows]))


if __name__ == "__main__":
    main()
