"""What a fitted model found, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..agreement.chance import mean_agreement, unrelated
from ..base import MultiViewClusterer
from ..chunked.rows import Rows
from ..data.views import MultiView
from ..dual_noise.estimator import MKCDNM
from ..inspection.choose_k import ChoiceOfK
from ..metrics import evaluate
from ..report.words import counted

BAR = 24  # characters of the longest bar


def summary(model: MultiViewClusterer, views: MultiView | Rows, seconds: float) -> Group:
    """Views, clusters, proof and, with known classes, metrics."""
    described = counted(views.n_views, "kernel" if views.kernels else "view")
    headline = (
        f"[bold]{len(views)} samples, {described}, {counted(model.n_clusters, 'cluster')} by "
        f"{model.title}[/] in {seconds:.1f} s"
    )
    parts: list[Any] = [*_alarm(model), Text.from_markup(headline), _views_table(model, views)]
    parts += [Padding(Text.from_markup(line), (0, 0, 0, 1)) for line in _remarks(model)]
    parts.append(_cluster_table(model.labels_))
    if views.labels is not None:
        parts.append(_metrics_line(views.labels, model.labels_))
    return Group(*parts)


def choice_table(choice: ChoiceOfK) -> Group:
    """The recommended number of clusters, and the evidence for every number tried."""
    head = ("clusters", "score", "stability", "shared bits", "separation", "gap", "noise share")
    table = _table(*head)
    for row in choice.table:
        numbers = (
            row.score, row.stability, row.information, row.separation, row.gap, row.noise,
        )  # fmt: skip
        style = "bold green" if row.k == choice.k else ""
        table.add_row(str(row.k), *(f"{number:.2f}" for number in numbers), style=style)
    return Group(Text.from_markup(f"[bold]How many clusters:[/] {escape(str(choice))}."), table)


def _alarm(model: MultiViewClusterer) -> Iterator[Text]:
    """First of all, and in red: views that are unrelated to the others."""
    lone = [str(model.view_names_in_[p]) for p in unrelated(model)]
    if lone:
        words = "agrees" if len(lone) == 1 else "agree"
        yield Text(
            f"{' and '.join(lone)} {words} with no other view beyond chance: leave out and compare",
            style="bold red",
        )


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right")
    return table


def _views_table(model: MultiViewClusterer, views: MultiView | Rows) -> Table:
    sizes = [str(width) for width in views.widths]
    names = [escape(name) for name in views.names]
    if isinstance(model, MKCDNM):
        weights = getattr(model, "weights_", None)
        head = ["view", "columns", *([] if weights is None else ["weight"])]
        table = _table(*head, "agreement", "kept", "N-noise", "C-noise", "cross")
        held = None if model.presence_ is None else model.presence_.sum(axis=0)
        if held is not None:
            table.add_column("samples", justify="right")
        others, lone = mean_agreement(model.agreement_), unrelated(model)
        noise = model.noise_
        for p, name in enumerate(names):
            table.add_row(
                f"[red]{name} (unrelated)[/]" if p in lone else name,
                sizes[p],
                *([] if weights is None else [f"{weights[p]:.2f}"]),
                "-" if np.isnan(others[p]) else f"{others[p]:.2f}",
                str(model.dimensions_[p]),
                f"{noise.null[p]:.2f}",
                f"{noise.column[p]:.2f}",
                f"{noise.cross[p]:.2f}",
                *([] if held is None else [str(held[p])]),
            )
        return table
    weights = getattr(model, "weights_", None)
    table = _table("view", "columns", "weight")
    for p, name in enumerate(names):
        table.add_row(name, sizes[p], "-" if weights is None else f"{weights[p]:.3f}")
    return table


def _remarks(model: MultiViewClusterer) -> Iterator[str]:
    if isinstance(model, MKCDNM):
        used = "that make every pair overlap" if hasattr(model, "fusion_") else "used"
        yield (
            "[dim]agreement: with the other views, 0 = chance, 1 = equal; kept: directions "
            f"{used}; N-noise: what the view adds to the consensus; C-noise: what it lacks of it[/]"
        )
        if hasattr(model, "fusion_"):
            words = model.fusion_.in_words()
            yield from (escape(f"{word[0].upper()}{word[1:]}.") for word in (words[0], words[-1]))
        else:
            yield f"{str(model.certificate_).capitalize()}."
        if model.approximation_ is not None:
            yield from (escape(f"{note.removesuffix('.')}.") for note in model.notes_)
    elif hasattr(model, "n_iter_"):
        settled = "settled" if model.converged_ else "did not settle"
        what = "objective" if hasattr(model, "objective_history_") else "search"
        yield f"The {what} {settled} after {counted(model.n_iter_, 'iteration')}."


def _cluster_table(labels: np.ndarray) -> Table:
    sizes = np.bincount(labels)
    table = _table("cluster", "samples", "share")
    table.add_column("")
    for label, size in enumerate(sizes):
        bar = "█" * max(1, round(BAR * size / sizes.max())) if size else ""
        share = f"{100 * size / len(labels):.1f} %"
        table.add_row(str(label), str(size), share, f"[blue]{bar}[/]")
    return table


def _metrics_line(classes: Any, labels: np.ndarray) -> Text:
    scores = evaluate(classes, labels)
    named = {"acc": "ACC", "nmi": "NMI (max)", "purity": "purity", "ari": "ARI"}
    listed = "   ".join(f"{named[name]} {value:.3f}" for name, value in scores.items())
    return Text.from_markup(f"Known classes: [bold]{listed}[/]")
