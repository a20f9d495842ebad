"""What a run found, for a terminal of 80 columns: the verdict first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ..agreement.chance import mean_agreement
from ..inspection import Annotations, ChoiceOfK, Explanation, Markers, ViewInfluence
from ..metrics import evaluate
from ..report.words import METRICS, counted, number
from .arguments import clean

BAR = 24  # characters of the longest bar
LINE, GAP = 80, 3  # characters of a line, and between two columns
NAME = (12, 28)  # fewest and most characters of a view's name
DOTS = "…"
TITLES = {  # of the answers that are printed; the verdict has what stability says
    ChoiceOfK: "Number of clusters",
    Explanation: "Explanation",
    ViewInfluence: "Views",
    Markers: "Markers",
    Annotations: "Annotations",
}
SHARED = 4  # characters in common that are worth replacing by dots


def print_summary(console: Console, run: Any, data: Any) -> None:
    """Print verdict, views, clusters, answers, and what could not be computed."""
    model, answers = run.model, run.answers
    for sentence in model.verdict_.sentences:
        console.print(f"[bold]{clean(sentence)}[/]")
    what = counted(data.n_views, "kernel" if data.kernels else "view")
    clusters = counted(int(model.labels_.max()) + 1, "cluster")
    console.print(f"{len(data)} samples, {what}, {clusters} by {model.title}")
    console.print(_views_table(model, data))
    console.print(_cluster_table(model))
    if data.labels is not None:
        scores = evaluate(data.labels, model.labels_).items()
        listed = "   ".join(f"{METRICS[name]} {value:.3f}" for name, value in scores)
        console.print(f"Known classes: [bold]{listed}[/]")
    for answer in answers:
        if (title := TITLES.get(type(answer))) is not None:
            text = str(answer).partition(";")[0] if isinstance(answer, Markers) else str(answer)
            console.print(f"[bold]{title}:[/] {clean(text)}")
    for line in run.skipped:
        console.print(f"[dim]{clean(line)}[/]")
    for note in run.warned:
        console.print(f"[yellow]note:[/] {clean(note)}")
    if data.notes:
        console.print(f"[dim]{clean(' '.join(data.notes))}[/]")


def column_table(*columns: str, no_wrap: bool = False) -> Table:
    """Return an empty table; all columns but the first are aligned right."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left", no_wrap=no_wrap)
    return table


def _views_table(model: Any, views: Any) -> Table:
    """Return a row per view, with what this method knows about it."""
    known = _known(model)
    table = column_table("view", "columns", *known)
    unrelated = {str(name) for name in getattr(model, "unrelated_views_", ())}
    used = [max(len(title), *map(len, cells)) for title, cells in known.items()]
    left = LINE - sum(used) - GAP * (len(used) + 1) - len("columns") - 2
    short = short_names(views.names, min(max(left, NAME[0]), NAME[1]))
    for p, (name, width) in enumerate(zip(views.names, views.widths, strict=True)):
        shown = clean(short[p])
        shown = f"[red]{shown} (unrelated)[/]" if name in unrelated else shown
        table.add_row(shown, str(width), *(cells[p] for cells in known.values()))
    return table


def _known(model: Any) -> dict[str, list[str]]:
    """Return the columns of the table of views that the method gives, a cell per view."""
    found: dict[str, list[str]] = {}
    if hasattr(model, "weights_"):
        found["weight"] = [f"{weight:.3f}" for weight in model.weights_]
    if hasattr(model, "agreement_"):
        shared = mean_agreement(model.agreement_)
        found["agreement"] = [number(value, 2) for value in shared]
    if hasattr(model, "noise_"):
        found["kept"] = [str(d) for d in model.dimensions_]
        noise = {"N-noise": "null", "C-noise": "column", "cross": "cross"}
        for title, name in noise.items():
            found[title] = [number(value, 2) for value in getattr(model.noise_, name)]
    if getattr(model, "presence_", None) is not None:
        found["samples"] = [str(count) for count in model.presence_.sum(axis=0)]
    return found


def _cluster_table(model: Any) -> Table:
    """Return a row per cluster: its size, and how reproducible it is where that is known."""
    sizes = np.bincount(model.labels_)
    certain = model.verdict_.confidence
    kept = None if certain is None else certain.clusters
    table = column_table("cluster", "samples", *([] if kept is None else ["confidence"]))
    table.add_column("")
    for label, size in enumerate(sizes):
        bar = "█" * max(1, round(BAR * size / sizes.max())) if size else ""
        shown = [] if kept is None else [number(kept[label], 2)]
        table.add_row(str(label), str(size), *shown, f"[blue]{bar}[/]")
    return table


def short_names(names: Sequence[str], width: int) -> list[str]:
    """Return names of at most `width` characters that differ where the names do.

    The words that all names begin and end with are replaced by dots, then the middle of each.

    >>> short_names(["rna", "protein"], 10)
    ['rna', 'protein']
    >>> short_names(["TCGA.expression.rna.log2", "TCGA.expression.protein.log2"], 12)
    ['…rna…', '…protein…']
    >>> short_names(["a-very-long-name"], 9)
    ['a-ve…name']
    """
    if all(len(name) <= width for name in names):
        return list(names)
    start, end = "", ""
    if len(set(names)) > 1:
        start = _common_words(names)
        end = _common_words([name[len(start) :][::-1] for name in names])
    start, end = (part if len(part) >= SHARED else "" for part in (start, end))
    inner = [
        DOTS * bool(start) + name[len(start) : len(name) - len(end)] + DOTS * bool(end)
        for name in names
    ]
    short = [_cut(name, width) for name in inner]
    if len(set(short)) == len(set(names)):
        return short
    digits = len(str(len(names)))
    return [
        f"{p:>{digits}} {_cut(name, width - digits - 1)}" for p, name in enumerate(inner, start=1)
    ]


def _common_words(names: Sequence[str]) -> str:
    """Return what all names begin with, up to its last punctuation.

    >>> _common_words(["TCGA.normalized.batch", "TCGA.normalized.bars"])
    'TCGA.normalized.'
    """
    return re.sub(r"[^\W_]*$", "", commonprefix(names))  # noqa: RUF071  # they are no paths


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}{DOTS}{name[len(name) - tail :]}"
