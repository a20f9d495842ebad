"""The command `inspect`."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer
from rich.console import Console
from rich.table import Table

from ..exceptions import InputError, MkclustWarning
from ..io import inspect as list_contents
from .arguments import Paths, Reading, clean, in_options, one_or_all, reads
from .summary import column_table


@reads()
def inspect(paths: Paths, reading: Reading) -> None:
    """Show what files hold, and every problem with its remedy.

    Nothing is clustered or written. The options are those of mkclust cluster; the last line is
    the command that clusters these files. Exit code 2 if there are problems.
    """
    console = Console(highlight=False)
    given = reading.parameters()
    problems = []
    try:
        some = {name: given[name] for name in ("sep", "untrusted")}
        console.print(_contents(list_contents(one_or_all(paths), **some)))
    except InputError as error:
        problems.append(in_options(error))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MkclustWarning)
        try:
            data = reading.read(paths)
        except InputError as error:
            data = None
            problems += [in_options(error)] if in_options(error) not in problems else []
    if data is not None:
        console.print(_samples(data))
        for note in data.notes:
            console.print(f"[dim]- {clean(note)}[/]", soft_wrap=True)
    for warning in caught:
        console.print(f"[yellow]note:[/] {clean(str(warning.message))}", soft_wrap=True)
    for problem in problems:
        console.print(f"[red]problem:[/] {clean(problem)}", soft_wrap=True)
    if problems:
        raise typer.Exit(2)
    command = ["mkclust", "cluster", *map(str, paths), "-k", "auto", *options_of(reading)]
    console.print(clean(f"Next: {shlex.join(command)}"), soft_wrap=True)


def options_of(reading: Reading) -> list[str]:
    """Return reading options as they are typed.

    >>> options_of(Reading(id="patient", kernels=False, drop_column=["a", "b"]))
    ['--id', 'patient', '--features', '--drop-column', 'a', '--drop-column', 'b']
    """
    switches = {
        "kernels": ("--kernels", "--features"),
        "transpose": ("--transpose", "--no-transpose"),
        "untrusted": ("--untrusted", ""),
    }
    typed: list[str] = []
    for name, value in reading.given().items():
        if name in switches:
            typed.append(switches[name][0 if value else 1])
            continue
        for each in value if isinstance(value, list) else [value]:
            typed += [f"--{name.replace('_', '-')}", each]
    return typed


def _contents(variables: list[Any]) -> Table:
    """Return what the files hold: a row per table or variable."""
    table = Table("name", "kind", "shape", "type", "used as", box=None, padding=(0, 2, 0, 0))
    for variable in variables:
        shape = " x ".join(map(str, variable.shape))
        cells = (variable.name, variable.kind, shape, variable.dtype, variable.role)
        table.add_row(*(clean(str(cell)) for cell in cells))
    return table


def _samples(data: Any) -> Table:
    """Return, for every view, samples, columns, NaN cells, and samples shared with each view."""
    short = [name if len(name) <= 10 else f"{name[:9]}…" for name in data.names]
    table = column_table("view", "samples", "columns", "NaN", *(f"in {name}" for name in short))
    present = data.present
    held = np.ones((len(data), data.n_views), dtype=bool) if present is None else present
    shared = held.astype(int).T @ held.astype(int)
    for p, name in enumerate(data.names):
        rows = data.own_rows(p)
        share = 0.0 if sp.issparse(rows) else float(np.isnan(rows).mean())
        counts = [str(count) for count in shared[p]]
        table.add_row(clean(name), counts[p], str(data.widths[p]), f"{100 * share:.1f} %", *counts)
    return table
