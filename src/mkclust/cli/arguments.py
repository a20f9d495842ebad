"""Command-line arguments: options that several commands share, and what their values mean."""

from __future__ import annotations

import functools
import inspect as inspection
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..base import MultiViewClusterer
from ..data.memory import physical_memory
from ..data.views import MultiView
from ..exceptions import InputError
from ..io import Variable, inspect, read
from ..io.files import check_regular, naming, parsing
from ..io.manifest import refuse_result
from ..io.roles import as_labels
from ..large.views import LargeViews, find_stored_views
from .wording import option

SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}
Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A .mat, .npz, .h5mu, .csv, .xlsx or .parquet file, a folder, or a file per view."
    ),
]
Method = Annotated[
    str, typer.Option("--method", metavar="NAME", help="The method; see [bold]mkclust methods[/].")
]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the results.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that mkclust did not write, too.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON; messages go to standard error.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]


@dataclass(frozen=True)
class Reading:
    """How data are read: the options of every command that takes data."""

    views: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Variables or files to use, comma-separated."),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE|none",
            help="Variable, column or file with the known classes, or 'none'.",
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|none", help="Column or variable with the sample names, or 'none'."
        ),
    ] = None
    transpose: Annotated[
        bool | None,
        typer.Option(
            "--transpose/--no-transpose",
            help="Samples are columns, or rows.",
            show_default="from names and shapes",
        ),
    ] = None
    kernels: Annotated[
        bool | None,
        typer.Option(
            "--kernels/--features",
            help="The matrices are kernels, or features.",
            show_default="from names and shapes",
        ),
    ] = None
    drop_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave this column out of every table; repeatable."),
    ] = None
    sep: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="Between the cells of a text table; 'tab' or 'space' for those.",
            show_default="from the first lines",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(metavar=".|,", help="Decimal sign.", show_default="from the first lines"),
    ] = None
    untrusted: Annotated[
        bool,
        typer.Option("--untrusted", help="Read in a child process with limits, which may crash."),
    ] = False
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="GIB", help="Of --untrusted.", show_default="half of the machine's memory"
        ),
    ] = None
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Of --untrusted.")] = 600.0

    def read(self, paths: Sequence[Path]) -> MultiView | LargeViews:
        """Read the views at the paths; views stored in parts are opened, not read.

        Results of mkclust are no input: given by name they are refused, in a folder they are
        skipped with a note.
        """
        for path in paths:
            refuse_result(path)
        wanted = None if self.views is None else [name.strip() for name in self.views.split(",")]
        stored = find_stored_views(paths)
        if stored is not None:
            for name in (
                "transpose",
                "kernels",
                "id",
                "drop_column",
                "sep",
                "decimal",
                "untrusted",
            ):
                if getattr(self, name):
                    raise InputError(
                        f"{option(name)} cannot be used with views in parts: they are tables "
                        "without sample names, one sample per row"
                    )
            return _in_parts(stored, wanted, self.labels)
        return read(
            paths[0] if len(paths) == 1 else paths,
            views=wanted[0] if wanted is not None and len(wanted) == 1 else wanted,
            labels=False if self.labels == "none" else self.labels,
            id=False if self.id == "none" else self.id,
            transpose=self.transpose,
            kernels=self.kernels,
            drop_columns=tuple(self.drop_column or ()),
            sep=separator(self.sep),
            decimal=self.decimal,
            **self.limits(),
        )

    def limits(self) -> dict[str, Any]:
        """Return the arguments of `read` that protect this process from a file."""
        most = None if self.memory_limit is None else self.memory_limit * 2**30
        return {
            "untrusted": self.untrusted, "memory_limit": most, "time_limit": self.time_limit
        }  # fmt: skip


def reads(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Reading` in place of its parameter `reading`."""
    parameters = inspection.signature(Reading, eval_str=True).parameters.values()
    taken = [p for p in parameters if p.name not in without]
    return lambda command: grouped(command, "reading", taken, Reading)


def grouped(
    command: Callable[..., None],
    name: str,
    members: Sequence[inspection.Parameter],
    made: Callable[..., Any],
) -> Callable[..., None]:
    """Give a command several options in place of the parameter that is made of their values."""
    signature = inspection.signature(command, eval_str=True)
    shown: list[inspection.Parameter] = []
    for parameter in signature.parameters.values():
        shown += members if parameter.name == name else [parameter]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        values = {member.name: given.pop(member.name) for member in members}
        command(**given, **{name: made(**values)})

    by_name = [p.replace(kind=p.KEYWORD_ONLY) for p in shown]
    called.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
    return called


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


def separator(given: str | None) -> str | None:
    """Return the character that --sep stands for.

    >>> separator("tab"), separator(";")
    ('\\t', ';')
    """
    return given if given is None else SEPARATORS.get(given, given)


def as_taken(model: MultiViewClusterer, data: MultiView | LargeViews) -> MultiView | LargeViews:
    """Return data as a method takes them: all rows of parts, unless it reads them in chunks."""
    if not isinstance(data, LargeViews) or model.takes_chunks(data):
        return data
    needed = 8.0 * data.shape[0] * data.shape[1]
    if needed > physical_memory() / 2:
        raise InputError(
            f"{model.name} needs all rows in memory, about {needed / 2**30:.1f} GiB, more than "
            "half of this machine's memory; --method mkc-dnm reads rows in chunks"
        )
    return data.in_memory()


def contents(path: Path, reading: Reading) -> list[Variable]:
    """List what a file or folder holds, with the role of each part."""
    refuse_result(path)
    stored = find_stored_views([path])
    if stored is None:
        return inspect(path, sep=separator(reading.sep), **reading.limits())
    rows = LargeViews(stored)
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


def _in_parts(
    stored: Mapping[str, Path], wanted: list[str] | None, labels: str | None
) -> LargeViews:
    for name in wanted or ():
        if name not in stored:
            raise InputError(f"--views {name} is none of {', '.join(stored)}")
    known = None if labels in (None, "none") else _stored_labels(Path(str(labels)))
    return LargeViews({name: stored[name] for name in wanted or stored}, labels=known)


def _stored_labels(path: Path) -> np.ndarray:
    """Return known classes of views in parts: an .npy file, mapped rather than allocated."""
    with naming(path):
        check_regular(path)
        refuse_result(path)
        with parsing(".npy file", "write it with np.save"):
            return as_labels(np.load(path, mmap_mode="r", allow_pickle=False))
