"""How many clusters: choose_k beside other rules, on data sets, noise and planted clusters.

    MKCLUST_DATA=... python benchmarks/choose_k.py
        [--part sets unseen fresh noise planted other time] [--half decide confirm]
        [--unseen FOLDER] [--fresh FOLDER] [--earlier CHECKOUT] [--out FILE]

The rule was decided on all sets of `sets` and on half of `unseen`; the other half of `unseen` and
all of `fresh` confirmed it, once. Numbers tried are 2 to 20, labels only score, and sets of more
than 5000 samples are cut to 5000.

sets     The registered sets with at most 20 classes. For an earlier rule they were divided: in
         alphabetical order (case ignored) odd places decided, even places confirmed.
unseen   The sets of `unseen_sets.py` in the folder --unseen. In alphabetical order (case ignored)
         those at odd places decide, those at even places confirm (--half). This was fixed before
         anything was measured for the present rule; the answers of the earlier one were known.
fresh    The sets of `fresh_sets.py` in the folder --fresh: all confirm.
earlier  With --earlier, a worktree of commit 3cfc7da: the rule of that commit on the same sets.
noise    Pure noise and one planted cluster, 100 to 5000 samples, 2 to 6 views; further kinds of
         data without clusters that the null model does not describe exactly.
planted  Planted clusters whose ARI at the true number is above 0.9.
other    MKC-DNM and AKKM on a few sets.
time     CPU of choose_k as a multiple of one fit, on Mfeat and Hdigit (10 000 samples).

Rows already in the file are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from choose_k_tables import KINDS, Row, labelled_tables, set_tables, summaries
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from mkclust import AKKM, MKCDNM, GraphFusion, MultiView, choose_k, datasets, metrics
from mkclust.bench.registry import Dataset, registered
from mkclust.graph_fusion.diffusion_map import diffusion_map, n_components_for
from mkclust.inspection.choose_k import RANGE, checked_range
from mkclust.inspection.structure import modularity_of
from mkclust.linalg.kmeans import unit_rows

ROWS = 5000
RIVAL_ROWS = 1000  # for silhouette and gap statistic
REFERENCES = 5  # of the gap statistic
PARTS = ("sets", "unseen", "fresh", "noise", "planted", "other", "time")


def folder() -> Path:
    if not os.environ.get("MKCLUST_DATA"):
        raise SystemExit("set MKCLUST_DATA to the folder of benchmark data sets")
    return Path(os.environ["MKCLUST_DATA"])


def present() -> list[Dataset]:
    """Return the registered sets that are here, in alphabetical order."""
    groups = ("paper", "views", "kernels", "single")
    found = [s for s in registered().values() if s.group in groups and s.find(folder())]
    return sorted(found, key=lambda entry: entry.name.lower())


def halves() -> dict[str, str]:
    """Return the half of every set with at most 20 classes: odd places decide, even confirm."""
    names = [entry.name for entry in present() if entry.k <= RANGE[1]]
    return {name: ("decide", "confirm")[place % 2] for place, name in enumerate(names)}


def unseen_halves(sets: Path) -> dict[str, str]:
    """Return the half of every set of the folder: odd places decide, even confirm."""
    names = sorted((file.stem for file in sets.glob("*.npz")), key=str.lower)
    return {name: ("decide", "confirm")[place % 2] for place, name in enumerate(names)}


def load(entry: Dataset) -> MultiView:
    return cut(entry.load(folder()))


def cut(views: MultiView, rows: int = ROWS) -> MultiView:
    if len(views) <= rows:
        return views
    return views[np.sort(np.random.default_rng(0).choice(len(views), rows, replace=False))]


def earlier(checkout: Path, views: MultiView) -> Row:
    """Return the answer of an earlier commit's rule."""
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps((list(views.views), views.kernels)))
        file.flush()
        script = Path(__file__).with_name("earlier_k.py")
        run = subprocess.run([sys.executable, script, file.name], check=True, text=True,
                             env=os.environ | {"PYTHONPATH": f"{checkout / 'src'}"},
                             stdout=subprocess.PIPE)  # fmt: skip
    return json.loads(run.stdout)


def rivals(model: GraphFusion, views: MultiView) -> dict[str, int]:
    """Return the answers of other rules on the same fused graph and its embedding."""
    ks = checked_range("auto", len(views))
    scan = model.partitions(views, ks, 0, 3)
    mapped = diffusion_map(scan.graph, n_components_for(len(views), ks[-1]))
    embedding, values = mapped.embedding, mapped.eigenvalues
    Q = {k: modularity_of(scan, k) for k in ks}
    gaps = {k: values[k - 1] - values[k] for k in ks if k < len(values)}
    relative = {k: Q[k] * np.sqrt(max(gap, 0) / values[k - 1]) for k, gap in gaps.items()}
    rng = np.random.default_rng(0)
    some = np.sort(rng.permutation(len(views))[:RIVAL_ROWS])
    spaces = {k: unit_rows(embedding[some, : n_components_for(len(views), k)]) for k in ks}
    silhouettes = {k: silhouette_score(spaces[k], scan.labels[k][some]) for k in ks}
    return {
        "without null": max(relative, key=lambda k: relative[k]),
        "modularity alone": max(ks, key=lambda k: Q[k]),
        "eigengap": max(gaps, key=lambda k: gaps[k]),
        "silhouette": max(ks, key=lambda k: silhouettes[k]),
        "gap statistic": gap_statistic(unit_rows(embedding[some]), ks, rng),
    }


def gap_statistic(X: np.ndarray, ks: list[int], rng: np.random.Generator) -> int:
    """Return the first k with Gap(k) >= Gap(k+1) - s(k+1) (Tibshirani et al., 2001)."""
    centered = X - X.mean(axis=0)
    V = np.linalg.svd(centered, full_matrices=False)[2]
    turned = centered @ V.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    boxes = [rng.uniform(low, high, X.shape) for _ in range(REFERENCES)]

    def log_within(Y: np.ndarray, k: int) -> float:
        return float(np.log(KMeans(k, n_init=1, random_state=0).fit(Y).inertia_))

    gap, spread = [], []
    for k in [*ks, ks[-1] + 1]:
        drawn = [log_within(box, k) for box in boxes]
        gap.append(np.mean(drawn) - log_within(X, k))
        spread.append(np.std(drawn) * np.sqrt(1 + 1 / REFERENCES))
    for i, k in enumerate(ks):
        if gap[i] >= gap[i + 1] - spread[i + 1]:
            return k
    return ks[-1]


def row_of_set(entry: Dataset, checkout: Path | None) -> Row:
    views = load(entry)
    model = GraphFusion(2, precomputed=views.kernels)
    return {"set": entry.name, "n": len(views), "true": entry.k, **answers(model, views),
            **(earlier(checkout, views) if checkout else {})}  # fmt: skip


def answers(model: GraphFusion, views: MultiView) -> Row:
    """Return the answers of all rules, numbers 2 to 20."""
    began = time.process_time()
    choice = choose_k(model, views)
    found = {"seconds": time.process_time() - began, "choose_k": choice.k}
    found |= {"low": choice.low, "high": choice.high, "p": choice.p_value}
    return found | rivals(model, views)


def unseen_views(file: Path) -> MultiView:
    kept = np.load(file)
    tables = {name.removeprefix("view "): kept[name] for name in kept if name != "labels"}
    return MultiView(list(tables.values()), names=list(tables), labels=kept["labels"])


def labelled_rows(
    part: str, sets: Path, wanted: list[str], checkout: Path | None
) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Yield the tasks of the sets in a folder; those of `fresh` all confirm."""
    for name, half in unseen_halves(sets).items():
        half = "confirm" if part == "fresh" else half
        if half not in wanted:
            continue

        def row(name: str = name, half: str = half) -> Row:
            whole = unseen_views(sets / f"{name}.npz")
            views, true = cut(whole), len(np.unique(whole.labels))
            fitted = GraphFusion(true, random_state=0).fit(views)
            return {"set": name, "half": half, "n": len(whole), "true": true,
                    "views": len(views.views), "ari": metrics.ari(views.labels, fitted.labels_),
                    **answers(GraphFusion(2), views),
                    **(earlier(checkout, views) if checkout else {})}  # fmt: skip

        yield f"{part} {name}", row


def noise_views(kind: str, n: int, m: int, seed: int) -> MultiView:
    """Return views without clusters."""
    rng = np.random.default_rng(seed)
    if kind == "pure noise":
        return datasets.make_views(n, 2, 0, n_noise_views=m, random_state=seed)
    if kind == "one cluster":
        return datasets.make_views(n, 1, m, random_state=seed)
    if kind == "one long cluster":
        Z = rng.standard_normal((n, 3)) * [4, 2, 1]
        noise = (rng.standard_normal((n, 10)) for _ in range(m))
        return MultiView([Z @ rng.standard_normal((3, 10)) + E for E in noise])
    if kind == "yes/no":
        return MultiView([(rng.random((n, 12)) < 0.4).astype(float) for _ in range(m)])
    if kind == "uniform":
        return MultiView([rng.random((n, 5)) for _ in range(m)])
    return MultiView([np.exp(0.7 * rng.standard_normal((n, 10))) for _ in range(m)])


SIZES = (100, 200, 500, 2000, 5000)


def noise_rows() -> Iterator[tuple[str, Callable[[], Row]]]:
    for kind, draws in KINDS.items():
        for seed in range(draws):
            n, m = SIZES[seed % len(SIZES)], 2 + seed // 5 % 5

            def row(kind: str = kind, n: int = n, m: int = m, seed: int = seed) -> Row:
                found = choose_k(GraphFusion(2), noise_views(kind, n, m, seed), random_state=seed)
                return {"kind": kind, "n": n, "answer": found.k, "p": found.p_value}

            yield f"noise {kind} {seed}", row


def planted_rows() -> Iterator[tuple[str, Callable[[], Row]]]:
    for true in (3, 5, 8):
        for seed in range(20):
            n, m, level = SIZES[seed % 5], 2 + seed % 5, (0.5, 1.0, 1.5, 1.8)[seed % 4]

            def row(
                true: int = true, n: int = n, m: int = m, level: float = level, seed: int = seed
            ) -> Row:
                views = datasets.make_views(n, true, m, noise=level, random_state=seed)
                fitted = GraphFusion(true, random_state=0).fit(views)
                found = choose_k(GraphFusion(2), views, random_state=seed)
                return {"true": true, "n": n, "answer": found.k, "p": found.p_value,
                        "ari": metrics.ari(views.labels, fitted.labels_)}  # fmt: skip

            yield f"planted {true} {seed}", row


def other_rows() -> Iterator[tuple[str, Callable[[], Row]]]:
    for name in ("BBCSport", "MSRC-v1", "YALE", "Cornell", "CUB", "20NewsGroups"):
        for method in (MKCDNM, AKKM):

            def row(name: str = name, method: Any = method) -> Row:
                entry = registered()[name]
                views = entry.load(folder())
                kernel = {"kernel": "precomputed", "indefinite": "shift"} if views.kernels else {}
                began = time.process_time()
                found = choose_k(method(2, **kernel), views)
                seconds = time.process_time() - began
                return {"set": name, "method": method.name, "true": entry.k, "answer": found.k,
                        "low": found.low, "high": found.high, "seconds": seconds}  # fmt: skip

            yield f"other {name} {method.name}", row


def time_row(views: MultiView) -> Row:
    """Return the least CPU time of three fits and three choices, in turns."""
    times: Row = {}
    for _ in range(3):
        for name, call in {
            "fit": lambda: GraphFusion(10, random_state=0).fit(views),
            "choose_k": lambda: choose_k(GraphFusion(2), views),
        }.items():
            began = time.process_time()
            call()
            times[name] = min(times.get(name, np.inf), time.process_time() - began)
    return {**times, "ratio": times["choose_k"] / times["fit"]}


def set_rows(wanted: list[str], checkout: Path | None) -> Iterator[tuple[str, Callable[[], Row]]]:
    half = halves()
    for entry in present():
        if half.get(entry.name) in wanted and entry.n <= 2 * ROWS:
            yield f"set {entry.name}", lambda entry=entry: row_of_set(entry, checkout)


def tasks(given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    parts = given.part
    if "time" in parts:
        yield "time Mfeat", lambda: time_row(datasets.load_mfeat())
        yield "time Hdigit", lambda: time_row(registered()["Hdigit"].load(folder()))
    yield from set_rows(given.half, given.earlier) if "sets" in parts else ()
    for part, sets in {"unseen": given.unseen, "fresh": given.fresh}.items():
        yield from labelled_rows(part, sets, given.half, given.earlier) if part in parts else ()
    yield from noise_rows() if "noise" in parts else ()
    yield from planted_rows() if "planted" in parts else ()
    yield from other_rows() if "other" in parts else ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--half", nargs="+", choices=("decide", "confirm"),
                        default=["decide", "confirm"])  # fmt: skip
    parser.add_argument("--unseen", type=Path, default=Path("unseen"))
    parser.add_argument("--fresh", type=Path, default=Path("fresh"))
    parser.add_argument("--earlier", type=Path)
    parser.add_argument("--out", type=Path, default=Path("choose_k.jsonl"))
    given = parser.parse_args()
    kept = given.out.read_text().splitlines() if given.out.exists() else []
    rows = {row.pop("task"): row for row in map(json.loads, kept)}
    warnings.simplefilter("ignore")
    for name, measure in tasks(given):
        if name not in rows:
            rows[name] = measure()
            with given.out.open("a") as file:
                file.write(json.dumps({"task": name, **rows[name]}) + "\n")
            print(name, rows[name], flush=True)
    if some := [row for name, row in rows.items() if name.startswith("set ")]:
        print(set_tables(some, halves()), end="\n\n")
    groups: dict[str, list[Row]] = {}
    for name, row in rows.items():
        if "half" in row:
            groups.setdefault(f"{name.split()[0]}, {row['half']}", []).append(row)
    if groups:
        print(labelled_tables(groups), end="\n\n")
    print(summaries(rows))


if __name__ == "__main__":
    main()
