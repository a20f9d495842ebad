"""Figure 4: a tuned method over its whole grid, against one that has nothing to tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from .pictures import DOUBLE, for_print
from .record import Record
from .scores import METRIC_TITLES

SHOWN = ("acc", "nmi")


@dataclass(frozen=True)
class Grid:
    """HMKC's scores for widths `c1` (rows) and `c2` (columns), in multiples of k; NaN: no result.

    `scores` and `level` (MKC-DNM's) are by metric, in percent.
    """

    c1: tuple[int, ...]
    c2: tuple[int, ...]
    scores: dict[str, np.ndarray]
    level: dict[str, float]


def grid_of(records: Sequence[Record], dataset: str, k: int) -> Grid:
    """HMKC's grid and MKC-DNM's level on one data set, from the store's records."""
    points = [r for r in records if r.dataset == dataset and r.method == "hmkc" and r.tuned]
    level = [r for r in records if r.dataset == dataset and r.method == "mkc-dnm" and r.ok]
    if not any(point.ok for point in points) or not level:
        raise InputError(
            f"no grid of HMKC and level of MKC-DNM on {dataset} in the store; first: "
            f"mkclust bench run paper-fig4"
        )
    widths = {(p.parameters["c1"] // k, p.parameters["c2"] // k): p for p in points}
    c1, c2 = (tuple(sorted({pair[i] for pair in widths})) for i in (0, 1))
    scores = {
        metric: np.array([[_percent(widths.get((a, b)), metric) for b in c2] for a in c1])
        for metric in SHOWN
    }
    return Grid(c1, c2, scores, {metric: _percent(level[0], metric) for metric in SHOWN})


def grid_figure(grid: Grid, name: str) -> Any:
    """A group of bars for every c1, in it one for every c2; MKC-DNM as a line across."""
    with for_print(DOUBLE, 3.2, nrows=len(SHOWN), sharex=True) as (figure, axes):
        for ax, metric in zip(axes, SHOWN, strict=True):
            _bars(ax, grid, metric)
        axes[-1].set_xticks(np.arange(len(grid.c1)), [f"{c}k" for c in grid.c1])
        axes[-1].set_xlabel(f"HMKC: width c₁ of the first layer ({name})")
        figure.legend(*_legend(axes[0], grid), loc="outside right center", handlelength=1.2)
    return figure


def _bars(ax: Any, grid: Grid, metric: str) -> None:
    width = 0.86 / len(grid.c2)
    for j in range(len(grid.c2)):
        places = np.arange(len(grid.c1)) - 0.43 + (j + 0.5) * width
        ax.bar(places, grid.scores[metric][:, j], width, color=_shade(j, len(grid.c2)),
               edgecolor="black", linewidth=0.3, label=f"{grid.c2[j]}k")  # fmt: skip
    ax.axhline(grid.level[metric], color="#b3261e", linewidth=1.4, linestyle=(0, (6, 2)),
               label="MKC-DNM")  # fmt: skip
    top = max(np.nanmax(grid.scores[metric]), grid.level[metric])
    ax.set_ylim(0, 1.06 * top)
    ax.set_xlim(-0.6, len(grid.c1) - 0.4)
    ax.set_ylabel(f"{METRIC_TITLES[metric]} (%)")
    ax.tick_params(axis="x", length=0)


def _shade(place: int, count: int) -> str:
    """Grey from light to dark, as matplotlib writes it."""
    return f"{0.95 - 0.75 * place / max(count - 1, 1):.3f}"


def _legend(ax: Any, grid: Grid) -> tuple[list[Any], list[str]]:
    handles, texts = ax.get_legend_handles_labels()
    by_text = dict(zip(texts, handles, strict=True))
    names = [f"c₂ = {c}k" for c in grid.c2] + ["MKC-DNM"]
    return [by_text[text.removeprefix("c₂ = ")] for text in names], names


def _percent(record: Record | None, metric: str) -> float:
    return 100 * record.metrics[metric][0] if record is not None and record.ok else np.nan
