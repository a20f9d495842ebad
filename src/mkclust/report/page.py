"""One self-contained HTML file from a fitted model."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from string import Template
from typing import Any

from .._version import __version__
from . import answers, sections
from .annotations import clinical
from .charts import chart_data
from .groups import silhouettes
from .html import text
from .subject import Subject
from .views import spectra, views

ECHARTS = "6.1.0"
TITLE = re.compile(r'<section id="(\w+)".*?<h2[^>]*>(.*?)</h2>', re.S)


def render(subject: Subject) -> str:
    """Return the page as text: style, scripts, chart library and data are inside."""
    H = getattr(subject.model, "embedding_", None)
    found = None if H is None else silhouettes(H, subject.labels)
    data = chart_data(subject, found)
    parts = [
        sections.summary(subject, found),
        sections.clusters(subject, found),
        sections.known_classes(subject, data["classes"]),
        answers.certainty(subject),
        views(subject),
        answers.disagreement(subject),
        sections.samples(subject, data["samples"]),
        answers.features(subject),
        clinical(subject),
        answers.stability(subject),
        answers.influence(subject),
        answers.choice(subject),
        sections.blocks(subject, data["blocks"]),
        spectra(subject, data["spectra"]),
        sections.details(subject),
    ]
    scripts = {name: _static(f"{name}.js") for name in ("echarts.min", "charts", "page")}
    titles = [head.groups() for part in parts if (head := TITLE.match(part))]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in titles)
    return Template(_static("page.html")).substitute(
        policy=_policy(list(scripts.values())),
        version=text(__version__),
        echarts=ECHARTS,
        title=text(
            f"{len(subject.labels)} samples in {subject.k} clusters by {subject.model.title}"
        ),
        style=_static("page.css"),
        navigation=links,
        sections="\n".join(filter(None, parts)),
        data=_inert(data),
        library=scripts["echarts.min"],
        charts=scripts["charts"],
        script=scripts["page"],
    )


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Return a content security policy: nothing is loaded, and only these scripts run."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _inert(data: dict[str, Any]) -> str:
    """Return JSON without characters that could end the script element around it."""
    dumped = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped
