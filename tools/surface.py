"""Write the public interface as text, one line per item: ``python tools/surface.py``.

Public are the names in docs/api/, the commands with their options, and the keys and columns of
the files that are written. tests/test_api.py compares the text with tests/api.txt.
"""

import csv
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import fields, is_dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import typer.main

from mkclust import METHODS, datasets
from mkclust.base import MultiViewClusterer
from mkclust.cli import app as cli
from mkclust.cli.results import SCHEMA
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.io import models as model_file

ROOT = Path(__file__).resolve().parent.parent
LISTED = ROOT / "tests" / "api.txt"
DIRECTIVE = re.compile(
    r"^\.\. (autofunction|autoclass|automodule|py:data):: (\S+)((?:\n   :.*)*)$", re.MULTILINE
)
ATTRIBUTES = re.compile(r"^ *Attributes\n *-+\n(.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
KINDS = {
    inspect.Parameter.KEYWORD_ONLY: "by name",
    inspect.Parameter.VAR_POSITIONAL: "any number",
    inspect.Parameter.VAR_KEYWORD: "any named",
}
PARENTS = (MultiViewClusterer, InputError, MkclustWarning, ValueError, UserWarning, tuple)


def surface() -> str:
    """Return the whole interface, sorted within each part."""
    parts = {
        "Python": python(),
        "Command line": commands(typer.main.get_command(cli.app), "mkclust"),
        "Files": files(),
    }
    return "\n".join(
        f"# {title}\n" + "\n".join(sorted(set(p))) + "\n" for title, p in parts.items()
    )


# ---------------------------------------------------------------- Python


def python() -> Iterator[str]:
    """Yield everything in docs/api/, with parameters, defaults and fitted attributes."""
    pages = sorted((ROOT / "docs" / "api").rglob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for kind, name, settings in DIRECTIVE.findall(text):
        if kind == "automodule" and ":members:" in settings:
            for inner, value in vars(import_module(name)).items():
                if not inner.startswith("_") and getattr(value, "__module__", "") == name:
                    yield from described(f"{name}.{inner}", value)
        elif kind == "automodule":
            yield f"{name}: module"
        elif kind == "py:data":
            yield from (f"{name}[{key!r}]: {value.__name__}" for key, value in METHODS.items())
        else:
            yield from described(name, found(name))


def found(name: str) -> Any:
    """Resolve a dotted name, to a function rather than a module of the same name."""
    module, _, inner = name.rpartition(".")
    return getattr(resolve_name(module), inner)


def described(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of a function, or of a class with its attributes and methods."""
    if not isinstance(value, type):
        yield from called(name, value)
        return
    public = [base.__name__ for base in value.__mro__[1:] if base in PARENTS]
    yield f"{name}: class({', '.join(public[:1])})"
    if issubclass(value, MultiViewClusterer):
        yield from called(name, value.__init__)
        yield from (f"{name}().{attribute}" for attribute in attributes(value))
    elif is_dataclass(value):
        yield from (f"{name}().{field.name}: {field.type}" for field in fields(value))
    elif hasattr(value, "_fields"):
        yield from (f"{name}().{field}" for field in value._fields)
    elif "__init__" in vars(value):
        yield from called(name, value.__init__)
    shared = dir(MultiViewClusterer) if issubclass(value, MultiViewClusterer) else []
    for member in dir(value):
        own = value is MultiViewClusterer or member not in shared
        if own and not member.startswith("_"):
            yield from _member(f"{name}().{member}", inspect.getattr_static(value, member))


def called(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield a line per parameter, so that a change of one changes one line."""
    signature = inspect.signature(function)
    taken = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if function.__name__ != "__init__":
        yield f"{name}(...) -> {signature.return_annotation}"
    for place, parameter in enumerate(taken, start=1):
        kind = KINDS.get(parameter.kind, f"{place}:")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{name}({kind} {parameter.name}: {parameter.annotation}{default})"


def attributes(estimator: type) -> list[str]:
    """Return the fitted attributes in the docstring of an estimator."""
    section = ATTRIBUTES.search(inspect.cleandoc(estimator.__doc__ or ""))
    heads = re.findall(r"^[a-z]\w*_(?:, \w+_)*", section[1], re.MULTILINE) if section else []
    return [name for head in heads for name in head.split(", ")]


def _member(name: str, value: Any) -> Iterator[str]:
    plain = getattr(value, "__func__", value)
    if isinstance(value, property):
        yield f"{name}: property"
    elif inspect.isfunction(plain) and plain.__module__.startswith("mkclust"):
        yield from called(name, plain)


# ---------------------------------------------------------------- command line


def commands(command: Any, name: str) -> Iterator[str]:
    """Yield a line per option of every command, with its default."""
    for below, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {below}")
    for option in command.params:
        if option.name == "help":
            continue
        names = "/".join([*option.opts, *option.secondary_opts])
        default = "required" if option.required else f"= {_default(option.default)}"
        yield f"{name} {names} {default}"


def _default(value: Any) -> str:
    return "none" if value is None or "UNSET" in str(value).upper() else str(value)


# ---------------------------------------------------------------- files


def files() -> Iterator[str]:
    """Yield keys of result.json, columns of tables, arrays of archives, and schema versions."""
    yield f"result.json schema {SCHEMA}"
    yield f"model.npz schema {model_file.SCHEMA}"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        views = datasets.make_views(60, 3, 3, noise=0.5, random_state=0)
        np.savez("data.npz", y=views.labels, **dict(zip(views.names, views.views, strict=True)))
        for method, k in (("graph-fusion", "2:4"), ("mkc-dnm", "3"), ("cagl", "3")):
            _run("cluster", "data.npz", "-k", k, "--method", method, "-o", method)
            yield from _written(Path(method))


def _run(*arguments: str) -> None:
    given, sys.argv = sys.argv, ["mkclust", *arguments]
    try:
        with redirect_stdout(StringIO()):
            cli.app(standalone_mode=False)
    finally:
        sys.argv = given


def _written(folder: Path) -> Iterator[str]:
    for path in folder.iterdir():
        yield f"{path.name}: written"
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as table:
                yield from (f"{path.name}: column {name}" for name in next(csv.reader(table)))
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                yield from (f"{path.name}: array {name}" for name in archive.files)
        elif path.suffix == ".json":
            yield from _keys(path.name, json.loads(path.read_text(encoding="utf-8")))


def _keys(place: str, value: Any) -> Iterator[str]:
    """Yield dotted keys, without parameters (listed with the methods) and file names."""
    if isinstance(value, list) and value:
        yield from _keys(f"{place}[]", value[0])
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        name = re.sub(r"^view\d$", "<view>", key)
        yield f"{place}.{name}"
        if key not in ("parameters", "files"):
            yield from _keys(f"{place}.{name}", inner)


if __name__ == "__main__":
    LISTED.write_text(surface(), encoding="utf-8")
    print(f"Written: {LISTED.relative_to(ROOT)}")
