"""Error messages of the library in the words of the command line."""

from __future__ import annotations

import re
import shlex

from rich.markup import escape

SPECIAL = {
    "n_clusters": "-k",
    "random_state": "--seed",
    "kernel_params": "--kernel-param",
    "drop_columns": "--drop-column",
}
PARAMETERS = (
    "columns", "dask", "decimal", "graph", "id", "indefinite", "init",
    "kernel", "kernels", "labels", "max_dimension", "method", "missing", "missing_rows",
    "n_components", "n_init", "n_neighbors", "on_infeasible", "precision", "sep", "solver",
    "threshold", "transpose",
    "views", "work", *SPECIAL,
)  # fmt: skip
_VALUE = r"\"(?P<quoted>[^\"\s]*)\"|'(?P<single>[^']*)'|(?P<bare>\.\.\.|True|False|None)"
_VALUE += r"|\[(?P<many>'[^']*'(?:, '[^']*')*)\]"
_GIVEN = re.compile(rf"\b(?P<name>{'|'.join(PARAMETERS)})=(?:{_VALUE})")
_NAMED = re.compile(r"\b(?P<name>(?!in_memory)(?:" + "|".join(
    name for name in PARAMETERS if "_" in name) + r"))\b")  # fmt: skip
_SUBJECT = re.compile(rf"^(?P<name>{'|'.join(PARAMETERS)})(?= must be )")


def in_options(message: str) -> str:
    """Replace names of Python parameters by the options that set them.

    >>> in_options("n_clusters = 61 is more than the 60 samples")
    '-k 61 is more than the 60 samples'
    >>> in_options("several columns are named like labels: choose with labels=...")
    'several columns are named like labels: choose with --labels NAME'
    >>> in_options('solver must be one of authors, paper, exact, got "magic"')
    '--solver must be one of authors, paper, exact, got "magic"'
    >>> in_options("pass labels=False for none, or kernels=True")
    'pass --labels none for none, or --kernels'
    >>> in_options("leave out with drop_columns=['a b', 'c'], or pass decimal=','")
    "leave out with --drop-column 'a b' --drop-column c, or pass --decimal ','"
    """
    message = _GIVEN.sub(_given, message)
    message = _SUBJECT.sub(lambda found: option(found["name"]), message)
    message = re.sub(r"\bn_clusters = ", "-k ", message)
    return _NAMED.sub(lambda found: option(found["name"]), message)


def clean(text: str) -> str:
    """Return text for the console: markup escaped, control characters replaced.

    >>> clean("view[0]" + chr(27) + "[2J")
    'view[0]?[2J'
    """
    return escape("".join(c if c.isprintable() or c == "\n" else "?" for c in text))


def option(name: str) -> str:
    """Return the option that sets a parameter.

    >>> option("n_neighbors"), option("random_state")
    ('--n-neighbors', '--seed')
    """
    return SPECIAL.get(name, f"--{name.replace('_', '-')}")


def _given(found: re.Match[str]) -> str:
    if found["many"]:
        values = re.findall(r"'([^']*)'", found["many"])
        if found["name"] == "views":
            return f"--views {_quoted(','.join(values))}"
        return " ".join(f"{option(found['name'])} {_quoted(value)}" for value in values)
    name, value = found["name"], found["quoted"] or found["single"] or found["bare"] or "''"
    if name in ("transpose", "kernels") and value in ("True", "False"):
        opposite = {"transpose": "--no-transpose", "kernels": "--features"}[name]
        return option(name) if value == "True" else opposite
    words = {"...": "NAME", "False": "none", "None": "none", "True": ""}
    return f"{option(name)} {words.get(value, _quoted(value))}".strip()


def _quoted(value: str) -> str:
    """Return a value as a shell takes it, and a sign in quotation marks."""
    return shlex.quote(value) if re.search(r"\w", value) else f"'{value.strip(chr(39))}'"
