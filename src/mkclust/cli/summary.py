"""What a fitted model found, as tables for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os.path import commonprefix
from typing import Any

import numpy as np
from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..agreement.chance import mean_agreement
from ..base import MultiViewClusterer
from ..data.views import MultiView
from ..inspection import ChoiceOfK
from ..large.views import LargeViews
from ..metrics import evaluate
from ..report.words import METRICS, counted, description, number, unrelated_words
from .wording import clean

BAR = 24  # characters of the longest bar
LINE, GAP = 80, 3  # characters of a line, and between two columns
NAME = (12, 28)  # fewest and most characters of a view's name
DOTS = "…"
SHARED = 4  # characters in common that are worth replacing by dots
COLUMNS = {  # what the columns of the table of views mean
    "weight": "share of the view in the fused graph",
    "agreement": "with the other views, 0 = chance, 1 = equal",
    "kept": "eigenvectors kept",
    "N-noise": "what the view adds to the consensus",
    "C-noise": "what it lacks of the consensus",
    "cross": "what lies partly inside and partly outside it",
    "samples": "samples that the view holds",
}


def summary(model: MultiViewClusterer, views: MultiView | LargeViews) -> Group:
    """Return views, clusters, what the method did and, with known classes, metrics."""
    what = counted(views.n_views, "kernel" if views.kernels else "view")
    clusters = counted(int(model.labels_.max()) + 1, "cluster")
    headline = f"{len(views)} samples, {what}, {clusters} by {model.title}"
    parts: list[Any] = [*_alarm(model), Text(headline, style="bold"), _views_table(model, views)]
    parts += [Padding(Text.from_markup(line), (0, 0, 0, 1)) for line in _remarks(model)]
    parts.append(_cluster_table(model.labels_))
    if views.labels is not None:
        parts.append(_metrics_line(views.labels, model.labels_))
    return Group(*parts)


def choice_table(choice: ChoiceOfK, model: MultiViewClusterer) -> Group:
    """Return the chosen number of clusters, and the evidence for every number tried."""
    asked = f"Number of clusters, by held-out modularity of partitions by {model.title}:"
    table = column_table(
        "clusters", "held-out", "modularity", "tested", "by chance", "limit", "sizes"
    )
    for row in choice.table:
        evidence = (row.held_out, row.modularity, row.tested, row.null, row.null_high)
        style = "bold green" if row.k == choice.k else ""
        sizes = f"{min(row.sizes)} to {max(row.sizes)}"
        table.add_row(str(row.k), *(f"{number:.3f}" for number in evidence), sizes, style=style)
    legend = Text(
        "held-out: modularity on one half of the samples of clusters found in the other half; the "
        "largest is chosen. modularity: of the clusters of all samples. tested: of the samples "
        "with which cluster structure was tested; by chance, limit: mean and 95 % limit for data "
        "without clusters",
        style="dim",
    )
    parts: list[Any] = [Text.from_markup(f"[bold]{asked}[/] {clean(str(choice))}."), table, legend]
    if choice.k == 1:
        parts.append(
            Text(
                "No cluster structure was found: no partition has more modularity than chance "
                "explains. All samples are in one cluster. -k NUMBER sets a number of clusters.",
                style="bold red",
            )
        )
    return Group(*parts)


def _alarm(model: Any) -> Iterator[Text]:
    """Name, in red and first of all, the views that are unrelated to the others."""
    names = [str(name) for name in getattr(model, "unrelated_views_", ())]
    if 1 < len(names) == len(model.view_names_in_):
        text = "No two views agree beyond chance: they show no common clusters."
    elif names:
        rest = "it" if len(names) == 1 else "them"
        text = f"{unrelated_words(names)}: compare the labels without {rest}."
    else:
        return
    yield Text.from_markup(f"[bold red]{clean(text)}[/]")


def column_table(*columns: str, no_wrap: bool = False) -> Table:
    """Return an empty table; all columns but the first are aligned right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left", no_wrap=no_wrap)
    return table


def _views_table(model: Any, views: MultiView | LargeViews) -> Table:
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


def _remarks(model: Any) -> Iterator[str]:
    """Explain the columns of the table of views, and describe what the method did."""
    meanings = dict(COLUMNS)
    if model.name != "graph-fusion":
        meanings["weight"] = "weight that the method gives to the view"
    legend = [f"{name}: {meanings[name]}" for name in _known(model)]
    if legend:
        yield f"[dim]{'; '.join(legend)}[/]"
    yield from map(clean, _sentences(model))
    if hasattr(model, "converged_"):
        end = "converged" if model.converged_ else "did not converge"
        yield f"{model.title} {end} in {counted(model.n_iter_, 'iteration')}."


def _sentences(model: Any) -> list[str]:
    """Return the description without what the table of views and the notes say."""
    notes = {note.removesuffix(".").lower() for note in getattr(model, "notes_", ())}
    starts = (*(f"{name}:" for name in model.view_names_in_), "Eigenvectors kept:")
    return [
        text
        for text in description(model)
        if not text.startswith(starts) and text.removesuffix(".").lower() not in notes
    ]


def _cluster_table(labels: np.ndarray) -> Table:
    sizes = np.bincount(labels)
    table = column_table("cluster", "samples", "share")
    table.add_column("")
    for label, size in enumerate(sizes):
        bar = "█" * max(1, round(BAR * size / sizes.max())) if size else ""
        share = f"{100 * size / len(labels):.1f} %"
        table.add_row(str(label), str(size), share, f"[blue]{bar}[/]")
    return table


def _metrics_line(classes: Any, labels: np.ndarray) -> Text:
    scores = evaluate(classes, labels).items()
    listed = "   ".join(f"{METRICS[name]} {value:.3f}" for name, value in scores)
    return Text.from_markup(f"Known classes: [bold]{listed}[/]")


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
