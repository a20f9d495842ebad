"""The page's sections, each from a Subject to HTML; one without content is empty."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

from .._version import __version__
from ..agreement.chance import mean_agreement, ranking, unrelated
from ..agreement.spectra import evidence_of
from ..metrics import evaluate
from . import questions, words
from .charts import MOST_VIEWS
from .groups import Silhouettes, class_table
from .html import Raw, chart, grid, listing, paragraph, section, table, text
from .subject import Subject

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
METRICS = {"acc": "ACC", "nmi": "NMI (max)", "purity": "purity", "ari": "ARI"}


def summary(subject: Subject, silhouettes: Silhouettes | None) -> Raw:
    lone = [subject.views[p] for p in unrelated(subject.model)]
    first = words.alarm(subject)
    alarm = f'<strong class="lone">{text(first)}</strong> ' if first else ""
    parts: list[str] = [Raw(f"<h1>{alarm}{text(words.summary(subject))}</h1>")]
    if lone:
        advice = words.advice(subject, lone)
        parts.append(
            Raw(f'<p class="alarm" role="alert"><strong>Unrelated.</strong> {text(advice)}</p>')
        )
    parts += [paragraph(note, "note") for note in words.warnings(subject)]
    tiles = {
        "samples": str(len(subject.labels)),
        "kernels" if subject.kernels else "views": str(len(subject.views)),
        "clusters": str(subject.k),
    }
    if silhouettes is not None:
        tiles["silhouette"] = f"{silhouettes.mean:.2f}"
    if subject.classes is not None:
        scores = evaluate(subject.classes, subject.labels)
        tiles |= {METRICS[name]: f"{value:.3f}" for name, value in scores.items()}
    listed = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in tiles.items())
    return section("summary", "Summary", [*parts, f'<dl class="tiles">{listed}</dl>'])


def views(subject: Subject) -> Raw:
    if hasattr(subject.model, "noise_"):
        return section("views", "Which views to trust", _trusted_views(subject))
    return section("views", "Views", _weighted_views(subject))


def _trusted_views(subject: Subject) -> Iterator[str]:
    yield _trust_table(subject)
    fused = hasattr(subject.model, "fusion_")
    kept = "after which every pair of views overlaps enough" if fused else "used"
    yield paragraph(
        "Agreement is the mean over the other views, corrected for chance: 0 is what unrelated "
        f"views show, 1 is equal. Kept is the number of leading directions {kept}. N-noise is what "
        "those hold outside the consensus, C-noise (negative) what they lack of it, in "
        "directions; the cross part is what lies half in and half out.",
        "hint",
    )
    if fused:
        yield "<h3>How the views were put together, and why</h3>"
        yield paragraph(words.FUSED, "hint")
        yield listing(subject.model.fusion_.in_words())
        yield chart(
            "weights",
            "Bars of the views' weights, as in the table above.",
            70 + 34 * len(subject.views),
            "How much each view counts in the fused graph.",
        )
    height = 90 + 44 * len(subject.views)
    both = []
    if len(subject.views) > 1:
        both.append(chart("agreement", "Heat map of the agreement of all pairs of views; the "
            "table above has the means.", height,
            "Agreement of every pair of views, the most trusted first."))  # fmt: skip
    both.append(chart("noise", "Bars of N-noise and C-noise of every view; the table above has "
        "the numbers.", height, "Left: directions kept that the consensus does not share. "
        "Right: directions of the consensus that the view lacks."))  # fmt: skip
    yield f'<div class="pair">{"".join(both)}</div>'
    yield from questions.influence(subject)
    if evidence_of(subject.model) is not None:
        yield "<h3>Directions kept, against each view’s spectrum</h3>"
        yield paragraph(
            "Eigenvalues of each kernel, the largest set to 1. Solid line: the directions "
            "kept, d; dashed line: k, the number of clusters. A late solid line means that the "
            "view had to be searched deep before it met the others." + _only_some(subject),
            "hint",
        )
        yield grid("spectra")


def _trust_table(subject: Subject) -> Raw:
    model, order = subject.model, ranking(subject.model)
    lone, trust = unrelated(model), mean_agreement(model.agreement_)
    weights = getattr(model, "weights_", None)
    head = ["view", *_width_head(subject), *([] if weights is None else ["weight"])]
    head += ["agreement", "verdict", "kept"]
    head += ["N-noise", "C-noise", "cross part"]
    right = [i for i, name in enumerate(head) if name not in ("view", "verdict")]
    parts = (model.noise_.null, model.noise_.column, model.noise_.cross)
    rows = []
    for rank, p in enumerate(order, start=1):
        word = words.verdict(trust[p], int(p) in lone)
        known = not np.isnan(trust[p])
        rows.append([
            f"{rank}. {subject.views[p]}", *_width(subject, int(p)),
            *([] if weights is None else [f"{weights[p]:.2f}"]),
            f"{trust[p].round(2) + 0.0:.2f}" if known else "–",
            Raw(f'<span class="verdict {word}">{word}</span>' if known else "–"),
            model.dimensions_[p], *(f"{values[p]:.2f}" for values in parts),
        ])  # fmt: skip
    return table(head, rows, right, "Views, the most trusted first")


def _weighted_views(subject: Subject) -> Iterator[str]:
    weights = getattr(subject.model, "weights_", None)
    rows = [
        [
            f"{rank}. {subject.views[p]}",
            *_width(subject, int(p)),
            "–" if weights is None else f"{weights[p]:.3f}",
        ]
        for rank, p in enumerate(ranking(subject.model), start=1)
    ]
    head = ["view", *_width_head(subject), "weight"]
    yield table(head, rows, range(1, len(head)), "Views")
    if weights is None:
        yield paragraph(f"{subject.model.title} does not weigh the views.", "hint")
    else:
        yield chart("weights", "Bars of the views' weights, as in the table above.",
            70 + 34 * len(rows), "The weight the method gave each view.")  # fmt: skip
    yield paragraph("Agreement and noise of the views are measured by MKC-DNM.", "hint")


def _width_head(subject: Subject) -> list[str]:
    return [] if subject.widths is None else ["columns"]


def _width(subject: Subject, p: int) -> list[int]:
    return [] if subject.widths is None else [subject.widths[p]]


def _only_some(subject: Subject) -> str:
    more = len(subject.views) - MOST_VIEWS
    return f" The {MOST_VIEWS} most trusted of {MOST_VIEWS + more} are shown." if more > 0 else ""


def samples(subject: Subject, data: Any) -> Raw:
    if data is None:
        why = f"{subject.model.title} finds clusters in a graph and has no embedding to draw."
        return section("samples", "Samples", [paragraph(why, "hint")])
    drawn, total = len(data["names"]), data["total"]
    some = (
        f" {drawn} of {total} samples are drawn, every cluster in proportion."
        if drawn < total
        else ""
    )
    parts = [
        paragraph(
            "Each mark is a sample. Click one, or a button, to light up its cluster in all plots; "
            "draw a box or a lasso to light up any samples; Esc clears."
            f"{some}{_only_some(subject)}",
            "hint",
        ),
        Raw(
            '<div class="tools" id="tools">'
            '<div class="chips" id="chips" role="group" aria-label="Clusters"></div>'
            '<div class="actions"><div role="group" aria-label="Layout" id="layouts"></div>'
            '<div role="group" aria-label="Select by drawing" id="brushes"></div>'
            '<label>Find <input type="search" id="find" placeholder="sample or class" '
            'autocomplete="off"></label>'
            '<button type="button" id="clear" disabled>Clear (Esc)</button></div>'
            '<p id="selected" class="hint">Nothing is selected.</p></div>'
        ),
        Raw('<div class="multiples scatter" id="grid-samples"></div>'),
        Raw('<p class="hint" id="layout-words"></p>'),
        Raw('<details id="names"><summary>Names of the selected samples</summary>'
            '<p id="names-list">Nothing is selected.</p></details>'),
    ]  # fmt: skip
    return section("samples", "Samples", parts)


def blocks(subject: Subject, data: Any) -> Raw:
    if data is None:
        return Raw("")
    what = "Weights of the learned graph, the strongest in full colour"
    if hasattr(subject.model, "embedding_"):
        also = " and in each view's first k directions" if len(data["images"]) > 1 else ""
        what = f"Cosines of all pairs of samples in the {data['first'].lower()}{also}"
    hint = (
        f"{what}, sorted by cluster: sharp squares on the diagonal mean clear clusters, an even "
        "tint means none."
    )
    more = len(subject.labels) > data["cells"]
    hint += " Every cell is a mean over neighbouring pairs." if more else ""
    return section(
        "blocks", "Blocks", [paragraph(hint + _only_some(subject), "hint"), grid("blocks")]
    )


def clusters(subject: Subject, silhouettes: Silhouettes | None) -> Raw:
    sizes = np.bincount(subject.labels)
    head, columns = ["cluster", "samples", "share"], []
    columns += [range(len(sizes)), sizes, [f"{100 * s / sizes.sum():.1f} %" for s in sizes]]
    right = [1, 2]
    if silhouettes is not None:
        head.append("silhouette")
        right.append(3)
        means = silhouettes.by_cluster
        columns.append(["–" if np.isnan(value) else f"{value:.2f}" for value in means])
    if subject.classes is not None:
        names, counts = class_table(subject.classes, subject.labels)
        top = counts.argmax(axis=1)
        head.append("largest class")
        columns.append([
            f"{names[c]} ({100 * counts[i, c] / sizes[i]:.0f} %)" if sizes[i] else "–"
            for i, c in enumerate(top)
        ])  # fmt: skip
    parts: list[str] = [
        chart("clusters", "Bars of cluster sizes and boxes of silhouettes; the table below has the "
              "numbers.", 90 + 26 * len(sizes)),
        table(head, zip(*columns, strict=True), right, "Clusters"),
    ]  # fmt: skip
    if silhouettes is not None:
        some = (
            f" Measured on {silhouettes.n_rows} samples."
            if silhouettes.n_rows < sizes.sum()
            else ""
        )
        parts.insert(1, paragraph(
            "Silhouette: 1 where samples lie far nearer to their own cluster than to the next, 0 "
            "on the border, negative where they would fit better elsewhere; on the unit rows of "
            "the consensus. Boxes span the middle half of the samples, whiskers 5 to 95 %." + some,
            "hint",
        ))  # fmt: skip
    return section("clusters", "Clusters", parts)


def known_classes(subject: Subject, data: Any) -> Raw:
    if subject.classes is None:
        return Raw("")
    scores = evaluate(subject.classes, subject.labels)
    rows = [[METRICS[name], f"{value:.4f}"] for name, value in scores.items()]
    parts: list[str] = [
        table(["measure", "value"], rows, [1], "Clusters against known classes"),
        paragraph(
            "ACC is the share of samples in the cluster matched to their class, one to one; NMI is "
            "normalised by the larger of the two entropies (max); ARI is corrected for chance. The "
            "classes were not used for clustering.",
            "hint",
        ),
    ]
    if data is not None:
        height = 110 + 24 * subject.k
        parts.append(chart("classes", "Heat map of the number of samples by cluster and class.",
            height, "Samples by cluster (rows) and class (columns)."))  # fmt: skip
    return section("classes", "Known classes", parts)


def proof(subject: Subject) -> Raw:
    title = "What is proven" if hasattr(subject.model, "certificate_") else "How it ended"
    return section("proof", title, [paragraph(line) for line in words.proof(subject)])


def details(subject: Subject) -> Raw:
    model = subject.model
    parameters = [[name, _named(value)] for name, value in sorted(model.get_params().items())]
    packages = ["numpy", "scipy", "scikit-learn"]
    versions = [["mkclust", __version__], ["Python", platform.python_version()]]
    versions += [[name, version(name)] for name in packages]
    data = [["samples", len(subject.labels)], ["views", len(subject.views)]]
    if subject.widths is not None:
        data += [[n, f"{len(subject.labels)} × {w}"]
                 for n, w in zip(subject.views, subject.widths, strict=True)]  # fmt: skip
    parts: list[str] = [
        "<h3>To get this again</h3>",
        f"<pre><code>{text(_code(subject))}</code></pre>",
    ]
    if model.random_state is None:
        parts.append(paragraph("No random_state was set, so k-means may end differently.", "hint"))
    parts += [paragraph(f"From the file: {remark}", "hint") for remark in subject.remarks]
    parts.append(f'<p class="hint">Method: {text(model.title)}. {text(model.reference)}.</p>')
    parts += [
        '<div class="pair three">', table(["parameter", "value"], parameters, [], "Parameters"),
        table(["package", "version"], versions, [], "Versions"),
        table(["data", "shape"], data, [], "Data"), "</div>",
    ]  # fmt: skip
    return section("details", "Details", parts)


def _named(value: Any) -> str:
    return str(getattr(value, "__name__", None) or ADDRESS.sub("", repr(value)))


def _code(subject: Subject) -> str:
    made = ADDRESS.sub("", subject.model.__repr__(N_CHAR_MAX=10**6))
    lines = [
        "import mkclust",
        "",
        f"model = mkclust.{made}.fit(views)",
        'model.report("report.html", views=views)',
    ]
    if subject.command:
        lines = [
            f"$ {subject.command}",
            "",
            "# or, in Python, with the views read from the same file:",
            *lines,
        ]
    return "\n".join(lines)
