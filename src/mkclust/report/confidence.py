"""The section about the confidence of every sample."""

from __future__ import annotations

import numpy as np

from ..inspection.confidence import LISTED, confidence
from . import words
from .html import Raw, bar, paragraph, section, table
from .subject import Subject
from .words import number

HINT = (
    "Confidence: the probability that a sample belongs to its cluster, from its distances to all "
    "cluster centers in the embedding, compared with the spread of all samples around theirs. It "
    "is calibrated on data sets with known classes: of samples with confidence 0.8, about 80 % "
    "belong to the largest class of their cluster. It says nothing about data without clusters."
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
    shown = "all samples" if len(found.samples) <= LISTED else f"the {LISTED} least certain samples"
    head = ["sample", "cluster", "confidence", "next cluster", "its probability"]
    parts: list[str] = [
        paragraph(words.sentence(str(found))),
        '<div class="pair">',
        table(["", "mean confidence"], clusters, [], "Confidence of clusters"),
        table(head, rows, [1, 3, 4], f"Confidence of {shown}, least certain first"),
        "</div>",
        paragraph(HINT, "hint"),
    ]
    return section("confidence", "Confidence", parts)
