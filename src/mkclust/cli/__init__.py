"""The command line.

Only `startup` is imported at once. The commands and what they need are imported when called.
"""

from . import startup as startup


def command() -> None:
    """Run ``mkclust`` as a console script: `main`, ended within a second by Ctrl-C or SIGTERM."""
    from .app import command

    command()


def main() -> None:
    """Run the command line in this process: exit code 0, 2 for wrong usage or input, else 1."""
    from .app import main

    main()


__all__ = ["command", "main"]
