"""Graph fusion with exact neighbors and with anchors, on all sets of 1000 to 10 000 samples.

    python benchmarks/anchors.py [--only Mfeat ...] [--seeds 5] [--out benchmarks/ANCHORS.md]

Writes a table of the mean ACC and NMI (percent) over the seeds, and CPU seconds of one fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sets import SETS, load, short

from mkclust import GraphFusion, metrics

LEAST, MOST = 1000, 10_000  # samples


def measured(name: str, seeds: int) -> dict[str, tuple[float, float, float]] | None:
    """Return mean ACC, mean NMI and CPU seconds of each search; None for a set of another size."""
    views = load(name, 10**9)
    if views.kernels or not LEAST <= len(views) <= MOST:
        return None
    k, found = len(np.unique(views.labels)), {}
    print(f"{short(name)}: {len(views)} samples, {k} clusters", flush=True)
    for search in ("exact", "anchors"):
        scores = []
        for seed in range(seeds):
            began = time.process_time()
            labels = GraphFusion(k, neighbors=search, random_state=seed).fit(views).labels_
            cpu = time.process_time() - began
            acc, nmi = metrics.accuracy(views.labels, labels), metrics.nmi(views.labels, labels)
            scores.append((100 * acc, 100 * nmi, cpu))
        found[search] = tuple(np.mean(scores, axis=0).tolist())
        print(f"  {search}: {found[search]}", flush=True)
    found["size"] = (len(views), k, 0.0)
    return found


def page(rows: dict[str, dict[str, tuple[float, float, float]]], seeds: int) -> str:
    """Return the table as Markdown."""
    lines = [
        "# Exact neighbors and anchors", "",
        f"Graph fusion with `neighbors=\"exact\"` and `neighbors=\"anchors\"`: mean ACC / NMI over "
        f"{seeds} seeds, CPU seconds of one fit on one thread. By `benchmarks/anchors.py`.", "",
        "| set | n | k | exact | anchors | difference | CPU s, exact | CPU s, anchors |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    gaps = []
    for name, row in rows.items():
        exact, anchors = np.array(row["exact"]), np.array(row["anchors"])
        gaps.append(anchors[:2] - exact[:2])
        lines.append(
            f"| {short(name)} | {row['size'][0]:.0f} | {row['size'][1]:.0f} | {exact[0]:.1f} / "
            f"{exact[1]:.1f} | {anchors[0]:.1f} / {anchors[1]:.1f} | {gaps[-1][0]:+.1f} / "
            f"{gaps[-1][1]:+.1f} | {exact[2]:.1f} | {anchors[2]:.1f} |"
        )
    mean = np.mean(gaps, axis=0)
    lines.append(f"| mean | | | | | {mean[0]:+.1f} / {mean[1]:+.1f} | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("ANCHORS.md"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {}
    for name in given.only:
        found = measured(name, given.seeds)
        if found is not None:
            rows[name] = found
            given.out.write_text(page(rows, given.seeds), encoding="utf-8")


if __name__ == "__main__":
    main()
