"""Problems by number: any finite input a person or a program might hand to `fit`, drawn by a seed.

`problem(seed)` is the same everywhere; `outcome(name, problem)` says in a word how a method ended
on it. What counts as well ended is stated in `flaw`.
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
    def expected(self):
        return not self.kind.startswith("unexpected")


def problem(seed):
    """The problem of a number: shapes, values, types, settings, in this order from one stream."""
    rng = np.random.default_rng([9, seed])
    n = int(rng.integers(2, rng.choice([7, 21, 41, 61], p=[0.4, 0.5, 0.08, 0.02])))
    m = int(rng.integers(1, rng.choice([2, 5, 11, 71], p=[0.2, 0.68, 0.1, 0.02])))
    given = rng.random() < 0.25
    bad = rng.integers(m) if rng.random() < 0.15 else m  # at most one view is drawn to be refused
    views: Any = [(_kernel if given else _view)(rng, n, p == bad) for p in range(m)]
    if not given and rng.random() < 0.04:
        views = [_without_some_rows(rng, view) for view in views]
    if given and rng.random() < 0.2:
        views = np.stack([K.toarray() if sp.issparse(K) else K for K in views])
    choices = [1, n, int(rng.integers(1, n + 1)), min(n, int(rng.integers(2, 6)))]
    k = choices[rng.choice(4, p=[0.1, 0.1, 0.2, 0.6])]
    return Problem(seed, views, n, k, _settings(rng, given))


def outcome(name, given):
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
    for told in said:
        if found.expected and not issubclass(told.category, MkclustWarning):
            place = f"{told.message} ({told.filename}:{told.lineno})"
            found = Outcome(f"unexpected {told.category.__name__}", place)
    return found


def flaw(model, given):
    """What is wrong with a fitted model: labels that are none, numbers that are not finite."""
    labels = model.labels_
    if not isinstance(labels, np.ndarray) or labels.shape != (given.n,) or labels.dtype.kind != "i":
        return f"labels are {type(labels).__name__} {getattr(labels, 'shape', '')}"
    # The labels of SWMC are the components of a graph, whose number it reports.
    most = model.n_components_ if model.title == "SWMC" else given.k
    if labels.min() < 0 or labels.max() >= most:
        return f"labels from {labels.min()} to {labels.max()} for {most} clusters"
    for name, value in vars(model).items():
        allowed = name == "agreement_" and model.presence_ is not None  # NaN: not comparable
        if name.endswith("_") and name[0] != "_" and not allowed and not _finite(value):
            return f"{name} is not finite"
    return ""


def _finite(value):
    if is_dataclass(value):
        return all(_finite(getattr(value, item.name)) for item in fields(value))
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    if isinstance(value, (float, np.ndarray, np.generic)):
        return np.asarray(value).dtype.kind not in "fc" or bool(np.isfinite(value).all())
    return True


def _view(rng, n, bad):
    """A table (n, f) of finite numbers of some kind, with some accident, at some scale."""
    f = int(rng.integers(1, rng.choice([2, 6, 31], p=[0.05, 0.6, 0.35])))
    X = _dull(rng, n, f) if bad else _values(rng, n, f)
    return _typed(rng, _at_scale(rng, _with_accident(rng, X)))


def _values(rng, n, f):
    match rng.integers(5):
        case 0:
            centers = 5 * rng.standard_normal((min(n, 4), f))
            return centers[rng.integers(len(centers), size=n)] + rng.standard_normal((n, f))
        case 1:
            return np.eye(f + 1)[rng.integers(f + 1, size=n)]
        case 2:
            X = 1e-3 * rng.standard_normal((n, f))
            X[rng.integers(n)] += 10.0 ** rng.integers(0, 12)
            return X
        case 3:
            return rng.poisson(rng.choice([0.2, 1.0, 50.0]), (n, f)).astype(float)
    return rng.standard_cauchy((n, f))


def _dull(rng, n, f):
    """All the same, or all but the rounding of the last digit."""
    X = np.full((n, f), rng.choice([0.0, 1.0, 0.1, -7.0]))
    return X if rng.random() < 0.3 else np.nextafter(X, X + rng.integers(-1, 2, X.shape))


def _with_accident(rng, X):
    n, f = X.shape
    match rng.integers(6):
        case 0:
            return X[rng.integers(max(2, n // 3), size=n)]
        case 1:
            return np.where(np.arange(f) < f // 2, X[0], X)
        case 2:
            return X + rng.choice([1e8, -1e8, 1e12], p=[0.5, 0.4, 0.1]) * (rng.random(f) < 0.5)
        case 3:
            return np.where(rng.random(n)[:, None] < 0.3, 0.0, X)
        case 4:
            return X * 10.0 ** rng.integers(-40, 40, f)
    return X


def _at_scale(rng, X):
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


def _typed(rng, X):
    """The table in one of the types and layouts people have; values are cut or spread to fit."""
    whole = np.round(X * (100 / max(np.abs(X).max(), 1e-300)))
    ways = [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: _cut(X, np.float32),
        lambda X: _cut(X, np.float16),
        lambda X: (whole * 2.0 ** rng.choice([0, 55])).astype(np.int64),
        lambda X: whole.astype(np.int8),
        lambda X: np.abs(whole).astype(np.uint32),
        lambda X: whole > np.median(whole, axis=0),
        sp.csr_array,
        sp.csc_matrix,
        lambda X: sp.csr_array(_cut(X, np.float32)),
        lambda X: X.astype(X.dtype.newbyteorder()),
        np.ndarray.tolist,
    ]
    return ways[rng.integers(len(ways))](X) if rng.random() < 0.6 else X


def _cut(X, dtype):
    top = float(np.finfo(dtype).max)
    with np.errstate(under="ignore"):
        return np.clip(X, -top, top).astype(dtype)


def _kernel(rng, n, bad):
    """An n x n matrix meant as a kernel, and one unless it is `bad`, from 1e-300 to 1e300."""
    X = rng.standard_normal((n, int(rng.integers(1, n + 2))))
    K, alone = X @ X.T, rng.random(n) < 0.3
    match int(rng.integers(6)) + 10 * bad:
        case 0:
            K = np.exp(-((X[:, None] - X) ** 2).mean(axis=2))
        case 1:
            K = np.eye(n)
        case 2:
            K = np.outer(X[:, 0], X[:, 0])
        case 3:
            K = K + X[:, :1] + X[:, :1].T  # indefinite, and definite once it is centered
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
    K *= rng.choice([1.0, 1e12, 1e-12, 10.0 ** rng.integers(-300, 301)], p=[0.4, 0.2, 0.2, 0.2])
    way = rng.random()
    return _cut(K, np.float32) if way < 0.1 else sp.csr_array(K) if way < 0.2 else K


def _without_some_rows(rng, view):
    """Samples that one view lacks: rows of NaN."""
    if isinstance(view, np.ndarray) and view.dtype == np.float64:
        view = view.copy()
        view[rng.random(len(view)) < 0.2] = np.nan
    return view


def _settings(rng, given):
    kernel = "precomputed" if given else str(rng.choice(["default", *KERNELS]))
    settings = {"n_init": 2} | ({} if kernel == "default" else {"kernel": kernel})
    if rng.random() < 0.2:
        settings |= {"center": bool(rng.random() < 0.5), "normalize": bool(rng.random() < 0.5)}
    if given:
        settings["indefinite"] = str(rng.choice(["raise", "shift", "ignore"]))
    choices = {
        "rbf": [{"gamma": 10.0 ** rng.integers(-300, 301)}, {"gamma": 10.0 ** rng.integers(-9, 9)}],
        "polynomial": [{"degree": int(rng.integers(1, 40))}, {"coef0": 0.0}, {"gamma": 1e9}],
    }.get(kernel)
    if choices and rng.random() < 0.4:
        settings["kernel_params"] = choices[rng.integers(len(choices))]
    return settings


def _own_settings(name, given):
    """A method's defaults for most problems, else some of the values its authors tuned it over."""
    own = {
        "graph-fusion": [{}],
        "mkc-dnm": [
            {"solver": "exact"}, {"solver": "paper"}, {"threshold": "k-1"},
            {"on_infeasible": "raise"}, {"max_dimension": given.k},
        ],
        "swmc": [{"graph": "kernel"}, {"n_neighbors": 1}, {"n_neighbors": 100}],
        "oplf": [{"init": "identity"}],
        "snf": [{"metric": "euclidean"}, {"n_neighbors": 1}, {"mu": 1e-3}, {"n_iter": 1}],
    }  # fmt: skip
    rng = np.random.default_rng([given.seed, list(METHODS).index(name)])
    choices = own[name] if name in own else METHODS[name].published_grid(given.k)
    return choices[rng.integers(len(choices))] if rng.random() < 0.4 else {}
