"""Build a MultiView from loaded variables, following a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.views import MultiView
from ..exceptions import FileFormatError
from .plan import Part, Plan

WHOLE = 2**53  # larger integers are not all representable as floats


def assemble(plan: Plan, loaded: Mapping[str, Any]) -> MultiView:
    """Return the planned views with their notes."""
    views = [_matrix(part, loaded[part.source.name]) for part in plan.parts]
    if plan.transpose:
        views = [view.T for view in views]
    names = [part.name for part in plan.parts]
    notes = list(plan.notes)
    if plan.names is not None:
        given = [str(text).strip() for text in loaded[plan.names.name]]
        if all(given) and len(set(given)) == len(given):
            names = given
            notes.append(f"The names {', '.join(names)} come from {plan.names.name}.")
    return MultiView(
        views,
        names=names,
        kernels=plan.kernels,
        labels=None if plan.labels is None else _labels(plan.labels.name, loaded),
        index=None if plan.index is None else as_labels(loaded[plan.index.name]),
        notes=notes,
    )


def as_labels(value: Any) -> np.ndarray:
    """Convert labels to a 1-D array.

    Whole numbers become int64. A list of equal vectors becomes one of them.

    >>> as_labels([np.array([[1.0], [2.0]]), np.array([[1, 2]])])
    array([1, 2])
    >>> as_labels(["cat", "dog"])
    array(['cat', 'dog'], dtype='<U3')
    """
    if isinstance(value, list):
        value = _from_cell(value)
    labels = np.asarray(value).ravel()
    if labels.dtype.kind in "biu":
        return labels.astype(np.int64)
    if labels.dtype.kind != "f":
        return labels
    if not np.isfinite(labels).all():
        at = int(np.flatnonzero(~np.isfinite(labels))[0])
        problem = "missing (NaN)" if np.isnan(labels[at]) else "infinite"
        raise FileFormatError(f"the label of sample {at} is {problem}")
    whole = (labels == np.round(labels)).all() and (np.abs(labels) < WHOLE).all()
    return labels.astype(np.int64) if whole else labels


def _labels(name: str, loaded: Mapping[str, Any]) -> np.ndarray:
    try:
        return as_labels(loaded[name])
    except FileFormatError as error:
        raise FileFormatError(f"labels {name}: {error}; pass labels=False for none") from None


def _from_cell(items: list[Any]) -> Any:
    if all(isinstance(item, str) for item in items):
        return np.array([item.strip() for item in items])
    vectors = [np.asarray(item).ravel() for item in items]
    if len(vectors) > 1 and all(vector.size == 1 for vector in vectors):
        return np.concatenate(vectors)
    for number, vector in enumerate(vectors[1:], start=2):
        if not np.array_equal(vector, vectors[0]):
            raise FileFormatError(f"the label vectors of view 1 and view {number} differ")
    return vectors[0]


def _matrix(part: Part, value: Any) -> Any:
    if part.source.kind == "cell":
        return value[part.position]
    if part.source.kind == "stack":
        return np.moveaxis(value, part.axis, 0)[part.position]
    return value
