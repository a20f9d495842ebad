"""The report: a fitted model as one HTML page that needs nothing but a browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..estimator import MultiViewClusterer
from ..io.atomic import write_text_atomic
from .page import render
from .subject import subject


def write_report(
    model: MultiViewClusterer,
    path: str | os.PathLike[str],
    views: Any = None,
    *,
    classes: Any = None,
    notes: Sequence[str] = (),
    command: str | None = None,
) -> Path:
    """Write a fitted model's page, whole or not at all; the same model gives the same bytes.

    `views`, what the model was fitted to, adds sample names, widths and known classes;
    `classes` (n,) gives or replaces the latter. `notes` are warnings of the fit and `command`
    the line that was typed, for callers that have them.
    """
    page = render(subject(model, views, classes, tuple(notes), command))
    write_text_atomic(path, page)
    return Path(path)


__all__ = ["write_report"]
