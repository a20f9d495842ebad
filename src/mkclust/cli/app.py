"""The root of the command line: its commands by name, and how errors end it.

A command's module is imported when the command is called, so that help and version are quick.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple, cast

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from .._version import __version__
from ..exceptions import InputError
from . import startup
from .supervision import supervised
from .wording import clean, in_options

SETTINGS = {"help_option_names": ["-h", "--help"]}
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class Entry(NamedTuple):
    """The module of a command, and the line that describes it."""

    module: str
    help: str


COMMANDS = {
    "cluster": Entry(".cluster", "Cluster the samples of one or more files."),
    "explain": Entry(
        ".explain", "Print which view sees what, where views conflict, and other answers."
    ),
    "predict": Entry(".predict", "Assign new samples to the clusters of a saved model."),
    "verify": Entry(".verify", "Check that results are complete and belong to these data."),
    "inspect": Entry(".listing", "List what a file holds and how it would be used."),
    "methods": Entry(".listing", "List all methods with their options and references."),
    "demo": Entry(".cluster", "Cluster the bundled handwritten digits into ten clusters."),
}


class Commands(Mapping[str, Any]):
    """The commands by name, imported when one is looked up."""

    def __getitem__(self, name: str) -> Any:
        return loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The root group. Its help lists `COMMANDS` without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, Commands())

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command that has only a name and a description."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments call, and the arguments that are left."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, loaded(str(name)), rest


def loaded(name: str) -> Any:
    """Import a command and return it as typer runs it.

    >>> [option.name for option in loaded("inspect").params][:3]
    ['path', 'labels', 'id']
    """
    module = import_module(COMMANDS[name].module, __package__)
    if isinstance(found := getattr(module, "app", None), typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(
        add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
    alone.command(name)(getattr(module, name))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=LazyGroup,
    help="Cluster samples that are described by several views or kernel matrices.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"mkclust {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def command() -> None:
    """Run ``mkclust`` as a console script: `main` in a process that Ctrl-C ends within a second."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks is replaced
            stream.reconfigure(errors="replace")
    supervised(main)


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed.

    Python has None for such a stream, and the next file opened would take its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def main() -> None:
    """Run the command line in this process: exit code 0, 2 for wrong usage or input, else 1."""
    startup.start()
    try:
        app()
    except InputError as error:
        errors.print(f"[red]error:[/] {clean(in_options(str(error)))}")
        sys.exit(2)
    except OSError as error:
        errors.print(f"[red]error:[/] {clean(str(error))}")
        sys.exit(1)
    except KeyboardInterrupt:
        errors.print("interrupted")
        sys.exit(130)
