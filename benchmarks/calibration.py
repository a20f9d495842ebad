"""Calibration of the confidence: compare it with the known classes of the benchmark data sets.

    MKCLUST_DATA=folder python -m benchmarks.calibration sets      table of all sets, and the curve
    MKCLUST_DATA=folder python -m benchmarks.calibration methods   table of methods and cases
    MKCLUST_DATA=folder python -m benchmarks.calibration fit       choose the constants

A sample counts as right if its class is the largest class of its cluster. The expected
calibration error (ECE) of a data set is the mean over ten bins of the confidence, weighted by
their samples, of |share that is right - mean confidence|. The constants of
mkclust.linalg.membership were chosen by `fit` on the sets in odd places of the alphabet; the sets
in even places confirm them. Tables go into docs/research.md unless --no-page is given.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mkclust import METHODS, MultiView, read
from mkclust.exceptions import MkclustWarning
from mkclust.linalg.membership import membership

from .pages import fill_page
from .sets import SETS, load, short

DOCS = Path(__file__).parents[1] / "docs"
BRCA = "tcga-brca"
NAMES = sorted([*SETS, BRCA], key=str.lower)
BINS = 10
ROWS, FEWER = 3000, 1000  # samples drawn of larger sets, for the first table and for the others
COMPARED = ("mkc-dnm", "akkm", "mkkm", "lfmkc", "onkc")
LACKING = 0.3  # share of the entries of the presence mask that are removed


@dataclass(frozen=True)
class Case:
    """Confidence (n,) of the samples of one set, and which are in the largest class."""

    name: str
    k: int
    confidence: np.ndarray
    right: np.ndarray

    @property
    def ece(self) -> float:
        return sum(
            rows.mean() * abs(self.right[rows].mean() - self.confidence[rows].mean())
            for rows in self.bins()
            if rows.any()
        )

    def bins(self) -> list[np.ndarray]:
        place = np.minimum((BINS * self.confidence).astype(int), BINS - 1)
        return [place == b for b in range(BINS)]


def views_of(name: str, rows: int) -> MultiView:
    if name != BRCA:
        return load(name, rows)
    folder = Path(os.environ["MKCLUST_DATA"])
    views = read(folder / BRCA)
    table = (folder / f"{BRCA}-subtypes" / "subtype.csv").read_text().split()
    subtype = dict(line.split(",") for line in table)
    return MultiView(views, labels=[subtype[patient] for patient in views.index])


def in_largest_class(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    codes = np.unique(classes, return_inverse=True)[1]
    table = np.zeros((labels.max() + 1, codes.max() + 1))
    np.add.at(table, (labels, codes), 1)
    return table.argmax(axis=1)[labels] == codes


def case(name: str, rows: int, method: str = "graph-fusion", kind: str = "fit") -> Case:
    """Return the confidence of a fit, of a fit with missing samples, or of held-out samples."""
    views = views_of(name, rows)
    classes = np.asarray(views.labels).astype(str)
    model = METHODS[method](len(np.unique(classes)), random_state=0)
    if kind == "missing":
        model.fit(lacking(views))
    if kind == "held out":
        fitted, rest = np.array_split(np.random.default_rng(0).permutation(len(views)), 2)
        P = model.fit(views[np.sort(fitted)]).predict_proba(views[rest])
        classes, labels, confidence = classes[rest], P.argmax(axis=1), P.max(axis=1)
    else:
        if kind == "fit":
            model.fit(views)
        labels, confidence = model.labels_, model.confidence_
    return Case(name, model.n_clusters, confidence, in_largest_class(classes, labels))


def lacking(views: MultiView) -> MultiView:
    """Return the views without a random 30 % of the samples of each; no sample loses all."""
    held = np.ones((len(views), views.n_views), bool) if views.present is None else views.present
    present = held & (np.random.default_rng(0).random(held.shape) > LACKING)
    gone = ~present.any(axis=1)
    present[gone] = held[gone]
    return MultiView(views, present=present)


def halves(cases: list[Case]) -> tuple[float, float, float]:
    """Return the mean ECE of the sets in odd places, in even places, and of all."""
    found = {found.name: found.ece for found in cases}
    odd, even = ([found[n] for n in NAMES[start::2] if n in found] for start in (0, 1))
    return tuple(float(np.mean(part)) if part else np.nan for part in (odd, even, [*odd, *even]))


def sets_table(cases: list[Case]) -> Iterator[str]:
    yield "| set | samples | k | half | in the largest class | mean confidence | ECE |"
    yield "|---|--:|--:|---|--:|--:|--:|"
    for found in cases:
        half = "tuning" if NAMES.index(found.name) % 2 == 0 else "test"
        yield (
            f"| {short(found.name)} | {len(found.right)} | {found.k} | {half} | "
            f"{found.right.mean():.3f} | {found.confidence.mean():.3f} | {found.ece:.3f} |"
        )
    odd, even, both = halves(cases)
    yield f"| **mean** of the tuning sets | | | | | | **{odd:.3f}** |"
    yield f"| **mean** of the test sets | | | | | | **{even:.3f}** |"
    yield f"| **mean** of all | | | | | | **{both:.3f}** |"


def methods_table(only: list[str]) -> Iterator[str]:
    yield "| method | case | sets | ECE, tuning sets | ECE, test sets | ECE, all |"
    yield "|---|---|--:|--:|--:|--:|"
    kinds = [("graph-fusion", "fit"), ("graph-fusion", "missing"), ("graph-fusion", "held out")]
    kinds += [("mkc-dnm", "fit"), ("mkc-dnm", "missing"), ("mkc-dnm", "held out")]
    kinds += [(method, "fit") for method in COMPARED[1:]]
    words = {
        "fit": "none missing", "missing": "30 % missing in each view", "held out": "predicted half",
    }  # fmt: skip
    for method, kind in kinds:
        cases = []
        for name in only:
            several = kind != "missing" or views_of(name, FEWER).n_views > 1
            try:
                cases += [case(name, FEWER, method, kind)] if several else []
            except ValueError as error:
                print(f"{method}, {kind}, {name}: {error}")
        odd, even, both = halves(cases)
        line = f"| {METHODS[method].title} | {words[kind]} | {len(cases)} | "
        line += f"{odd:.3f} | {even:.3f} | {both:.3f} |"
        print(line, flush=True)
        yield line


def fit_constants(only: list[str]) -> None:
    """Print the mean ECE of the sets in odd places for a grid of constants."""
    for method, sharpnesses in (
        ("graph-fusion", (0.8, 1.0, 1.2, 1.4)),
        ("mkc-dnm", (0.25, 0.35, 0.45)),
    ):
        fits = []
        for name in [name for name in NAMES[::2] if name in only]:
            views = views_of(name, FEWER)
            k = len(np.unique(views.labels))
            fits.append((name, views, METHODS[method](k, random_state=0).fit(views)))
        for few in (0.0, 2.0, 4.0, 8.0):
            for sharpness in sharpnesses:
                cases = []
                for name, views, model in fits:
                    n, k = len(views), model.n_clusters
                    root = 1 if method == "graph-fusion" else np.sqrt(k)
                    scale = model.inertia_ / n * (1 + few * k / n) / (sharpness * root)
                    P = membership(model.embedding_, model.cluster_centers_, scale)
                    right = in_largest_class(np.asarray(views.labels).astype(str), model.labels_)
                    cases.append(Case(name, k, P.max(axis=1), right))
                print(f"{method} sharpness {sharpness} few {few}: {halves(cases)[0]:.4f}")


def draw(cases: list[Case], path: Path) -> None:
    """Draw the share that is right against the confidence; every set has the same weight."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    confidence = np.concatenate([found.confidence for found in cases])
    right = np.concatenate([found.right for found in cases])
    weight = np.concatenate([np.full(len(f.right), 1 / len(f.right)) for f in cases])
    every = Case("all", 0, confidence, right)
    held = [rows for rows in every.bins() if rows.any()]
    x, y, share = np.array([
        [np.average(confidence[rows], weights=weight[rows]),
         np.average(right[rows], weights=weight[rows]), weight[rows].sum() / len(cases)]
        for rows in held
    ]).T  # fmt: skip
    figure, axes = pyplot.subplots(figsize=(4.2, 4), dpi=100, layout="constrained")
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="calibrated")
    axes.plot(x, y, color="#332288", marker="o", label=f"graph fusion, {len(cases)} data sets")
    axes.bar(x, share, width=0.06, color="#88CCEE", zorder=0, label="share of the samples")
    axes.set(xlabel="confidence", ylabel="share in the largest class of its cluster",
             xlim=(0, 1), ylim=(0, 1))  # fmt: skip
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sets", "methods", "fit"])
    parser.add_argument("--only", nargs="+", default=NAMES, metavar="SET")
    parser.add_argument("--no-page", action="store_true", help="print only")
    given = parser.parse_args()
    warnings.simplefilter("ignore", MkclustWarning)
    if given.what == "fit":
        fit_constants(given.only)
        return
    if given.what == "methods":
        lines = list(methods_table(given.only))
    else:
        cases = [case(name, ROWS) for name in given.only]
        lines = list(sets_table(cases))
        print("\n".join(lines))
        if not given.no_page:
            draw(cases, DOCS / "images" / "calibration.png")
    if not given.no_page:
        fill_page(DOCS / "research.md", given.what, lines)


if __name__ == "__main__":
    main()
