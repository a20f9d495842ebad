"""Warnings told to whoever called this package, at their own line."""

from __future__ import annotations

import sys
import warnings

from .errors import MkclustWarning

PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[MkclustWarning]) -> None:
    """Give a warning at the line that called this package, however deep inside it arose."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str | None) -> bool:
    return str(module).partition(".")[0] == PACKAGE
