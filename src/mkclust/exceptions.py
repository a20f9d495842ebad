"""Errors and warnings of the package, and the checks of parameters that raise them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """The data or a parameter cannot be used; the message names the view and the place.

    Attributes
    ----------
    parameter : str or None
        The parameter that the error is about, such as ``"n_clusters"``; None for the data.
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class EntryTypeError(InputError, TypeError):
    """An entry of a table is no number, such as a dict: a TypeError for scikit-learn, too."""


class FileFormatError(InputError):
    """A file cannot be read as views; the message names the file and what was found in it."""


class InfeasibleError(InputError):
    """The views agree too little for the overlap constraints, and ``on_infeasible="raise"``."""


class MkclustWarning(UserWarning):
    """Base of every warning this package gives."""


class InfeasibleWarning(MkclustWarning):
    """The overlap constraints could not be met and were relaxed; the message has the numbers."""


class MissingRowsWarning(MkclustWarning):
    """Some views lack samples, which were clustered from the views they have."""


class KeyColumnWarning(MkclustWarning):
    """A column looks like a key of the samples but is used as a feature."""


class PositionWarning(MkclustWarning):
    """Tables with sample names were joined by position to views without names."""


class UnrelatedWarning(MkclustWarning):
    """No two views agree beyond chance, as where the rows of one are in another order."""


class ColumnsWarning(MkclustWarning):
    """Columns were left out, or taken by position although they have names."""


class ConvergenceWarning(MkclustWarning):
    """A method stopped at its cap on iterations, or found another number of clusters than asked."""


class OutlierWarning(MkclustWarning):
    """Some samples have values far larger than all others; the message names them."""


class DegenerateWarning(MkclustWarning):
    """The data determine less than was asked: too few directions, too few distinct points."""


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`; InputError for any other value."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        message = f"{name} must be a whole number from {least} on, got {value!r}"
        raise InputError(message, parameter=name)
    return int(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the texts to choose from."""
    if not isinstance(value, str) or value not in choices:
        *first, last = (f'"{choice}"' for choice in choices)
        known = f"{', '.join(first)} or {last}"
        raise InputError(f"{name} must be {known}, got {value!r}", parameter=name)


def warn(message: str, category: type[MkclustWarning]) -> None:
    """Issue a warning with the stack level of the user's call."""
    level, frame, package = 2, sys._getframe(1), __name__.partition(".")[0]
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
