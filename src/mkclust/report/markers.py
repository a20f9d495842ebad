"""The section about the features that set each cluster apart."""

from __future__ import annotations

import numpy as np

from ..inspection.markers import Markers
from . import words
from .html import Raw, paragraph, section, table, text
from .subject import Subject, shortened
from .words import number

SHOWN = 6  # features of every cluster in the heat map, at most
ROWS = 30  # of the heat map, where this leaves two features for every cluster
MOST = 60  # rows of the heat map
FULL = 2.0  # effect size that has the full color
HINT = (
    "Effect: difference of the means of a cluster and the rest, divided by the standard deviation "
    "within both. AUC: probability that a sample of the cluster has the larger value. p: "
    "Mann-Whitney test, corrected by Benjamini and Hochberg over all features, views and clusters."
)


def features(subject: Subject) -> Raw:
    """Return a heat map of effect sizes and the first features of every cluster."""
    found = subject.markers
    if found is None:
        return Raw("")
    k = int(found.cluster.max()) + 1
    several = len(set(found.view.tolist())) > 1
    count = int(np.clip(ROWS // k, 2, SHOWN))
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
        paragraph(HINT, "hint"),
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
    color = (
        "--high" if value > 0 else "--low"
    )  # larger or smaller than the rest, of the page's style
    return Raw(
        f'<span class="heat" style="background:rgb(var({color}) / {strength:.2f})">'
        f"{text(number(value, 2))}</span>"
    )


def _listed(found: Markers, first: np.ndarray, count: int, several: bool) -> Raw:
    head = ["cluster", *(["view"] if several else []), "feature", "effect", "AUC", "corrected p"]
    rows = [
        [
            f"cluster {found.cluster[i]}",
            *([shortened(str(found.view[i]))] if several else []),
            shortened(str(found.feature[i])),
            number(found.effect[i], 2),
            number(found.auc[i], 2),
            f"{found.p_adjusted[i]:.1e}",
        ]
        for i in first
    ]
    width = len(head)
    listed = table(head, rows, range(width - 3, width), f"The first {count} features of a cluster")
    return Raw(f"<details><summary>Tests of these features</summary>{listed}</details>")
