"""Plan how the variables of a file become views, from headers alone, with notes on each step.

Once they are loaded, the plan builds the views.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.alignment import plain
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ._guards.limits import Limits
from .choose import Request, choose_labels, choose_views, vector
from .variables import Variable, as_labels, is_kernel_name, is_label_name, stack_axis


@dataclass(frozen=True)
class Part:
    """One view: a matrix, an item of a cell, or a slice of a stack along `axis`."""

    name: str
    source: Variable
    shape: tuple[int, int]
    position: int = 0
    axis: int = 0

    def of(self, value: Any) -> Any:
        """Return the matrix, from the loaded variable."""
        if self.source.kind == "cell":
            return value[self.position]
        if self.source.kind == "stack":
            return np.moveaxis(value, self.axis, 0)[self.position]
        return value


@dataclass(frozen=True)
class Plan:
    """The variables to load and the roles they get."""

    parts: tuple[Part, ...]
    kernels: bool
    transpose: bool
    labels: Variable | None
    index: Variable | None
    names: Variable | None
    notes: tuple[str, ...]
    roles: dict[str, str]

    @property
    def wanted(self) -> list[Variable]:
        """The variables to load, each once."""
        sources = {part.source.name: part.source for part in self.parts}
        others = (self.labels, self.index, self.names)
        return list({**sources, **{v.name: v for v in others if v is not None}}.values())

    def views(self, loaded: Mapping[str, Any]) -> MultiView:
        """Return the planned views with their notes, from the loaded variables."""
        views = [part.of(loaded[part.source.name]) for part in self.parts]
        names, notes = [part.name for part in self.parts], list(self.notes)
        if self.names is not None:
            given = [str(text).strip() for text in loaded[self.names.name]]
            if all(given) and len(set(given)) == len(given):
                names = given
                notes.append(f"The names {', '.join(names)} come from {self.names.name}.")
        return MultiView(
            [view.T for view in views] if self.transpose else views,
            names=names,
            kernels=self.kernels,
            labels=None if self.labels is None else _labels(self.labels.name, loaded),
            index=None if self.index is None else as_labels(loaded[self.index.name]),
            notes=notes,
        )


def make_plan(
    variables: Sequence[Variable], request: Request, usual_axis: int, limits: Limits
) -> Plan:
    """Decide what `read` does with these variables, without loading them."""
    labels = choose_labels(variables, request.labels)
    wanted = request.index
    index = vector(variables, wanted, "index") if isinstance(wanted, str) else None
    samples = labels.entries if labels is not None else None
    others = [v for v in variables if v is not labels and v is not index]
    sources = choose_views(variables if request.views else others, request, samples)
    parts = tuple(part for source in sources for part in _parts(source, usual_axis))
    if not parts:
        raise FileFormatError("no views found: the chosen variables are empty")
    kernels, why_kernels = _kernels(parts, request.kernels)
    transpose, why_transpose = _transpose(parts, kernels, request.transpose, labels)
    limits.allow("views", len(parts), "it")
    for part in parts:
        limits.allow("columns", part.shape[0 if transpose else 1], part.name)
    names = _names_of_views(others, parts)
    roles = {source.name: "kernels" if kernels else "views" for source in sources}
    special = ((names, "view names"), (index, "sample names"), (labels, "labels"))
    roles |= {variable.name: role for variable, role in special if variable is not None}
    count = parts[0].shape[1 if transpose else 0]
    ignored = {v.name: _why_ignored(v, count) for v in variables if v.name not in roles}
    roles |= {name: f"ignored: {why}" for name, why in ignored.items()}
    notes = (
        *_origins(sources, parts),
        why_kernels,
        why_transpose,
        _labels_note(labels, request.labels),
        *(f"Ignored {name}: {why}." for name, why in ignored.items()),
    )
    plan = Plan(parts, kernels, transpose, labels, index, names, tuple(filter(None, notes)), roles)
    limits.allow("bytes", sum(v.room for v in plan.wanted), "the data to be read")
    return plan


def _labels(name: str, loaded: Mapping[str, Any]) -> np.ndarray:
    try:
        return as_labels(loaded[name])
    except FileFormatError as error:
        raise FileFormatError(f"labels {name}: {error}; pass labels=False for none") from None


def orientation(
    shapes: Sequence[tuple[int, int]], samples: int | None, labels: str
) -> tuple[bool, str]:
    """Return whether samples are columns, and why: by the number of labels, else by equal sizes.

    >>> orientation([(512, 400), (59, 400)], None, "y")
    (True, 'the views share their number of columns, 400, and not that of rows')
    """
    rows, columns = {shape[0] for shape in shapes}, {shape[1] for shape in shapes}
    if samples is not None:
        if rows == {samples}:
            return False, f"the rows are as many as the labels in {labels}, {samples}"
        if columns == {samples}:
            return True, f"the columns are as many as the labels in {labels}, {samples}"
        raise FileFormatError(
            f"the {samples} labels in {labels} fit neither the rows nor the columns of the views "
            f"({_sizes(shapes)}); pass labels=False, or the name of the right labels"
        )
    if len(rows) == 1:
        square = len(columns) == 1 and len(shapes) > 1
        also = "; so are the columns: pass transpose=True if those are samples" if square else ""
        return False, f"the rows are equally many, {min(rows)}{also}"
    if len(columns) == 1:
        return True, (
            f"the views share their number of columns, {min(columns)}, and not that of rows"
        )
    raise FileFormatError(
        f"the views share neither their rows nor their columns ({_sizes(shapes)}); choose the "
        "right ones with views=..."
    )


def _parts(source: Variable, usual_axis: int) -> Iterator[Part]:
    if source.kind == "cell":
        for position, item in enumerate(source.items):
            rows, columns = item.shape
            yield Part(f"{source.name}{position + 1}", source, (rows, columns), position)
    elif source.kind == "stack":
        square = stack_axis(source, usual_axis)
        axis = usual_axis if square is None else square
        rows, columns = (size for p, size in enumerate(source.shape) if p != axis)
        for position in range(source.shape[axis]):
            yield Part(f"{source.name}{position + 1}", source, (rows, columns), position, axis)
    else:
        rows, columns = source.shape
        yield Part(source.name, source, (rows, columns))


def _kernels(parts: Sequence[Part], forced: bool | None) -> tuple[bool, str]:
    """Return whether the views are kernels: square, and either stacked or named like kernels."""
    square = len({size for part in parts for size in part.shape}) == 1
    if forced is not None:
        if forced and not square:
            shapes = _sizes([part.shape for part in parts])
            raise InputError(f"kernels=True needs square matrices of one size, got {shapes}")
        return forced, f"Read as {'kernels' if forced else 'features'}, as asked."
    named = all(part.source.is_square_stack or is_kernel_name(part.source.name) for part in parts)
    if square and named:
        size = parts[0].shape[0]
        return True, f"Read as kernels: square ({size}x{size}), and stacked or named like kernels."
    hint = "; all are square, so pass kernels=True if they are kernels" if square else ""
    return False, f"Read as features{hint}."


def _transpose(
    parts: Sequence[Part], kernels: bool, forced: bool | None, labels: Variable | None
) -> tuple[bool, str]:
    if forced is not None and not kernels:
        return forced, f"{'Transposed' if forced else 'Not transposed'}, as asked."
    samples, name = (None, "") if labels is None else (labels.entries, labels.name)
    turned, why = orientation([part.shape for part in parts], samples, name)
    return turned, "" if kernels else f"{'Transposed' if turned else 'Not transposed'}: {why}."


def _sizes(shapes: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{rows}x{columns}" for rows, columns in shapes[:6])
    return shown + (", ..." if len(shapes) > 6 else "")


def _names_of_views(variables: Sequence[Variable], parts: Sequence[Part]) -> Variable | None:
    """Return a cell with one text per view whose name suggests that it names views."""
    for variable in variables:
        word = plain(variable.name)
        if (
            variable.kind == "cell"
            and len(variable.items) == len(parts) == len(parts[0].source.items)
            and all(item.kind == "text" for item in variable.items)
            and any(hint in word for hint in ("view", "name", "meaning"))
            and not any(other in word for other in ("class", "label", "sample"))
        ):
            return variable
    return None


def _origins(sources: Sequence[Variable], parts: Sequence[Part]) -> Iterator[str]:
    alone = [source.name for source in sources if source.is_matrix]
    if alone:
        many = len(alone) > 1
        yield f"Variable{'s' * many} {', '.join(alone)} {'are views' if many else 'is a view'}."
    for source in sources:
        names = [part.name for part in parts if part.source is source]
        if not source.is_matrix:
            span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            yield f"The {source.kind} {source.name} gave {len(names)} views, {span}."


def _labels_note(labels: Variable | None, wanted: object) -> str:
    if labels is not None:
        return f"Labels come from {labels.name}."
    return "No labels, as asked." if wanted is False else "No labels: nothing is named like them."


def _why_ignored(variable: Variable, samples: int) -> str:
    def choose(role: str) -> str:
        return f'choose it with {role}="{variable.name}"'

    if variable.entries == 1:
        return "a single value"
    if variable.entries == samples:
        return f"one value per sample; {choose('labels')}"
    if is_label_name(variable.name):
        return f"named like labels but not one value per sample; {choose('views')}"
    if variable.entries is None and (
        variable.is_matrix or variable.holds_matrices or variable.kind == "stack"
    ):
        return f"not needed; {choose('views')}"
    if variable.entries is not None:
        return f"{variable.entries} values, where there are {samples} samples"
    return f"a {variable.kind}, which holds no real numbers"
