"""The sections about views: which agree, how they were weighted, what their spectra are.

Each method has its own: graph fusion weights and redundancy, MKC-DNM dimensions and noise, and
the compared methods the weights they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..agreement.chance import mean_agreement, ranking, unrelated
from ..agreement.spectra import view_spectra_of
from ..agreement.weights import discounted_agreement
from ..dual_noise import MKCDNM
from ..graph_fusion import GraphFusion
from . import words
from .answers import seen
from .charts import MOST_VIEWS
from .html import Raw, badge, bar, chart, grid, paragraph, section, table
from .subject import Subject
from .words import number

AGREEMENT = (
    "Agreement: how far the leading eigenvectors of a view coincide with those of the other "
    "views, on average. 0 is the level of chance, 1 means equal."
)


def views(subject: Subject) -> Raw:
    """Return the section for the method that was run: who sees what, then weights or noise."""
    if isinstance(subject.model, GraphFusion):
        own = _fused_views(subject)
    elif isinstance(subject.model, MKCDNM):
        own = _noise_of_views(subject)
    else:
        own = _weighted_views(subject)
    return section("views", "Who sees what", [*seen(subject), *own])


def _fused_views(subject: Subject) -> Iterator[str]:
    if len(subject.views) > 1:
        yield "<h3>Why the views weigh what they weigh</h3>"
        yield paragraph(words.low_weights(subject))
    yield _fusion_table(subject)
    if len(subject.views) > 1:
        yield paragraph(
            "Weight = agreement ÷ copies, scaled so that all weights sum to 1. Agreement: how far "
            "the leading eigenvectors of a view coincide with those of the other views, on "
            "average, where a redundant view counts less. 0 is the level of chance, 1 means equal. "
            "Copies: 1 for the view itself, plus its redundancy with every other view; an exact "
            "copy adds 1.",
            "hint",
        )
        pairs = _pair([_agreement_chart(subject), _redundancy_chart(subject)])
        yield Raw(f"<details open><summary>All pairs of views</summary>{pairs}</details>")


def _fusion_table(subject: Subject) -> Raw:
    """Return agreement, copies and weight of every view as bars: the third is the quotient."""
    model = subject.model
    alone, trust = unrelated(model), mean_agreement(model.agreement_)
    share, copies = discounted_agreement(model.agreement_, model.redundancy_)
    shared = [[subject.views[q] for q in words.redundant_with(model.redundancy_, p)]
              for p in range(len(subject.views))]  # fmt: skip
    head = ["view", *_width_head(subject), "agreement", "÷ copies", "= weight"]
    head += ["redundant with"] if any(shared) else []
    head += [""] if alone else []
    right = [i for i, name in enumerate(head) if name in ("columns", "samples")]
    rows = []
    for rank, p in enumerate(ranking(model), start=1):
        known = not np.isnan(trust[p])
        rows.append([
            f"{rank}. {subject.views[p]}", *_width(subject, int(p)),
            bar(share[p] if known else 0, number(share[p] if known else np.nan, 2)),
            bar(copies[p] / copies.max(), number(copies[p], 2), "other"),
            bar(model.weights_[p] / model.weights_.max(), number(model.weights_[p], 2), "dark"),
            *([", ".join(shared[p]) or "–"] if any(shared) else []),
            *([badge("unrelated") if p in alone else ""] if alone else []),
        ])  # fmt: skip
    return table(head, rows, right, "Agreement, copies and weight, largest agreement first")


def _noise_of_views(subject: Subject) -> Iterator[str]:
    yield _noise_table(subject)
    yield paragraph(
        f"{AGREEMENT} Kept: the number of leading eigenvectors used. N-noise: how much of them "
        "lies outside the consensus. C-noise, never positive: what they lack of the consensus. "
        "Both are in dimensions. Cross part: what lies partly inside and partly outside.",
        "hint",
    )
    charts = [] if len(subject.views) < 2 else [_agreement_chart(subject)]
    noise = chart("noise", "Bars of N-noise and C-noise of every view; the table above has the "
        "numbers.", _height(subject), "N-noise: dimensions outside the consensus. C-noise: "
        "dimensions of the consensus that the view lacks, as negative numbers.")  # fmt: skip
    yield _pair([*charts, noise])


def _noise_table(subject: Subject) -> Raw:
    model = subject.model
    alone, trust = unrelated(model), mean_agreement(model.agreement_)
    head = ["view", *_width_head(subject), "agreement", "", "kept", "N-noise", "C-noise"]
    head += ["cross part"]
    right = [i for i, name in enumerate(head) if name not in ("view", "", "agreement")]
    parts = (model.noise_.null, model.noise_.column, model.noise_.cross)
    rows = []
    for rank, p in enumerate(ranking(model), start=1):
        known = not np.isnan(trust[p])
        rows.append([
            f"{rank}. {subject.views[p]}", *_width(subject, int(p)),
            bar(trust[p] if known else 0, number(trust[p], 2)),
            badge(words.level(trust[p], int(p) in alone)) if known else "",
            model.dimensions_[p], *(number(values[p], 2) for values in parts),
        ])  # fmt: skip
    return table(head, rows, right, "Views, largest agreement first")


def _weighted_views(subject: Subject) -> Iterator[str]:
    weights = getattr(subject.model, "weights_", None)
    head = ["view", *_width_head(subject), *([] if weights is None else ["weight"])]
    rows = []
    for rank, p in enumerate(ranking(subject.model), start=1):
        shown = [] if weights is None else [
            bar(weights[p] / max(np.max(weights), 1e-300), number(weights[p], 3), "dark")
        ]  # fmt: skip
        rows.append([f"{rank}. {subject.views[p]}", *_width(subject, int(p)), *shown])
    right = [i for i, name in enumerate(head) if name in ("columns", "samples")]
    yield table(head, rows, right, "Views")
    if weights is None:
        yield paragraph(f"{subject.model.title} does not weight the views.", "hint")


def _agreement_chart(subject: Subject) -> Raw:
    return chart(
        "agreement",
        "Heat map of the agreement of all pairs of views.",
        _height(subject),
        "Agreement of every pair of views; columns in the order of the rows.",
    )


def _redundancy_chart(subject: Subject) -> Raw:
    return chart(
        "redundancy",
        "Heat map of the redundancy of all pairs of views.",
        _height(subject),
        "Redundancy of every pair of views: 1 for copies, 0 for no common neighbors.",
    )


def _pair(charts: list[Raw]) -> str:
    return f'<div class="pair">{"".join(charts)}</div>'


def _height(subject: Subject) -> int:
    return 60 + 44 * len(subject.views)


def _width_head(subject: Subject) -> list[str]:
    columns = [] if subject.widths is None or subject.kernels else ["columns"]
    return columns if subject.present(0) is None else [*columns, "samples"]


def _width(subject: Subject, p: int) -> list[int]:
    columns = [] if subject.widths is None or subject.kernels else [subject.widths[p]]
    held = subject.present(p)
    return columns if held is None else [*columns, int(held.sum())]


def only_some(subject: Subject) -> str:
    """Return a sentence where there are more views than charts of single views."""
    m = len(subject.views)
    return f" The first {MOST_VIEWS} of {m} views are shown." if m > MOST_VIEWS else ""


def spectra(subject: Subject, data: Any) -> Raw:
    """Return the eigenvalues, and for MKC-DNM the dimensions and what is proven about them."""
    model = subject.model
    if isinstance(model, MKCDNM):
        return section("dimensions", "Dimensions", _dimensions(subject, data))
    if isinstance(model, GraphFusion):
        return section("spectra", "Spectra", _graph_spectra(subject))
    return section("convergence", "Convergence", [paragraph(words.convergence(subject))])


def _graph_spectra(subject: Subject) -> Iterator[str]:
    yield paragraph(
        "Leading eigenvalues of the fused graph and of the centered graph of every view, relative "
        f"to the largest. The dashed line marks the number of clusters, k = "
        f"{subject.model.n_clusters}; centering removes one eigenvalue, so it lies at k − 1 for "
        "the views. A drop after the line means that the clusters are well separated; a smooth "
        "curve means that other numbers of clusters fit as well." + only_some(subject),
        "hint",
    )
    yield grid("spectra")


def _dimensions(subject: Subject, data: Any) -> Iterator[str]:
    yield from (paragraph(line) for line in words.certificate(subject))
    if view_spectra_of(subject.model) is None or data is None:
        return
    yield "<h3>Eigenvectors kept of each view</h3>"
    yield paragraph(
        "Eigenvalues of each kernel, the largest set to 1. Solid line: the number of eigenvectors "
        "kept, d. Dashed line: the number of clusters, k. Where d is much larger than k, many "
        "eigenvectors were needed until the view overlapped with the others." + only_some(subject),
        "hint",
    )
    yield grid("spectra")
