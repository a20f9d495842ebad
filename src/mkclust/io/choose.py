"""Choose which variables of a file are views and which are labels, by names and shapes alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..data.alignment import plain
from ..exceptions import FileFormatError, InputError
from .variables import (
    KERNEL_NAMES,
    LABEL_NAMES,
    VIEW_NAMES,
    Variable,
    is_kernel_name,
    is_label_name,
    listed,
    rank,
)

Name = str | Literal[False] | None  # a name, no such variable, or automatic


@dataclass(frozen=True)
class Request:
    """The choices of the caller of `read`; None means automatic."""

    views: tuple[str, ...] | None = None
    labels: Name = None
    index: Name = None
    transpose: bool | None = None
    kernels: bool | None = None
    drop_columns: tuple[str, ...] = ()
    sep: str | None = None
    decimal: str | None = None


def named(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; `what` is the parameter that gave the name."""
    for variable in variables:
        if variable.name == name:
            return variable
    raise InputError(f"{what}={name!r} is not in it; it has {listed(variables) or 'nothing'}")


def choose_labels(variables: Sequence[Variable], wanted: Name) -> Variable | None:
    """Return the variable with the classes: the wanted one, else the vector with the best name."""
    if wanted is False:
        return None
    if isinstance(wanted, str):
        return vector(variables, wanted, "labels")
    vectors = [v for v in variables if is_label_name(v.name) and (v.entries or 0) > 1]
    return min(vectors, key=lambda v: rank(v.name, LABEL_NAMES), default=None)


def choose_views(
    variables: Sequence[Variable], request: Request, samples: int | None
) -> list[Variable]:
    """Return the variables that hold the views, in order.

    A cell of matrices is preferred to a stack of kernels, and a stack to separate matrices.
    Variables named like labels are left out, so that no view contains the classes.
    """
    if request.views is not None:
        return [_usable(named(variables, name, "views")) for name in request.views]
    open_to_choice = [v for v in variables if not is_label_name(v.name)]
    if request.kernels:
        open_to_choice = [v for v in open_to_choice if _square(v)] or open_to_choice
    cells = [v for v in open_to_choice if v.holds_matrices]
    cells.sort(key=lambda v: (rank(v.name, VIEW_NAMES), -len(v.items)))
    stacks = [v for v in open_to_choice if v.is_square_stack]
    stacks.sort(key=lambda v: (samples not in (None, *v.shape), rank(v.name, KERNEL_NAMES)))
    chosen = cells[:1] or stacks[:1] or _alone(open_to_choice, samples)
    if not chosen:
        raise FileFormatError(
            "no views found: neither a cell of matrices nor a matrix nor a stack of kernels; it "
            f"has {listed(variables) or 'nothing'}; choose with views=..."
        )
    return chosen


def vector(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; refuse one without a value per sample."""
    variable = named(variables, name, what)
    if variable.entries is None:
        raise InputError(f"{what}={name!r} needs one value per sample, but it is {variable}")
    return variable


def _usable(variable: Variable) -> Variable:
    if variable.is_matrix or variable.holds_matrices or variable.kind == "stack":
        return variable
    odd = [
        f"item {p + 1} is {'empty' if item.kind in ('matrix', 'sparse') else f'a {item.kind}'}"
        for p, item in enumerate(variable.items)
        if not item.is_matrix
    ]
    raise InputError(
        f"views={variable.name!r} cannot be read as numbers: it is {variable}"
        + (f" and its {'; its '.join(odd[:3])}" if odd else "")
    )


def _square(variable: Variable) -> bool:
    matrices = variable.items or (variable,)
    return variable.is_square_stack or all(
        matrix.is_matrix and len({*matrix.shape}) == 1 for matrix in matrices
    )


def _alone(variables: Sequence[Variable], samples: int | None) -> list[Variable]:
    """Return separate matrices: a numbered family such as X1, X2, or all with equal row counts."""
    family = _family([v for v in variables if v.is_matrix and samples in (None, *v.shape)])
    if family:
        return family
    matrices = [v for v in variables if v.is_matrix and min(v.shape) > 1]
    if samples is not None:
        for axis in (0, 1):
            fitting = [v for v in matrices if v.shape[axis] == samples]
            if fitting:
                return _kernels_alone(fitting)
        return matrices
    rows = Counter(v.shape[0] for v in matrices)
    if len(rows) <= 1 or len({v.shape[1] for v in matrices}) == 1:
        return _kernels_alone(matrices)
    most = rows.most_common(1)[0][0]
    return _kernels_alone([v for v in matrices if v.shape[0] == most])


def _family(matrices: Sequence[Variable]) -> list[Variable]:
    """Return the largest set of variables whose names differ only in a number and share a size."""
    families: dict[str, list[tuple[int, Variable]]] = {}
    for variable in matrices:
        match = re.fullmatch(r"(.*?)(\d{1,9})", variable.name)
        if match:
            families.setdefault(plain(match[1]), []).append((int(match[2]), variable))
    fitting = [
        [variable for _, variable in sorted(members, key=lambda member: member[0])]
        for members in families.values()
        if len(members) > 1
        and any(min(variable.shape) > 1 for _, variable in members)
        and any(len({variable.shape[axis] for _, variable in members}) == 1 for axis in (0, 1))
    ]
    return max(fitting, key=len, default=[])


def _kernels_alone(matrices: list[Variable]) -> list[Variable]:
    """Leave out square matrices named like kernels if there are others: the two are not mixed."""
    features = [v for v in matrices if not (is_kernel_name(v.name) and _square(v))]
    return features or matrices
