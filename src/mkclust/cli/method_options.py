"""Command-line options made from the methods' own parameters, so that a new method needs none."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..base import MultiViewClusterer
from ..exceptions import InputError
from ..methods import METHODS

PANEL = "Parameters of the methods"


def own_parameters(method: type[MultiViewClusterer]) -> dict[str, inspect.Parameter]:
    """The parameters a method adds to the shared ones, by name.

    >>> from mkclust import MKCDNM
    >>> list(own_parameters(MKCDNM))
    ['solver', 'threshold', 'on_infeasible', 'max_dimension', 'precision', 'approximation',
     'n_components', 'work', 'dask']
    """
    shared = inspect.signature(MultiViewClusterer.__init__).parameters
    mine = inspect.signature(method.__init__).parameters
    return {name: p for name, p in mine.items() if name not in shared}


def with_method_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with ``**options`` one option for every parameter of every method."""
    owners: dict[str, dict[str, inspect.Parameter]] = {}
    for name, method in METHODS.items():
        for parameter, spec in own_parameters(method).items():
            owners.setdefault(parameter, {})[name] = spec
    signature = inspect.signature(command, eval_str=True)
    fixed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    fixed = [p.replace(kind=p.KEYWORD_ONLY) for p in fixed]
    added = [_option(name, users) for name, users in owners.items()]
    command.__signature__ = signature.replace(parameters=[*fixed, *added])  # type: ignore[attr-defined]
    return command


def chosen_options(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, checked to be the method's own."""
    given = {name: value for name, value in options.items() if value is not None}
    allowed = own_parameters(METHODS[method])
    for name in given:
        if name not in allowed:
            listed = ", ".join(f"--{own.replace('_', '-')}" for own in allowed) or "none"
            raise InputError(
                f"--{name.replace('_', '-')} is no parameter of {method}, whose own are: {listed}"
            )
    return {name: _number(value, allowed[name]) for name, value in given.items()}


def _option(name: str, users: dict[str, inspect.Parameter]) -> inspect.Parameter:
    spec = next(iter(users.values()))
    kind = _type(spec)
    flag = f"--{name.replace('_', '-')}"
    declared = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
    option = typer.Option(
        declared, help=", ".join(users), rich_help_panel=PANEL, show_default=_defaults(users)
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _defaults(users: dict[str, inspect.Parameter]) -> str:
    """The default, or each method's own where they differ."""
    values = {name: str(spec.default) for name, spec in users.items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} for {name}" for name, value in values.items())


def _type(spec: inspect.Parameter) -> type:
    """bool, int, float or str, by the default value, or by the annotation where that is None."""
    if spec.default is not None:
        return type(spec.default)
    declared = str(spec.annotation)
    return next((kind for kind in (bool, int, float) if kind.__name__ in declared), str)


def _number(value: Any, spec: inspect.Parameter) -> Any:
    """A number where a parameter takes words or numbers, such as the threshold."""
    if not isinstance(value, str) or "str" in str(spec.annotation):
        return value
    try:
        return float(value)
    except ValueError:
        return value
