"""Decide which variable, file or column is a view, a kernel, the labels or the names.

Decisions follow from names and shapes alone. `assign` makes those of a file with many variables,
`label_column`, `split_classes` and `clinical_columns` those of tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..data.alignment import may_be_key_name, plain
from ..exceptions import FileFormatError, InputError
from .npz import Unreadable

Name = str | Literal[False] | None  # a name, no such variable, or automatic

# Compared without case, spaces and punctuation, in order of preference.
LABEL_NAMES = (
    "y", "gt", "gnd", "truth", "truelabel", "truelabels", "label", "labels", "groundtruth",
    "ytrue", "trueclass", "class", "classes", "classlabel", "classlabels", "target",
    "targets", "lab", "labs",
)  # fmt: skip
VIEW_NAMES = ("x", "data", "fea", "feature", "features", "views", "view", "feas", "feats", "xs")
KERNEL_NAMES = ("kh", "ks", "k", "kmatrix", "km", "kraw")
FEATURE_NAMES = re.compile(
    r"((hugo|entrez|ensembl)?gene|entrez|ensembl|probe(set)?|feature|cpg|mirna|protein|transcript)"
    r"(s|id|name|symbol)?|(hugo)?symbol|idref|compositeelementref|cytoband|metabolite"
)
FEATURE_PATTERN = re.compile(
    r"ENS[A-Z]*[GTP]\d{8,}.*|cg\d{8}|(hsa|mmu)-(mir|let)-.*|rs\d{4,}", re.I
)
GENES = {
    "ACTB", "AKT1", "BRAF", "BRCA1", "BRCA2", "CD4", "CD8A", "CDKN2A", "EGFR", "ERBB2", "ESR1",
    "GAPDH", "KRAS", "MKI67", "MYC", "PIK3CA", "PTEN", "PTPRC", "RB1", "STAT3", "TNF", "TP53",
    "VEGFA", "VIM",
}  # fmt: skip
CLINICAL_NAMES = re.compile(
    r"age(atdiagnosis|category)?|sex|gender|race|ethnicity|(tumor|pathologic|ajcc)?stage|"
    r"(tumor)?grade|subtype|pam50|(overall)?survival(time|status)?|vitalstatus|status|event|"
    r"(os|dfs|pfs)(time|months|days|status|event)|daysto(death|lastfollowup)|followup|death|dead|"
    r"deceased|diagnosis|histology|treatment|smoker|smoking|bmi"
)
SQUARE = "; a stack must be of square matrices"
UNUSABLE = "\"'\r\n0123456789+-"  # as a separator of cells


@dataclass(frozen=True)
class Request:
    """The choices of the caller of `read`; None means automatic."""

    views: tuple[str, ...] | None = None
    labels: Name = None
    id: Name = None
    transpose: bool | None = None
    kernels: bool | None = None
    drop_columns: tuple[str, ...] = ()
    sep: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        names = (*(self.views or ()), *self.drop_columns)
        if self.views == () or not all(isinstance(name, str) for name in names):
            raise InputError("views and drop_columns must be names, and views at least one")
        for name, value in (("labels", self.labels), ("id", self.id)):
            if not (value is None or value is False or isinstance(value, str)):
                raise InputError(f"{name} must be a name, False or None, got {value!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal={self.decimal!r} must be '.' or ','", parameter="decimal")
        sep = ";" if self.sep is None else self.sep
        if not isinstance(sep, str) or len(sep) != 1 or sep in UNUSABLE + (self.decimal or ""):
            raise InputError(f"sep={sep!r} must be one character between cells, such as ';'")


@dataclass(frozen=True)
class Variable:
    """One variable of a file.

    Attributes
    ----------
    name : str
    kind : str
        matrix, sparse, stack, cell, text or table; or, not usable: complex, struct, object,
        function handle.
    shape : tuple of int
    dtype : str
    role : str
        What `read` would use it for; set by `inspect`.
    items : tuple of Variable
        The contents of a cell.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str = ""
    role: str = ""
    items: tuple[Variable, ...] = ()

    @property
    def matrices(self) -> Sequence[tuple[int, ...]]:
        """Shapes of the real matrices that it holds; none where it holds anything else.

        >>> Variable("KH", "stack", (60, 60, 2)).matrices
        [(60, 60), (60, 60)]
        """
        if self.kind == "stack":
            first, size, last = self.shape
            count = prod(self.shape) // max(size, 1) ** 2
            return [(size, size)] * count if size in (first, last) else []
        items = self.items if self.kind == "cell" else (self,)
        shapes = [m.shape for m in items if m.kind in ("matrix", "sparse") and len(m.shape) == 2]
        real = len(shapes) == len(items) and all(min(shape) > 0 for shape in shapes)
        numbers = self.kind == "cell" and all(prod(shape) == 1 for shape in shapes)
        return shapes if real and not numbers else []

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

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"{self.name} ({f'{size} ' if size else ''}{self.kind})"


def describe(name: str, value: Any) -> Variable:
    """Describe a loaded variable.

    >>> print(describe("X", [np.ones((4, 2)), np.ones((4, 3))]), describe("y", np.arange(4)))
    X (2 cell) y (4 matrix)
    """
    if isinstance(value, Unreadable):
        return Variable(name, value.kind, ())
    if isinstance(value, list):
        items = tuple(describe("", item) for item in value)
        return Variable(name, "cell", (len(items),), "", items=items)
    value = np.array([value]) if isinstance(value, str) else value
    if sp.issparse(value):
        return Variable(name, "sparse", value.shape, value.dtype.name)
    kind = {"U": "text", "c": "complex"}.get(value.dtype.kind)
    if kind is None:
        kind = "matrix" if value.ndim < 3 else "stack" if value.ndim == 3 else "tensor"
    return Variable(name, kind, value.shape, "str" if kind == "text" else value.dtype.name)


# ---------------------------------------------------------------- names


def is_label_name(name: str) -> bool:
    """Return whether a variable of this name usually holds labels."""
    return plain(name) in LABEL_NAMES


def is_kernel_name(name: str) -> bool:
    """Return whether a variable of this name usually holds kernels.

    >>> [is_kernel_name(name) for name in ("KH", "K1", "kernel_rbf", "Kraw", "X1")]
    [True, True, True, True, False]
    """
    word = plain(name).rstrip("0123456789")
    return word in KERNEL_NAMES or word.startswith(("kernel", "gram"))


def is_feature_name(name: object) -> bool:
    """Return whether a column of this name lists genes, probes or other features.

    >>> is_feature_name("Hugo_Symbol"), is_feature_name("ID_REF"), is_feature_name("patient")
    (True, True, False)
    """
    return bool(FEATURE_NAMES.fullmatch(plain(str(name))))


def lists_features(index: Any) -> bool:
    """Return whether an index holds genes, probes or variants.

    It is named so, or most names have the form, or several are of well known genes.

    >>> import pandas as pd
    >>> lists_features(pd.Index(["A1BG", "TP53", "EGFR", "MYC"]))
    True
    >>> lists_features(pd.Index(["P1", "P2", "P3"]))
    False
    """
    found = [bool(FEATURE_PATTERN.fullmatch(str(name))) for name in index[:1000]]
    known = len(GENES & {str(name).upper() for name in index})
    return is_feature_name(index.name) or known >= 3 or sum(found) > len(found) / 2


def _rank(name: str, names: Sequence[str]) -> int:
    """Return the position of a name in a list of preferences, or the length of the list."""
    word = plain(name)
    return names.index(word) if word in names else len(names)


# ---------------------------------------------------------------- files with many variables


def assign(
    loaded: Mapping[str, Any], request: Request, usual_axis: int
) -> tuple[dict[str, str], dict[str, Any]]:
    """Assign roles to the variables of a file.

    Parameters
    ----------
    loaded : mapping from str to value
        The variables by name.
    request : Request
    usual_axis : int
        Axis along which the format stacks matrices: 2 in MATLAB, 0 in NumPy.

    Returns
    -------
    roles : dict
        The role of every variable by name.
    arguments : dict
        The arguments of `MultiView`.
    """
    variables = [describe(name, value) for name, value in loaded.items()]
    labels = _choose_labels(variables, request.labels)
    index = _vector(variables, request.id, "id") if isinstance(request.id, str) else None
    others = [v for v in variables if v is not labels and v is not index]
    samples = None if labels is None else labels.entries
    sources = _choose_views(variables if request.views else others, request, samples)
    views: dict[str, Any] = {}
    for source in sources:
        views |= _split(source, loaded[source.name], usual_axis)
    whole = ", ".join(str(source) for source in sources if source.name not in views)
    notes = [f"Views are {', '.join(views)}{whole and f', from {whole}'}."]
    shapes = [view.shape for view in views.values()]
    like_kernels = all(v.kind == "stack" or is_kernel_name(v.name) for v in sources)
    kernels, why = are_kernels(shapes, like_kernels, request.kernels)
    notes.append(why)
    named = "" if labels is None else labels.name
    turned, why = orientation(shapes, samples, named, None if kernels else request.transpose)
    if not kernels:
        notes.append(f"{'Transposed' if turned else 'Not transposed'}{why}.")
    if labels is not None:
        notes.append(f"Labels come from {labels.name}.")
    elif request.labels is None:
        notes.append("No labels: nothing is named like them.")
    special = {"sample names": index, "labels": labels}
    roles = {source.name: "kernels" if kernels else "views" for source in sources}
    roles |= {found.name: role for role, found in special.items() if found is not None}
    ignored = [variable for variable in variables if variable.name not in roles]
    if ignored:
        notes.append(f"Ignored {_list_variables(ignored)}: choose with views=... or labels=...")
    return roles | {variable.name: "ignored" for variable in ignored}, {
        "views": {name: view.T if turned else view for name, view in views.items()},
        "kernels": kernels,
        "labels": None if labels is None else as_labels(loaded[labels.name], labels.name),
        "index": None if index is None else as_labels(loaded[index.name], index.name),
        "notes": notes,
    }


def _choose_labels(variables: Sequence[Variable], wanted: Name) -> Variable | None:
    """Return the variable with the classes: the wanted one, else the vector with the best name."""
    if wanted is False:
        return None
    if isinstance(wanted, str):
        return _vector(variables, wanted, "labels")
    vectors = [v for v in variables if is_label_name(v.name) and (v.entries or 0) > 1]
    return min(vectors, key=lambda v: _rank(v.name, LABEL_NAMES), default=None)


def _named(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; `what` is the parameter that gave the name."""
    for variable in variables:
        if variable.name == name:
            return variable
    raise InputError(f"{what}={name!r} is not in it; it has {_list_variables(variables)}")


def _vector(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; refuse one without a value per sample."""
    variable = _named(variables, name, what)
    if variable.entries is None:
        raise InputError(f"{what}={name!r} needs one value per sample, but it is {variable}")
    return variable


def _list_variables(variables: Sequence[Variable], most: int = 20) -> str:
    shown = ", ".join(map(str, variables[:most])) or "nothing"
    return f"{shown} and {len(variables) - most} more" if len(variables) > most else shown


def _choose_views(
    variables: Sequence[Variable], request: Request, samples: int | None
) -> list[Variable]:
    """Return the variables that hold the views, in order.

    A cell of matrices is preferred to a stack of kernels, and a stack to separate matrices.
    Variables named like labels are left out, so that no view contains the classes.
    """
    if request.views is not None:
        wanted = [_named(variables, name, "views") for name in request.views]
        for variable in wanted:
            if not variable.matrices:
                raise InputError(f"{variable} cannot be read as numbers, as views=... asks{SQUARE}")
        return wanted
    free = [v for v in variables if v.matrices and not is_label_name(v.name)]
    if request.kernels:
        free = [v for v in free if _are_square(v)] or free
    cells = [v for v in free if v.kind == "cell"]
    cells.sort(key=lambda v: (_rank(v.name, VIEW_NAMES), -len(v.items)))
    stacks = [v for v in free if v.kind == "stack"]
    stacks.sort(key=lambda v: (samples not in (None, *v.shape), _rank(v.name, KERNEL_NAMES)))
    matrices = [v for v in free if v.kind in ("matrix", "sparse") and min(v.shape) > 1]
    chosen = cells[:1] or stacks[:1] or _separate_matrices(matrices, samples)
    if not chosen:
        raise FileFormatError(f"no views found among {_list_variables(variables)}{SQUARE}")
    return chosen


def _are_square(variable: Variable) -> bool:
    return all(rows == columns for rows, columns in variable.matrices)


def _separate_matrices(matrices: Sequence[Variable], samples: int | None) -> list[Variable]:
    """Return matrices with as many rows or columns as samples, or with the most frequent height.

    They are ordered by the numbers at the end of their names, otherwise as in the file. Square
    matrices named like kernels are left out if there are others: the two are not mixed.
    """
    rows = Counter(v.shape[0] for v in matrices)
    if samples is not None:
        by_axis = ([v for v in matrices if v.shape[axis] == samples] for axis in (0, 1))
        matrices = next(filter(None, by_axis), matrices)
    elif len(rows) > 1 and len({v.shape[1] for v in matrices}) > 1:
        most = rows.most_common(1)[0][0]
        matrices = [v for v in matrices if v.shape[0] == most]
    chosen = [v for v in matrices if not (is_kernel_name(v.name) and _are_square(v))] or matrices
    return sorted(chosen, key=lambda v: int("0" + re.split(r"\D", v.name[-9:])[-1]))


def _split(source: Variable, value: Any, usual_axis: int) -> dict[str, Any]:
    """Return the matrices of a variable: itself, the items of a cell, or the slices of a stack."""
    if source.kind == "stack":
        first, size, last = source.shape
        value = np.moveaxis(value, usual_axis if first == last else 0 if size == last else 2, 0)
    elif source.kind != "cell":
        return {source.name: value}
    return {f"{source.name}{p}": matrix for p, matrix in enumerate(value, start=1)}


def are_kernels(
    shapes: Sequence[tuple[int, int]], named: bool, forced: bool | None
) -> tuple[bool, str]:
    """Return whether matrices are kernels, and why: square, and stacked or named like kernels."""
    square = len({size for shape in shapes for size in shape}) == 1
    if forced and not square:
        raise InputError(f"kernels=True needs square matrices of one size, got {_sizes(shapes)}")
    if forced is not None:
        return forced, f"Read as {'kernels' if forced else 'features'}, as asked."
    if square and named:
        return True, f"Read as kernels: square ({_sizes(shapes[:1])}), stacked or named so."
    hint = "; all are square, so pass kernels=True if they are kernels" if square else ""
    return False, f"Read as features{hint}."


def orientation(
    shapes: Sequence[tuple[int, int]], samples: int | None, labels: str, forced: bool | None = None
) -> tuple[bool, str]:
    """Return whether samples are columns, and why: by the number of labels, else by equal sizes.

    >>> orientation([(512, 400), (59, 400)], None, "y")
    (True, ': the columns are equally many, 400, and the rows are not')
    """
    rows, columns = {shape[0] for shape in shapes}, {shape[1] for shape in shapes}
    if forced is not None:
        return forced, ", as asked"
    if samples is not None:
        for side, sizes in (("rows", rows), ("columns", columns)):
            if sizes == {samples}:
                why = f": the {side} are as many as the labels in {labels}, {samples}"
                return side == "columns", why
        fit = f"fit neither the rows nor the columns of the views ({_sizes(shapes)})"
        raise FileFormatError(f"the {samples} labels in {labels} {fit}; labels=False for none")
    if len(rows) == 1:
        square = len(columns) == 1 and len(shapes) > 1
        also = "; so are the columns: pass transpose=True if those are samples" if square else ""
        return False, f": the rows are equally many, {min(rows)}{also}"
    if len(columns) == 1:
        return True, f": the columns are equally many, {min(columns)}, and the rows are not"
    raise FileFormatError(f"views of different samples ({_sizes(shapes)}): choose with views=...")


def _sizes(shapes: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{rows}x{columns}" for rows, columns in shapes[:6])
    return shown + (", ..." if len(shapes) > 6 else "")


# ---------------------------------------------------------------- columns of tables


def clinical_columns(texts: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Return the columns that make a table clinical: outcomes and properties of patients.

    Parameters
    ----------
    texts, numbers : sequence of str
        Names of the columns that hold text and numbers, without sample names and labels.

    Returns
    -------
    columns : list of str
        Empty where the table is a view: most columns are numbers, and fewer than two of them (or
        one, beside columns of text) are named like clinical ones.

    Examples
    --------
    >>> clinical_columns(["sex"], ["age", "os_months"]), clinical_columns([], ["TP53", "STAGE"])
    (['sex', 'age', 'os_months'], [])
    """
    named = [name for name in (*texts, *numbers) if CLINICAL_NAMES.fullmatch(plain(name))]
    clinical = len(texts) > len(numbers) or (named and len(named) + bool(texts) > 1)
    return list(dict.fromkeys([*named, *texts])) if clinical else []


def label_column(columns: Sequence[str], wanted: Name) -> str | None:
    """Return the column of a table with the classes: the wanted one, else the one named so."""
    if isinstance(wanted, str):
        return wanted if wanted in columns else None
    # a single letter does not identify classes: x, y, z are coordinates
    like = [name for name in columns if is_label_name(name) and len(plain(name)) > 1]
    if len(like) > 1:
        raise FileFormatError(f"choose with labels=... which column holds them: {', '.join(like)}")
    return like[0] if like else None


def split_classes(columns: Sequence[str], wanted: Name) -> tuple[int | None, int]:
    """Return the positions of the names, if there are any, and the classes in a file of labels.

    >>> split_classes(["sample", "species"], None), split_classes(["label", "who"], None)
    ((0, 1), (1, 0))
    """
    if isinstance(wanted, str) and wanted not in columns:
        raise InputError(f"no column {wanted!r} for id=...; it has {', '.join(columns)}")
    if len(columns) > 2:
        raise FileFormatError(f"{len(columns)} columns, where sample names and labels are read")
    if len(columns) == 1:
        return None, 0
    last = may_be_key_name(columns[1]) and not may_be_key_name(columns[0])
    names = columns.index(wanted) if wanted else int(last or is_label_name(columns[0]))
    return names, 1 - names


def as_labels(value: Any, name: str = "") -> np.ndarray:
    """Convert labels to a 1-D array; `name` is that of the variable or column.

    Whole numbers become int64. A list of equal vectors becomes one of them.

    >>> as_labels([np.array([[1.0], [2.0]]), np.array([[1, 2]])])
    array([1, 2])
    >>> as_labels(["cat", "dog"])
    array(['cat', 'dog'], dtype='<U3')
    """
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        vectors = [np.asarray(item).ravel() for item in value]
        if len(vectors) > 1 and all(vector.size == 1 for vector in vectors):
            value = np.concatenate(vectors)
        elif all(np.array_equal(vector, vectors[0]) for vector in vectors):
            value = vectors[0]
        else:
            raise FileFormatError(f"labels {name}: the vectors of the views differ")
    labels = np.asarray(value).ravel()
    if labels.dtype.kind in "OU":
        return np.char.strip(labels.astype(str))
    if labels.dtype.kind == "f":
        odd = np.flatnonzero(~np.isfinite(labels))
        if len(odd):
            why = f"the label of sample {odd[0]} is missing or infinite"
            raise FileFormatError(f"labels {name}: {why}; pass labels=False for none")
        # larger integers are not all representable as floats
        whole = (labels == np.round(labels)).all() and (np.abs(labels) < 2**53).all()
        return labels.astype(np.int64) if whole else labels
    return labels.astype(np.int64) if labels.dtype.kind in "biu" else labels
