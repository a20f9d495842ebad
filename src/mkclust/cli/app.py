"""The root of the command line: its commands by name, and how errors end it.

A command's module is imported when the command is called, so that help and version are quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from .._version import __version__
from ..exceptions import InputError
from .arguments import clean, in_options

INTERRUPTED = 130  # exit code of Ctrl-C
# Only a terminal gets lines that are wrapped at words.
errors = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


COMMANDS = {  # its module, and the line that describes it
    "cluster": (".cluster", "Cluster the samples of one or more files."),
    "inspect": (".inspect", "Show what files hold, and every problem with its remedy."),
    "explain": (".results", "Print what separates the clusters, and other answers."),
    "predict": (".predict", "Assign new samples to the clusters of a saved model."),
    "verify": (".results", "Check that results are complete and belong to these data."),
    "methods": (".methods", "List all methods, or the parameters of one."),
    "demo": (".cluster", "Cluster bundled data: handwritten digits in six views."),
}


class LazyGroup(TyperGroup):
    """The root group. Its help lists `COMMANDS` without importing them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command that has only a name and a description."""
        known = cmd_name in COMMANDS
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1]) if known else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments call, and the arguments that are left."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, import_command(str(name)), rest


def import_command(name: str) -> Any:
    """Import a command and return it as typer runs it.

    >>> [option.name for option in import_command("inspect").params][:3]
    ['paths', 'views', 'labels']
    """
    module = import_module(COMMANDS[name][0], __package__)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name)(getattr(module, name))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=LazyGroup,
    help="Cluster samples that are described by several views or kernel matrices.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mkclust {__version__}")
        raise typer.Exit


Version = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version."
)


@app.callback()
def _root(version: Annotated[bool, Version] = False) -> None:
    pass


def main() -> None:
    """Run the command line: exit code 0, 2 for wrong usage or input, 130 for Ctrl-C, else 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that the terminal lacks is replaced
            stream.reconfigure(errors="replace")
    try:
        app()
    except (InputError, OSError) as error:
        errors.print(f"[red]error:[/] {clean(in_options(error))}")
        sys.exit(2 if isinstance(error, InputError) else 1)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer says nothing
            errors.print("interrupted")
        raise
