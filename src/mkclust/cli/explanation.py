"""An explanation as plain data for result.json, and the labels of other answers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..inspection import Conflict, Explanation
from ..io.atomic import write_csv_atomic
from .results import plain

LISTED = 100  # samples of a conflict that result.json lists


def explanation_as_dict(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON: sentences and numbers, without a row per sample."""
    profile = found.profile
    pairs = [
        {"clusters": [a, b], "separation": _by_view(profile.names, profile.pairs[a, b])}
        for a, b in profile.contested()
    ]
    others = [
        {
            "words": str(other),
            "column": f"alternative{at}",
            "origin": other.origin,
            "difference": other.difference,
            "score": plain(other.score),
            "ari": plain(other.ari),
            "clusters": np.bincount(other.labels).tolist(),
        }
        for at, other in enumerate(found.alternatives, start=1)
    ]
    return {
        "words": found.describe(),
        "separation": {
            name: plain(np.round(profile.clusters[:, p], 4)) for p, name in enumerate(profile.names)
        },
        "pairs": pairs,
        "conflicts": [_conflict(conflict) for conflict in found.conflicts],
        "alternatives": others,
        "tried": found.alternatives.tried,
    }


def write_alternatives(folder: Path, answers: Sequence[Any]) -> list[Path]:
    """Write alternatives.csv, the labels of all other answers, where there are any."""
    written = []
    for answer in answers:
        if isinstance(answer, Explanation) and len(answer.alternatives):
            others = [other.labels.tolist() for other in answer.alternatives]
            head = ["sample", *(f"alternative{at + 1}" for at in range(len(others)))]
            rows = zip(np.asarray(answer.index).tolist(), *others, strict=True)
            written.append(folder / "alternatives.csv")
            write_csv_atomic(written[-1], head, rows)
    return written


def _conflict(found: Conflict) -> dict[str, Any]:
    return {
        "words": str(found),
        "clusters": list(found.clusters),
        "supporting": list(found.supporting),
        "opposing": list(found.opposing),
        "sizes": list(found.sizes),
        "parts": list(found.parts),
        "ari": plain(found.ari),
        "score": plain(found.score),
        "samples_that_move": len(found.moved),
        "moved": plain(found.moved[:LISTED]),
    }


def _by_view(names: Sequence[str], values: np.ndarray) -> dict[str, Any]:
    return dict(zip(names, plain(np.round(values, 4)), strict=True))
