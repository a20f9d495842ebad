"""Options that several commands share, what their values mean, and how parameters are named."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..exceptions import InputError

PYTHON = {"True": True, "False": False, "None": None}  # as `mkclust methods` shows them
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}
OPTIONS = {
    "n_clusters": "-k",
    "random_state": "--seed",
    "out": "-o",
    "path": "PATHS",
    "drop_columns": "--drop-column",
}
OF_COMMANDS = (  # parameters that are options of their own; all others are given by --set
    "annotations", "dask", "decimal", "event", "figures", "id", "kernels", "labels", "log",
    "method", "missing", "sep", "time", "top_variance", "transpose", "untrusted", "views",
)  # fmt: skip
SWITCHES = {
    "kernels": ("--kernels", "--features"),
    "transpose": ("--transpose", "--no-transpose"),
    "untrusted": ("--untrusted", ""),
}
MENTIONED = re.compile(  # a parameter in a message, and its value if there is one
    rf"(?<![\w.'\"])({'|'.join([*OPTIONS, *OF_COMMANDS])})="
    r"(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|True|False|\.\.\.|(?=[\s,.;)]|$))"
)
READING = "Reading"
Text = str | None
Texts = list[str] | None

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="A folder, a .mat, .npz, .h5ad, .h5mu or .xlsx file, or a table per view "
        "(.csv, .tsv, .txt, .parquet).",
    ),
]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder of the results.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; messages go to standard error.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")]


def _reading(help: str, metavar: str | None = None, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=READING)


@dataclass(frozen=True)
class Reading:
    """How data are read: the options of every command that takes data."""

    views: Annotated[Text, _reading("Tables or variables to use, by comma.", "NAMES")] = None
    labels: Annotated[
        Text, _reading("Known classes, to score with: column or file, or 'none'.", "NAME")
    ] = None
    id: Annotated[Text, _reading("Column with the sample names, or 'none'.", "NAME")] = None
    transpose: Annotated[
        bool | None, _reading("Samples are columns.", None, "--transpose/--no-transpose")
    ] = None
    kernels: Annotated[
        bool | None, _reading("Matrices are kernels, not tables.", None, "--kernels/--features")
    ] = None
    drop_column: Annotated[Texts, _reading("Leave this column out; repeatable.", "NAME")] = None
    sep: Annotated[Text, _reading("Between cells of a text table, or 'tab'.", "SIGN")] = None
    decimal: Annotated[Text, _reading("Decimal sign of text tables.", ".|,")] = None
    untrusted: Annotated[
        bool, _reading("Read the views in a child process with limits.", None, "--untrusted")
    ] = False

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of `mkclust.read` that the options stand for."""
        return {
            "views": None if self.views is None else [n.strip() for n in self.views.split(",")],
            "labels": False if self.labels == "none" else self.labels,
            "id": False if self.id == "none" else self.id,
            "transpose": self.transpose,
            "kernels": self.kernels,
            "drop_columns": tuple(self.drop_column or ()),
            "sep": None if self.sep is None else SEPARATORS.get(self.sep, self.sep),
            "decimal": self.decimal,
            "untrusted": self.untrusted,
        }

    def read(self, paths: Sequence[Path]) -> Any:
        """Read the data; views that are stored in parts are opened, not read."""
        from ..io.reading import read
        from ..large.views import LargeViews, find_stored_views

        stored = find_stored_views(paths)
        if stored is None:
            return read(one_or_all(paths), **self.parameters())
        unused = [name for name in self.given() if name != "views"]
        if unused:
            raise InputError(
                f"{option(unused[0])} cannot be used with views in parts: they are tables without "
                "sample names, one sample per row"
            )
        wanted = self.parameters()["views"] or list(stored)
        unknown = [name for name in wanted if name not in stored]
        if unknown:
            raise InputError(f"--views {unknown[0]} is none of {', '.join(stored)}")
        return LargeViews({name: stored[name] for name in wanted})

    def contents(self, paths: Sequence[Path]) -> list[Any]:
        """Return what the files hold, with the role of each part."""
        from ..io.reading import inspect

        sep = self.parameters()["sep"]
        return inspect(one_or_all(paths), sep=sep, untrusted=self.untrusted)

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, to be stored with a result."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}

    def over(self, stored: dict[str, Any]) -> Reading:
        """Return the stored options, replaced by those given now."""
        known = {field.name for field in fields(self)}
        return Reading(**{n: v for n, v in stored.items() if n in known} | self.given())


def reads(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Reading` in place of its parameter `reading`."""
    parameters = inspect.signature(Reading, eval_str=True).parameters.values()
    options = [p for p in parameters if p.name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        shown: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            shown += options if parameter.name == "reading" else [parameter]

        @functools.wraps(command)
        def with_reading(**given: Any) -> None:
            reading = Reading(**{option.name: given.pop(option.name) for option in options})
            command(**given, reading=reading)

        by_name = [p.replace(kind=p.KEYWORD_ONLY) for p in shown]
        with_reading.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
        return with_reading

    return decorate


def one_or_all(paths: Sequence[Path]) -> Any:
    """Return the only path, or the list of several: a single folder is read as a folder."""
    return paths[0] if len(paths) == 1 else list(paths)


def n_clusters_of(text: str) -> int | tuple[int, int] | str:
    """Return what -k asks for: a number, the two ends of a range, or "auto".

    >>> n_clusters_of("7"), n_clusters_of("2:12"), n_clusters_of("auto")
    (7, (2, 12), 'auto')
    """
    if text == "auto":
        return text
    parts = text.split(":")
    if len(parts) <= 2 and all(part.isdecimal() and int(part) > 0 for part in parts):
        numbers = [int(part) for part in parts]
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
    raise InputError(f"-k takes a number from 1 on, 'auto', or a range such as 2:12, got {text!r}")


def parameters_of(given: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that ``--set NAME=VALUE`` gives; a value that is JSON is read so.

    >>> parameters_of(["n_neighbors=7", "solver=exact", 'kernel_params={"gamma": 0.1}'])
    {'n_neighbors': 7, 'solver': 'exact', 'kernel_params': {'gamma': 0.1}}
    """
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--set takes NAME=VALUE, got {text!r}")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = PYTHON.get(value, value)
    return found


def option(parameter: str) -> str:
    """Return the option that sets a parameter.

    >>> option("n_clusters"), option("missing"), option("n_neighbors")
    ('-k', '--missing', '--set n_neighbors')
    """
    own = f"--{parameter.replace('_', '-')}"
    return OPTIONS.get(parameter, own if parameter in OF_COMMANDS else f"--set {parameter}")


def in_options(message: Exception | str) -> str:
    """Return a message with options in place of parameters, which it has as ``name=value``.

    An error about a parameter that its message does not mention gets the option at its end.

    >>> in_options("leave out with drop_columns=['town', 'my age'], or name with id=...")
    "leave out with --drop-column town --drop-column 'my age', or name with --id"
    >>> in_options(InputError("n_clusters = 61 is too many", parameter="n_clusters"))
    '-k = 61 is too many'
    >>> in_options(InputError("several columns look like classes", parameter="labels"))
    'several columns look like classes (see --labels)'
    """
    text, parameter = MENTIONED.sub(_as_typed, str(message)), getattr(message, "parameter", None)
    if parameter is None or option(parameter) in text:
        return text
    if "_" in parameter and parameter in text:
        return text.replace(parameter, option(parameter))
    return f"{text} (see {option(parameter)})"


def _as_typed(found: re.Match[str]) -> str:
    """Return the options that a parameter and its value in a message stand for."""
    name, value = found[1], ast.literal_eval(found[2] or "...")
    if value is ...:
        return option(name)
    if name in SWITCHES:
        return SWITCHES[name][not value]
    values = value if isinstance(value, list) else ["none" if value is False else value]
    return " ".join(f"{option(name)} {shlex.quote(str(each))}" for each in values)


def clean(text: str) -> str:
    """Return text for the console: markup escaped, control characters replaced.

    >>> clean("view[0]" + chr(27) + "[2J")
    'view[0]?[2J'
    """
    return escape("".join(c if c.isprintable() or c == "\n" else "?" for c in text))
