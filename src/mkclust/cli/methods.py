"""The command `methods`."""

from __future__ import annotations

import inspect
import re
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..base import MultiViewClusterer
from ..methods import METHODS, estimator_for
from .arguments import clean, option


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A method, to list its parameters.")
    ] = None,
) -> None:
    """List all methods, or the parameters of one."""
    console = Console(highlight=False)
    if name is None:
        for known, kind in METHODS.items():
            console.print(f"[bold]{known:12}[/] {kind.title}")
            console.print(f"             [dim]{clean(kind.reference)}[/]", soft_wrap=True)
        console.print("Parameters of a method: mkclust methods NAME")
        return
    kind = type(estimator_for(name, 2))
    console.print(f"[bold]{name}[/]  {kind.title}. [dim]{clean(kind.reference)}[/]")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for parameter, given in inspect.signature(kind).parameters.items():
        if parameter != "n_clusters":
            set_by = f"{option(parameter)}={given.default}"
            table.add_row(set_by, clean(description(kind, parameter)))
    console.print(table)


def description(kind: type[MultiViewClusterer], parameter: str) -> str:
    """Return the first sentence about a parameter in the docstrings of a method and its bases.

    >>> from mkclust import GraphFusion
    >>> description(GraphFusion, "n_init")
    'Restarts of k-means.'
    """
    entry = re.compile(rf"^(?:\w+, )*{parameter}(?:, \w+)* : .*\n((?:    .*\n?)+)", re.MULTILINE)
    for parent in kind.__mro__:
        found = entry.search(inspect.cleandoc(parent.__doc__ or ""))
        if found:
            text = " ".join(found[1].replace("`", "").replace("$", "").split())
            return re.split(r"(?<=[a-z0-9)])[.:;](?= |$)", text)[0].rstrip(".") + "."
    return ""
