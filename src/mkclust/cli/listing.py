"""The commands `inspect` and `methods`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..methods import METHODS
from .arguments import Reading, contents, reads
from .method_options import own_parameters, owners
from .run import heard
from .wording import clean, in_options, option


@reads("views", "transpose", "kernels")
def inspect(
    path: Annotated[Path, typer.Argument(help="A file or folder that may hold views.")],
    reading: Reading,
) -> None:
    """List what a file holds and how it would be used."""
    console = Console(highlight=False)
    table = Table("variable", "kind", "shape", "type", "used as", box=None, padding=(0, 2, 0, 0))
    for variable in contents(path, reading):
        shape = " x ".join(map(str, variable.shape))
        cells = (variable.name, variable.kind, shape, variable.dtype, variable.role)
        table.add_row(*(clean(str(cell)) for cell in cells))
    console.print(table)
    with heard() as warned:
        data = reading.read([path])
    console.print(f"\n{clean(repr(data))}", soft_wrap=True)
    for note in data.notes:
        console.print(f"[dim]- {clean(in_options(note))}[/]", soft_wrap=True)
    for note in warned:
        console.print(f"[yellow]note:[/] {clean(in_options(note))}", soft_wrap=True)
    if data.labels is not None:
        console.print(f"[dim]- {len(set(data.labels.tolist()))} known classes[/]")


def methods() -> None:
    """List all methods with their options and references."""
    console = Console(highlight=False)
    common = [name for name, users in owners().items() if len(users) > len(METHODS) / 2]
    for name, kind in METHODS.items():
        parameters = own_parameters(kind)
        options = [option(own) for own in parameters if own not in common]
        options += ["those of kernels"] if set(common) <= set(parameters) else []
        console.print(Text.assemble((name, "bold"), f"  {kind.title}"))
        _indented(console, f"options: {', '.join(options) or 'none'}")
        _indented(console, kind.reference, "dim")
    console.print("options of kernels")
    _indented(console, ", ".join(map(option, common)))


def _indented(console: Console, line: str, style: str = "") -> None:
    for wrapped in Text(line, style=style).wrap(console, max(20, console.width - 4)):
        wrapped.rstrip()
        console.print(Text("    ") + wrapped)
