"""What the questions share: the estimator fitted, its distinct samples, refits on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base import MultiViewClusterer, number_distinct
from ..data.input import fitted_views
from ..exceptions import InputError, MkclustWarning, warn
from ..graphs.neighbors import EXACT_UP_TO
from ..large.views import LargeViews
from ..linalg.threads import in_parallel

Item = TypeVar("Item")
Answer = TypeVar("Answer")

DRAWN = 5000  # samples that are drawn where there are more than 20 000
PER_SAMPLE = {"samples", "counted", "rivals", "refits", "labels"}  # attributes (..., d) of answers
SIDE_BY_SIDE = 5000  # samples up to which several refits run at once: 200 MB for an n x n matrix


def fitted(estimator: MultiViewClusterer, views: Any) -> MultiViewClusterer:
    """Return the estimator if it is fitted to as many samples, else a fitted clone of it."""
    if not isinstance(estimator, MultiViewClusterer):
        raise InputError(
            f"the first argument must be an estimator of mkclust, such as GraphFusion(3), got "
            f"{type(estimator).__name__}"
        )
    return estimator if hasattr(estimator, "labels_") else unfitted(estimator).fit(views)


def unfitted(estimator: MultiViewClusterer, **parameters: Any) -> MultiViewClusterer:
    """Return an unfitted copy, with some parameters replaced."""
    model: MultiViewClusterer = clone(estimator).set_params(**parameters)
    return model


@dataclass(frozen=True)
class Samples:
    """The distinct samples that are compared, and which samples of the fit equal them.

    Samples that are equal in every view count once: copies of noise would be clusters.

    Attributes
    ----------
    data : MultiView
        The d distinct samples.
    rows : (d,) int array
        Their positions among the n samples of the fit.
    place : (n,) int array
        Which of the d samples each sample of the fit equals; -1 where it was not drawn.
    names : (n,) array
        Names of the samples of the fit, or their positions.
    distinct : (n,) bool array
        False for copies of an earlier sample.
    """

    data: Any
    rows: np.ndarray
    place: np.ndarray
    names: np.ndarray
    distinct: np.ndarray

    @property
    def covered(self) -> np.ndarray:
        """Positions of the d samples and their copies."""
        return np.flatnonzero(self.place >= 0)

    def subset(self, at: np.ndarray, number: np.ndarray | None = None) -> Samples:
        """Return some of the d samples; `number` (d,) says which of them each equals, or -1."""
        if number is None:
            number = np.full(len(self.rows), -1)
            number[at] = np.arange(len(at))
        data = self.data.take(at) if isinstance(self.data, LargeViews) else self.data[at]
        place = np.append(number, -1)[self.place]
        return replace(self, data=data, rows=self.rows[at], place=place)

    def draw(self, random_state: int) -> Samples:
        """Draw 5000 of more than 20 000 samples."""
        n = len(self.rows)
        if n <= EXACT_UP_TO:
            return self
        warn(f"{n} samples: the refits that check labels were of {DRAWN} of them", MkclustWarning)
        return self.subset(np.sort(np.random.default_rng(random_state).choice(n, DRAWN, False)))

    def extend(self, answer: Answer) -> Answer:
        """Extend an answer about the d samples to their copies: they are alike."""
        rows, known = self.covered, vars(answer)
        found = {name: known[name][..., self.place[rows]] for name in PER_SAMPLE & known.keys()}
        found |= {"rows": rows, "index": self.names[rows], "distinct": self.distinct}
        found = {name: found[name] for name in found.keys() & known.keys()}
        return replace(answer, **found)  # type: ignore[type-var]


def views_of(model: MultiViewClusterer, views: Any, random_state: int = 0) -> Samples:
    """Return the distinct samples, in views as the model takes them; of more than 20 000, 5000.

    Copies stay where only some of the views are kernels, as in a fit.
    """
    fitted = "labels_" in vars(model)
    taken = fitted_views(model, views) if fitted else unfitted(model)._fit_views(views)
    large, rows = isinstance(taken, LargeViews), np.arange(len(taken))
    data = taken.in_memory() if large and len(rows) <= EXACT_UP_TO else taken
    names = rows if data.index is None else np.asarray(data.index)
    some = Samples(data, rows, rows, names, np.ones(len(rows), dtype=bool))
    some = some.draw(random_state) if large else some
    number = number_distinct(some.data.row_hashes())
    first = np.unique(number, return_index=True)[1]
    if len(first) < len(number) and (some.data.kernels or model._tables_only(some.data)):
        some.distinct[np.delete(some.rows, first)] = False
        some = some.subset(first, number)
    return some.draw(random_state)


def fit_of_distinct(model: Any, some: Samples) -> Any:
    """Return the model, or a fit to the distinct samples if copies made its views agree."""
    if len(some.covered) == len(some.rows) or "agreement_" not in vars(model):
        return model
    with quiet():
        return unfitted(model, columns=None).fit(some.data)


def refit_all(
    refit: Callable[[Item], Answer], items: Sequence[Item], n_samples: int
) -> list[Answer]:
    """Return what a function finds for every item, on all cores; warnings are suppressed.

    Items of at most 5000 samples run at once. Then each uses one thread, so that labels do not
    depend on their number.
    """
    with quiet():
        return in_parallel(refit, items, len(items) if n_samples <= SIDE_BY_SIDE else 1)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings that the fit itself has issued."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
