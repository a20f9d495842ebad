"""Questions about a fitted model: when they are asked, how the answers are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.views import MultiView
from ..inspection import (
    Annotations,
    ChoiceOfK,
    Conflict,
    Explanation,
    Markers,
    Stability,
    ViewInfluence,
)
from ..inspection.annotations import Comparison
from ..inspection.view_influence import LeftOut
from ..io.atomic import write_csv_atomic
from ..large.views import LargeViews
from ..report.answers import answer_questions
from .results import plain

PATIENCE = 120.0  # seconds that the checks may be expected to take without being asked for
HALVES = 5.0  # fits that the refits to halves of the samples cost at most
EXPLAINED = 3.0  # fits that the explanation costs at most
LISTED = 100  # samples that change cluster or that a conflict concerns, listed in result.json
TOP = 10  # features of a cluster that result.json lists
FIGURES = 6  # significant figures in tables
Table = tuple[str, Iterable[str], Iterable[Sequence[Any]]]  # file name, head, rows


def answers_for(
    model: Any,
    views: MultiView | LargeViews,
    asked: bool | None,
    with_markers: bool,
    fit_seconds: float,
    beside: Sequence[Callable[[], Any]] = (),
) -> tuple[list[Any], list[str]]:
    """Return explanation, refits and markers of a model, and why one was not computed.

    Unless `asked` for, refits are made where they are expected to take at most two minutes. They
    share the cores with the tasks `beside` them, whose results are not returned.
    """
    wanted, skipped = [], []
    reason = _why_not(views, asked, fit_seconds)
    if reason is None:
        wanted += ["explanation", "influence", "stability"]
    else:
        skipped.append(f"Explanation, stability and view influence were not computed: {reason}")
    if with_markers:
        wanted.append("markers")
    else:
        skipped.append("Markers were not computed: --no-markers was given.")
    found, why = answer_questions(model, views, wanted=wanted, beside=beside)
    return found, [*skipped, *why]


def _why_not(views: MultiView | LargeViews, asked: bool | None, fit_seconds: float) -> str | None:
    """Return why the model is not refitted, or None."""
    expected = fit_seconds * (HALVES + EXPLAINED + views.n_views)
    if asked is None and expected > PATIENCE:
        return (
            f"they refit the model and may take {expected / 60:.0f} minutes. Compute them with "
            "--stability."
        )
    return "--no-stability was given." if asked is False else None


class Form(NamedTuple):
    """How an answer is written: its key and content in result.json, and its table, if any."""

    key: str
    content: Callable[[Any], dict[str, Any]]
    table: Callable[[Any], Table | None] = lambda _: None


def answers_as_dict(answers: Sequence[Any]) -> dict[str, Any]:
    """Return the answers for JSON, without anything that has a row per sample."""
    return {form.key: {"words": str(a)} | form.content(a) for a, form in _forms(answers)}


def write_tables(folder: Path, answers: Sequence[Any]) -> None:
    """Write the answers that have a row per sample, feature or column as CSV tables."""
    for answer, form in _forms(answers):
        if (table := form.table(answer)) is not None:
            name, head, rows = table
            write_csv_atomic(folder / name, list(head), rows)


def _forms(answers: Sequence[Any]) -> list[tuple[Any, Form]]:
    return [(a, form) for a in answers for kind, form in FORMS.items() if isinstance(a, kind)]


def _chosen(value: Any, *names: str) -> dict[str, Any]:
    """Return some attributes, for JSON."""
    return {name: plain(getattr(value, name)) for name in names}


def _choice(found: ChoiceOfK) -> dict[str, Any]:
    return dict(plain(found))


def _stability(found: Stability) -> dict[str, Any]:
    return _chosen(found, "agreement", "clusters") | {
        "samples_that_move": len(found.moved),
        "moved": [plain(moved._asdict()) for moved in found.moved[:LISTED]],
    }


def _stability_table(found: Stability) -> Table:
    columns = (found.index, found.labels, np.round(found.samples, 4), found.rivals)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "stability.csv", ("sample", "cluster", "kept", "rival"), rows


def _influence(found: ViewInfluence) -> dict[str, Any]:
    left = found.without_unrelated
    return {
        "unrelated": list(found.unrelated),
        "agreement": dict(zip(found.names, plain(found.agreement), strict=True)),
        "without": {left.views[0]: _left(left) for left in found.without},
        "without_unrelated": None if left is None else _left(left),
    }


def _left(left: LeftOut) -> dict[str, Any]:
    return _chosen(left, "views", "ari") | {"samples": len(left.rows)}


def explanation_as_dict(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON: sentences and numbers, without a row per sample."""
    names, profile = found.profile.names, found.profile
    others = [
        _chosen(other, "origin", "difference", "score", "ari")
        | {"words": str(other), "column": column, "clusters": np.bincount(other.labels).tolist()}
        for column, other in _alternatives(found).items()
    ]
    return {
        "words": found.describe(),
        "separation": _by_view(names, profile.clusters.T),
        "pairs": [
            {"clusters": [a, b], "separation": _by_view(names, profile.pairs[a, b])}
            for a, b in profile.contested()
        ],
        "conflicts": [_conflict(conflict) for conflict in found.conflicts],
        "alternatives": others,
        "tried": found.alternatives.tried,
    }


def _conflict(found: Conflict) -> dict[str, Any]:
    names = ("clusters", "supporting", "opposing", "sizes", "parts", "ari", "score")
    moved = {"samples_that_move": len(found.moved), "moved": plain(found.moved[:LISTED])}
    return {"words": str(found)} | _chosen(found, *names) | moved


def _by_view(names: Sequence[str], values: np.ndarray) -> dict[str, Any]:
    return dict(zip(names, plain(np.round(values, 4)), strict=True))


def _alternatives(found: Explanation) -> dict[str, Any]:
    """Return the other answers by their columns in alternatives.csv."""
    return {f"alternative{at}": other for at, other in enumerate(found.alternatives, start=1)}


def _alternatives_table(found: Explanation) -> Table | None:
    if not (others := _alternatives(found)):
        return None
    labels = [np.asarray(found.index), *(other.labels for other in others.values())]
    rows = zip(*(column.tolist() for column in labels), strict=True)
    return "alternatives.csv", ("sample", *others), rows


def _markers(found: Markers) -> dict[str, Any]:
    names = ("view", "feature", "effect", "auc", "p", "p_adjusted")
    return _chosen(found, "valid", "warning") | {
        "tests": len(found),
        "clusters": [
            [{name: plain(getattr(found, name)[i]) for name in names} for i in found.top(c, TOP)]
            for c in range(int(found.cluster.max()) + 1)
        ],
    }


def _markers_table(found: Markers) -> Table:
    columns = (_figures(getattr(found, name)) for name in found.COLUMNS)
    return "markers.csv", found.COLUMNS, zip(*columns, strict=True)


def _figures(column: np.ndarray) -> list[Any]:
    """Return numbers with six significant figures, and anything else unchanged."""
    if column.dtype.kind != "f":
        return column.tolist()
    return [float(f"{value:.{FIGURES}g}") for value in column.tolist()]


def _annotations(found: Annotations) -> dict[str, Any]:
    curves = [] if found.survival is None else found.survival.curves
    return {
        "correction": found.correction,
        "columns": [plain(each._asdict()) for each in found.comparisons],
        "not_compared": list(found.skipped),
        "survival": [_chosen(each, "cluster", "samples", "events", "median") for each in curves],
    }


def _annotations_table(found: Annotations) -> Table:
    return "annotations.csv", Comparison._fields, map(plain, found.comparisons)


FORMS: dict[type, Form] = {
    ChoiceOfK: Form("choice_of_k", _choice),
    Stability: Form("stability", _stability, _stability_table),
    ViewInfluence: Form("view_influence", _influence),
    Explanation: Form("explanation", explanation_as_dict, _alternatives_table),
    Markers: Form("markers", _markers, _markers_table),
    Annotations: Form("annotations", _annotations, _annotations_table),
}
