"""The sections about who sees what, and about conflicts and other answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..inspection.conflicts import Conflict
from ..inspection.explain import NO_CONFLICT
from . import words
from .html import Raw, bar, chart, listing, paragraph, section, table, text
from .subject import Subject, shortened
from .words import number

LISTED = 200  # samples that a conflict concerns, at most
SHOWN = 100_000  # samples up to which the labels of other answers color the plots


def seen(subject: Subject) -> Iterator[str]:
    """Yield how well each view alone separates each cluster, as a chart and in words."""
    found = subject.explanation
    if found is None or len(found.profile.sizes) < 2:
        return
    yield listing(f"{line}." for line in found.profile.describe())
    yield chart(
        "profile",
        "Heat map of how well each view alone separates each cluster from all others.",
        64 + 34 * len(subject.views),
        "How well each view (row) alone separates each cluster (column) from all others: 1 where "
        "no edge of the view's neighbor graph leaves the cluster, 0 where edges leave it as often "
        "as by chance. Numbers in brackets are within chance.",
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
    if found is None or len(found.index) != len(subject.labels) or len(found.index) > SHOWN:
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
    yield table(head, rows, [1, 2, 3, 4], f"Clusters {a} and {b}, by the side that is followed")
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
