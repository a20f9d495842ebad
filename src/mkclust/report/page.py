"""One self-contained HTML file from a fitted model."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from string import Template
from typing import Any

from .._version import __version__
from . import questions, sections
from .charts import chart_data
from .groups import silhouettes
from .html import Raw, text
from .subject import Subject

ECHARTS = "6.1.0"
TITLES = {
    "summary": "Summary", "choice": "How many", "views": "Views", "samples": "Samples",
    "blocks": "Blocks", "clusters": "Clusters", "stability": "Stability", "classes": "Classes",
    "proof": "Proof", "details": "Details",
}  # fmt: skip


def render(subject: Subject) -> str:
    """The page as text: style, script, chart library and data inside, nothing to load."""
    H = getattr(subject.model, "embedding_", None)
    found = None if H is None else silhouettes(H, subject.labels)
    data = chart_data(subject, found)
    parts = {
        "summary": sections.summary(subject, found),
        "choice": questions.how_many(subject),
        "views": sections.views(subject),
        "samples": sections.samples(subject, data["samples"]),
        "blocks": sections.blocks(subject, data["blocks"]),
        "clusters": sections.clusters(subject, found),
        "stability": questions.stable(subject),
        "classes": sections.known_classes(subject, data["classes"]),
        "proof": sections.proof(subject),
        "details": sections.details(subject),
    }
    return _filled({name: part for name, part in parts.items() if part}, data, subject)


def _filled(parts: dict[str, Raw], data: dict[str, Any], subject: Subject) -> str:
    scripts = {name: _static(f"{name}.js") for name in ("echarts.min", "charts", "page")}
    links = "".join(f'<a href="#{name}">{TITLES[name]}</a>' for name in parts)
    return Template(_static("page.html")).substitute(
        policy=_policy(list(scripts.values())),
        version=text(__version__),
        echarts=ECHARTS,
        title=text(
            f"{len(subject.labels)} samples in {subject.k} clusters by {subject.model.title}"
        ),
        style=_static("page.css"),
        navigation=links,
        sections="\n".join(parts.values()),
        data=_inert(data),
        library=scripts["echarts.min"],
        charts=scripts["charts"],
        script=scripts["page"],
    )


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Nothing is loaded, and no script runs but these: not even one that slipped into the data."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _inert(data: dict[str, Any]) -> str:
    """JSON without a character that could end the script element it stands in."""
    dumped = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped
