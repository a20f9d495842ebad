"""What the questions share: the estimator fitted, its views, and tasks that run on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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

Answer = TypeVar("Answer")

DRAWN = 5000  # samples that are drawn where there are more than 20 000
SIDE_BY_SIDE = 5000  # samples up to which several tasks run at once: 200 MB for an n x n matrix


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
    if isinstance(taken, MultiView):
        return taken[rows], rows
    return taken.take(rows), rows


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A question about a model, as tasks that do not depend on each other.

    Attributes
    ----------
    tasks : sequence of functions without arguments
    answer : function
        Makes the answer of the results of the tasks, in their order.
    n_samples : int
        Samples of each task; tasks of few samples run at once.
    """

    tasks: Sequence[Callable[[], Any]]
    answer: Callable[[list[Any]], Answer]
    n_samples: int


def ask(question: Question[Answer]) -> Answer:
    """Return the answer, computed on all cores."""
    (found,) = ask_all([question])
    if isinstance(found, InputError):
        raise found
    return found


def ask_all(questions: Sequence[Question[Any]]) -> list[Any]:
    """Return the answer to every question, or the InputError that its tasks raised.

    The tasks of all questions share the cores, so that none is idle until the last one begins.
    Inside the pool each task uses one thread, so that labels do not depend on their number.
    Warnings are suppressed.
    """
    found: list[Any] = [None] * len(questions)
    small = [question.n_samples <= SIDE_BY_SIDE for question in questions]
    with quiet():
        for at_once in (True, False):
            chosen = [i for i, each in enumerate(small) if each is at_once]
            tasks = [(i, task) for i in chosen for task in questions[i].tasks]
            results = in_parallel(lambda one: tried(one[1]), tasks, len(tasks) if at_once else 1)
            for i in chosen:
                own = [r for (j, _), r in zip(tasks, results, strict=True) if j == i]
                failed = next((r for r in own if isinstance(r, InputError)), None)
                found[i] = questions[i].answer(own) if failed is None else failed
    return found


def tried(task: Callable[[], Answer]) -> Answer | InputError:
    """Return what a function finds, or the InputError it raises."""
    try:
        return task()
    except InputError as error:
        return error


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
