"""What the questions share: the estimator fitted, its views, and refits without warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..base import RUN_PARAMETERS, MultiViewClusterer
from ..chunked.rows import Rows
from ..data.views import MultiView
from ..exceptions import InputError, MkclustWarning, warn
from ..graphs.neighbors import EXACT_UP_TO
from ..linalg.threads import in_parallel
from ..preprocessing.intake import in_fitted_order

Item = TypeVar("Item")
Result = TypeVar("Result")

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
    """Return an unfitted copy, with some parameters replaced.

    A copy with other parameters does not use the work folder or the cluster of the first one.
    """
    model: MultiViewClusterer = clone(estimator)
    if parameters:
        own = set(RUN_PARAMETERS) & set(model.get_params(deep=False))
        parameters = dict.fromkeys(own) | parameters
    model.set_params(**parameters)
    return model


def views_of(
    model: MultiViewClusterer, views: Any, random_state: int = 0
) -> tuple[MultiView, np.ndarray]:
    """Return the views as the model takes them, and which samples they are.

    Of more than 20 000 samples 5000 are drawn.
    """
    taken = unfitted(model)._checked_views(views)
    if hasattr(model, "labels_"):
        taken = in_fitted_order(model, taken)
    n = len(taken)
    if n <= EXACT_UP_TO:
        return taken.in_memory() if isinstance(taken, Rows) else taken, np.arange(n)
    warn(f"{n} samples: the refits that check the labels were of {DRAWN} of them", MkclustWarning)
    rows = np.sort(np.random.default_rng(random_state).choice(n, DRAWN, replace=False))
    if isinstance(taken, MultiView):
        return taken[rows], rows
    return MultiView(taken.take(rows), names=taken.names), rows


def refit_all(
    labels_of: Callable[[Item], Result], items: Sequence[Item], n_samples: int
) -> list[Result]:
    """Return what `labels_of` finds for every item, without warnings, on all cores if n is small.

    Inside the block each refit uses one thread, so that labels do not depend on their number.
    """
    with quiet():
        return in_parallel(labels_of, items, len(items) if n_samples <= SIDE_BY_SIDE else 1)


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
