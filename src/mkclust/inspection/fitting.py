"""What the questions share: the estimator fitted, its views, and refits on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base import MultiViewClusterer
from ..data.input import fitted_views
from ..data.views import MultiView
from ..exceptions import InputError, MkclustWarning, warn
from ..graphs.neighbors import EXACT_UP_TO
from ..large.views import LargeViews
from ..linalg.threads import in_parallel

Item = TypeVar("Item")
Answer = TypeVar("Answer")

DRAWN = 5000  # samples that are drawn where there are more than 20 000
SIDE_BY_SIDE = 5000  # samples up to which several refits run at once: 200 MB for an n x n matrix


def fitted(estimator: MultiViewClusterer, views: Any) -> MultiViewClusterer:
    """Return the estimator if it is fitted to as many samples, else a fitted clone of it."""
    if not isinstance(estimator, MultiViewClusterer):
        raise InputError(
            f"the first argument must be an estimator of mkclust, such as GraphFusion(3), got "
            f"{type(estimator).__name__}"
        )
    if hasattr(estimator, "labels_"):
        return estimator
    return unfitted(estimator).fit(views)


def unfitted(estimator: MultiViewClusterer, **parameters: Any) -> MultiViewClusterer:
    """Return an unfitted copy, with some parameters replaced."""
    model: MultiViewClusterer = clone(estimator)
    model.set_params(**parameters)
    return model


def views_of(
    model: MultiViewClusterer, views: Any, random_state: int = 0
) -> tuple[MultiView, np.ndarray]:
    """Return the views as the model takes them, and which samples they are.

    Of more than 20 000 samples 5000 are drawn.
    """
    fitted = "labels_" in vars(model)
    taken = fitted_views(model, views) if fitted else unfitted(model)._fit_views(views)
    n = len(taken)
    if n <= EXACT_UP_TO:
        return taken.in_memory() if isinstance(taken, LargeViews) else taken, np.arange(n)
    warn(f"{n} samples: the refits that check the labels were of {DRAWN} of them", MkclustWarning)
    rows = np.sort(np.random.default_rng(random_state).choice(n, DRAWN, replace=False))
    return taken[rows] if isinstance(taken, MultiView) else taken.take(rows), rows


def refit_all(
    refit: Callable[[Item], Answer], items: Sequence[Item], n_samples: int
) -> list[Answer]:
    """Return what a function finds for every item, on all cores; warnings are suppressed.

    Items of at most 5000 samples run at once. Then each uses one thread, so that labels do not
    depend on their number.
    """
    with quiet():
        return in_parallel(refit, items, len(items) if n_samples <= SIDE_BY_SIDE else 1)


def sample_names(data: MultiView, rows: np.ndarray) -> np.ndarray:
    """Return the names of the samples, or their positions where they have none."""
    return rows if data.index is None else np.asarray(data.index)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings that the fit itself has issued."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
