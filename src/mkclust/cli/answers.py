"""Questions about a fitted model: when they are asked, how the answers are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..chunked.rows import Rows
from ..data.views import MultiView
from ..exceptions import InputError
from ..inspection import (
    Annotations,
    ChoiceOfK,
    Explanation,
    Markers,
    Stability,
    ViewInfluence,
    explain,
)
from ..inspection.fitting import Question, ask_all, tried
from ..inspection.stability import stability_question
from ..inspection.view_influence import LeftOut, influence_question
from ..io.atomic import write_csv_atomic
from .after import annotations_as_dict, markers_as_dict
from .explanation import explanation_as_dict
from .results import plain

PATIENCE = 120.0  # seconds that the checks may be expected to take without being asked for
HALVES = 5.0  # fits that the refits to halves of the samples cost at most
EXPLAINED = 3.0  # fits that the explanation costs at most
LISTED = 100  # samples that change cluster, listed in result.json


def checked_answers(
    model: Any,
    views: MultiView | Rows,
    asked: bool | None,
    fit_seconds: float,
    beside: Sequence[Callable[[], Any]] = (),
) -> tuple[list[Any], list[str]]:
    """Return explanation, view influence and stability of a model, and why one was not computed.

    Unless `asked` for, they are computed where they are expected to take at most two minutes.
    They share the cores with each other and with the tasks `beside` them, whose results are not
    returned.
    """
    reason = _why_not(model, views, asked, fit_seconds)
    if reason is not None:
        return [], [f"Explanation, stability and view influence were not computed: {reason}"]
    planned: dict[str, Callable[[], Question[Any]]] = {
        "The explanation was": lambda: _one_task(partial(explain, model, views), len(views)),
        "View influence was": lambda: influence_question(model, views),
        "Stability was": lambda: stability_question(model, views),
    }
    skipped: list[str] = []
    if views.n_views == 1:
        del planned["View influence was"]
        skipped.append("View influence was not computed: there is one view only.")
    outcomes: dict[str, Any] = {what: tried(plan) for what, plan in planned.items()}
    asked_for = {what: q for what, q in outcomes.items() if isinstance(q, Question)}
    others = [_one_task(task, 0) for task in beside]
    found = ask_all([*others, *asked_for.values()])[len(others) :]
    outcomes |= dict(zip(asked_for, found, strict=True))
    for what, outcome in outcomes.items():
        if isinstance(outcome, InputError):  # the data do not allow it, but the labels stand
            skipped.append(f"{what} not computed: {str(outcome).removesuffix('.')}.")
    return [each for each in outcomes.values() if not isinstance(each, InputError)], skipped


def _why_not(
    model: Any, views: MultiView | Rows, asked: bool | None, fit_seconds: float
) -> str | None:
    """Return why no question is asked, or None."""
    expected = fit_seconds * (HALVES + EXPLAINED + views.n_views)
    if asked is None and expected > PATIENCE:
        return (
            f"they refit the model and may take {expected / 60:.0f} minutes. Compute them with "
            "--stability."
        )
    if asked is False:
        return "--no-stability was given."
    return "there is one cluster only." if model.n_clusters == 1 else None


def _one_task(task: Callable[[], Any], n_samples: int) -> Question[Any]:
    return Question([task], itemgetter(0), n_samples)


def answers_as_dict(answers: Sequence[Any]) -> dict[str, Any]:
    """Return the answers for JSON, without anything that has a row per sample."""
    found: dict[str, Any] = {}
    for answer in answers:
        if isinstance(answer, ChoiceOfK):
            found["choice_of_k"] = plain(answer) | {"words": str(answer)}
        elif isinstance(answer, Stability):
            found["stability"] = {
                "words": str(answer),
                "agreement": answer.agreement,
                "clusters": plain(answer.clusters),
                "samples_that_move": len(answer.moved),
                "moved": [plain(moved._asdict()) for moved in answer.moved[:LISTED]],
            }
        elif isinstance(answer, ViewInfluence):
            found["view_influence"] = _influence(answer)
        elif isinstance(answer, Explanation):
            found["explanation"] = explanation_as_dict(answer)
        elif isinstance(answer, Markers):
            found["markers"] = markers_as_dict(answer)
        elif isinstance(answer, Annotations):
            found["annotations"] = annotations_as_dict(answer)
    return found


def write_stability(folder: Path, answers: Sequence[Any]) -> list[Path]:
    """Write stability.csv, one row per sample, where stability is among the answers."""
    written = []
    for answer in answers:
        if isinstance(answer, Stability):
            columns = (answer.index, answer.labels, np.round(answer.samples, 4), answer.rivals)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            written.append(folder / "stability.csv")
            write_csv_atomic(written[-1], ["sample", "cluster", "kept", "rival"], rows)
    return written


def _influence(answer: ViewInfluence) -> dict[str, Any]:
    left = answer.without_unrelated
    return {
        "words": str(answer),
        "unrelated": list(answer.unrelated),
        "agreement": dict(zip(answer.names, plain(answer.agreement), strict=True)),
        "without": {left.views[0]: _left(left) for left in answer.without},
        "without_unrelated": None if left is None else _left(left),
    }


def _left(left: LeftOut) -> dict[str, Any]:
    return {"views": list(left.views), "ari": plain(left.ari), "samples": len(left.rows)}
