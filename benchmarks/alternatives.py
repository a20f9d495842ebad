"""Measure how many alternatives are found, how good the best one is, and the time it takes.

    MKCLUST_DATA=... python -m benchmarks.alternatives [--rows 2000] [--only NAME ...] [--page]

Every data set is clustered by graph fusion into its number of classes. `alternatives` is then
asked for other partitions. The classes are used only to score them. Time is CPU time, as a
multiple of the time of the fit. Of data sets with more than `--rows` samples a random sample is
used. `--page` fills the table of docs/research.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from mkclust import GraphFusion
from mkclust.exceptions import MkclustWarning
from mkclust.inspection import explain
from mkclust.metrics import accuracy

from .pages import fill_page
from .sets import SETS, load, short

HEAD = "| set | n | k | views | ACC | alternatives | best alternative | time / fit |"


def measured(name: str, rows: int) -> tuple[str, float, float, float]:
    """Return a row of the table, both accuracies, and the time as a multiple of the fit."""
    views = load(name, rows)
    k = len(set(views.labels.tolist()))
    began = time.process_time()
    model = GraphFusion(k, random_state=0).fit(views)
    fit = time.process_time() - began
    began = time.process_time()
    found = explain(model, views).alternatives
    multiple = (time.process_time() - began) / fit
    own = accuracy(views.labels, model.labels_)
    scores = [accuracy(views.labels, other.labels) for other in found]
    best = max(scores, default=np.nan)
    shown = "–" if np.isnan(best) else f"{best:.3f}"
    row = (
        f"| {short(name)} | {len(views)} | {k} | {views.n_views} | {own:.3f} | {len(found)} | "
        f"{shown} | {multiple:.1f} |"
    )
    return row, own, max([own, *scores]), multiple


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--page", action="store_true", help="fill the table of docs/research.md")
    given = parser.parse_args()
    warnings.simplefilter("ignore", MkclustWarning)
    lines, numbers = [HEAD, "|---|" + "---|" * 7], []
    print(*lines, sep="\n")
    for name in given.only:
        row, *rest = measured(name, given.rows)
        print(row, flush=True)
        lines.append(row)
        numbers.append(rest)
    own, best, multiple = np.array(numbers).T
    end = (
        f"\nThe mean ACC of the answer is {own.mean():.3f}. If the answer is replaced by "
        "its best alternative in every set where that alternative has a higher ACC, the mean is "
        f"{best.mean():.3f}. The median of *time / fit* is {np.median(multiple):.1f}, and the "
        f"maximum is {multiple.max():.1f}."
    )
    print(end)
    if given.page:
        fill_page(Path(__file__).parents[1] / "docs" / "research.md", "alternatives", [*lines, end])


if __name__ == "__main__":
    main()
