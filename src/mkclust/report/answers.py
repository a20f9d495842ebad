"""The sections about answers to later questions; a section without its answer is empty.

Confidence, separation by views, conflicts and other answers, markers, stability, leaving out
views, number of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..agreement.chance import ranking
from ..inspection.confidence import LISTED as LEAST
from ..inspection.confidence import confidence
from ..inspection.conflicts import Conflict
from ..inspection.explain import NO_CONFLICT
from ..inspection.markers import Markers
from ..inspection.stability import MOVES
from ..inspection.view_influence import LeftOut, describe_ari
from . import words
from .html import Raw, badge, bar, chart, listing, paragraph, section, table, text
from .subject import Subject, shortened
from .words import number

LISTED = 200  # least stable samples, and samples that a conflict concerns, at most
RECOLORED = 100_000  # samples up to which the labels of other answers color the plots
FEATURES = 6  # of every cluster in the heat map, at most
ROWS = 30  # of the heat map, where this leaves two features for every cluster
MOST = 60  # rows of the heat map
FULL = 2.0  # effect size that has the full color
NUMBERED = 16  # clusters up to which the heat map of the views has numbers (static/charts.js)
CONFIDENCE = (
    "Confidence: the probability that a sample belongs to its cluster, from its distances to all "
    "cluster centers in the embedding, compared with the spread of all samples around theirs. It "
    "is often too high: on data sets with known classes, of samples with confidence 0.8, 70 % "
    "belong to the largest class of their cluster. It says nothing about data without clusters."
)
MARKERS = (
    "Effect: difference of the means of a cluster and the rest, divided by the standard deviation "
    "within both. AUC: probability that a sample of the cluster has the larger value. p: "
    "Mann-Whitney test, corrected by Benjamini and Hochberg over all features, views and clusters."
)


def certainty(subject: Subject) -> Raw:
    """Return the confidence by cluster and the least certain samples, by name."""
    if not subject.certain:
        return Raw("")
    found = confidence(subject.model, np.array(subject.samples, dtype=object))
    clusters = [
        [f"cluster {c}", bar(value, number(value, 2))] for c, value in enumerate(found.clusters)
    ]
    rows = [
        [each.sample, each.cluster, bar(each.confidence, number(each.confidence, 2)), each.rival,
         number(each.rival_confidence, 2)]
        for each in found.least()
    ]  # fmt: skip
    shown = "all samples" if len(found.samples) <= LEAST else f"the {LEAST} least certain samples"
    head = ["sample", "cluster", "confidence", "next cluster", "its probability"]
    parts: list[str] = [
        paragraph(words.sentence(str(found))),
        '<div class="pair">',
        table(["", "mean confidence"], clusters, [], "Confidence of clusters"),
        table(head, rows, [1, 3, 4], f"Confidence of {shown}, least certain first"),
        "</div>",
        paragraph(CONFIDENCE, "hint"),
    ]
    return section("confidence", "Confidence", parts)


def seen(subject: Subject) -> Iterator[str]:
    """Yield how well each view alone separates each cluster, as a chart and in words."""
    found = subject.explanation
    if found is None or len(found.profile.sizes) < 2:
        return
    profile = found.profile
    yield listing(f"{line}." for line in profile.describe())
    bracketed = len(profile.sizes) <= NUMBERED and bool((profile.clusters <= profile.chance).any())
    yield chart(
        "profile",
        "Heat map of how well each view alone separates each cluster from all others.",
        64 + 34 * len(subject.views),
        "How well each view (row) alone separates each cluster (column) from all others: 1 where "
        "no edge of the view's neighbor graph leaves the cluster, 0 where edges leave it as often "
        "as by chance." + (" Numbers in brackets are within chance." if bracketed else ""),
    )


def profile_data(subject: Subject, order: np.ndarray) -> Any:
    """Return the separation by view and cluster, for the chart."""
    found = subject.explanation
    if found is None or len(found.profile.sizes) < 2:
        return None
    profile = found.profile
    values, chance = profile.clusters.T[order], profile.chance.T[order]
    return {
        "values": [[None if np.isnan(v) else float(number(v, 2)) for v in row] for row in values],
        "chance": [[bool(v <= c) for v, c in zip(*rows, strict=True)]
                   for rows in zip(values, chance, strict=True)],
    }  # fmt: skip


def recolored(subject: Subject, rows: np.ndarray) -> Any:
    """Return the labels of the drawn samples under every other answer."""
    found = subject.explanation
    if found is None or len(found.index) != len(subject.labels) or len(found.index) > RECOLORED:
        return []
    return [other.labels[rows].tolist() for other in found.alternatives]


def disagreement(subject: Subject) -> Raw:
    """Return pairs of clusters about which views conflict, and other answers."""
    found = subject.explanation
    if found is None:
        return Raw("")
    parts: list[str] = ["<h3>Conflicts between views</h3>"]
    for conflict in found.conflicts:
        parts += _conflict(conflict)
    if not found.conflicts:
        parts.append(paragraph(words.sentence(NO_CONFLICT)))
    parts += ["<h3>Other answers</h3>", *_others(subject)]
    return section("alternatives", "Conflicts and other answers", parts)


def _conflict(found: Conflict) -> Iterator[str]:
    a, b = found.clusters
    rows = [
        [f"as in the answer: {words.listed(found.supporting)}", *found.sizes, "0", "1.000"],
        [f"differently: {words.listed(found.opposing)}", *found.parts, len(found.moved),
         number(found.score, 3)],
    ]  # fmt: skip
    head = ["views that divide the two", f"cluster {a}", f"cluster {b}", "samples moved", "score"]
    yield paragraph(words.sentence(str(found)))
    yield table(head, rows, [1, 2, 3, 4], f"Clusters {a} and {b}, by the views that are followed")
    names = [shortened(str(name)) for name in found.moved[:LISTED]]
    more = " …" if len(found.moved) > LISTED else ""
    yield Raw(
        f"<details><summary>The {len(found.moved)} samples concerned</summary>"
        f"<p>{text(', '.join(names) + more)}</p></details>"
    )


def _others(subject: Subject) -> Iterator[str]:
    found = subject.explanation
    assert found is not None
    if not len(found.alternatives):
        yield paragraph(words.sentence(found.alternatives.describe()[0]))
        return
    rows = [
        [f"{at}", other.difference, other.origin, bar(other.score, number(other.score, 3)),
         number(other.ari, 2)]
        for at, other in enumerate(found.alternatives, start=1)
    ]  # fmt: skip
    head = ["answer", "compared with the answer on this page", "found by", "score", "ARI"]
    yield table(head, rows, [4], "Clearly different partitions that are nearly as good")
    color = " The buttons above the plots of samples, below, color them by each answer."
    shown = color if recolored(subject, np.arange(1)) else ""
    yield paragraph(
        "Score: modularity on the fused graph, divided by that of the answer on this page; only "
        "partitions with at least 0.95 are listed. ARI: agreement with the answer on this page, 1 "
        "if equal, 0 as by chance. No criterion tells which of them is right: decide by what is "
        f"known about the samples.{shown}",
        "hint",
    )


def features(subject: Subject) -> Raw:
    """Return a heat map of effect sizes and the first features of every cluster."""
    found = subject.markers
    if found is None:
        return Raw("")
    k = int(found.cluster.max()) + 1
    several = len(set(found.view.tolist())) > 1
    count = int(np.clip(ROWS // k, 2, FEATURES))
    first = np.concatenate([found.top(c, count) for c in range(k)])[:MOST]
    rows = list(dict.fromkeys(zip(found.view[first], found.feature[first], strict=True)))
    values = _effects(found, rows, k)
    head = ["feature", *(["view"] if several else []), *(f"cluster {c}" for c in range(k))]
    cells = [
        [shortened(str(feature)), *([shortened(str(view))] if several else []), *map(_cell, line)]
        for (view, feature), line in zip(rows, values, strict=True)
    ]
    parts: list[str] = [
        paragraph(words.sentence(str(found))),
        paragraph(found.warning, "" if found.valid else "note"),
        table(head, cells, range(1 + several, len(head)), "Effect size of the first features"),
        _listed(found, first, count, several),
        paragraph(MARKERS, "hint"),
    ]
    return section("markers", "Markers", parts)


def _effects(found: Markers, rows: list[tuple[str, str]], k: int) -> np.ndarray:
    """Return the effect of some features in every cluster; NaN where a view lacks a cluster."""
    place = {row: i for i, row in enumerate(rows)}
    values = np.full((len(rows), k), np.nan)
    named = np.flatnonzero(np.isin(found.feature.astype(str), [str(name) for _, name in rows]))
    for i in named:
        row = place.get((found.view[i], found.feature[i]))
        if row is not None:
            values[row, found.cluster[i]] = found.effect[i]
    return values


def _cell(value: float) -> Raw:
    if np.isnan(value):
        return Raw("–")
    strength = min(abs(value) / FULL, 1.0) * 0.6
    color = "--high" if value > 0 else "--low"  # of the page's style
    return Raw(
        f'<span class="heat" style="background:rgb(var({color}) / {strength:.2f})">'
        f"{text(number(value, 2))}</span>"
    )


def _listed(found: Markers, first: np.ndarray, count: int, several: bool) -> Raw:
    head = ["cluster", *(["view"] if several else []), "feature", "effect", "AUC", "corrected p"]
    rows = [
        [f"cluster {found.cluster[i]}", *([shortened(str(found.view[i]))] if several else []),
         shortened(str(found.feature[i])), number(found.effect[i], 2), number(found.auc[i], 2),
         f"{found.p_adjusted[i]:.1e}"]
        for i in first
    ]  # fmt: skip
    width = len(head)
    listed = table(head, rows, range(width - 3, width), f"The first {count} features of a cluster")
    return Raw(f"<details><summary>Tests of these features</summary>{listed}</details>")


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


def choice(subject: Subject) -> Raw:
    """Return the evidence for every number of clusters tried; empty where none was chosen."""
    found: Any = subject.choice
    if found is None:
        return Raw("")
    near = f" Numbers from {found.low} to {found.high} are about as good."
    near = near if found.low < found.high else ""
    parts: list[str] = [
        paragraph(words.sentence(str(found))),
        *_used(subject),
        '<div class="pair">',
        chart("choice", "Modularity against the number of clusters, with the range of the null "
              "model; the table has the numbers.", 340),
        table(["clusters", "held-out", "tested", "null limit", "cluster sizes", ""],
              [_candidate(row, found) for row in found.table], range(1, 4),
              "Numbers of clusters tried"),
        "</div>",
        paragraph(
            "Modularity: the share of the graph's edge weight inside clusters, minus the share "
            "expected by chance for clusters of these sizes. Held-out: one half of the samples is "
            "clustered, and the modularity is that of the other half; the largest is chosen. "
            "Tested: the modularity of some samples, and of as many without cluster structure "
            "(null model); the gray band reaches from its mean to its upper limit. Only a tested "
            "curve above the band is evidence for clusters."
            f"{near} p-value of the cluster structure: {found.p_value:.2g}.",
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


def _candidate(row: Any, found: Any) -> list[object]:
    inside = found.structure and found.low <= row.k <= found.high
    word = "chosen" if row.k == found.k else "about as good" if inside else ""
    sizes = sorted(row.sizes)
    spread = f"{sizes[0]} to {sizes[-1]}" if sizes else "–"
    values = (row.held_out, row.tested, row.null_high)
    return [row.k, *(number(value, 3) for value in values), spread, badge(word) if word else ""]
