"""The report: a fitted model as one HTML page that works offline, and figures for a paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MultiViewClusterer
from ..io.files import replacing
from ..large.views import LargeViews

MOST_ROWS = 1_000_000  # a page of rows that are read in chunks lists no more samples


def write_report(
    model: MultiViewClusterer,
    path: str | os.PathLike[str],
    views: Any = None,
    *,
    classes: Any = None,
    answers: Sequence[Any] = (),
    compute: bool = True,
    notes: Sequence[str] = (),
    skipped: Sequence[str] = (),
    command: str | None = None,
) -> Path:
    """Write a fitted model as one HTML page.

    The page is that of ``mkclust cluster``. With the views it begins with the verdict and answers
    which views separate the clusters, where they conflict, what else is nearly as good, how far
    clusters are reproducible in halves of the samples, what leaving out a view changes, and which
    features are markers. This refits the model about ten times. The file is written under a
    temporary name and renamed. The same model gives the same bytes.

    Parameters
    ----------
    model : MultiViewClusterer
        Fitted, by any method.
    path : path
    views : as for its `fit`, optional
        The views the model was fitted to. They add names of samples, numbers of columns, known
        classes, a checksum, and the answers.
    classes : (n,) sequence, optional
        Known classes, in place of those of the views.
    answers : sequence
        Results of `choose_k`, `explain`, `stability`, `view_influence`, `markers` and
        `compare_annotations`, in any order. They are not computed again.
    compute : bool
        Whether answers that were not given are computed.
    notes, skipped : sequence of str
        Warnings of the fit, and what was not computed.
    command : str
        The command line that makes the page.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mkclust import GraphFusion, datasets, write_report
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> model = GraphFusion(2, random_state=0).fit(views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, pathlib.Path(folder, "report.html"), views).name
    'report.html'
    """
    from ..inspection import verdict  # imported when a page is written
    from .answers import answer_questions, named_answers
    from .page import code_for, page_of, render

    if hasattr(model, "choice_of_k_"):
        answers = [model.choice_of_k_, *answers]
    given = named_answers(answers)
    code = code_for(model, command, given, classes is not None, compute)
    page = page_of(model, views, classes, tuple(notes), tuple(skipped), code, given)
    if compute and views is not None:
        answers, why = answer_questions(model, views, answers)
        found = named_answers(answers)
        choice, refits = found.get("choice"), found.get("stability")
        judged = page.verdict or verdict(model, views, choice=choice, stability=refits)
        page = replace(page, verdict=judged, skipped=(*skipped, *why), **found)
    with replacing(path) as file:
        file.write(render(page).encode())
    return Path(path)


def prepare_report(model: MultiViewClusterer) -> None:
    """Compute the longest part of a page, the t-SNE layout of the samples.

    In a block of `shared_views` the page takes it from there, so that it can be computed beside
    other work.
    """
    from .charts import drawn_layout

    drawn_layout(model)


def pageable(model: MultiViewClusterer, views: Any) -> bool:
    """Return whether a page can be written: of views or an embedding in memory.

    The page of rows that are read in chunks has no charts of single views, and lists up to a
    million samples.
    """
    if not isinstance(views, LargeViews):
        return True
    return len(views) <= MOST_ROWS and isinstance(getattr(model, "embedding_", None), np.ndarray)


__all__ = ["pageable", "prepare_report", "write_report"]
