"""Write a report: ask about a fitted model what was not asked yet, and render the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MultiViewClusterer
from ..data.memory import shared_views
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
    verdict,
    view_influence,
)
from ..inspection.fitting import refit_all
from ..io.files import replacing
from ..large.views import LargeViews

MOST_ROWS = 1_000_000  # a page of rows that are read in chunks lists no more samples

KINDS: dict[str, type] = {
    "choice": ChoiceOfK, "stability": Stability, "influence": ViewInfluence,
    "explanation": Explanation, "markers": Markers, "annotations": Annotations,
}  # fmt: skip
WORDS = {
    "explanation": "The explanation was", "influence": "View influence was",
    "stability": "Stability was", "markers": "Markers were",
}  # fmt: skip
ONE_CLUSTER = "Explanation, refits and markers were not computed: there is one cluster only."


def write_report(
    model: MultiViewClusterer,
    path: str | os.PathLike[str],
    views: Any = None,
    *,
    classes: Any = None,
    answers: Sequence[Any] = (),
    compute: bool = True,
    notes: Sequence[str] = (),
    skipped: Sequence[str] = (),
    command: str | None = None,
) -> Path:
    """Write a fitted model as one HTML page.

    The page is that of ``mkclust cluster``. With the views it begins with the verdict and answers
    which views separate the clusters, where they conflict, what else is nearly as good, how far
    clusters are reproducible in halves of the samples, what leaving out a view changes, and which
    features are markers. This refits the model about ten times. The file is written under a
    temporary name and renamed. The same model gives the same bytes.

    Parameters
    ----------
    model : MultiViewClusterer
        Fitted, by any method.
    path : path
    views : as for its `fit`, optional
        The views the model was fitted to. They add names of samples, numbers of columns, known
        classes, a checksum, and the answers.
    classes : (n,) sequence, optional
        Known classes, in place of those of the views.
    answers : sequence
        Results of `choose_k`, `explain`, `stability`, `view_influence`, `markers` and
        `compare_annotations`, in any order. They are not computed again.
    compute : bool
        Whether answers that were not given are computed.
    notes, skipped : sequence of str
        Warnings of the fit, and what was not computed.
    command : str
        The command line that makes the page.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mkclust import GraphFusion, datasets, write_report
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> model = GraphFusion(2, random_state=0).fit(views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, pathlib.Path(folder, "report.html"), views).name
    'report.html'
    """
    from .page import code_for, page_of, render  # with Jinja2, when a page is written

    if hasattr(model, "choice_of_k_"):
        answers = [model.choice_of_k_, *answers]
    given = named_answers(answers)
    code = code_for(model, command, given, classes is not None, compute)
    page = page_of(model, views, classes, tuple(notes), tuple(skipped), code, given)
    if compute and views is not None:
        answers, why = answer_questions(model, views, answers)
        found = named_answers(answers)
        choice, refits = found.get("choice"), found.get("stability")
        judged = page.verdict or verdict(model, views, choice=choice, stability=refits)
        page = replace(page, verdict=judged, skipped=(*skipped, *why), **found)
    with replacing(path) as file:
        file.write(render(page).encode())
    return Path(path)


def prepare_report(model: MultiViewClusterer) -> None:
    """Compute the longest part of a page, the t-SNE layout of the samples.

    In a block of `shared_views` the page takes it from there, so that it can be computed beside
    other work.
    """
    from .charts import drawn_layout

    drawn_layout(model)


def pageable(model: MultiViewClusterer, views: Any) -> bool:
    """Return whether a page can be written: of views or an embedding in memory.

    The page of rows that are read in chunks has no charts of single views, and lists up to a
    million samples.
    """
    if not isinstance(views, LargeViews):
        return True
    return len(views) <= MOST_ROWS and isinstance(getattr(model, "embedding_", None), np.ndarray)


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
        outcomes = dict(
            zip(alone, refit_all(answer_or_error, tasks, len(model.labels_)), strict=False)
        )
        outcomes |= {n: answer_or_error(plans[n]) for n in asked if n in plans and n not in alone}
    if "markers" in asked:
        influence = known.get("influence", outcomes.get("influence"))
        valid = influence if isinstance(influence, ViewInfluence) else False
        outcomes["markers"] = answer_or_error(partial(markers, model, views, valid=valid))
    for name, outcome in outcomes.items():  # the data may not allow it, but the labels stand
        if isinstance(outcome, InputError):
            skipped[name] = str(outcome).removesuffix(".")
    answers = [each for each in outcomes.values() if not isinstance(each, InputError)]
    reasons = [f"{WORDS[name]} not computed: {why}." for name, why in skipped.items()]
    return [*given, *answers], reasons


def answer_or_error(question: Callable[[], Any]) -> Any:
    """Return what a function finds, or the InputError it raises."""
    try:
        return question()
    except InputError as error:
        return error
