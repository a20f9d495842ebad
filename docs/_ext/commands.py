"""The directive ``commands``: all commands of the program with their arguments and options."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mkclust.cli.app import COMMANDS, import_command


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        lines = (line for name in COMMANDS for line in described(import_command(name), name))
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def described(command: Any, name: str) -> Iterator[str]:
    """Yield Markdown for a command."""
    wanted = [option for option in command.params if not option.hidden]
    arguments = [_shown(option) for option in wanted if _is_argument(option)]
    yield f"## `{' '.join(['mkclust', name, *arguments])}`"
    yield ""
    yield plain(command.help or "")
    yield ""
    yield from (f"- {_option(option)}" for option in wanted if option.name != "help")
    yield ""


def _is_argument(option: Any) -> bool:
    return bool(option.param_type_name == "argument")


def _shown(argument: Any) -> str:
    return argument.name.upper() + ("..." if argument.nargs == -1 else "")


def _option(option: Any) -> str:
    names = [_shown(option)] if _is_argument(option) else [*option.opts, *option.secondary_opts]
    return f"{', '.join(f'`{name}`' for name in names)}: {plain(option.help or '')}"


def plain(text: str) -> str:
    """Return help text without terminal markup."""
    return text.replace("[bold]", "").replace("[/]", "").replace("\b", "")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
