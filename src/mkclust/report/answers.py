"""The questions that a report answers about a fitted model: explanation, refits, markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..agreement.cache import shared_views
from ..exceptions import InputError
from ..inspection import (
    Annotations,
    ChoiceOfK,
    Explanation,
    Markers,
    Stability,
    ViewInfluence,
    explain,
    markers,
    stability,
    view_influence,
)
from ..inspection.fitting import refit_all, tried

KINDS: dict[str, type] = {
    "choice": ChoiceOfK, "stability": Stability, "influence": ViewInfluence,
    "explanation": Explanation, "markers": Markers, "annotations": Annotations,
}  # fmt: skip
WORDS = {
    "explanation": "The explanation was", "influence": "View influence was",
    "stability": "Stability was", "markers": "Markers were",
}  # fmt: skip
ONE_CLUSTER = "Explanation, refits and markers were not computed: there is one cluster only."


def named_answers(answers: Sequence[Any]) -> dict[str, Any]:
    """Return each answer under the name of its kind."""
    fields: dict[str, Any] = {}
    for answer in answers:
        name = next((name for name, kind in KINDS.items() if isinstance(answer, kind)), None)
        if name is None:
            raise InputError(
                "answers must be results of choose_k, explain, stability, view_influence, markers "
                f"or compare_annotations, not {type(answer).__name__}"
            )
        fields[name] = answer
    return fields


def answer_questions(
    model: Any,
    views: Any,
    given: Sequence[Any] = (),
    *,
    wanted: Sequence[str] = tuple(WORDS),
    beside: Sequence[Callable[[], Any]] = (),
) -> tuple[list[Any], list[str]]:
    """Ask what a report shows about a fitted model, and say what cannot be answered.

    Parameters
    ----------
    model : MultiViewClusterer
        Fitted to `views`.
    views : as for its `fit`
    given : sequence
        Answers at hand, which are not asked for again.
    wanted : sequence of str
        Of "explanation", "influence", "stability" and "markers".
    beside : sequence of functions
        Tasks that run beside the explanation; their results are not returned.

    Returns
    -------
    answers : list
        Those given, then the new ones.
    skipped : list of str
        Why a question has no answer for these data.
    """
    known = named_answers(given)
    asked = [name for name in wanted if name not in known]
    if asked and int(model.labels_.max()) == 0:
        return list(given), [ONE_CLUSTER]
    skipped: dict[str, str] = {}
    if "influence" in asked and len(model.view_names_in_) == 1:
        asked.remove("influence")
        skipped["influence"] = "there is one view only"
    plans: dict[str, Callable[[], Any]] = {
        "explanation": partial(explain, model, views),
        "influence": partial(view_influence, model, views),
        "stability": partial(stability, model, views),
    }
    with shared_views():  # the explanation uses one core, the refits use all
        alone = [name for name in asked if name == "explanation"]
        tasks = [*(plans[name] for name in alone), *beside]
        outcomes = dict(zip(alone, refit_all(tried, tasks, len(model.labels_)), strict=False))
        outcomes |= {n: tried(plans[n]) for n in asked if n in plans and n not in alone}
    if "markers" in asked:
        influence = known.get("influence", outcomes.get("influence"))
        valid = influence if isinstance(influence, ViewInfluence) else False
        outcomes["markers"] = tried(partial(markers, model, views, valid=valid))
    for name, outcome in outcomes.items():  # the data may not allow it, but the labels stand
        if isinstance(outcome, InputError):
            skipped[name] = str(outcome).removesuffix(".")
    answers = [each for each in outcomes.values() if not isinstance(each, InputError)]
    reasons = [f"{WORDS[name]} not computed: {why}." for name, why in skipped.items()]
    return [*given, *answers], reasons
