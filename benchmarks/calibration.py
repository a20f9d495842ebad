"""Calibration of the confidence: compare it with refits to fresh halves of the samples.

    MKCLUST_DATA=folder python -m benchmarks.calibration [--only SET ...] [--out FILE] [--page]

Sets are those of the folder with at most 3000 samples, and 20 planted sets with overlap. The
confidence comes from ten refits to halves. Ten refits to other halves, which were not used to
estimate it, say how often each sample stays in its cluster. The expected calibration error (ECE)
of a set is the mean over ten bins of the confidence, weighted by their samples, of |share that
stays - mean confidence|. Rows already in the file are kept. With --page the table goes into
docs/confidence.md and the figure into docs/images.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mkclust import GraphFusion, MultiView, datasets, stability
from mkclust.exceptions import MkclustWarning
from mkclust.inspection.stability import confidence_of

from .pages import fill_page
from .sets import SETS, load, short

DOCS = Path(__file__).parents[1] / "docs"
BINS = 10
MOST = 3000  # samples
FRESH = 1000  # seed of the halves that were not used for the confidence


def planted(number: int) -> MultiView:
    """Return one of 20 planted sets with overlap."""
    k, n = (2, 3, 5, 8)[number % 4], (200, 300, 500, 800, 1000)[number % 5]
    noise = (1.5, 2.0, 2.5, 3.0)[number // 4 % 4]
    return datasets.make_views(n, k, 2 + number % 3, noise=noise, random_state=number)


def sources() -> Iterator[tuple[str, Callable[[], MultiView]]]:
    for name in sorted(SETS, key=str.lower):
        yield name, lambda name=name: load(name, MOST + 1)
    for number in range(20):
        yield f"planted {number + 1}", lambda number=number: planted(number)


def bins(confidence: np.ndarray) -> list[np.ndarray]:
    place = np.minimum((BINS * confidence).astype(int), BINS - 1)
    return [rows for rows in (place == b for b in range(BINS)) if rows.any()]


def measured(name: str, views: MultiView) -> dict:
    k = len(np.unique(views.labels))
    model = GraphFusion(k, precomputed=views.kernels, random_state=0).fit(views)
    found = confidence_of(stability(model, views), model).samples
    stays = stability(model, views, random_state=FRESH).samples
    error = {
        each: sum(
            rows.mean() * abs(stays[rows].mean() - values[rows].mean()) for rows in bins(values)
        )
        for each, values in (("ece", found), ("membership", model.membership_.max(axis=1)))
    }
    curve = [[found[rows].mean(), stays[rows].mean(), rows.mean()] for rows in bins(found)]
    return {"set": name, "n": len(views), "k": k, "confidence": found.mean(),
            "stays": stays.mean(), **error, "curve": curve}  # fmt: skip


def table(rows: list[dict]) -> list[str]:
    lines = ["| set | samples | clusters | mean confidence | stay in fresh halves | ECE |"]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    real = [row for row in rows if not row["set"].startswith("planted")]
    lines += [
        f"| {short(row['set'])} | {row['n']} | {row['k']} | {row['confidence']:.3f} | "
        f"{row['stays']:.3f} | {row['ece']:.3f} |"
        for row in real
    ]
    groups = {"data sets": real, "planted sets": [row for row in rows if row not in real]}
    for what, some in {**groups, "sets": rows}.items():
        mean = {
            name: np.mean([row[name] for row in some]) for name in ("confidence", "stays", "ece")
        }
        lines.append(
            f"| **mean** of {len(some)} {what} | | | {mean['confidence']:.3f} | "
            f"{mean['stays']:.3f} | **{mean['ece']:.3f}** |"
        )
    other = np.mean([row["membership"] for row in rows])
    return [*lines, f"| largest `membership_` instead, {len(rows)} sets | | | | | {other:.3f} |"]


def draw(rows: list[dict], path: Path) -> None:
    """Draw the share that stays against the confidence; every set has the same weight."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    points = np.array([point for row in rows for point in row["curve"]])
    place = np.minimum((BINS * points[:, 0]).astype(int), BINS - 1)
    x, y = (
        [
            np.average(points[place == b, at], weights=points[place == b, 2])
            for b in np.unique(place)
        ]
        for at in (0, 1)
    )
    share = np.bincount(place, points[:, 2])[np.unique(place)] / len(rows)
    figure, axes = pyplot.subplots(figsize=(4.2, 4), dpi=100, layout="constrained")
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="calibrated")
    axes.plot(x, y, color="#332288", marker="o", label=f"graph fusion, {len(rows)} sets")
    axes.bar(x, share, width=0.06, color="#88CCEE", zorder=0, label="share of the samples")
    axes.set(xlabel="confidence", ylabel="share that stays in fresh halves", xlim=(0, 1),
             ylim=(0, 1))  # fmt: skip
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="SET")
    parser.add_argument("--out", type=Path, default=Path("calibration.jsonl"))
    parser.add_argument("--page", action="store_true", help="fill the page, measure nothing")
    given = parser.parse_args()
    warnings.simplefilter("ignore", MkclustWarning)
    if "MKCLUST_DATA" not in os.environ:
        raise SystemExit("set MKCLUST_DATA to the folder of benchmark data sets")
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    for name, source in [] if given.page else sources():
        if name in {row["set"] for row in rows} or name not in (given.only or [name]):
            continue
        views = source()
        if len(views) <= MOST:
            rows.append(measured(name, views))
            with given.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(table(rows)))
    if given.page:
        fill_page(DOCS / "confidence.md", "calibration", table(rows))
        draw(rows, DOCS / "images" / "calibration.png")


if __name__ == "__main__":
    main()
