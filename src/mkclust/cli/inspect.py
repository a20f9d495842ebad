"""The command `inspect`."""

from __future__ import annotations

import shlex
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer
from rich.console import Console
from rich.table import Table

from ..exceptions import MkclustWarning
from ..io.files import collect, view_name
from .arguments import SWITCHES, Paths, Reading, clean, in_options, reads
from .summary import column_table

ROOM = 30  # characters for the samples shared with each other view


@reads()
def inspect(paths: Paths, reading: Reading) -> None:
    """Show what files hold, and every problem with its remedy.

    Nothing is clustered or written. The options are those of mkclust cluster; the last line is
    the command that clusters these files. Exit code 2 if there are problems.
    """
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    variables = reading.contents(paths)
    console.print(_contents(variables))
    suggested, more = _without_annotations(paths, variables, reading)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MkclustWarning)
        data, problems = read_all(paths, suggested)
        if problems:
            data, problems = read_all(paths, reading)
    if data is not None:
        console.print(_samples(data))
        more += ["--missing", "median"] if any(data.gaps) else []
        for note in () if problems else data.notes:
            console.print(f"[dim]- {clean(in_options(note))}[/]")
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        console.print(f"[yellow]note:[/] {clean(in_options(text))}")
    for problem in problems:
        console.print(f"[red]problem:[/] {clean(problem)}")
    if problems:
        raise typer.Exit(2)
    command = ["mkclust", "cluster", *map(str, paths), "-k", "auto", *options_of(suggested), *more]
    console.print(clean(f"Next: {shlex.join(command)}"), soft_wrap=True)  # to be copied


def read_all(paths: list[Path], reading: Reading, filled: bool = False) -> tuple[Any, list[str]]:
    """Read data; return them and no problems, or all problems and the views that have none.

    Where there are problems, NaN cells are one, too, unless they are to be filled.
    """
    failed: list[str] = []
    data = None
    with collect(failed):
        return reading.read(paths), []
    problems = failed[0].split("\n- ")[1:] or failed
    about = {view_name(Path(problem.partition(": ")[0])) for problem in problems}
    with collect([]):
        found = reading.contents(paths)
        about |= {v.name for v in found if f"view {v.name!r} has no sample in" in failed[0]}
        views = [v.name for v in found if v.role == "views"]
        sound = [v for v in reading.parameters()["views"] or views if v not in about]
        data = replace(reading, views=",".join(sound)).read(paths)
    with collect(problems):
        if data is not None and not filled:
            data.require_no_gaps()
    return data, [in_options(problem) for problem in problems]


def _without_annotations(
    paths: list[Path], variables: list[Any], reading: Reading
) -> tuple[Reading, list[str]]:
    """Return options that leave a clinical table out of the views, and compare it afterwards."""
    clinical = [v.name for v in variables if v.role == "annotations"]
    if not clinical or reading.views is not None:
        return reading, []
    views = [v.name for v in variables if v.role == "views"]
    folders = [path for path in paths if path.is_dir()]
    files = [*paths, *(file for folder in folders for file in sorted(folder.iterdir()))]
    found = [str(f) for f in files if f.is_file() and f.name.partition(".")[0] == clinical[0]]
    more = ["--annotations", found[0]] if found else []
    return replace(reading, views=",".join(views)), more


def options_of(reading: Reading) -> list[str]:
    """Return reading options as they are typed.

    >>> options_of(Reading(id="patient", kernels=False, drop_column=["a", "b"]))
    ['--id', 'patient', '--features', '--drop-column', 'a', '--drop-column', 'b']
    """
    typed: list[str] = []
    for name, value in reading.given().items():
        if name in SWITCHES:
            typed.append(SWITCHES[name][not value])
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
    """Return, for every view, samples, columns, NaN cells, and samples shared with the others."""
    held = data.held
    shared = held.astype(int).T @ held.astype(int)
    heads = [f"in {clean(name)}" for name in data.names]
    if sum(map(len, heads)) > ROOM:
        heads, shared = ["in all"], np.full((data.n_views, 1), held.all(axis=1).sum())
    table = column_table("view", "samples", "columns", "NaN", *heads)
    for p, name in enumerate(data.names):
        rows = data.own_rows(p)
        share = 0.0 if sp.issparse(rows) else float(np.isnan(rows).mean())
        counts = [str(held[:, p].sum()), str(data.widths[p]), f"{100 * share:.2g} %"]
        table.add_row(clean(name), *counts, *map(str, shared[p]))
    return table
