"""Words of a command line and what they mean: paths as views, NAME=NUMBER as settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from ..chunked.rows import Rows, views_in_parts
from ..data.views import MultiView
from ..exceptions import InputError
from ..io import Limits, Variable, inspect, read
from ..io._guards.limits import check_regular, naming, parsing
from ..io.assemble import as_labels

LIMITS = tuple(field.name for field in fields(Limits))


def named_numbers(option: str, given: Sequence[str] | None) -> dict[str, float]:
    """Numbers by their names.

    >>> named_numbers("--kernel-param", ["gamma=0.1", "n_neighbors=5"])
    {'gamma': 0.1, 'n_neighbors': 5}
    """
    try:
        pairs = [text.split("=", 1) for text in given or ()]
        return {name: int(value) if value.isdigit() else float(value) for name, value in pairs}
    except ValueError:
        raise InputError(f"{option} takes NAME=NUMBER, got {' '.join(given or ())}") from None


def chosen_limits(given: Sequence[str] | None) -> Limits:
    """What a file may claim, where the command line says otherwise than usual.

    >>> chosen_limits(["max_bytes=2e10"]).max_bytes
    20000000000
    """
    numbers = named_numbers("--limit", given)
    for name, number in numbers.items():
        if name not in LIMITS:
            raise InputError(f"--limit knows no {name!r}, only {', '.join(LIMITS)}")
        if not 1 <= number < np.inf or number != int(number):
            raise InputError(f"--limit {name} takes a whole number from 1 on, got {number}")
    return Limits(**{name: int(number) for name, number in numbers.items()})


def read_views(
    paths: Sequence[Path],
    views: str | None = None,
    labels: str | None = None,
    transpose: bool | None = None,
    kernels: bool | None = None,
    limit: Sequence[str] | None = None,
) -> MultiView | Rows:
    """The views at the paths: read, or left where they are if they lie there in parts.

    Parts are read block by block, so no `limit` is needed for them.
    """
    wanted = None if views is None else [name.strip() for name in views.split(",")]
    limits = chosen_limits(limit)
    stored = views_in_parts(paths)
    if stored is not None:
        if transpose or kernels:
            odd = "--transpose" if transpose else "--kernels"
            raise InputError(f"{odd} is not for views in parts: they are tables, samples as rows")
        return _in_parts(stored, wanted, labels)
    return read(
        paths[0] if len(paths) == 1 else paths,
        views=wanted[0] if wanted is not None and len(wanted) == 1 else wanted,
        labels=False if labels == "none" else labels,
        transpose=transpose,
        kernels=kernels,
        limits=limits,
    )


def contents(path: Path, limits: Limits) -> list[Variable]:
    """What a file or folder holds, and what would be made of each part of it."""
    stored = views_in_parts([path])
    if stored is None:
        return inspect(path, limits=limits)
    rows = Rows(stored)
    shapes = [(len(rows), width) for width in rows.widths]
    named = zip(rows.names, shapes, strict=True)
    return [Variable(name, "parts", shape, role="views") for name, shape in named]


def _in_parts(stored: Mapping[str, Path], wanted: list[str] | None, labels: str | None) -> Rows:
    for name in wanted or ():
        if name not in stored:
            raise InputError(f"views={name!r} is none of {', '.join(stored)}")
    known = None if labels in (None, "none") else _stored_labels(Path(str(labels)))
    return Rows({name: stored[name] for name in wanted or stored}, labels=known)


def _stored_labels(path: Path) -> np.ndarray:
    """Known classes beside views in parts: an .npy file, mapped so that no claim is allocated."""
    with naming(path):
        check_regular(path)
        with parsing(".npy file", "write it with np.save"):
            return as_labels(np.load(path, mmap_mode="r", allow_pickle=False))
