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
GENES = frozenset((
    "ACTB", "AKT1", "BRAF", "BRCA1", "BRCA2", "CD4", "CD8A", "CDKN2A", "EGFR", "ERBB2", "ESR1",
    "GAPDH", "KRAS", "MKI67", "MYC", "PIK3CA", "PTEN", "PTPRC", "RB1", "STAT3", "TNF", "TP53",
    "VEGFA", "VIM",
))  # fmt: skip
CLINICAL_NAMES = (
    "age", "ageatdiagnosis", "agecategory", "sex", "gender", "race", "ethnicity", "stage",
    "tumorstage", "pathologicstage", "ajccstage", "grade", "tumorgrade", "subtype", "pam50",
    "survival", "survivaltime", "survivalstatus", "ostime", "osmonths", "osdays", "osstatus",
    "osevent", "overallsurvival", "dfsmonths", "dfsstatus", "pfsmonths", "pfsstatus", "vitalstatus",
    "death", "dead", "deceased", "status", "event", "daystodeath", "daystolastfollowup",
    "followup", "diagnosis", "histology", "treatment", "smoker", "smoking", "bmi",
)  # fmt: skip
NO_LABELS = "No labels, as asked."
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
    def holds_matrices(self) -> bool:
        """Whether it is a cell of matrices, at least one with more than one entry."""
        return (
            self.kind == "cell"
            and all(item.is_matrix for item in self.items)
            and any(prod(item.shape) > 1 for item in self.items)
        )

    @property
    def is_stack(self) -> bool:
        """Whether it is a nonempty stack of matrices."""
        return self.kind == "stack" and min(self.shape) > 0

    @property
    def is_square(self) -> bool:
        """Whether all its matrices are square."""
        if self.is_stack:
            return self.stack_axis(-1) != -1
        return all(m.is_matrix and len({*m.shape}) == 1 for m in self.items or (self,))

    def stack_axis(self, usual: int) -> int:
        """Return the axis along which a stack holds square matrices; `usual` if there is none.

        >>> Variable("KH", "stack", (60, 60, 4)).stack_axis(0)
        2
        """
        first, middle, last = self.shape
        square = {0: middle == last, 2: first == middle}
        return usual if square.get(usual) or not any(square.values()) else 2 if square[2] else 0

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
    return word in KERNEL_NAMES or word == "kraw" or word.startswith(("kernel", "gram"))


def is_feature_name(name: object) -> bool:
    """Return whether a column of this name lists genes, probes or other features.

    >>> is_feature_name("Hugo_Symbol"), is_feature_name("ID_REF"), is_feature_name("patient")
    (True, True, False)
    """
    return plain(str(name)) in FEATURE_NAMES


def are_features(names: Sequence[object]) -> bool:
    """Return whether names are of genes, probes or variants: most by form, or several well known.

    >>> are_features(["A1BG", "TP53", "EGFR", "MYC"]), are_features(["P1", "P2", "P3"])
    (True, False)
    """
    found = [bool(FEATURE_PATTERN.fullmatch(str(name))) for name in names[:1000]]
    known = len(GENES & {str(name).upper() for name in names})
    return known >= 3 or sum(found) > len(found) / 2


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
    alone = [source.name for source in sources if source.is_matrix]
    notes = [f"Views are {', '.join(alone)}."] if alone else []
    for source in sources:
        found = _matrices(source, loaded[source.name], usual_axis)
        views |= found
        if not source.is_matrix:
            shown = ", ".join(found)
            notes.append(f"The {source.kind} {source.name} gave {len(found)} views: {shown}.")
    shapes = [view.shape for view in views.values()]
    like_kernels = all(source.is_stack or is_kernel_name(source.name) for source in sources)
    kernels, why_kernels = are_kernels(shapes, like_kernels, request.kernels)
    turned = False if request.transpose is None or kernels else request.transpose
    why_turned = "" if kernels else f"{'Transposed' if turned else 'Not transposed'}, as asked."
    if kernels or request.transpose is None:
        turned, why = orientation(shapes, samples, "" if labels is None else labels.name)
        why_turned = "" if kernels else f"{'Transposed' if turned else 'Not transposed'}: {why}."
    titles = next((v for v in others if _names_views(v, sources, len(views))), None)
    roles = {source.name: "kernels" if kernels else "views" for source in sources}
    special = ((titles, "view names"), (index, "sample names"), (labels, "labels"))
    roles |= {variable.name: role for variable, role in special if variable is not None}
    count = shapes[0][1 if turned else 0]
    ignored = {v.name: _why_ignored(v, count) for v in variables if v.name not in roles}
    roles |= {name: f"ignored: {why}" for name, why in ignored.items()}
    notes += [why_kernels, why_turned]
    if labels is not None:
        notes.append(f"Labels come from {labels.name}.")
    else:
        asked = request.labels is False
        notes.append(NO_LABELS if asked else "No labels: nothing is named like them.")
    notes += [f"Ignored {name}: {why}." for name, why in ignored.items()]
    names = list(views)
    if titles is not None:
        names = [str(text).strip() for text in loaded[titles.name]]
        notes.append(f"The names {', '.join(names)} come from {titles.name}.")
    return roles, {
        "views": [view.T if turned else view for view in views.values()],
        "names": names,
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
            if not (variable.is_matrix or variable.holds_matrices or variable.is_stack):
                raise InputError(
                    f"views={variable.name!r} cannot be read as numbers: it is {variable}"
                )
        return wanted
    free = [v for v in variables if not is_label_name(v.name)]
    if request.kernels:
        free = [v for v in free if v.is_square] or free
    cells = [v for v in free if v.holds_matrices]
    cells.sort(key=lambda v: (_rank(v.name, VIEW_NAMES), -len(v.items)))
    stacks = [v for v in free if v.is_stack and v.is_square]
    stacks.sort(key=lambda v: (samples not in (None, *v.shape), _rank(v.name, KERNEL_NAMES)))
    chosen = cells[:1] or stacks[:1] or _separate_matrices(free, samples)
    if not chosen:
        raise FileFormatError(
            "no views found: neither a cell of matrices nor a matrix nor a stack of kernels; it "
            f"has {_list_variables(variables)}; choose with views=..."
        )
    return chosen


def _separate_matrices(variables: Sequence[Variable], samples: int | None) -> list[Variable]:
    """Return separate matrices: a numbered family such as X1, X2, or all with equal row counts.

    Square matrices named like kernels are left out if there are others: the two are not mixed.
    """
    family = _family([v for v in variables if v.is_matrix and samples in (None, *v.shape)])
    if family:
        return family
    matrices = [v for v in variables if v.is_matrix and min(v.shape) > 1]
    rows = Counter(v.shape[0] for v in matrices)
    if samples is not None:
        by_axis = ([v for v in matrices if v.shape[axis] == samples] for axis in (0, 1))
        matrices = next(filter(None, by_axis), matrices)
    elif len(rows) > 1 and len({v.shape[1] for v in matrices}) > 1:
        most = rows.most_common(1)[0][0]
        matrices = [v for v in matrices if v.shape[0] == most]
    return [v for v in matrices if not (is_kernel_name(v.name) and v.is_square)] or matrices


def _family(matrices: Sequence[Variable]) -> list[Variable]:
    """Return the largest set of variables whose names differ only in a number and share a size."""
    families: dict[str, dict[int, Variable]] = {}
    for variable in matrices:
        if match := re.fullmatch(r"(.*?)(\d{1,9})", variable.name):
            families.setdefault(plain(match[1]), {})[int(match[2])] = variable
    found: list[Variable] = []
    for members in families.values():
        family = [members[number] for number in sorted(members)]
        share = any(len({v.shape[axis] for v in family}) == 1 for axis in (0, 1))
        wide = any(min(v.shape) > 1 for v in family)
        if share and wide and len(family) > max(1, len(found)):
            found = family
    return found


def _matrices(source: Variable, value: Any, usual_axis: int) -> dict[str, Any]:
    """Return the matrices of a variable: itself, the items of a cell, or the slices of a stack."""
    if source.is_matrix:
        return {source.name: value}
    if source.kind == "stack":
        value = np.moveaxis(value, source.stack_axis(usual_axis), 0)
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
    shapes: Sequence[tuple[int, int]], samples: int | None, labels: str
) -> tuple[bool, str]:
    """Return whether samples are columns, and why: by the number of labels, else by equal sizes.

    >>> orientation([(512, 400), (59, 400)], None, "y")
    (True, 'the views share their number of columns, 400, and not that of rows')
    """
    rows, columns = {shape[0] for shape in shapes}, {shape[1] for shape in shapes}
    if samples is not None:
        for side, sizes in (("rows", rows), ("columns", columns)):
            if sizes == {samples}:
                why = f"the {side} are as many as the labels in {labels}, {samples}"
                return side == "columns", why
        raise FileFormatError(
            f"the {samples} labels in {labels} fit neither the rows nor the columns of the views "
            f"({_sizes(shapes)}); pass labels=False, or the name of the right labels"
        )
    if len(rows) == 1:
        square = len(columns) == 1 and len(shapes) > 1
        also = "; so are the columns: pass transpose=True if those are samples" if square else ""
        return False, f"the rows are equally many, {min(rows)}{also}"
    if len(columns) == 1:
        size = min(columns)
        return True, f"the views share their number of columns, {size}, and not that of rows"
    raise FileFormatError(
        f"the views share neither their rows nor their columns ({_sizes(shapes)}); choose the "
        "right ones with views=..."
    )


def _sizes(shapes: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{rows}x{columns}" for rows, columns in shapes[:6])
    return shown + (", ..." if len(shapes) > 6 else "")


def _names_views(variable: Variable, sources: Sequence[Variable], count: int) -> bool:
    """Return whether a variable is a cell with one text per view, and named so."""
    word = plain(variable.name)
    return (
        variable.kind == "cell"
        and len(variable.items) == count == len(sources[0].items)
        and all(item.kind == "text" for item in variable.items)
        and any(hint in word for hint in ("view", "name", "meaning"))
        and not any(other in word for other in ("class", "label", "sample"))
    )


def _why_ignored(variable: Variable, samples: int) -> str:
    if variable.entries == 1:
        return "a single value"
    if variable.entries == samples:
        return f'one value per sample; choose it with labels="{variable.name}"'
    if variable.entries is not None:
        return f"{variable.entries} values, where there are {samples} samples"
    if variable.is_matrix or variable.holds_matrices or variable.is_stack:
        return f'not needed; choose it with views="{variable.name}"'
    return f"a {variable.kind}, which holds no real numbers"


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
    named = [name for name in (*texts, *numbers) if plain(name) in CLINICAL_NAMES]
    clinical = len(texts) > len(numbers) or (named and len(named) + bool(texts) > 1)
    return list(dict.fromkeys([*named, *texts])) if clinical else []


def label_column(columns: Sequence[str], wanted: Name) -> str | None:
    """Return the column of a table with the classes: the wanted one, else the one named so."""
    if isinstance(wanted, str):
        like = [name for name in columns if name == wanted]
    else:  # a single letter does not identify classes: x, y, z are coordinates
        like = [name for name in columns if is_label_name(name) and len(plain(name)) > 1]
    if len(like) > 1:
        raise FileFormatError(
            f"several columns could hold the labels ({', '.join(like)}): choose with labels=..."
        )
    return like[0] if like else None


def split_classes(columns: Sequence[str], wanted: Name) -> tuple[int | None, int]:
    """Return the positions of the names, if there are any, and the classes in a file of labels.

    >>> split_classes(["sample", "species"], None), split_classes(["label", "who"], None)
    ((0, 1), (1, 0))
    """
    if isinstance(wanted, str) and wanted not in columns:
        raise InputError(f"no column {wanted!r} for id=...; it has {', '.join(columns)}")
    if len(columns) == 1:
        return None, 0
    if len(columns) > 2:
        raise FileFormatError(
            "it should have one column of labels, and at most one of sample names, but has "
            f"{len(columns)} columns"
        )
    labels = label_column([name for name in columns if name != wanted], None)
    rest = [name for name in columns if name != labels]
    keys = [wanted] if isinstance(wanted, str) else list(filter(may_be_key_name, rest))
    names = columns.index((keys or rest)[0])
    return names, 1 - names


def as_labels(value: Any) -> np.ndarray:
    """Convert labels to a 1-D array.

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
            raise FileFormatError("the label vectors of the views differ")
    labels = np.asarray(value).ravel()
    if labels.dtype.kind == "U":
        return np.char.strip(labels)
    if labels.dtype.kind == "f":
        odd = np.flatnonzero(~np.isfinite(labels))
        if len(odd):
            raise FileFormatError(f"the label of sample {odd[0]} is missing or infinite")
        whole = (labels == np.round(labels)).all() and (np.abs(labels) < WHOLE).all()
        return labels.astype(np.int64) if whole else labels
    return labels.astype(np.int64) if labels.dtype.kind in "biu" else labels
