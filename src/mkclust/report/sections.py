"""The sections about clusters, samples and details; a section without content is empty."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from typing import Any

import numpy as np

from .._version import __version__
from ..metrics import evaluate
from . import words
from .groups import Silhouettes, class_table
from .html import Raw, chart, grid, listing, paragraph, section, table, text
from .subject import Subject
from .views import only_some
from .words import number

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
TOOLS = """
<div class="tools" id="tools">
<div class="chips" id="chips" role="group" aria-label="Clusters"></div>
<div class="actions"><div role="group" aria-label="Layout" id="layouts"></div>
<div role="group" aria-label="Color by answer" id="answers"></div>
<div role="group" aria-label="Select by drawing" id="brushes"></div>
<label>Find <input type="search" id="find" placeholder="sample or class" autocomplete="off"></label>
<button type="button" id="clear" disabled>Clear (Esc)</button></div>
<p id="selected" class="hint">No samples are selected.</p></div>
"""


def summary(subject: Subject, silhouettes: Silhouettes | None) -> Raw:
    first = words.alarm(subject)
    alarm = f'<strong class="unrelated-views">{text(first)}</strong> ' if first else ""
    parts: list[str] = [Raw(f"<h1>{alarm}{text(words.summary(subject))}</h1>")]
    if first:
        parts.append(Raw(f'<p class="alarm" role="alert">{text(words.advice(subject))}</p>'))
    findings = words.findings(subject)
    parts += [paragraph(" ".join(findings))] if findings else []
    parts += [paragraph(note, "note") for note in words.warnings(subject)]
    tiles = {
        "samples": str(len(subject.labels)),
        "kernels" if subject.kernels else "views": str(len(subject.views)),
        "clusters": str(subject.k),
    }
    if silhouettes is not None:
        tiles["silhouette"] = number(silhouettes.mean, 2)
    if subject.certain:
        tiles["confidence"] = number(float(subject.model.confidence_.mean()), 2)
    if subject.classes is not None:
        scores = evaluate(subject.classes, subject.labels)
        tiles |= {words.METRICS[name]: number(value, 3) for name, value in scores.items()}
    shown = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in tiles.items())
    return section("summary", "Answer", [*parts, f'<dl class="tiles">{shown}</dl>'])


def clusters(subject: Subject, silhouettes: Silhouettes | None) -> Raw:
    sizes = np.bincount(subject.labels)
    head = ["", "samples", "share"]
    columns: list[Any] = [[f"cluster {c}" for c in range(len(sizes))], sizes]
    columns.append([f"{100 * size / sizes.sum():.1f} %" for size in sizes])
    right = [1, 2]
    if silhouettes is not None:
        head.append("silhouette")
        right.append(3)
        columns.append([number(value, 2) for value in silhouettes.by_cluster])
    if subject.classes is not None:
        names, counts = class_table(subject.classes, subject.labels)
        top = counts.argmax(axis=1)
        head.append("largest class")
        columns.append([
            f"{names[c]} ({100 * counts[i, c] / sizes[i]:.0f} %)" if sizes[i] else "–"
            for i, c in enumerate(top)
        ])  # fmt: skip
    parts: list[str] = [
        '<div class="pair">',
        chart("clusters", "Bars of cluster sizes and boxes of silhouettes; the table has the "
              "numbers.", 70 + 26 * len(sizes)),
        table(head, zip(*columns, strict=True), right, "Clusters"),
        "</div>",
        *([] if silhouettes is None else [_silhouette_hint(silhouettes, int(sizes.sum()))]),
    ]  # fmt: skip
    return section("clusters", "Clusters", parts)


def _silhouette_hint(silhouettes: Silhouettes, total: int) -> Raw:
    some = f" Measured on {silhouettes.n_rows} samples." if silhouettes.n_rows < total else ""
    return paragraph(
        "Silhouette: 1 where samples are much closer to their own cluster than to the next one, 0 "
        "on the border, negative where another cluster is closer. It is measured in the embedding "
        "that was clustered. Boxes span the middle half of the samples, whiskers 5 to 95 %." + some,
        "hint",
    )


def known_classes(subject: Subject, data: Any) -> Raw:
    if subject.classes is None:
        return Raw("")
    parts: list[str] = [
        paragraph(
            "ACC: share of samples in the cluster that is matched to their class, one to one. NMI: "
            "mutual information, normalized by the larger entropy. Purity: share of samples that "
            "belong to the largest class of their cluster. ARI: agreement of pairs, corrected for "
            "chance. The classes were not used for clustering.",
            "hint",
        ),
    ]
    if data is not None:
        parts.insert(0, chart("classes", "Heat map of the number of samples by cluster and class.",
            110 + 24 * subject.k, "Samples by cluster (rows) and class (columns). Each class is "
            "in the column of its matched cluster."))  # fmt: skip
    return section("classes", "Known classes", parts)


def samples(subject: Subject, data: Any) -> Raw:
    if data is None:
        why = f"{subject.model.title} finds clusters in a graph and has no embedding to draw."
        return section("samples", "Samples", [paragraph(why, "hint")])
    drawn, total = len(data["names"]), data["total"]
    some = (
        f" {drawn} of {total} samples are drawn, each cluster in proportion."
        if drawn < total
        else ""
    )
    absent = " A view shows only the samples it holds." if subject.present(0) is not None else ""
    parts = [
        paragraph(
            "Each mark is a sample. Click a mark or a cluster button to highlight that cluster in "
            "all plots. Draw a box or a lasso to highlight any samples. Esc clears."
            f"{some}{absent}{only_some(subject)}",
            "hint",
        ),
        Raw(TOOLS),
        Raw('<div class="multiples scatter" id="grid-samples"></div>'),
        Raw('<p class="hint" id="layout-words"></p>'),
        Raw('<details id="names"><summary>Names of the selected samples</summary>'
            '<p id="names-list">No samples are selected.</p></details>'),
    ]  # fmt: skip
    return section("samples", "Samples", parts)


def blocks(subject: Subject, data: Any) -> Raw:
    if data is None:
        return Raw("")
    what = "Edge weights of the learned graph"
    if hasattr(subject.model, "embedding_"):
        also = " and in the leading eigenvectors of each view" if len(data["images"]) > 1 else ""
        what = f"Cosine similarity of all pairs of samples in the {data['first'].lower()}{also}"
    hint = (
        f"{what}, sorted by cluster. Dark squares on the diagonal and light areas elsewhere mean "
        "clear clusters; an even tone means none."
    )
    if len(subject.labels) > data["cells"]:
        hint += " Every cell is a mean over adjacent pairs."
    if subject.present(0) is not None:
        hint += " Samples that a view lacks are left blank."
    parts = [paragraph(hint + only_some(subject), "hint"), grid("blocks")]
    return section("blocks", "Similarity", parts)


def details(subject: Subject) -> Raw:
    model = subject.model
    parts: list[str] = []
    told = {words.sentence(warning) for warning in words.warnings(subject)}
    if lines := [line for line in words.description(model) if line not in told]:
        parts += ["<h3>What was done</h3>", listing(lines)]
    parts += ["<h3>How to cite</h3>", listing(words.citations(subject))]
    parts += ["<h3>How to reproduce</h3>", f"<pre><code>{text(_code(subject))}</code></pre>"]
    if model.random_state is None:
        seed = "No random_state was set: another run of k-means may give other labels."
        parts.append(paragraph(seed, "hint"))
    if subject.remarks:
        parts += ["<h3>How the file was read</h3>", listing(subject.remarks)]
    if subject.checksum is not None:
        parts.append(paragraph(f"SHA-256 of the views: {subject.checksum}", "hint"))
    parameters = [[name, _named(value)] for name, value in sorted(model.get_params().items())]
    parts += [
        '<div class="pair three">', table(["parameter", "value"], parameters, [], "Parameters"),
        table(["package", "version"], _versions(), [], "Versions"),
        table(["data", "shape"], _shapes(subject), [], "Data"), "</div>",
    ]  # fmt: skip
    return section("details", "Details", parts)


def _versions() -> list[list[str]]:
    packages = ("numpy", "scipy", "scikit-learn")
    own = [["mkclust", __version__], ["Python", platform.python_version()]]
    return own + [[name, version(name)] for name in packages]


def _shapes(subject: Subject) -> list[list[object]]:
    n = len(subject.labels)
    shapes: list[list[object]] = [["samples", n], ["views", len(subject.views)]]
    if subject.widths is not None:
        owned = [subject.present(p) for p in range(len(subject.views))]
        held = [n if own is None else int(own.sum()) for own in owned]
        triples = zip(subject.views, held, subject.widths, strict=True)
        shapes += [[name, f"{rows} × {width}"] for name, rows, width in triples]
    return shapes


def _named(value: Any) -> str:
    return str(getattr(value, "__name__", None) or ADDRESS.sub("", repr(value)))


def _code(subject: Subject) -> str:
    made = ADDRESS.sub("", subject.model.__repr__(N_CHAR_MAX=10**6))
    lines = [
        "import mkclust",
        "",
        f"model = mkclust.{made}.fit(views)",
        'mkclust.write_report(model, "report.html", views)',
    ]
    if subject.command:
        lines = [
            f"$ {subject.command}",
            "",
            "# or in Python, with the views read from the same file:",
            *lines,
        ]
    return "\n".join(lines)
