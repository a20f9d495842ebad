"""The report: a fitted model as one HTML page that needs nothing but a browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MultiViewClusterer
from ..chunked.rows import Rows
from ..io.atomic import write_text_atomic
from .page import render
from .subject import subject

MOST_ROWS = 1_000_000  # of data in parts: a page lists no more samples than that


def write_report(
    model: MultiViewClusterer,
    path: str | os.PathLike[str],
    views: Any = None,
    *,
    classes: Any = None,
    notes: Sequence[str] = (),
    command: str | None = None,
    answers: Sequence[Any] = (),
) -> Path:
    """Write a fitted model's page, whole or not at all; the same model gives the same bytes.

    `views`, what the model was fitted to, adds sample names, widths and known classes;
    `classes` (n,) gives or replaces the latter. `notes` are warnings of the fit and `command`
    the line that was typed, for callers that have them. `answers` are what `choose_k`,
    `stability` and `view_influence` returned, in any order: each has its place on the page.
    """
    page = render(subject(model, views, classes, tuple(notes), command, answers))
    write_text_atomic(path, page)
    return Path(path)


def pageable(model: MultiViewClusterer, views: Any) -> bool:
    """Whether a page can be made: of views in memory, or of an embedding that is.

    A page of rows that lie elsewhere shows what the labels, the agreement and the embedding
    tell, without pictures of single views; up to a million of them.
    """
    if not isinstance(views, Rows):
        return True
    return len(views) <= MOST_ROWS and isinstance(getattr(model, "embedding_", None), np.ndarray)


__all__ = ["pageable", "write_report"]
