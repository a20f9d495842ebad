"""Scores and seconds to the cells of a table: how they are printed, marked and excused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .ranks import average_ranks
from .scores import NOT_RUN, Results, Score, free_of_parameters, title
from .sheet import Cell, Line, mark_extremes

LONGEST = 160  # letters of a reason


def score_line(section: str, name: str, kind: str, scores: Sequence[Score], spread: bool) -> Line:
    cells = (score_cell(score, spread) for score in scores)
    return Line(section, name, kind, _marked(tuple(cells), scores))


def _marked(cells: tuple[Cell, ...], scores: Sequence[Score]) -> tuple[Cell, ...]:
    """Marks go by the mean alone, whatever is printed beside it."""
    bare = [Cell("" if s.mean is None else _percent(s.mean), s.mean) for s in scores]
    marks = [cell.mark for cell in mark_extremes(bare)]
    return tuple(
        Cell(cell.text, cell.value, cell.std, mark, cell.note)
        for cell, mark in zip(cells, marks, strict=True)
    )


def score_cell(score: Score, spread: bool) -> Cell:
    if score.mean is None:
        return absent(score.reason)
    beside = f"±{_percent(score.std)}" if spread and score.std is not None else ""
    return Cell(_percent(score.mean) + beside, score.mean, score.std, note=score.reason)


def absent(reason: str) -> Cell:
    """What stands where there is no number: the reason in a word, in full in the note."""
    if reason in ("", NOT_RUN):
        return Cell("-", note=reason)
    return Cell(f"N/A ({reason.removeprefix('out of ').partition(':')[0]})", note=reason)


def seconds(value: float | None) -> Cell:
    return Cell("-") if value is None else Cell(f"{value:.2f}", value)


def rank_line(section: str, kind: str, scores: np.ndarray) -> Line:
    """Average ranks; a method without a single result has none."""
    ranks = average_ranks(scores)
    cells = [
        Cell("-") if np.isnan(column).all() else Cell(f"{rank:.2f}", float(rank))
        for rank, column in zip(ranks, scores.T, strict=True)
    ]
    return Line(section, "average rank", kind, mark_extremes(cells, largest=False))


def as_printed(scores: Sequence[Score]) -> list[float]:
    return [np.nan if score.mean is None else float(_percent(score.mean)) for score in scores]


def reasons(results: Results) -> list[str]:
    """One line for each reason, with the methods and data sets it befell."""
    befallen: dict[str, dict[str, dict[str, None]]] = {}
    for method, tuned in results.entries(all_of_them=True):
        name = entry_title((method, tuned and not free_of_parameters(method)))
        for dataset in results.datasets:
            points = results.points(dataset, method, tuned)
            lost = [point for point in points if not point.ok]
            if lost:
                whom = name if len(lost) == len(points) else f"{name} ({len(lost)} settings)"
                where = befallen.setdefault(_brief(lost[0].reason), {})
                where.setdefault(whom, {})[dataset] = None
    return [
        f"{reason}: " + "; ".join(f"{whom} on {', '.join(on)}" for whom, on in where.items()) + "."
        for reason, where in befallen.items()
    ]


def _brief(reason: str) -> str:
    """The first line of an error, cut where it rambles."""
    line = reason.strip().splitlines()[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def entry_title(entry: tuple[str, bool]) -> str:
    return title(entry[0]) + ("†" if entry[1] else "")


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"
