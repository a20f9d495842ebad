"""What a run found, for a terminal of 80 columns: the verdict first."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ..agreement.chance import mean_agreement
from ..inspection import Annotations, ChoiceOfK, Explanation, Markers
from ..metrics import evaluate
from ..report.words import METRICS, counted, number
from .arguments import clean, in_options

BAR = 16  # characters of the longest bar
GAP = 3  # characters between two columns
TITLES = {  # of the answers that are printed; the report has the others
    ChoiceOfK: "Number of clusters",
    Explanation: "Explanation",
    Annotations: "Annotations",
}


def print_summary(console: Console, run: Any, data: Any) -> None:
    """Print verdict, views, clusters, answers, and what could not be computed."""
    model, answers = run.model, run.answers
    for sentence in model.verdict_.sentences:
        console.print(f"[bold]{clean(sentence)}[/]")
    what = counted(data.n_views, "kernel" if data.kernels else "view")
    clusters = counted(int(model.labels_.max()) + 1, "cluster")
    console.print(f"{len(data)} samples, {what}, {clusters} by {model.title}")
    console.print(_views_table(model, data))
    console.print(_cluster_table(model, next((a for a in answers if isinstance(a, Markers)), None)))
    if data.labels is not None:
        scores = evaluate(data.labels, model.labels_).items()
        listed = "   ".join(f"{METRICS[name]} {value:.3f}" for name, value in scores)
        console.print(f"Known classes: [bold]{listed}[/]")
    for answer in answers:
        if (title := TITLES.get(type(answer))) is not None:
            console.print(f"[bold]{title}:[/] {clean(str(answer))}")
    for line in run.skipped:
        console.print(f"[dim]{clean(in_options(line))}[/]")
    for note in run.warned:
        console.print(f"[yellow]note:[/] {clean(in_options(note))}")
    if data.notes:
        console.print(f"[dim]{clean(in_options(' '.join(data.notes)))}[/]")


def column_table(*columns: str, no_wrap: bool = False) -> Table:
    """Return an empty table; all columns but the first are aligned right."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
    for position, column in enumerate(columns):
        table.add_column(
            column, justify="right" if position else "left", no_wrap=no_wrap, overflow="fold"
        )
    return table


def _views_table(model: Any, views: Any) -> Table:
    """Return a row per view, with what this method knows about it."""
    known = _known(model)
    table = column_table("view", "columns", *known)
    unrelated = {str(name) for name in getattr(model, "unrelated_views_", ())}
    for p, (name, width) in enumerate(zip(views.names, views.widths, strict=True)):
        shown = f"[red]{clean(name)} (unrelated)[/]" if name in unrelated else clean(name)
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
        for title, name in (("N-noise", "null"), ("C-noise", "column"), ("cross", "cross")):
            found[title] = [number(value, 2) for value in getattr(model.noise_, name)]
    if getattr(model, "presence_", None) is not None:
        found["samples"] = [str(count) for count in model.presence_.sum(axis=0)]
    return found


def _cluster_table(model: Any, markers: Markers | None) -> Table:
    """Return a row per cluster: its size, how reproducible it is, and its first marker."""
    sizes = np.bincount(model.labels_)
    certain = model.verdict_.confidence
    kept = None if certain is None else certain.clusters
    table = column_table("cluster", "samples")
    table.add_column("", min_width=BAR)
    if kept is not None:
        table.add_column("confidence", justify="right")
    if markers is not None:
        table.add_column("first marker (effect)", no_wrap=True, overflow="ellipsis")
    for label, size in enumerate(sizes):
        bar = "█" * max(1, round(BAR * size / sizes.max())) if size else ""
        shown = [] if kept is None else [number(kept[label], 2)]
        first = [] if markers is None else [
            f"{clean(markers.name(place))} ({markers.effect[place]:+.1f})"
            for place in markers.top(label, 1)
        ]  # fmt: skip
        table.add_row(str(label), str(size), f"[blue]{bar}[/]", *shown, *first)
    return table
