"""Figures of an experiment, for print: the paper's Figures 2, 4 and 5, and a diagram of ranks.

They need matplotlib: ``pip install mkclust[plot]``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from .grid_figure import grid_figure, grid_of
from .leaderboard import leaderboard_scores
from .noise_figure import noise_figure
from .pictures import saved
from .rank_figure import rank_figure
from .record import Record
from .registry import Dataset
from .registry import dataset as registered
from .rounds_figure import rounds_figure, scores_by_round
from .scores import Results
from .store import Store

PAPER, BUNDLED = "BBCSport", "Mfeat"


def draw(
    name: str,
    store_path: str | Path | None = None,
    data_folder: str | Path | None = None,
    out_folder: str | Path = ".",
    dataset: str | None = None,
) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; returns the paths written.

    Parameters
    ----------
    name : {"figure2", "figure4", "figure5", "ranks"}
        Figures 2 and 5 are computed from the data; Figure 4 and the ranks show results in the
        store, of the suites ``paper-fig4`` (or ``paper-table2``) and ``leaderboard``.
    store_path : the file `mkclust bench run` wrote its results to
    data_folder : where data sets are; by default what the variable MKCLUST_DATA says
    dataset : str, optional
        BBCSport where it is found, and else the bundled Mfeat, unless another is named.
    """
    name = name.replace("paper-fig", "figure")  # as the suites are called
    if name not in FIGURES:
        raise InputError(f"figures are {', '.join(FIGURES)}, not {name!r}")
    folder = data_folder or os.environ.get("MKCLUST_DATA")
    known = _dataset(dataset, Path(folder) if folder else None)
    return FIGURES[name](known, store_path, Path(folder) if folder else None, Path(out_folder))


def _figure2(known: Dataset, _: Any, folder: Path | None, out: Path) -> list[Path]:
    views, recipe = known.kernels(known.load(folder))
    figure = noise_figure(views, recipe)
    return saved(figure, out, f"figure2-{known.name}")


def _figure4(known: Dataset, store: Any, _: Path | None, out: Path) -> list[Path]:
    records = _records(store, "paper-fig4", "paper-table2")
    grid = grid_of(records, known.name, known.k)
    return saved(grid_figure(grid, known.name), out, f"figure4-{known.name}")


def _figure5(known: Dataset, _: Any, folder: Path | None, out: Path) -> list[Path]:
    views, recipe = known.kernels(known.load(folder))
    scores = scores_by_round(views, recipe, known.k)
    return saved(rounds_figure(scores, known.name), out, f"figure5-{known.name}")


def _ranks(_: Dataset, store: Any, __: Path | None, out: Path) -> list[Path]:
    names, scores = leaderboard_scores(Results(_records(store, "leaderboard")))
    return saved(rank_figure(names, scores), out, "ranks")


FIGURES: dict[str, Callable[[Dataset, Any, Path | None, Path], list[Path]]] = {
    "figure2": _figure2,
    "figure4": _figure4,
    "figure5": _figure5,
    "ranks": _ranks,
}


def _dataset(name: str | None, folder: Path | None) -> Dataset:
    if name is not None:
        return registered(name, folder)
    paper = registered(PAPER)
    return paper if paper.present(folder) else registered(BUNDLED)


def _records(store_path: str | Path | None, *suites: str) -> Sequence[Record]:
    """The results of the first of these suites that has any."""
    if store_path is not None and Path(store_path).is_file():
        with closing(Store(store_path)) as store:
            for suite in suites:
                if records := store.records(suite):
                    return records
    raise InputError(f"no results at {store_path}; first: mkclust bench run {suites[0]}")
