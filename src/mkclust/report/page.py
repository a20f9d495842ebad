"""One self-contained HTML file from a fitted model: its content here, its form in templates."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..agreement.chance import mean_agreement
from ..base import MultiViewClusterer
from ..data.input import fitted_views
from ..data.views import MultiView
from ..dual_noise import MKCDNM
from ..exceptions import InputError
from ..inspection import (
    Annotations,
    ChoiceOfK,
    Explanation,
    Markers,
    Stability,
    Verdict,
    ViewInfluence,
)
from ..inspection.stability import MOVES
from ..inspection.view_influence import describe_ari
from ..io.models import joint_checksum, view_checksums
from ..metrics import evaluate
from . import drawing, words
from .charts import MOST_VIEWS, chart_data, other_labels, survival_ticks
from .words import number, ranking, shortened, unrelated

ECHARTS = "6.1.0"
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
PACKAGES = ("numpy", "scipy", "scikit-learn")
MOST_CLASSES = 40  # columns of the table of known classes
LISTED = 200  # samples of a list, at most
FEATURES, ROWS, MOST = 6, 30, 60  # features of a cluster, of all if this leaves two each, at most
FULL = 2.0  # effect size that has the full color
SECTIONS = {  # names with the titles in the navigation and on the page, in their order
    "summary": ("Answer", "Answer"),
    "separation": ("Separation", "What separates the clusters"),
    "annotations": ("Annotations", "Annotations"),
    "classes": ("Classes", "Known classes"),
    "views": ("Views", "Which views agree"),
    "conflicts": ("Conflicts", "Conflicts between views"),
    "alternatives": ("Other answers", "Other answers"),
    "reproducibility": ("Reproducibility", "Reproducibility"),
    "details": ("Details", "Details"),
}


@dataclass(frozen=True)
class Page:
    """A fitted model with names of its views and samples, and answers to later questions.

    Attributes
    ----------
    model : MultiViewClusterer
    views, samples : tuple of str
        Names.
    widths : tuple of int or None
        Columns of the views, where the views were given.
    kernels : bool
        Whether the views are kernel matrices.
    classes : (n,) array of str or None
        Known classes.
    notes, remarks, skipped : tuple of str
        Warnings of the fit, what a reader decided about the file, what was not computed.
    code : str
        How to make the page again.
    checksum : str or None
        SHA-256 of the views, where they were given in memory.
    verdict, choice, stability, influence, explanation, markers, annotations
        Answers, or None.
    """

    model: Any
    views: tuple[str, ...]
    widths: tuple[int, ...] | None
    kernels: bool
    samples: tuple[str, ...]
    classes: np.ndarray | None
    notes: tuple[str, ...]
    remarks: tuple[str, ...]
    skipped: tuple[str, ...]
    code: str
    checksum: str | None
    verdict: Verdict | None = None
    choice: ChoiceOfK | None = None
    stability: Stability | None = None
    influence: ViewInfluence | None = None
    explanation: Explanation | None = None
    markers: Markers | None = None
    annotations: Annotations | None = None

    @property
    def labels(self) -> np.ndarray:
        return np.asarray(self.model.labels_)

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels)

    @property
    def k(self) -> int:
        """Number of clusters found, which may be smaller than the number asked for."""
        return len(self.sizes)

    @property
    def profile(self) -> Any:
        """How well each view separates the clusters; None for one cluster."""
        return None if self.explanation is None or self.k < 2 else self.explanation.profile

    @property
    def cluster_columns(self) -> list[tuple[str, str]]:
        """Heads of the columns of a table with a column per cluster."""
        return [(f"cluster {c}", "number") for c in range(self.k)]

    @property
    def view_columns(self) -> list[tuple[str, str]]:
        """Heads of a table with a column per view: ranks, because names may be long."""
        return [(f"{rank}", "number") for rank in range(1, len(self.views) + 1)]

    @cached_property
    def silhouettes(self) -> drawing.Silhouettes | None:
        H = getattr(self.model, "embedding_", None)
        return None if H is None else drawing.silhouettes(H, self.labels)

    @cached_property
    def reproducibility(self) -> np.ndarray | None:
        """Mean share of refits that keep a sample in its cluster, by cluster."""
        found = self.stability
        return None if found is None else found.by_cluster(self.k)

    def present(self, p: int) -> np.ndarray | None:
        """Which samples a view holds (n,); None where it holds all."""
        presence = getattr(self.model, "presence_", None)
        return None if presence is None else np.asarray(presence)[:, p]


def page_of(
    model: MultiViewClusterer,
    views: Any,
    classes: Any,
    notes: tuple[str, ...],
    skipped: tuple[str, ...],
    code: str,
    answers: dict[str, Any],
) -> Page:
    """Collect what a page shows, from a fitted model and, if given, the views it was fitted to."""
    check_is_fitted(model, "labels_")
    n = len(model.labels_)
    data = None
    if views is not None:  # as the model took them, without changing the model
        data = fitted_views(model, views)
    if classes is None and data is not None:
        classes = data.labels
    if classes is not None and len(classes := np.asarray(classes)) != n:
        raise InputError(f"{len(classes)} classes for {n} samples")
    index = getattr(model, "sample_names_in_", range(n))
    return Page(
        model=model,
        views=tuple(map(shortened, model.view_names_in_)),
        widths=None if data is None else data.widths,
        kernels=data.kernels if data is not None else model.gives_kernels,
        samples=tuple(map(shortened, index)),
        classes=None if classes is None else np.array([shortened(c) for c in classes]),
        notes=tuple(words.model_warnings(model, notes)),
        remarks=() if data is None else data.notes,
        skipped=skipped,
        code=code,
        checksum=joint_checksum(view_checksums(data)) if isinstance(data, MultiView) else None,
        verdict=getattr(model, "verdict_", None),
        **answers,
    )


def code_for(
    model: Any, command: str | None, given: dict[str, Any], classes: bool, compute: bool
) -> str:
    """Return the command, or the lines of Python, that make the page again from the same views."""
    if command is not None:
        return f"$ {command}"
    valid = bool(getattr(given.get("markers"), "valid", False))
    calls = {
        "explanation": "mkclust.explain(model, views)",
        "influence": "mkclust.view_influence(model, views)",
        "markers": f"mkclust.inspection.markers(model, views, valid={valid})",
        "annotations": "mkclust.inspection.compare_annotations(model.labels_, table)",
    }
    if "choice" in given:
        ks = [row.k for row in given["choice"].table]
        calls["choice"] = f"mkclust.choose_k(model, views, {ks})"
    if "stability" in given:
        splits = len(given["stability"].refits) // 2
        calls["stability"] = f"mkclust.stability(model, views, n_splits={splits})"
    made = ADDRESS.sub("", model.__repr__(N_CHAR_MAX=10**6))
    lines = ["import mkclust", "", f"model = mkclust.{made}.fit(views)"]
    lines += [f"{name} = {calls[name]}" for name in given]
    if hasattr(model, "verdict_"):
        known = ", choice=choice" if "choice" in given else ""
        lines.append(f"model.verdict_ = mkclust.verdict(model, views{known})")
    more = f", answers=[{', '.join(given)}]" if given else ""
    more += ", classes=classes" if classes else ""
    more += "" if compute else ", compute=False"
    return "\n".join([*lines, f'mkclust.write_report(model, "report.html", views{more})'])


def render(page: Page) -> str:
    """Return the page as text: style, scripts, chart library and data are inside."""
    environment = Environment(
        loader=PackageLoader("mkclust.report"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "num": number, "sentence": partial(words.sentence, names=page.views), "short": shortened,
        "listed": words.listed, "counted": words.counted, "ari_words": describe_ari,
        "stability_word": words.stability_word,
    }  # fmt: skip
    scripts = [_static(f"{name}.js") for name in ("echarts.min", "charts", "page")]
    data = chart_data(page)
    return environment.get_template("page.html.j2").render(
        page=page, model=page.model, data=data, sections=_sections(page), version=__version__,
        echarts=ECHARTS, policy=_policy(scripts), style=_static("page.css"), scripts=scripts,
        json=_inert(data), words=words, limits=_limits(page), colors=drawing,
        clusters=_clusters(page), views=_views(page), tiles=_tiles(page), profile=_profile(page),
        features=_features(page), classes=_classes(page), pairs=_pairs(page),
        survival=_survival(page), least=_least(page), details=_details(page),
        influence=_influence(page), recolored=bool(other_labels(page)),
    )  # fmt: skip


def _sections(page: Page) -> dict[str, tuple[str, str]]:
    """Return the sections that have content."""
    there = {
        "separation": page.markers is not None or page.profile is not None,
        "annotations": page.annotations is not None,
        "classes": page.classes is not None,
        "conflicts": page.explanation is not None and page.k > 1,
        "alternatives": page.explanation is not None or page.choice is not None,
        "reproducibility": page.stability is not None or page.silhouettes is not None,
    }
    return {name: titles for name, titles in SECTIONS.items() if there.get(name, True)}


def _limits(page: Page) -> dict[str, Any]:
    return {
        "listed": LISTED, "views": MOST_VIEWS, "stable": words.STABLE, "moves": MOVES,
        "dissolved": words.DISSOLVED, "mkcdnm": isinstance(page.model, MKCDNM),
    }  # fmt: skip


def _tiles(page: Page) -> dict[str, str]:
    tiles = {}
    if page.stability is not None:
        kept = page.stability.samples[page.stability.distinct[page.stability.rows]]
        tiles["reproducibility"] = number(float(kept.mean()))
    if page.silhouettes is not None:
        tiles["silhouette"] = number(page.silhouettes.mean)
    if page.classes is not None:
        scores = evaluate(page.classes, page.labels)
        tiles |= {words.METRICS[name]: number(value, 3) for name, value in scores.items()}
    return tiles


def _clusters(page: Page) -> list[dict[str, Any]]:
    """Return a row per cluster: size, share, reproducibility, silhouette, largest class."""
    sizes, kept, shapes = page.sizes, page.reproducibility, page.silhouettes
    rows: list[dict[str, Any]] = [
        {"size": int(size), "share": size / sizes.sum(), "bar": size / sizes.max(),
         "color": c % len(drawing.LIGHT),
         "shape": drawing.SHAPES[c // len(drawing.LIGHT) % len(drawing.SHAPES)],
         "kept": None if kept is None else float(kept[c]),
         "silhouette": np.nan if shapes is None else float(shapes.by_cluster[c])}
        for c, size in enumerate(sizes)
    ]  # fmt: skip
    if page.stability is not None:
        moved = page.stability.labels[page.stability.samples < MOVES]
        for c, row in enumerate(rows):
            row["moved"] = int(np.sum(moved == c))
    if page.classes is not None:
        names, counts = drawing.class_table(page.classes, page.labels)
        for row, count in zip(rows, counts, strict=True):
            share = 100 * count.max() / max(row["size"], 1)
            row["class"] = f"{names[count.argmax()]} ({share:.0f} %)" if row["size"] else "–"
    return rows


def _profile(page: Page) -> dict[str, Any] | None:
    """Return how well each view separates each cluster, with numbers in brackets by chance."""
    profile = page.profile
    if profile is None:
        return None
    within = profile.clusters <= profile.chance
    rows = [
        {"name": page.views[p],
         "cells": [_shade(v, 1.0, f"({number(v)})" if chance else number(v))
                   for v, chance in zip(profile.clusters[:, p], within[:, p], strict=True)]}
        for p in ranking(page.model)
    ]  # fmt: skip
    return {"rows": rows, "brackets": bool(within.any()), "sentences": profile.describe()}


def _shade(value: float, full: float, text: str) -> dict[str, Any]:
    """Return a cell of a heat map: its text, its strength from 0 to 1, and its sign."""
    strength = 0.0 if np.isnan(value) else min(abs(value) / full, 1.0)
    return {"text": text, "strength": strength, "tone": "low" if value < 0 else "high"}


def _features(page: Page) -> dict[str, Any] | None:
    """Return the first features of every cluster with their effect in all clusters."""
    found = page.markers
    if found is None:
        return None
    count = int(np.clip(ROWS // page.k, 2, FEATURES))
    first = np.concatenate([found.top(c, count) for c in range(page.k)])[:MOST]
    rows = dict.fromkeys(zip(found.view[first], found.feature[first], strict=True))
    effects = {row: np.full(page.k, np.nan) for row in rows}
    for i in np.flatnonzero(np.isin(found.feature.astype(str), [str(name) for _, name in rows])):
        if (row := effects.get((found.view[i], found.feature[i]))) is not None:
            row[found.cluster[i]] = found.effect[i]
    return {
        "several": len(set(found.view.tolist())) > 1,
        "count": count,
        "tests": [{name: getattr(found, name)[i] for name in found.COLUMNS} for i in first],
        "rows": [
            {"view": view, "name": name, "cells": [_shade(v, FULL, number(v)) for v in values]}
            for (view, name), values in effects.items()
        ],
    }


def _classes(page: Page) -> dict[str, Any] | None:
    if page.classes is None or len(np.unique(page.classes)) > MOST_CLASSES:
        return None
    names, counts = drawing.class_table(page.classes, page.labels)
    rows = [[_shade(v / max(row.sum(), 1), 1.0, str(v) if v else "") for v in row]
            for row in counts]  # fmt: skip
    return {"columns": [(name, "number") for name in names], "rows": rows}


def _views(page: Page) -> list[dict[str, Any]]:
    """Return a row per view, with what this method knows about it, largest agreement first."""
    model, m, alone = page.model, len(page.views), unrelated(page.model)
    agreement = mean_agreement(model.agreement_) if hasattr(model, "agreement_") else None
    weights = getattr(model, "weights_", None)
    redundancy = getattr(model, "redundancy_", None)
    rows = []
    for p in ranking(model).tolist():
        held = page.present(p)
        row: dict[str, Any] = {
            "name": page.views[p],
            "unrelated": p in alone,
            "columns": None if page.widths is None or page.kernels else page.widths[p],
            "samples": None if held is None else int(held.sum()),
            "agreement": None if agreement is None or m < 2 else float(agreement[p]),
            "weight": None if weights is None else float(weights[p]),
        }
        if weights is not None:
            row["bar"] = float(weights[p] / max(np.max(weights), 1e-300))
        if redundancy is not None and m > 1:
            row["redundancy"] = float(redundancy[p].sum() - 1)
            row["shared"] = [page.views[q] for q in words.redundant_with(redundancy, p)]
        if isinstance(model, MKCDNM):
            row["kept"] = int(model.dimensions_[p])
            row |= {name: float(getattr(model.noise_, name)[p])
                    for name in ("null", "column", "cross")}  # fmt: skip
        rows.append(row)
    return rows


def _pairs(page: Page) -> dict[str, list[list[dict[str, Any]]]]:
    """Return agreement and redundancy of all pairs of views, in the order of `_views`."""
    order, found = ranking(page.model), {}
    for name in ("agreement", "redundancy"):
        values = getattr(page.model, f"{name}_", None)
        if values is not None and len(values) > 1:
            ordered = np.asarray(values)[np.ix_(order, order)]
            found[name] = [
                [_shade(0 if i == j else v, 1.0, "" if i == j else number(v))
                 for j, v in enumerate(row)]
                for i, row in enumerate(ordered)
            ]  # fmt: skip
    return found


def _influence(page: Page) -> list[dict[str, Any]]:
    """Return what leaving out each view changes."""
    found = page.influence
    if found is None or not found.without:
        return []
    return [
        {"name": page.views[p], "ari": found.without[p].ari,
         "unrelated": found.names[p] in found.unrelated}
        for p in ranking(page.model)
    ]  # fmt: skip


def _survival(page: Page) -> dict[str, Any] | None:
    """Return the numbers at risk: samples still observed at some times, by cluster."""
    found = None if page.annotations is None else page.annotations.survival
    if found is None:
        return None
    ticks = survival_ticks(found)
    rows = [
        {"curve": each, "color": each.cluster % len(drawing.LIGHT),
         "median": number(each.median, 1) if np.isfinite(each.median) else "not reached",
         "at_risk": [int(each.at_risk[i]) if i < len(each.times) else 0
                     for i in np.searchsorted(each.times, ticks)]}
        for each in found.curves
    ]  # fmt: skip
    return {"columns": [(f"{t:g}", "number") for t in ticks], "rows": rows, "p": found.p}


def _least(page: Page) -> list[dict[str, Any]]:
    """Return the samples that some refits put into another cluster, least reproducible first."""
    found = page.stability
    if found is None:
        return []
    order = np.argsort(found.samples, kind="stable")
    return [
        {"name": shortened(found.index[i]), "cluster": found.labels[i], "other": found.rivals[i],
         "kept": f"{100 * found.samples[i]:.0f} %"}
        for i in order[found.samples[order] < 1]
    ]  # fmt: skip


def _details(page: Page) -> dict[str, Any]:
    model, n = page.model, len(page.labels)
    told = {words.sentence(note, page.views) for note in page.notes}
    shapes: list[tuple[str, object]] = [("samples", n), ("views", len(page.views))]
    for p, name in enumerate(page.views if page.widths is not None else ()):
        held = page.present(p)
        rows = n if held is None else int(held.sum())
        shapes.append((name, f"{rows} × {page.widths[p] if page.widths else 0}"))
    own = [("mkclust", __version__), ("Python", platform.python_version())]
    return {
        "done": [line for line in words.description(model) if line not in told],
        "parameters": [(name, str(getattr(value, "__name__", None) or ADDRESS.sub("", repr(value))))
                       for name, value in sorted(model.get_params().items())],
        "versions": own + [(name, version(name)) for name in PACKAGES],
        "shapes": shapes,
    }  # fmt: skip


def _static(name: str) -> Markup:
    return Markup(files(__package__).joinpath("static", name).read_text(encoding="utf-8"))


def _policy(scripts: list[Markup]) -> str:
    """Return a content security policy: nothing is loaded, and only these scripts run."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _inert(data: dict[str, Any]) -> Markup:
    """Return JSON without characters that could end the script element around it."""
    dumped = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return Markup(dumped)
