"""Draw figures for print: the paper's Figures 2, 4 and 5, and a critical-difference diagram.

They need matplotlib: ``pip install mkclust[plot]``. The diagram is that of J. Demšar, Statistical
Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from .leaderboard import leaderboard_scores
from .paper_figures import grid_figure, grid_of, noise_figure, rounds_figure, scores_by_round
from .pictures import DOUBLE, for_print, saved
from .ranks import alike, average_ranks, critical_difference
from .record import Record
from .registry import Dataset
from .registry import dataset as registered
from .scores import Results
from .store import Store

PAPER, BUNDLED = "BBCSport", "Mfeat"
LETTER = 0.075  # inches: average width of a letter, for the names beside the scale
ABOVE = 0.5  # inches above the scale, for its numbers and the critical difference
STEP = 0.17  # inches between two names
RUN = 0.08  # inches between two bars that join methods
THIN, THICK = 0.6, 2.2
LINE = {"color": "black", "linewidth": THIN, "clip_on": False}


def draw(
    name: str,
    store_path: str | Path | None = None,
    data_folder: str | Path | None = None,
    out_folder: str | Path = ".",
    dataset: str | None = None,
    suite: str = "multiview",
) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; return the paths.

    Parameters
    ----------
    name : {"figure2", "figure4", "figure5", "ranks"}
        Figures 2 and 5 are computed from the data; Figure 4 and the ranks show results in the
        store, of the suites ``paper-fig4`` (or ``paper-table2``) and `suite`.
    store_path : path, optional
        The store that `mkclust bench run` wrote.
    data_folder : path, optional
        The folder of data sets; by default the environment variable MKCLUST_DATA.
    out_folder : path
        Where the pictures are written.
    dataset : str, optional
        By default BBCSport if it is present, otherwise the bundled Mfeat.
    suite : str
        The family of data sets whose ranks are drawn.
    """
    name = name.replace("paper-fig", "figure")  # the name of the suite
    if name not in (*FIGURES, "ranks"):
        raise InputError(f"figures are {', '.join(FIGURES)}, ranks, not {name!r}")
    if name == "ranks":
        return _ranks(suite, store_path, Path(out_folder))
    folder = data_folder or os.environ.get("MKCLUST_DATA")
    known = _dataset(dataset, Path(folder) if folder else None)
    return FIGURES[name](known, store_path, Path(folder) if folder else None, Path(out_folder))


def _figure2(known: Dataset, _: Any, folder: Path | None, out: Path) -> list[Path]:
    figure = noise_figure(*known.kernels(known.load(folder)))
    return saved(figure, out, f"figure2-{known.name}")


def _figure4(known: Dataset, store: Any, _: Path | None, out: Path) -> list[Path]:
    records = _records(store, "paper-fig4", "paper-table2")
    grid = grid_of(records, known.name, known.k)
    return saved(grid_figure(grid, known.name), out, f"figure4-{known.name}")


def _figure5(known: Dataset, _: Any, folder: Path | None, out: Path) -> list[Path]:
    views, recipe = known.kernels(known.load(folder))
    scores = scores_by_round(views, recipe, known.k)
    return saved(rounds_figure(scores, known.name), out, f"figure5-{known.name}")


def _ranks(suite: str, store: Any, out: Path) -> list[Path]:
    names, scores = leaderboard_scores(Results(_records(store, suite)))
    return saved(rank_figure(names, scores), out, f"ranks-{suite}")


FIGURES: dict[str, Callable[[Dataset, Any, Path | None, Path], list[Path]]] = {
    "figure2": _figure2,
    "figure4": _figure4,
    "figure5": _figure5,
}


def _dataset(name: str | None, folder: Path | None) -> Dataset:
    if name is not None:
        return registered(name, folder)
    paper = registered(PAPER)
    return paper if paper.present(folder) else registered(BUNDLED)


def _records(store_path: str | Path | None, *suites: str) -> Sequence[Record]:
    """Return the results of the first of these suites that has any."""
    if store_path is not None and Path(store_path).is_file():
        with closing(Store(store_path)) as store:
            for suite in suites:
                if records := store.records(suite):
                    return records
    raise InputError(f"no results at {store_path}; first: mkclust bench run {suites[0]}")


def rank_figure(names: Sequence[str], scores: np.ndarray) -> Any:
    """Draw methods by average rank; a bar joins those within the critical difference.

    Parameters
    ----------
    names : sequence of m str
    scores : (data sets, m) array
        Larger is better; NaN, where there is no result, ranks last.
    """
    n, m = scores.shape
    if m < 2 or n < 2:
        raise InputError(f"ranks need 2 methods on 2 data sets, got {m} on {n}")
    ranks = average_ranks(scores)
    order = np.argsort(ranks, kind="stable")
    difference = critical_difference(m, n)
    runs = alike(ranks, difference)
    first_name = 0.2 + RUN * len(runs)
    height = ABOVE + first_name + STEP * ((m + 1) // 2)
    with for_print(DOUBLE, height) as (figure, ax):
        figure.set_layout_engine("none")
        ax.set_position((0, 0, 1, 1))
        ax.set_axis_off()
        margin = LETTER * (max(map(len, names)) + 7)
        wide = margin * (m - 1) / (DOUBLE - 2 * margin)
        ax.set(xlim=(1 - wide, m + wide), ylim=(ABOVE - height, ABOVE))  # y in inches
        _scale(ax, m, difference)
        for level, (first, last) in enumerate(runs):
            y = -0.1 - RUN * level
            ends = ranks[order[first]] - 0.05, ranks[order[last]] + 0.05
            ax.plot(ends, (y, y), color="black", linewidth=THICK, gid="alike",
                    solid_capstyle="butt")  # fmt: skip
        _stems(ax, [names[j] for j in order], ranks[order], first_name, wide)
    return figure


def _scale(ax: Any, m: int, difference: float) -> None:
    """Draw ranks from 1 to m at y = 0, and above them the critical difference as a length."""
    ax.plot((1, m), (0, 0), **LINE)
    every = 1 if m <= 16 else 2
    for rank in range(1, m + 1):
        ax.plot((rank, rank), (0, 0.05), **LINE)
        if (rank - 1) % every == 0:
            ax.text(rank, 0.07, str(rank), ha="center", va="bottom")
    ax.plot((1, 1 + difference), (0.28, 0.28), **LINE)
    for end in (1, 1 + difference):
        ax.plot((end, end), (0.25, 0.31), **LINE)
    ax.text(1 + difference / 2, 0.31, f"CD = {difference:.2f}", ha="center", va="bottom")


def _stems(ax: Any, names: Sequence[str], ranks: np.ndarray, first: float, wide: float) -> None:
    """Draw names at both sides, the outermost rank at the top, so that no lines cross."""
    m = len(names)
    left = (m + 1) // 2
    gap = wide * 0.06
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        on_left = place < left
        y = -first - STEP * (place if on_left else m - 1 - place)
        edge = 1 - gap if on_left else m + gap
        ax.plot((rank, rank, edge), (0, y, y), **LINE)
        text = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
        side = "right" if on_left else "left"
        ax.text(edge + (-gap if on_left else gap) / 2, y, text, ha=side, va="center")
