"""Decide which variable, file or column is a view, a kernel, the labels or the names.

Decisions follow from names and shapes alone. `assign` makes those of a file with many variables,
`label_column`, `split_classes` and `clinical_columns` those of tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..data.alignment import is_key_name, may_be_key_name, plain
from ..exceptions import FileFormatError, InputError
from .npz import Unreadable

Name = str | Literal[False] | None  # a name, no such variable, or automatic

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
FEATURE_NAMES = (
    "gene", "genes", "geneid", "genename", "genesymbol", "symbol", "hugosymbol", "entrez",
    "entrezid", "entrezgeneid", "ensembl", "ensemblid", "ensemblgeneid", "probe", "probeid",
    "probeset", "probesetid", "idref", "feature", "features", "featureid", "cpg", "cpgid", "mirna",
    "mirnaid", "protein", "proteinid", "transcript", "transcriptid", "compositeelementref",
    "cytoband", "metabolite",
)  # fmt: skip
FEATURE_PATTERN = re.compile(
    r"ENS[A-Z]*[GTP]\d{8,}.*|cg\d{8}|(hsa|mmu)-(mir|let)-.*|rs\d{4,}", re.I
)
CLINICAL_NAMES = (
    "age", "ageatdiagnosis", "agecategory", "sex", "gender", "race", "ethnicity", "stage",
    "tumorstage", "pathologicstage", "ajccstage", "grade", "tumorgrade", "subtype", "pam50",
    "survival", "survivaltime", "survivalstatus", "ostime", "osmonths", "osdays", "osstatus",
    "osevent", "overallsurvival", "dfsmonths", "dfsstatus", "pfsmonths", "pfsstatus", "vitalstatus",
    "death", "dead", "deceased", "status", "event", "daystodeath", "daystolastfollowup",
    "followup", "diagnosis", "histology", "treatment", "smoker", "smoking", "bmi",
)  # fmt: skip
WHOLE = 2**53  # larger integers are not all representable as floats


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
    def is_matrix(self) -> bool:
        """Whether it is a nonempty real matrix, dense or sparse."""
        return self.kind in ("matrix", "sparse") and len(self.shape) == 2 and min(self.shape) > 0

    @property
    def is_square_stack(self) -> bool:
        """Whether it is a nonempty stack of square matrices."""
        return self.kind == "stack" and min(self.shape) > 0 and stack_axis(self, 2) is not None

    @property
    def is_square(self) -> bool:
        """Whether all its matrices are square."""
        return self.is_square_stack or all(
            matrix.is_matrix and len({*matrix.shape}) == 1 for matrix in self.items or (self,)
        )

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
    if isinstance(value, str):
        return Variable(name, "text", (1,), "str")
    if sp.issparse(value):
        return Variable(name, "sparse", value.shape, value.dtype.name)
    kind = {"U": "text", "c": "complex"}.get(value.dtype.kind)
    if kind is None:
        kind = "matrix" if value.ndim < 3 else "stack" if value.ndim == 3 else "tensor"
    return Variable(name, kind, value.shape, "str" if kind == "text" else value.dtype.name)


@dataclass(frozen=True)
class Part:
    """One view: a matrix, an item of a cell, or a slice of a stack along `axis`."""

    name: str
    source: Variable
    shape: tuple[int, int]
    position: int = 0
    axis: int = 0

    def select(self, value: Any) -> Any:
        """Return the matrix, from the loaded variable."""
        if self.source.kind == "cell":
            return value[self.position]
        if self.source.kind == "stack":
            return np.moveaxis(value, self.axis, 0)[self.position]
        return value


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
    labels = choose_labels(variables, request.labels)
    wanted = request.id
    index = _vector(variables, wanted, "id") if isinstance(wanted, str) else None
    samples = labels.entries if labels is not None else None
    others = [v for v in variables if v is not labels and v is not index]
    sources = _choose_views(variables if request.views else others, request, samples)
    parts = tuple(part for source in sources for part in _parts(source, usual_axis))
    if not parts:
        raise FileFormatError("no views found: the chosen variables are empty")
    kernels, why_kernels = _are_kernels(parts, request.kernels)
    transpose, why_transpose = _orient(parts, kernels, request.transpose, labels)
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
    views = [part.select(loaded[part.source.name]) for part in parts]
    view_names = [part.name for part in parts]
    if names is not None:
        given = [str(text).strip() for text in loaded[names.name]]
        if all(given) and len(set(given)) == len(given):
            view_names = given
            notes = (*notes, f"The names {', '.join(given)} come from {names.name}.")
    return roles, {
        "views": [view.T for view in views] if transpose else views,
        "names": view_names,
        "kernels": kernels,
        "labels": None if labels is None else _labels(labels.name, loaded),
        "index": None if index is None else as_labels(loaded[index.name]),
        "notes": list(filter(None, notes)),
    }


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


def choose_labels(variables: Sequence[Variable], wanted: Name) -> Variable | None:
    """Return the variable with the classes: the wanted one, else the vector with the best name."""
    if wanted is False:
        return None
    if isinstance(wanted, str):
        return _vector(variables, wanted, "labels")
    vectors = [v for v in variables if is_label_name(v.name) and (v.entries or 0) > 1]
    return min(vectors, key=lambda v: _rank(v.name, LABEL_NAMES), default=None)


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


def is_feature_name(name: object) -> bool:
    """Return whether a column of this name lists genes, probes or other features.

    >>> is_feature_name("Hugo_Symbol"), is_feature_name("ID_REF"), is_feature_name("patient")
    (True, True, False)
    """
    return plain(str(name)) in FEATURE_NAMES


def are_features(names: Sequence[object]) -> bool:
    """Return whether most names have the form of identifiers of genes, probes or variants."""
    found = [bool(FEATURE_PATTERN.fullmatch(str(name))) for name in names[:1000]]
    return bool(found) and sum(found) > len(found) / 2


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
    named = [name for name in (*texts, *numbers) if plain(name) in CLINICAL_NAMES]
    if len(texts) > len(numbers):
        return list(dict.fromkeys([*named, *texts]))
    return list(dict.fromkeys([*named, *texts])) if len(named) + bool(texts) > 1 and named else []


def label_column(columns: Sequence[str], wanted: Name) -> str | None:
    """Return the column of a table with the classes: the wanted one, else the one named so."""
    if isinstance(wanted, str):
        if columns.count(wanted) > 1:
            raise InputError(f"there are {columns.count(wanted)} columns named {wanted!r}")
        return wanted if wanted in columns else None
    # a single letter does not identify classes: x, y, z are coordinates
    like = [name for name in columns if is_label_name(name) and len(plain(name)) > 1]
    if len(like) > 1:
        raise FileFormatError(
            f"several columns are named like labels ({', '.join(like)}): choose with labels=..."
        )
    return like[0] if like else None


def split_classes(
    columns: Sequence[str], first_is_text: bool, wanted: Name
) -> tuple[str | None, str]:
    """Return the column of names, if there is one, and the column of classes of a file of labels.

    >>> split_classes(["sample", "species"], True, None)
    ('sample', 'species')
    """
    if isinstance(wanted, str) and wanted not in columns:
        raise InputError(f"no column {wanted!r} for id=...; it has {', '.join(columns)}")
    names: str | None = wanted if isinstance(wanted, str) else None
    labels = label_column([name for name in columns if name != names], None)
    rest = [name for name in columns if name not in (names, labels)]
    if names is None and len(columns) > 1:
        likely = [n for n in rest if is_key_name(n) or may_be_key_name(n)]
        likely += rest[:1] if first_is_text and labels is None and len(rest) == 2 else []
        if likely:
            names = likely[0]
            rest.remove(names)
    if labels is None and rest:
        labels = rest.pop()
    if names is None and len(rest) == 1:
        names = rest.pop()
    if rest or labels is None:
        raise FileFormatError(
            f"it should have one column of labels, and at most one of sample names, but has "
            f"{len(columns)} columns"
        )
    return names, labels


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


def list_variables(variables: Sequence[Variable], most: int = 20) -> str:
    """Return variables for a message, `most` of them at most."""
    shown = ", ".join(str(variable) for variable in variables[:most])
    return f"{shown} and {len(variables) - most} more" if len(variables) > most else shown


def stack_axis(variable: Variable, usual: int) -> int | None:
    """Return the axis along which a stack holds square matrices; None if there is no such axis.

    >>> stack_axis(Variable("KH", "stack", (60, 60, 4)), 0)
    2
    """
    first, middle, last = variable.shape
    possible = [
        axis for axis, pair in ((0, (middle, last)), (2, (first, middle))) if len({*pair}) == 1
    ]
    return usual if usual in possible else (possible[0] if possible else None)


def _rank(name: str, names: Sequence[str]) -> int:
    """Return the position of a name in a list of preferences, or the length of the list."""
    word = plain(name)
    return names.index(word) if word in names else len(names)


def _named(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; `what` is the parameter that gave the name."""
    for variable in variables:
        if variable.name == name:
            return variable
    shown = list_variables(variables) or "nothing"
    raise InputError(f"{what}={name!r} is not in it; it has {shown}")


def _vector(variables: Sequence[Variable], name: str, what: str) -> Variable:
    """Return the variable of this name; refuse one without a value per sample."""
    variable = _named(variables, name, what)
    if variable.entries is None:
        raise InputError(f"{what}={name!r} needs one value per sample, but it is {variable}")
    return variable


def _choose_views(
    variables: Sequence[Variable], request: Request, samples: int | None
) -> list[Variable]:
    """Return the variables that hold the views, in order.

    A cell of matrices is preferred to a stack of kernels, and a stack to separate matrices.
    Variables named like labels are left out, so that no view contains the classes.
    """
    if request.views is not None:
        return [_usable(_named(variables, name, "views")) for name in request.views]
    open_to_choice = [v for v in variables if not is_label_name(v.name)]
    if request.kernels:
        open_to_choice = [v for v in open_to_choice if v.is_square] or open_to_choice
    cells = [v for v in open_to_choice if v.holds_matrices]
    cells.sort(key=lambda v: (_rank(v.name, VIEW_NAMES), -len(v.items)))
    stacks = [v for v in open_to_choice if v.is_square_stack]
    stacks.sort(key=lambda v: (samples not in (None, *v.shape), _rank(v.name, KERNEL_NAMES)))
    chosen = cells[:1] or stacks[:1] or _separate_matrices(open_to_choice, samples)
    if not chosen:
        raise FileFormatError(
            "no views found: neither a cell of matrices nor a matrix nor a stack of kernels; it "
            f"has {list_variables(variables) or 'nothing'}; choose with views=..."
        )
    return chosen


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


def _separate_matrices(variables: Sequence[Variable], samples: int | None) -> list[Variable]:
    """Return separate matrices: a numbered family such as X1, X2, or all with equal row counts."""
    family = _family([v for v in variables if v.is_matrix and samples in (None, *v.shape)])
    if family:
        return family
    matrices = [v for v in variables if v.is_matrix and min(v.shape) > 1]
    if samples is not None:
        for axis in (0, 1):
            fitting = [v for v in matrices if v.shape[axis] == samples]
            if fitting:
                return _without_kernels(fitting)
        return matrices
    rows = Counter(v.shape[0] for v in matrices)
    if len(rows) <= 1 or len({v.shape[1] for v in matrices}) == 1:
        return _without_kernels(matrices)
    most = rows.most_common(1)[0][0]
    return _without_kernels([v for v in matrices if v.shape[0] == most])


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


def _without_kernels(matrices: list[Variable]) -> list[Variable]:
    """Leave out square matrices named like kernels if there are others: the two are not mixed."""
    features = [v for v in matrices if not (is_kernel_name(v.name) and v.is_square)]
    return features or matrices


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


def _are_kernels(parts: Sequence[Part], forced: bool | None) -> tuple[bool, str]:
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


def _orient(
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
