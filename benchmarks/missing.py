"""Measure graph fusion on missing samples and on NaN cells: the tables of docs/missing.md.

    MKCLUST_DATA=folder python benchmarks/missing.py [--imml PYTHON] [--no-page] [sets]

Missing samples: 10, 30 and 50 % of all (sample, view) cells are removed at random, so that each
sample keeps at least one view. NaN cells: 1, 5 and 20 % of the entries of every view are removed at
random. Every setting is repeated with three seeds. `--imml` is the Python of an environment with
imml, which runs in its own process; without it its columns are empty. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import missing_rows
import numpy as np
from missing_rows import presence, scored
from pages import fill
from sets import load

from mkclust import GraphFusion, MultiView, datasets, read
from mkclust.exceptions import InputError

PAGE = Path(__file__).parent.parent / "docs" / "missing.md"
SEEDS = (0, 1, 2)
ROWS = (0.1, 0.3, 0.5)  # shares of missing samples
CELLS = (0.01, 0.05, 0.2)  # shares of NaN cells
FILLINGS = ("median", "knn")
missing_rows.PEERS = ("NEMO",)


def breast_cancer():
    """Return the patients that all three tables have, with their subtypes."""
    folder = Path(os.environ["MKCLUST_DATA"])
    views = read(folder / "tcga-brca", labels=False)
    subtypes = dict(
        line.split(",") for line in (folder / "tcga-brca-subtypes" / "subtype.csv").read_text()
        .split()[1:]
    )  # fmt: skip
    whole = views[np.flatnonzero(views.present.all(axis=1))]
    return MultiView(whole, labels=[subtypes[name] for name in whole.index])


SETS = {
    "Mfeat": lambda: datasets.load_mfeat()[::2],
    "BBCSport": lambda: load("bbcsport_2view", 10_000),
    "MSRC-v1": lambda: load("MSRC-v1", 10_000),
    "breast cancer": breast_cancer,
}


def arrays_of(views):
    """Return the views as dense arrays, without constant columns."""
    found = [np.asarray(v.toarray() if hasattr(v, "toarray") else v, float) for v in views.views]
    return [X[:, X.std(axis=0) > 0] for X in found]


def fitted(views, k, **settings):
    return GraphFusion(k, random_state=0, **settings).fit(views)


def as_they_are(arrays, present, k):
    return fitted(MultiView(arrays, present=present), k).labels_


def mean_filling(arrays, present, k):
    pairs = zip(arrays, present.T, strict=True)
    return fitted([np.where(h[:, None], X, X[h].mean(axis=0)) for X, h in pairs], k).labels_


def complete_cases(arrays, present, k):
    """Fit the samples that all views have, and predict the others."""
    views, whole = MultiView(arrays, present=present), present.all(axis=1)
    if whole.sum() <= 2 * k:
        raise InputError(f"{whole.sum()} complete samples for {k} clusters")
    model = fitted(views[np.flatnonzero(whole)], k)
    labels = np.empty(len(views), dtype=int)
    labels[whole] = model.labels_
    labels[~whole] = model.predict(views[np.flatnonzero(~whole)])
    return labels


METHODS = {
    "graph fusion": as_they_are, "mean filling": mean_filling, "complete cases": complete_cases
}  # fmt: skip
PEERS = {"NEMO": 0, "NEMO, scaled columns": 1}


def scores_of_rows(arrays, classes, python):
    """Return scores by method, share and seed; a refusal is None."""
    n, m, k = len(classes), len(arrays), len(np.unique(classes))
    masks = {(s, seed): presence(n, m, s, seed) for s in ROWS for seed in SEEDS}
    masks[0.0, 0] = np.ones((n, m), dtype=bool)
    found = {}
    for key, present in masks.items():
        for name, method in METHODS.items() if key[0] else [("graph fusion", as_they_are)]:
            try:
                found[name, *key] = scored(classes, method(arrays, present, k))
            except InputError:
                found[name, *key] = None
    if python:
        named = {f"{share}|{seed}": present for (share, seed), present in masks.items()}
        for name, scaled in PEERS.items():
            given = [(X - X.mean(axis=0)) / X.std(axis=0) for X in arrays] if scaled else arrays
            for key, score in missing_rows.peers(python, given, named, classes):
                share, seed, _ = key.split("|")
                found[name, float(share), int(seed)] = None if "error" in score else score
    return found


def scores_of_cells(arrays, classes):
    """Return scores by imputation, share and seed."""
    k, found = len(np.unique(classes)), {}
    found["complete", 0.0, 0] = scored(classes, fitted(arrays, k).labels_)
    for share in CELLS:
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            gappy = [np.where(rng.random(X.shape) < share, np.nan, X) for X in arrays]
            for name in FILLINGS:
                found[name, share, seed] = scored(classes, fitted(gappy, k, missing=name).labels_)
    return found


def cell(found, name, share):
    """Return mean ACC / NMI in percent over the seeds; a dash where there is no result."""
    seeds = SEEDS if share else (0,)
    scores = [found.get((name, share, seed)) for seed in seeds]
    if any(score is None for score in scores):
        return "–"
    means = [np.mean([score[s] for score in scores]) for s in ("acc", "nmi")]
    return " / ".join(f"{100 * mean:.1f}" for mean in means)


def table(found, shares, columns, what, reference):
    """Yield the lines of a table: a row for every data set and share."""
    yield f"| data | {what} | " + " | ".join(columns) + " |"
    yield "|---|---|" + "---|" * len(columns)
    for title, scores in found.items():
        whole = [cell(scores, reference.get(name, name), 0.0) for name in columns]
        yield f"| {title} | none | " + " | ".join(whole) + " |"
        for share in shares:
            cells = [cell(scores, name, share) for name in columns]
            yield f"|  | {100 * share:.0f} % | " + " | ".join(cells) + " |"


def measured(names, python):
    rows, cells = {}, {}
    for name in names:
        views = SETS[name]()
        arrays, classes = arrays_of(views), np.unique(views.labels, return_inverse=True)[1]
        n, k = len(classes), len(np.unique(classes))
        title = f"{name} ({n} × {len(arrays)}, k = {k})"
        rows[title] = scores_of_rows(arrays, classes, python)
        cells[title] = scores_of_cells(arrays, classes)
        print(title, f"done after {_seconds():.0f} s of CPU time", flush=True)
    columns = [*METHODS, *PEERS]
    same = dict.fromkeys(METHODS, "graph fusion")
    yield "rows", list(table(rows, ROWS, columns, "missing", same))
    complete = dict.fromkeys(FILLINGS, "complete")
    yield "cells", list(table(cells, CELLS, FILLINGS, "NaN cells", complete))


def _seconds():
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--imml", help="the Python of an environment with imml")
    parser.add_argument("--no-page", action="store_true", help="print the tables only")
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all of them by default")
    given = parser.parse_args()
    if "MKCLUST_DATA" not in os.environ:
        sys.exit("set MKCLUST_DATA to the folder of benchmark data sets")
    warnings.simplefilter("ignore")
    for part, lines in measured(given.sets or list(SETS), given.imml):
        print("\n".join(lines))
        if not given.no_page:
            fill(PAGE, part, lines)
