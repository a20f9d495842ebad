"""Answers beyond the labels, together: which are given when, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..chunked.rows import Rows
from ..data.views import MultiView
from ..dual_noise.estimator import MKCDNM
from ..exceptions import InputError
from ..inspection.choose_k import ChoiceOfK
from ..inspection.influence import LeftOut, ViewInfluence
from ..inspection.stability import Stability
from ..io.atomic import write_csv_atomic
from .results import plain

CHECKED_UP_TO = 20_000  # samples: up to here both cost less than the fit, and come unasked
NAMED = 100  # samples that flip, listed in result.json


def require_checkable(model: Any, views: MultiView | Rows) -> None:
    """Refuse, before the work, to be asked for stability and influence where there are none."""
    if not isinstance(model, MKCDNM):
        raise InputError(f"--stability asks MKC-DNM; {model.title} does not have it")
    if isinstance(views, MultiView) and views.present is not None:
        raise InputError(
            "--stability needs every sample in every view, and some are absent; leave it, or "
            "those samples, out"
        )


def checked_answers(model: Any, views: MultiView | Rows, asked: bool | None) -> list[Any]:
    """Stability and influence of a fitted model: where asked for, or unasked where that is quick.

    Only MKC-DNM has them, and only where every view has every sample.
    """
    whole = getattr(model, "presence_", None) is None
    if not isinstance(model, MKCDNM) or not whole:
        return []
    if not (len(views) <= CHECKED_UP_TO if asked is None else asked):
        return []
    answers: list[Any] = [model.view_influence(views)] if views.n_views > 1 else []
    return [*answers, model.stability(views)]


def answers_as_dict(answers: Sequence[Any]) -> dict[str, Any]:
    """Everything small in the answers, ready for JSON: nothing with a row per sample."""
    found: dict[str, Any] = {}
    for answer in answers:
        if isinstance(answer, ChoiceOfK):
            found["choice_of_k"] = plain(answer) | {"words": str(answer)}
        elif isinstance(answer, Stability):
            found["stability"] = {
                "words": str(answer),
                "agreement": answer.agreement,
                "clusters": plain(answer.clusters),
                "samples_that_flip": len(answer.flips),
                "flips": [plain(flip._asdict()) for flip in answer.flips[:NAMED]],
            }
        elif isinstance(answer, ViewInfluence):
            found["view_influence"] = _influence(answer)
    return found


def write_stability(folder: Path, answers: Sequence[Any]) -> list[Path]:
    """Write stability.csv, a row per sample, where stability is among the answers."""
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
        "chance": dict(zip(answer.names, plain(answer.chance), strict=True)),
        "without": {left.views[0]: _left(left) for left in answer.without},
        "without_unrelated": None if left is None else _left(left),
    }


def _left(left: LeftOut) -> dict[str, Any]:
    kept = ("ari", "kept", "kept_before", "noise", "noise_before")
    return {name: plain(getattr(left, name)) for name in kept}
