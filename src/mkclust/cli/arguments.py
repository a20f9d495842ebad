"""The meaning of command-line arguments: paths as views, NAME=NUMBER as settings, -k as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from ..chunked.rows import Rows, views_in_parts
from ..data.memory import physical_memory
from ..data.views import MultiView
from ..exceptions import InputError
from ..io import Limits, Variable, inspect, read
from ..io._guards.limits import check_regular, naming, parsing
from ..io.manifest import refuse_result
from ..io.variables import as_labels

SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}
LIMITS = tuple(field.name for field in fields(Limits))


def asked_k(text: str) -> int | tuple[int, int] | str:
    """Return what -k asks for: a number, the two ends of a range, or "auto".

    >>> asked_k("7"), asked_k("2:12"), asked_k("auto")
    (7, (2, 12), 'auto')
    """
    if text == "auto":
        return text
    parts = text.split(":")
    if len(parts) <= 2 and all(part.isdecimal() and int(part) > 0 for part in parts):
        numbers = [int(part) for part in parts]
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
    raise InputError(f"-k takes a number from 1 on, 'auto', or a range such as 2:12, got {text!r}")


def named_numbers(option: str, given: Sequence[str] | None) -> dict[str, float]:
    """Return numbers by their names.

    >>> named_numbers("--kernel-param", ["gamma=0.1", "n_neighbors=5"])
    {'gamma': 0.1, 'n_neighbors': 5}
    """
    try:
        pairs = [text.split("=", 1) for text in given or ()]
        return {name: int(value) if value.isdecimal() else float(value) for name, value in pairs}
    except ValueError:
        raise InputError(f"{option} takes NAME=NUMBER, got {' '.join(given or ())}") from None


def chosen_limits(given: Sequence[str] | None) -> Limits:
    """Return what a file may claim: the default limits, with those given on the command line.

    >>> chosen_limits(["max_bytes=2e10"]).max_bytes
    20000000000
    """
    numbers = named_numbers("--limit", given)
    for name, number in numbers.items():
        if name not in LIMITS:
            raise InputError(f"--limit has no {name!r}, only {', '.join(LIMITS)}")
        if not 1 <= number < np.inf or number != int(number):
            raise InputError(f"--limit {name} takes a whole number from 1 on, got {number}")
    return Limits(**{name: int(number) for name, number in numbers.items()})


def read_views(
    paths: Sequence[Path],
    views: str | None = None,
    labels: str | None = None,
    index: str | None = None,
    transpose: bool | None = None,
    kernels: bool | None = None,
    limit: Sequence[str] | None = None,
    drop_column: Sequence[str] | None = None,
    sep: str | None = None,
    decimal: str | None = None,
) -> MultiView | Rows:
    """Read the views at the paths; views stored in parts are opened, not read.

    Results of mkclust are no input: given by name they are refused, in a folder they are skipped
    with a note. Parts are read in blocks, so that `limit` does not apply to them.
    """
    for path in paths:
        refuse_result(path)
    wanted = None if views is None else [name.strip() for name in views.split(",")]
    limits = chosen_limits(limit)
    stored = views_in_parts(paths)
    if stored is not None:
        given = {"--transpose": transpose, "--kernels": kernels, "--index": index,
                 "--drop-column": drop_column, "--sep": sep, "--decimal": decimal}  # fmt: skip
        for option, value in given.items():
            if value:
                raise InputError(
                    f"{option} cannot be used with views in parts: they are tables without sample "
                    "names, one sample per row"
                )
        return _in_parts(stored, wanted, labels)
    return read(
        paths[0] if len(paths) == 1 else paths,
        views=wanted[0] if wanted is not None and len(wanted) == 1 else wanted,
        labels=False if labels == "none" else labels,
        index=False if index == "none" else index,
        transpose=transpose,
        kernels=kernels,
        drop_columns=tuple(drop_column or ()),
        sep=separator(sep),
        decimal=decimal,
        limits=limits,
    )


def separator(given: str | None) -> str | None:
    """Return the character that --sep stands for.

    >>> separator("tab"), separator(";")
    ('\\t', ';')
    """
    return given if given is None else SEPARATORS.get(given, given)


def in_memory(rows: Rows, method: str) -> MultiView:
    """Read all rows of views in parts, for a method that does not read them in chunks."""
    needed = 8.0 * rows.shape[0] * rows.shape[1]
    if needed > physical_memory() / 2:
        raise InputError(
            f"{method} needs all rows in memory, about {needed / 2**30:.1f} GiB, more than half "
            "of this machine's memory; --method mkc-dnm reads rows in chunks"
        )
    return rows.in_memory()


def contents(path: Path, limits: Limits, sep: str | None = None) -> list[Variable]:
    """List what a file or folder holds, with the role of each part."""
    refuse_result(path)
    stored = views_in_parts([path])
    if stored is None:
        return inspect(path, sep=separator(sep), limits=limits)
    rows = Rows(stored)
    shapes = [(len(rows), width) for width in rows.widths]
    named = zip(rows.names, shapes, strict=True)
    return [Variable(name, "parts", shape, role="views") for name, shape in named]


def input_files(paths: Sequence[Path], labels: str | None = None) -> set[Path]:
    """Return the files that a run may read: those given, and those in the folders given."""
    found: set[Path] = set()
    for path in [*paths, *([] if labels is None else [Path(labels)])]:
        found.add(path.resolve())
        if path.is_dir():
            found |= {file.resolve() for file in [*path.glob("*"), *path.glob("*/*")]}
    return found


def _in_parts(stored: Mapping[str, Path], wanted: list[str] | None, labels: str | None) -> Rows:
    for name in wanted or ():
        if name not in stored:
            raise InputError(f"--views {name} is none of {', '.join(stored)}")
    known = None if labels in (None, "none") else _stored_labels(Path(str(labels)))
    return Rows({name: stored[name] for name in wanted or stored}, labels=known)


def _stored_labels(path: Path) -> np.ndarray:
    """Return known classes of views in parts: an .npy file, mapped rather than allocated."""
    with naming(path):
        check_regular(path)
        refuse_result(path)
        with parsing(".npy file", "write it with np.save"):
            return as_labels(np.load(path, mmap_mode="r", allow_pickle=False))
