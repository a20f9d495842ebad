"""Compare MKC-DNM on views that lack samples with deletion, mean imputation and imml.

    MKCLUST_DATA=folder python benchmarks/missing_rows.py [--imml PYTHON] [--store FILE]
                                                          [--no-page] [sets]

Of every data set, 10, 30 and 50 % of all (sample, view) cells are removed at random, three times,
so that each sample keeps at least one view. Scores are stored in FILE (JSON), and stored scores are
not computed again; the tables of docs/missing.md are filled from them. `--imml` is the Python of an
environment with imml, which runs in its own process; without it its columns are empty. Set
OMP_NUM_THREADS=1: one thread is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from pages import fill

from mkclust import MKCDNM, MultiView, datasets, metrics, read
from mkclust.agreement.common_rows import overlap_on_common_rows
from mkclust.agreement.overlap import overlap
from mkclust.data.missing import common_rows
from mkclust.exceptions import InputError
from mkclust.linalg.spectrum import Spectrum

PAGE = Path(__file__).parent.parent / "docs" / "missing.md"
SETS = {  # file, and the step between the rows used
    "Mfeat": (None, 2), "BBCSport": ("bbcsport_2view.mat", 1), "MSRC-v1": ("MSRC-v1.mat", 1),
    "100Leaves": ("100Leaves.mat", 2), "ORL": ("ORL_4views.mat", 1),
    "Reuters-1200": ("Reuters-1200.mat", 1), "BBC4views": ("BBC4views.mat", 1),
    "HW2sources": ("HW2sources.mat", 2),
}  # fmt: skip
SIMULATED = (  # n, k, share of missing cells, squared canonical correlation
    (300, 5, 0.3, 0.0), (300, 5, 0.3, 0.25), (300, 5, 0.3, 0.81), (300, 5, 0.3, 1.0),
    (300, 10, 0.5, 0.64), (100, 10, 0.5, 0.36), (100, 10, 0.5, 1.0), (2000, 10, 0.5, 0.64),
)  # fmt: skip
SHARES = (0.1, 0.3, 0.5)
SEEDS = (10, 11, 12)
PEERS = ("NEMO", "EEIMVC")  # of imml, at their defaults
PEER = """
import json, sys, warnings
import numpy as np
import imml.cluster
warnings.simplefilter("ignore")
path, k, *methods = sys.argv[1:]
with np.load(path) as file:
    arrays = {key: file[key] for key in file}
Xs = [arrays[key] for key in sorted(arrays) if key.startswith("view")]
for key in sorted(key for key in arrays if not key.startswith("view")):
    for name in methods:
        views = [np.where(held[:, None], X, np.nan) for X, held in zip(Xs, arrays[key].T)]
        try:
            model = getattr(imml.cluster, name)(n_clusters=int(k), random_state=0)
            found = {"labels": np.asarray(model.fit_predict(views)).tolist()}
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({"key": f"{key}|{name}"} | found), flush=True)
"""


def load(folder, name):
    """Return dense views with columns of unit variance, and the classes."""
    file, step = SETS[name]
    views = (datasets.load_mfeat() if file is None else read(Path(folder) / file))[::step]
    arrays = []
    for view in views.views:
        X = np.asarray(view.toarray() if hasattr(view, "toarray") else view, dtype=float)
        varied = X[:, X.std(axis=0) > 0]
        arrays.append((varied - varied.mean(axis=0)) / varied.std(axis=0))
    return arrays, np.unique(views.labels, return_inverse=True)[1]


def presence(n, m, share, seed):
    """Draw which of the n m cells are present; a sample keeps at least one view."""
    present = np.ones((n, m), dtype=bool)
    left = round(share * n * m)
    for cell in np.random.default_rng(seed).permutation(n * m):
        i, p = divmod(cell, m)
        if left and present[i].sum() > 1:
            present[i, p] = False
            left -= 1
    return present


def fitted(views, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MKCDNM(k, random_state=0).fit(views)


def scored(classes, labels):
    labels = np.asarray(labels)
    return {
        "acc": float(metrics.accuracy(classes, labels)), "nmi": float(metrics.nmi(classes, labels))
    }  # fmt: skip


def ours(arrays, present, classes, k):
    return scored(classes, fitted(MultiView(arrays, present=present), k).labels_)


def mean_imputation(arrays, present, classes, k):
    pairs = zip(arrays, present.T, strict=True)
    filled = [np.where(held[:, None], X, X[held].mean(axis=0)) for X, held in pairs]
    return scored(classes, fitted(filled, k).labels_)


def deletion(arrays, present, classes, k):
    """Return the scores of complete samples, and ACC with deleted samples counted as errors."""
    left = present.all(axis=1)
    if left.sum() <= 2 * k:
        return {"error": f"{left.sum()} complete samples for {k} clusters"}
    kept = scored(classes[left], fitted([X[left] for X in arrays], k).labels_)
    return {"acc": kept["acc"] * float(left.mean()), "acc_kept": kept["acc"], "nmi": kept["nmi"]}


METHODS = {"MKC-DNM": ours, "mean imputation": mean_imputation, "deletion": deletion}


def peers(python, arrays, masks, classes):
    """Yield the scores of all methods of imml on all masks, from one process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set.npz")
        np.savez(path, **{f"view{p:02}": X for p, X in enumerate(arrays)}, **masks)
        command = [python, "-c", PEER, str(path), str(len(np.unique(classes))), *PEERS]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if not line.startswith('{"key"'):
            continue
        found = json.loads(line)
        key, labels = found.pop("key"), found.pop("labels", None)
        yield key, found if labels is None else scored(classes, labels)


def measure(folder, names, python, store):
    """Compute the scores that are not in the store, and write each to it."""
    known = json.loads(store.read_text()) if store.exists() else {}

    def keep(key, found):
        known[key] = found
        print(key, found, flush=True)
        store.write_text(json.dumps(known, indent=1))

    for name in names:
        arrays, classes = load(folder, name)
        n, m, k = len(classes), len(arrays), len(np.unique(classes))
        masks = {f"{s}|{seed}": presence(n, m, s, seed) for s in SHARES for seed in SEEDS}
        if f"{name}|complete" not in known:
            whole = scored(classes, fitted(arrays, k).labels_)
            keep(f"{name}|complete", whole | {"n": n, "m": m, "k": k})
        for mask, present in masks.items():
            for method, answer in METHODS.items():
                key = f"{name}|{mask}|{method}"
                if key not in known:
                    keep(key, tried(answer, arrays, present, classes, k))
        if python and any(f"{name}|{mask}|{p}" not in known for mask in masks for p in PEERS):
            for key, found in peers(python, arrays, masks, classes):
                keep(f"{name}|{key}", found)
    return known


def tried(answer, arrays, present, classes, k):
    try:
        return answer(arrays, present, classes, k)
    except InputError as error:  # a refusal is a result
        return {"error": str(error)[:200]}


def cell(known, name, share, method, scores):
    """Return means over the seeds in percent; a dash where the method failed."""
    found = [known.get(f"{name}|{share}|{seed}|{method}", {"error": ""}) for seed in SEEDS]
    if any("error" in one for one in found):
        return "–"
    return " / ".join(f"{100 * np.mean([one[score] for one in found]):.1f}" for score in scores)


def table(known):
    yield (
        "| data | complete | missing | MKC-DNM | mean imputation | deletion | imml NEMO | "
        "imml EEIMVC |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    both = ("acc", "nmi")
    for name in SETS:
        whole = known.get(f"{name}|complete")
        if whole is None:
            continue
        first = [
            f"{name} ({whole['n']} × {whole['m']}, k = {whole['k']})",
            f"{100 * whole['acc']:.1f} / {100 * whole['nmi']:.1f}",
        ]
        for share in SHARES:
            cells = [
                *(first if share == SHARES[0] else ["", ""]),
                f"{100 * share:.0f} %",
                cell(known, name, share, "MKC-DNM", both),
                cell(known, name, share, "mean imputation", both),
                cell(known, name, share, "deletion", ("acc", "acc_kept")),
                *(cell(known, name, share, method, both) for method in PEERS),
            ]
            yield f"| {' | '.join(cells)} |"


def means(known):
    """Yield averages over the data sets where no method failed, by share of missing cells."""
    columns = ["MKC-DNM", "mean imputation", *PEERS]
    yield "| missing | sets | " + " | ".join(columns) + " |"
    yield "|---|---|" + "---|" * len(columns)
    for share in SHARES:
        answered = {
            name: [cell(known, name, share, method, ("acc", "nmi")) for method in columns]
            for name in SETS
        }
        rows = [cells for cells in answered.values() if "–" not in cells]
        if rows:
            numbers = np.array([[[*map(float, c.split(" / "))] for c in row] for row in rows])
            shown = [f"{acc:.1f} / {nmi:.1f}" for acc, nmi in numbers.mean(axis=0)]
            yield f"| {100 * share:.0f} % | {len(rows)} | {' | '.join(shown)} |"


def simulation(draws=200):
    """Yield the agreement of two views of known canonical correlation, estimated in three ways."""
    yield "| n, k, missing | ρ² | complete data | scaled product | orthonormal on common rows |"
    yield "|---|---|---|---|---|"
    rng = np.random.default_rng(0)
    for n, k, share, squared in SIMULATED:
        found = np.array([_three_ways(rng, n, k, share, np.sqrt(squared)) for _ in range(draws)])
        errors = found.std(axis=0) / np.sqrt(draws)
        middle = found.mean(axis=0).round(3) + 0.0  # no -0.000
        cells = [f"{a:.3f} ± {e:.4f}" for a, e in zip(middle, errors, strict=True)]
        yield f"| {n}, {k}, {100 * share:.0f} % | {squared:g} | {' | '.join(cells)} |"


def _three_ways(rng, n, k, share, rho):
    X = rng.standard_normal((n, k))
    views = X, rho * X + np.sqrt(1 - rho**2) * rng.standard_normal((n, k))
    present = rng.random((n, 2)) >= share
    full = [Spectrum(np.linalg.qr(view)[0], np.ones(k), True) for view in views]
    some = [
        Spectrum(np.linalg.qr(view[held])[0], np.ones(k), True).padded(held)
        for view, held in zip(views, present.T, strict=True)
    ]
    (own, common), (_, other) = common_rows(present)
    product = np.sum((some[0].vectors.T @ some[1].vectors) ** 2) * own * other / common**2
    return (
        overlap(full).agreement(k)[0, 1],
        (product - k * k / common) / (k - k * k / common),
        overlap_on_common_rows(some, present, k).agreement(k)[0, 1],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--imml", help="the Python of an environment with imml")
    parser.add_argument("--store", type=Path, default=Path("missing_rows.json"))
    parser.add_argument("--no-page", action="store_true", help="print the tables only")
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all of them by default")
    given = parser.parse_args()
    if "MKCLUST_DATA" not in os.environ:
        sys.exit("set MKCLUST_DATA to the folder of benchmark data sets")
    chosen = given.sets or list(SETS)
    scores = measure(os.environ["MKCLUST_DATA"], chosen, given.imml, given.store)
    parts = {"table": table(scores), "means": means(scores)}
    if given.no_page:
        print("\n".join(line for lines in parts.values() for line in lines))
    else:
        for part, lines in {"simulation": simulation(), **parts}.items():
            fill(PAGE, part, list(lines))
