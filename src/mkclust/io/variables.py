"""Describe a variable of a file by its header, recognize common names, and convert labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..data.alignment import plain
from ..exceptions import FileFormatError

# Compared without case, spaces and punctuation, in order of preference.
LABEL_NAMES = (
    "y", "gt", "gnd", "truth", "truelabel", "truelabels", "label", "labels", "groundtruth",
    "ytrue", "trueclass", "class", "classes", "classlabel", "classlabels", "target",
    "targets", "lab", "labs",
)  # fmt: skip
VIEW_NAMES = (
    "x", "data", "fea", "feature", "features", "views", "view", "feas", "feats", "xs",
)  # fmt: skip
KERNEL_NAMES = (
    "kh", "ks", "k", "kernels", "kernel", "kernelmatrices", "kernelmatrix", "kmatrix", "km",
    "gram", "grams",
)  # fmt: skip
WHOLE = 2**53  # larger integers are not all representable as floats


@dataclass(frozen=True)
class Variable:
    """One variable of a file, as its header describes it.

    Attributes
    ----------
    name : str
    kind : str
        matrix, sparse, stack, cell, text or table; or, not usable: complex, struct, object,
        function handle.
    shape : tuple of int
    dtype : str
    bytes : int
        Memory to load it.
    role : str
        What `read` would use it for; set by `inspect`.
    items : tuple of Variable
        The contents of a cell.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str = ""
    bytes: int = 0
    role: str = ""
    items: tuple[Variable, ...] = ()

    @property
    def is_matrix(self) -> bool:
        """Whether it is a nonempty real matrix, dense or sparse."""
        return self.kind in ("matrix", "sparse") and len(self.shape) == 2 and min(self.shape) > 0

    @property
    def is_square_stack(self) -> bool:
        """Whether it is a nonempty stack of square matrices."""
        return self.kind == "stack" and min(self.shape) > 0 and stack_axis(self, 2) is not None

    @property
    def holds_matrices(self) -> bool:
        """Whether it is a cell of matrices, at least one with more than one entry."""
        return (
            self.kind == "cell"
            and all(item.is_matrix for item in self.items)
            and any(prod(item.shape) > 1 for item in self.items)
        )

    @property
    def entries(self) -> int | None:
        """Number of labels it would give: the length of a vector; None if it is no vector."""
        if self.kind == "text":
            return self.shape[0] if self.shape else 1
        if self.kind == "matrix" and sum(size != 1 for size in self.shape) <= 1:
            return prod(self.shape)
        if self.kind == "cell" and self.items:
            counts = [item.entries if item.kind == "matrix" else None for item in self.items]
            if all(item.kind == "text" for item in self.items) or set(counts) == {1}:
                return len(self.items)
            if None not in counts:  # one label vector per view; as_labels checks that they agree
                return counts[0]
        return None

    @property
    def room(self) -> int:
        """Bytes to load it; an array of texts makes each as wide as the longest."""
        if self.kind == "cell" and any(item.kind == "text" for item in self.items):
            return len(self.items) * max(item.bytes for item in self.items)
        return self.bytes

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"{self.name} ({f'{size} ' if size else ''}{self.kind})"


def kind_of_array(shape: tuple[int, ...]) -> str:
    """Return what an array of numbers of this shape can be used as."""
    return "matrix" if len(shape) < 3 else "stack" if len(shape) == 3 else "tensor"


def stack_axis(variable: Variable, usual: int) -> int | None:
    """Return the axis along which square matrices are stacked; `usual` if both ends fit.

    >>> stack_axis(Variable("KH", "stack", (60, 60, 4)), 0)
    2
    """
    first, middle, last = variable.shape
    possible = [
        axis for axis, pair in ((0, (middle, last)), (2, (first, middle))) if len({*pair}) == 1
    ]
    return usual if usual in possible else (possible[0] if possible else None)


def rank(name: str, names: Sequence[str]) -> int:
    """Return the position of a name in a list of preferences, or the length of the list."""
    word = plain(name)
    return names.index(word) if word in names else len(names)


def is_label_name(name: str) -> bool:
    """Return whether a variable of this name usually holds labels."""
    return plain(name) in LABEL_NAMES


def is_kernel_name(name: str) -> bool:
    """Return whether a variable of this name usually holds kernels.

    >>> [is_kernel_name(name) for name in ("KH", "K1", "kernel_rbf", "Kraw", "X1")]
    [True, True, True, True, False]
    """
    word = plain(name).rstrip("0123456789")
    return word in KERNEL_NAMES or word == "kraw" or word.startswith(("kernel", "gram"))


def listed(variables: Sequence[Variable], most: int = 20) -> str:
    """List variables for a message, `most` of them at most."""
    shown = ", ".join(str(variable) for variable in variables[:most])
    return f"{shown} and {len(variables) - most} more" if len(variables) > most else shown


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
