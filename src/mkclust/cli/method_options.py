"""Command-line options made from the constructors of the methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..base import MultiViewClusterer
from ..exceptions import InputError
from ..methods import METHODS
from ..report.words import listed
from .arguments import grouped, named_numbers
from .wording import option

PANEL = "Options of the methods"
ELSEWHERE = ("precomputed",)  # the data say whether they are kernels: --kernels
PAIRS = ("kernel_params",)  # given as NAME=NUMBER, any number of times
KMEANS = ("n_init", "random_state")
EVERYWHERE = ("missing",)  # parameters of all methods that are options of their own
WITHOUT_KMEANS = ("swmc",)  # the components of its graph are the clusters


def own_parameters(method: type[MultiViewClusterer]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a method beyond those of all methods, by name.

    >>> from mkclust import MKKM, GraphFusion
    >>> list(own_parameters(GraphFusion)), list(own_parameters(MKKM))
    (['n_neighbors', 'neighbors', 'indefinite'],
     ['kernel', 'kernel_params', 'center', 'normalize', 'indefinite', 'missing_rows'])
    """
    shared = inspect.signature(MultiViewClusterer.__init__).parameters
    mine = inspect.signature(method.__init__).parameters
    return {name: p for name, p in mine.items() if name not in shared and name not in ELSEWHERE}


def with_method_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for every parameter of every method, in place of `options`."""
    return grouped(command, "options", [_option(*each) for each in owners().items()], dict)


def owners() -> dict[str, dict[str, inspect.Parameter]]:
    """Return, for every parameter, the methods that have it."""
    found: dict[str, dict[str, inspect.Parameter]] = {}
    for name, method in METHODS.items():
        for parameter, spec in own_parameters(method).items():
            found.setdefault(parameter, {})[name] = spec
    return found


def chosen_options(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given as parameters; options of other methods are refused.

    >>> chosen_options("graph-fusion", {"n_neighbors": 7, "kernel": None})
    {'n_neighbors': 7}
    >>> chosen_options("graph-fusion", {"solver": "exact"})
    Traceback (most recent call last):
    mkclust.exceptions.InputError: --solver is no option of graph-fusion; use --method mkc-dnm;
    options of graph-fusion: --n-neighbors, --neighbors, --indefinite, --missing, --n-init,
    --seed
    """
    given = {name: value for name, value in options.items() if value not in (None, [])}
    constructor = inspect.signature(METHODS[method].__init__).parameters
    allowed = own_parameters(METHODS[method]) | {name: constructor[name] for name in EVERYWHERE}
    if method not in WITHOUT_KMEANS:
        allowed |= {name: constructor[name] for name in KMEANS}
    for name in given:
        if name not in allowed:
            known = ", ".join(map(option, allowed)) or "none"
            users = [other for other in METHODS if other not in WITHOUT_KMEANS]
            users = users if name in KMEANS else list(owners()[name])
            more = [f"any other of {len(users)} methods"] if len(users) > 3 else []
            raise InputError(
                f"{option(name)} is no option of {method}; "
                f"use --method {listed([*users[:3], *more], 'or')}; "
                f"options of {method}: {known}"
            )
    return {name: _value(name, value, allowed[name]) for name, value in given.items()}


def _option(name: str, users: dict[str, inspect.Parameter]) -> inspect.Parameter:
    spec = next(iter(users.values()))
    kind: Any = list[str] if name in PAIRS else _type(spec)
    flag = option(name)
    made = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=f"{_description(name, users)} For {_methods(users)}.",
        metavar="NAME=NUMBER" if name in PAIRS else None,
        rich_help_panel=PANEL,
        show_default=_defaults(users),
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, made],
    )


def _methods(users: dict[str, inspect.Parameter]) -> str:
    others = [name for name in METHODS if name not in users]
    if len(others) < len(users) and len(users) > 3:
        return f"all methods but {', '.join(others)}" if others else "all methods"
    return ", ".join(users)


def _description(name: str, users: dict[str, inspect.Parameter]) -> str:
    """Return the first sentence about a parameter in the docstrings of its methods."""
    entry = re.compile(rf"^(?:\w+, )*{name}(?:, \w+)* : .*\n((?:    .*\n?)+)", re.MULTILINE)
    for method in users:
        for parent in METHODS[method].__mro__:
            found = entry.search(inspect.cleandoc(parent.__doc__ or ""))
            if found:
                text = " ".join(found[1].replace("`", "").replace("$", "").split())
                return re.split(r"(?<=[a-z0-9)])[.:;](?= |$)", text)[0] + "."
    return ""


def _defaults(users: dict[str, inspect.Parameter]) -> str:
    """Return the default, or that of each method where they differ."""
    given = {name: spec.default for name, spec in users.items()}
    values = {name: "none" if value is None else str(value) for name, value in given.items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} for {name}" for name, value in values.items())


def _type(spec: inspect.Parameter) -> type:
    """Return bool, int, float or str: that of the default, or of the annotation of a None."""
    if spec.default is not None:
        return type(spec.default)
    declared = str(spec.annotation)
    return next((kind for kind in (bool, int, float) if kind.__name__ in declared), str)


def _value(name: str, value: Any, spec: inspect.Parameter) -> Any:
    """Return an option's value as the constructor takes it."""
    if name in PAIRS:
        return named_numbers(option(name), value)
    if not isinstance(value, str) or "str" in str(spec.annotation):
        return value
    try:
        return float(value)  # for parameters that take words or numbers, such as the threshold
    except ValueError:
        return value
