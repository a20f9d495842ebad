"""The sections about later questions: number of clusters, stability, leaving out views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..agreement.chance import ranking
from ..inspection.stability import MOVES
from ..inspection.view_influence import LeftOut, describe_ari
from . import words
from .html import Raw, badge, bar, chart, paragraph, section, table, text
from .subject import Subject, shortened
from .words import number

LISTED = 200  # least stable samples, at most


def choice(subject: Subject) -> Raw:
    """Return the evidence for every number of clusters tried; empty where none was chosen."""
    found: Any = subject.choice
    if found is None:
        return Raw("")
    parts: list[str] = [paragraph(words.sentence(str(found))), *_used(subject)]
    parts += [
        '<div class="pair">',
        chart("choice", "Modularity against the number of clusters, with the range of the null "
              "model; the table has the numbers.", 340),
        table(["clusters", "modularity", "null mean", "null limit", "cluster sizes", ""],
              [_candidate(row, found) for row in found.table], range(1, 4),
              "Numbers of clusters tried"),
        "</div>",
        paragraph(
            "Modularity: the share of the graph's edge weight inside clusters, minus the share "
            "expected by chance for clusters of these sizes. Null model: the same for data "
            "without cluster structure; the gray band reaches from its mean to its upper limit. "
            "Only a curve above the band is evidence for clusters."
            f"{_range(found)} p-value of the cluster structure: {found.p_value:.2g}.",
            "hint",
        ),
    ]  # fmt: skip
    return section("choice", "Number of clusters", parts)


def _used(subject: Subject) -> Iterator[str]:
    """Yield how the number of clusters on the page relates to the recommended one."""
    found: Any = subject.choice
    used = int(subject.model.n_clusters)
    if not found.structure:
        yield paragraph("The clusters on this page may be arbitrary.", "note")
    elif found.low <= used <= found.high and used != found.k:
        yield paragraph(f"This page shows {used} clusters, which is about as good.")
    elif used != found.k:
        both = f"This page shows {used} clusters; the recommended number is {found.k}."
        yield paragraph(both, "note")


def _range(found: Any) -> str:
    if found.low >= found.high:
        return ""
    return f" Numbers from {found.low} to {found.high} are about as good."


def _candidate(row: Any, found: Any) -> list[object]:
    inside = found.structure and found.low <= row.k <= found.high
    word = "chosen" if row.k == found.k else "about as good" if inside else ""
    sizes = sorted(row.sizes)
    spread = f"{sizes[0]} to {sizes[-1]}" if sizes else "–"
    return [
        row.k, *(number(value, 3) for value in (row.modularity, row.null, row.null_high)), spread,
        badge(word) if word else "",
    ]  # fmt: skip


def stability(subject: Subject) -> Raw:
    """Return how far refits to halves of the samples keep clusters and samples."""
    found = subject.stability
    if found is None:
        return Raw("")
    k = len(found.clusters)
    sizes = np.bincount(found.labels, minlength=k)
    moved = np.bincount(found.labels[found.samples < MOVES], minlength=k)
    rows = [
        [f"cluster {c}", sizes[c], bar(value, number(value, 3)), badge(words.steadiness(value)),
         int(moved[c])]
        for c, value in enumerate(found.clusters)
    ]  # fmt: skip
    head = ["", "samples", "Jaccard index", "", "samples that change cluster"]
    parts: list[str] = [
        paragraph(words.sentence(str(found))),
        table(head, rows, [1, 4], "Stability of clusters"),
        paragraph(
            "The method was refitted to random halves of the samples. Jaccard index: samples that "
            "a cluster and its match in a refit have in common, divided by all samples in either; "
            f"from {words.STABLE} on a cluster counts as stable, below {words.DISSOLVED} as "
            "dissolved (Hennig, 2007). A sample changes cluster if fewer than half of the refits "
            "keep it in its cluster.",
            "hint",
        ),
        *_least_stable(subject),
    ]
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
        ["sample", "cluster", "other cluster", "refits that keep it"], rows, [1, 2, 3],
        "Samples, least stable first",
    )  # fmt: skip
    summary = f"Samples that some refits put into another cluster: {len(order)}{more}"
    yield Raw(f"<details><summary>{text(summary)}</summary>{listed}</details>")


def influence(subject: Subject) -> Raw:
    """Return how leaving out each view changes the labels; empty where that is not known."""
    found = subject.influence
    if found is None or not found.without:
        return Raw("")
    rows = []
    for p in ranking(subject.model):
        alone = found.names[p] in found.unrelated
        mark = badge("unrelated") if alone else ""
        rows.append([subject.views[p], *_changes(found.without[p]), mark])
    if found.without_unrelated is not None and len(found.unrelated) > 1:
        rows.append(["all unrelated views", *_changes(found.without_unrelated), ""])
    parts = [
        paragraph(str(found)),
        table(["left out", "ARI", "labels", ""], rows, [], "Labels with one view left out"),
        paragraph(
            "ARI: adjusted Rand index between the labels without the view and those from all "
            "views. 1 means that nothing changes, 0 that they agree only by chance.",
            "hint",
        ),
    ]
    return section("influence", "Leaving out views", parts)


def _changes(left: LeftOut) -> list[object]:
    return [bar(left.ari, number(left.ari, 3)), describe_ari(left.ari)]
