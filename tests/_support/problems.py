"""Problems by number: any finite input a person or a program might hand to `fit`, drawn by a seed.

`problem(seed)` is the same everywhere and for ever; `outcome(name, problem)` says in a word how a
method ended on it. What counts as well ended is stated in `flaw`.
"""

import warnings
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from _support.fits import estimator
from mkclust import METHODS
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.kernels.bank import KERNELS

RESULT = "result"
PAPER = (
    "akkm",
    "mkkm",
    "mkkm-mr",
    "swmc",
    "onkc",
    "lfmkc",
    "spmkc",
    "cagl",
    "oplf",
    "hmkc",
    "mkc-dnm",
)
ALL = (*PAPER, *(name for name in METHODS if name not in PAPER))  # the order fixes the seeds
LARGEST, SMALLEST = np.finfo(float).max, 5e-324


@dataclass(frozen=True)
class Problem:
    """Views or kernels, the number of clusters, and the settings every method shares."""

    seed: int
    views: Any
    n: int
    k: int
    settings: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """`kind` is RESULT, the class of an expected exception, or starts with "unexpected"."""

    kind: str
    message: str = ""

    @property
    def expected(self) -> bool:
        return not self.kind.startswith("unexpected")


def problem(seed: int) -> Problem:
    """The problem of a number: shapes, values, types, settings, in this order from one stream."""
    rng = np.random.default_rng([9, seed])
    n = _one_of(rng, {(2, 6): 4, (7, 20): 5, (21, 40): 0.7, (41, 60): 0.2})
    m = _one_of(rng, {(1, 1): 2, (2, 4): 6, (5, 10): 1, (11, 70): 0.2})
    given = rng.random() < 0.25
    draw = _kernel if given else _view
    bad = rng.integers(m) if rng.random() < 0.15 else m  # at most one view is drawn to be refused
    views: Any = [draw(rng, n, p == bad) for p in range(m)]
    if not given and rng.random() < 0.04:
        views = [_without_some_rows(rng, view) for view in views]
    if given and rng.random() < 0.2:
        views = np.stack([K.toarray() if sp.issparse(K) else K for K in views])
    choices = [1, n, int(rng.integers(1, n + 1)), min(n, int(rng.integers(2, 6)))]
    k = choices[rng.choice(4, p=[0.1, 0.1, 0.2, 0.6])]
    return Problem(seed, views, n, k, _settings(rng, given))


def outcome(name: str, given: Problem) -> Outcome:
    """How one method ends on a problem; exceptions other than our own are unexpected."""
    model = estimator(name, given.k, **given.settings, **_own_settings(name, given))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model.fit(given.views)
        except InputError as error:
            found = Outcome(type(error).__name__, str(error))
        except Exception as error:  # this is what is looked for
            return Outcome(f"unexpected {type(error).__name__}", str(error))
        else:
            wrong = flaw(model, given)
            found = Outcome("unexpected result", wrong) if wrong else Outcome(RESULT)
    foreign = [w for w in said if not issubclass(w.category, MkclustWarning)]
    if foreign and found.expected:
        first = foreign[0]
        place = f"{first.filename}:{first.lineno}"
        return Outcome(f"unexpected {first.category.__name__}", f"{first.message} ({place})")
    return found


def flaw(model: Any, given: Problem) -> str:
    """What is wrong with a fitted model: labels that are none, numbers that are not finite."""
    labels = model.labels_
    if not isinstance(labels, np.ndarray) or labels.shape != (given.n,) or labels.dtype.kind != "i":
        return f"labels are {type(labels).__name__} {getattr(labels, 'shape', '')}"
    # The labels of SWMC are the components of a graph, whose number it reports.
    most = model.n_components_ if model.title == "SWMC" else given.k
    if labels.min() < 0 or labels.max() >= most:
        return f"labels from {labels.min()} to {labels.max()} for {most} clusters"
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            allowed = name == "agreement_" and model.presence_ is not None  # NaN: not comparable
            if not allowed and not _finite(value):
                return f"{name} is not finite"
    return ""


def _finite(value: Any) -> bool:
    if is_dataclass(value):
        return all(_finite(getattr(value, item.name)) for item in fields(value))
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    if isinstance(value, (float, np.ndarray, np.generic)):
        return np.asarray(value).dtype.kind not in "fc" or bool(np.isfinite(value).all())
    return True


def _one_of(rng: np.random.Generator, ranges: dict[tuple[int, int], float]) -> int:
    weights = np.array([*ranges.values()])
    low, high = [*ranges][rng.choice(len(ranges), p=weights / weights.sum())]
    return int(rng.integers(low, high + 1))


def _view(rng: np.random.Generator, n: int, bad: bool) -> Any:
    """A table (n, f) of finite numbers of some kind, with some accident, at some scale."""
    f = _one_of(rng, {(1, 1): 0.3, (2, 5): 4, (6, 30): 2})
    kinds = (_clusters, _one_hot, _imbalanced, _counts, _tails)
    X = _dull(rng, n, f) if bad else kinds[rng.integers(len(kinds))](rng, n, f)
    accidents = (_as_it_is, _repeated, _constant_columns, _offset, _zero_rows, _several_units)
    X = accidents[rng.integers(len(accidents))](rng, X)
    return _typed(rng, _at_scale(rng, X))


def _clusters(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    centres = 5 * rng.standard_normal((max(1, min(n, 4)), f))
    return centres[rng.integers(len(centres), size=n)] + rng.standard_normal((n, f))


def _one_hot(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    return np.eye(f + 1)[rng.integers(f + 1, size=n)]


def _imbalanced(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    X = 1e-3 * rng.standard_normal((n, f))
    X[rng.integers(n)] += 10.0 ** rng.integers(0, 12)
    return X


def _counts(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    return rng.poisson(rng.choice([0.2, 1.0, 50.0]), (n, f)).astype(float)


def _tails(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    return rng.standard_cauchy((n, f))


def _dull(rng: np.random.Generator, n: int, f: int) -> np.ndarray:
    """All the same, or all but the rounding of the last digit."""
    X = np.full((n, f), rng.choice([0.0, 1.0, 0.1, -7.0]))
    return X if rng.random() < 0.3 else np.nextafter(X, X + rng.integers(-1, 2, X.shape))


def _as_it_is(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X


def _repeated(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[rng.integers(max(2, len(X) // 3), size=len(X))]


def _constant_columns(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.where(np.arange(X.shape[1]) < X.shape[1] // 2, X[0], X)


def _offset(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X + rng.choice([1e8, -1e8, 1e12], p=[0.5, 0.4, 0.1]) * (rng.random(X.shape[1]) < 0.5)


def _zero_rows(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.where(rng.random(len(X))[:, None] < 0.3, 0.0, X)


def _several_units(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X * 10.0 ** rng.integers(-40, 40, X.shape[1])


def _at_scale(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """As it is, times 1e-300 to 1e300, among the denormals, or up to the largest number."""
    way = rng.choice(["none", "power", "denormal", "largest"], p=[0.55, 0.3, 0.08, 0.07])
    peak = np.abs(X).max()
    if way == "none" or peak == 0:
        return X
    if way == "denormal":
        return np.round(X / peak * 1000) * SMALLEST
    if way == "largest":
        return X / peak * LARGEST
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(X * 10.0 ** rng.integers(-300, 301), -LARGEST, LARGEST)


def _typed(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The table in one of the types and layouts people have; values are cut or spread to fit."""
    whole = np.round(X * (100 / max(np.abs(X).max(), 1e-300)))
    ways = {
        "double": 10, "fortran": 2, "strided": 1, "single": 3, "half": 0.5, "integer": 2, "byte": 1,
        "unsigned": 1, "boolean": 1, "csr": 2, "csc": 0.5, "sparse single": 0.5, "swapped": 0.5,
        "list": 1,
    }  # fmt: skip
    weights = np.array([*ways.values()])
    match [*ways][rng.choice(len(ways), p=weights / weights.sum())]:
        case "fortran":
            return np.asfortranarray(X)
        case "strided":
            return np.repeat(X, 2, axis=1)[:, ::2]
        case "single":
            return _cut(X, np.float32)
        case "half":
            return _cut(X, np.float16)
        case "integer":
            return (whole * 2.0 ** rng.choice([0, 55])).astype(np.int64)
        case "byte":
            return whole.astype(np.int8)
        case "unsigned":
            return np.abs(whole).astype(np.uint32)
        case "boolean":
            return whole > np.median(whole, axis=0)
        case "csr":
            return sp.csr_array(X)
        case "csc":
            return sp.csc_matrix(X)
        case "sparse single":
            return sp.csr_array(_cut(X, np.float32))
        case "swapped":
            return X.astype(X.dtype.newbyteorder())
        case "list":
            return X.tolist()
    return X


def _cut(X: np.ndarray, dtype: Any) -> np.ndarray:
    top = np.finfo(dtype).max
    with np.errstate(under="ignore"):
        return np.clip(X, -float(top), float(top)).astype(dtype)


def _kernel(rng: np.random.Generator, n: int, bad: bool) -> Any:
    """An n x n matrix meant as a kernel, and one unless it is `bad`, from 1e-300 to 1e300."""
    X = rng.standard_normal((n, int(rng.integers(1, n + 2))))
    K = X @ X.T
    alone = rng.random(n) < 0.3
    match int(rng.integers(6)) + 10 * bad:
        case 0:
            K = np.exp(-((X[:, None] - X) ** 2).mean(axis=2))
        case 1:
            K = np.eye(n)
        case 2:
            K = np.outer(X[:, 0], X[:, 0])
        case 3:
            K = K + X[:, :1] + X[:, :1].T  # indefinite, and definite once it is centred
        case 4:
            K[alone], K[:, alone] = 0.0, 0.0  # samples similar to nothing, not even to themselves
        case 10 | 11:
            K = K + 1e-3 * rng.standard_normal((n, n))  # asymmetric
        case 12 | 13:
            K = K - 0.3 * np.trace(K) / n * np.eye(n)  # indefinite
        case 14:
            K = -K
        case 15:
            K = np.full((n, n), rng.choice([0.0, 1.0]))
    scale = rng.choice([1.0, 1e12, 1e-12, 10.0 ** rng.integers(-300, 301)], p=[0.4, 0.2, 0.2, 0.2])
    K = K * scale
    way = rng.random()
    if way < 0.1:
        return _cut(K, np.float32)
    return sp.csr_array(K) if way < 0.2 else K


def _without_some_rows(rng: np.random.Generator, view: Any) -> Any:
    """Samples that one view lacks: rows of NaN."""
    if isinstance(view, np.ndarray) and view.dtype == np.float64:
        view = view.copy()
        view[rng.random(len(view)) < 0.2] = np.nan
    return view


def _settings(rng: np.random.Generator, given: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {"n_init": 2}
    kernel = "precomputed" if given else str(rng.choice(["default", *KERNELS]))
    if kernel != "default":
        settings["kernel"] = kernel
    if rng.random() < 0.2:
        settings["center"] = bool(rng.random() < 0.5)
        settings["normalize"] = bool(rng.random() < 0.5)
    if given:
        settings["indefinite"] = str(rng.choice(["raise", "shift", "ignore"]))
    choices = {
        "rbf": [{"gamma": 10.0 ** rng.integers(-300, 301)}, {"gamma": 10.0 ** rng.integers(-9, 9)}],
        "polynomial": [{"degree": int(rng.integers(1, 40))}, {"coef0": 0.0}, {"gamma": 1e9}],
    }
    if kernel in choices and rng.random() < 0.4:
        settings["kernel_params"] = choices[kernel][rng.integers(len(choices[kernel]))]
    return settings


def _own_settings(name: str, given: Problem) -> dict[str, Any]:
    """A method's defaults for most problems, else some of the values its authors tuned it over."""
    if name == "graph-fusion":
        return {}
    others = [*sorted(set(METHODS) - {"graph-fusion", "snf"}), "snf"]
    rng = np.random.default_rng([given.seed, others.index(name)])
    if rng.random() < 0.6:
        return {}
    if name == "mkc-dnm":
        choices = [
            {"solver": "exact"}, {"solver": "paper"}, {"threshold": "k-1"},
            {"on_infeasible": "raise"}, {"max_dimension": given.k},
        ]  # fmt: skip
    elif name == "swmc":
        choices = [{"graph": "kernel"}, {"n_neighbors": 1}, {"n_neighbors": 100}]
    elif name == "oplf":
        choices = [{"init": "identity"}, {"reseed": True}]
    elif name == "snf":
        choices = [{"metric": "euclidean"}, {"n_neighbors": 1}, {"mu": 1e-3}, {"n_iter": 1}]
    else:
        choices = METHODS[name].published_grid(given.k)
    return choices[rng.integers(len(choices))]
