"""The page's answers to the next questions: how many clusters, how stable, which views matter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..agreement.chance import ranking
from ..inspection.influence import LeftOut, change
from ..inspection.stability import FLIPS
from . import words
from .html import Raw, chart, paragraph, section, table, text
from .subject import Subject, shortened

LISTED = 200  # least stable samples, at most


def how_many(subject: Subject) -> Raw:
    """Evidence for every number of clusters tried; empty where none was looked for."""
    choice = subject.choice
    if choice is None:
        return Raw("")
    rows = []
    for row in choice.table:
        verdict = "chosen" if row.k == choice.k else "next" if row.k == choice.second else ""
        rows.append([
            row.k, f"{row.score:.3f}", f"{row.stability:.2f}", f"{row.information:.2f}",
            f"{row.separation:.2f}", f"{row.gap:.2f}", f"{row.noise:.2f}",
            Raw(f'<span class="verdict strong">{verdict}</span>' if verdict else ""),
        ])  # fmt: skip
    head = ["clusters", "score", "stability", "shared bits", "separation", "gap", "noise share"]
    used = subject.model.n_clusters
    parts: list[str] = [paragraph(f"{choice}.")]
    if used != choice.k:
        parts.append(paragraph(f"The clusters on this page are {used}, not {choice.k}.", "note"))
    parts += [
        chart("choice", "Lines of score, stability, separation, gap and noise against the number; "
              "the table below has the numbers.", 260, "Against the number of clusters; the "
              "score is set to 1 at its best."),
        paragraph(
            "Stability: ARI between the answers of two halves of the samples. Shared bits: what "
            "these answers have in common beyond chance. Separation: mean silhouette in the "
            "consensus. Gap: how far the consensus spectrum drops after its first k-1 directions. "
            "Noise share: how much of the directions kept lies outside the consensus. The score "
            "is shared bits × √separation × (1 + gap).",
            "hint",
        ),
        table([*head, ""], rows, range(7), "Numbers of clusters tried"),
    ]  # fmt: skip
    return section("choice", "How many clusters", parts)


def stable(subject: Subject) -> Raw:
    """Clusters and samples that halves of the data keep; empty where it was not looked at."""
    found = subject.stability
    if found is None:
        return Raw("")
    sizes = np.bincount(found.labels, minlength=len(found.clusters))
    flips = np.bincount(found.labels[found.samples < FLIPS], minlength=len(found.clusters))
    clusters = [
        [cluster, sizes[cluster], f"{value:.2f}", words.steadiness(value), int(flips[cluster])]
        for cluster, value in enumerate(found.clusters)
    ]
    head = ["cluster", "samples", "Jaccard", "", "samples that flip"]
    sentence = str(found)
    parts: list[str] = [
        paragraph(sentence[0].upper() + sentence[1:] + "."),
        paragraph(
            "The samples were split into two halves at random, each half was clustered on its own "
            "and its answer carried on to all samples. Jaccard: what a cluster and its nearest in "
            "those answers share, of all that either holds; below 0.5 a cluster is dissolved. A "
            "sample flips if fewer than half of the answers keep it in its cluster.",
            "hint",
        ),
        chart("stability", "Bars of each cluster's Jaccard index and of its samples that flip; "
              "the table below has the numbers.", 90 + 26 * len(clusters)),
        table(head, clusters, [1, 2, 4], "Stability of clusters"),
        *_least_stable(subject),
    ]  # fmt: skip
    return section("stability", "Stability", parts)


def _least_stable(subject: Subject) -> Iterator[str]:
    found = subject.stability
    if found is None or not (found.samples < 1).any():
        return
    order = np.argsort(found.samples, kind="stable")
    order = order[found.samples[order] < 1]
    rows = [
        [shortened(str(found.index[i])), found.labels[i], found.rivals[i],
         f"{100 * found.samples[i]:.0f} %"]
        for i in order[:LISTED]
    ]  # fmt: skip
    more = f"; the first {LISTED} are listed" if len(order) > LISTED else ""
    listed = table(
        ["sample", "cluster", "or else", "kept by"], rows, [1, 2, 3], "The least stable first"
    )
    summary = f"Samples that some halves put elsewhere: {len(order)}{more}"
    yield Raw(f"<details><summary>{text(summary)}</summary>{listed}</details>")


def influence(subject: Subject) -> Iterator[str]:
    """What leaving out each view does, for the section about views."""
    found = subject.influence
    if found is None or not found.without:
        return
    yield "<h3>The answer without each view</h3>"
    yield paragraph(str(found))
    rows = []
    for p in ranking(subject.model):
        left, lone = found.without[p], found.names[p] in found.unrelated
        name = Raw(f'<span class="verdict unrelated">unrelated</span> {text(subject.views[p])}')
        rows.append([name if lone else subject.views[p], *_cells(left), _odds(found.chance[p])])
    if found.without_unrelated is not None and len(found.unrelated) > 1:
        rows.append(["all unrelated views", *_cells(found.without_unrelated), "–"])
    yield table(
        ["left out", "ARI", "answer", "kept by the others", "N-noise of the others", "chance"],
        rows, [1, 3, 4, 5], "The answer with one view left out",
    )  # fmt: skip
    yield paragraph(
        "ARI compares the answer without the view with the one from all views. Kept and N-noise: "
        "directions of the other views, with this view and without. Chance: how often a view "
        "unrelated to all others would agree with one of them as much as this one does.",
        "hint",
    )


def _cells(left: LeftOut) -> list[str]:
    return [
        f"{left.ari:.2f}",
        change(left.ari),
        f"{left.kept_before} → {left.kept}",
        f"{left.noise_before:.1f} → {left.noise:.1f}",
    ]


def _odds(chance: float) -> str:
    if np.isnan(chance):
        return "–"
    return "< 10⁻⁹" if chance < 1e-9 else f"{chance:.2g}"
