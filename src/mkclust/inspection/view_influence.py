"""Which views matter: refits without each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..agreement.chance import mean_agreement
from ..base import MultiViewClusterer
from ..data.memory import shared_views
from ..metrics import ari
from ..progress import step
from .fitting import Samples, fit_of_distinct, fitted, refit_all, unfitted, views_of

SAME = 0.95  # ARI from which two partitions are called nearly the same
SIMILAR = 0.6  # ARI from which they are called similar


@dataclass(frozen=True)
class LeftOut:
    """The labels without one view, and their ARI with those from all views.

    `rows` are the samples of the fit that the other views hold; all where nothing is missing.
    """

    view: str
    ari: float
    labels: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class ViewInfluence:
    """How much the labels depend on each view, in the order of `names`.

    Attributes
    ----------
    names : tuple of str
    agreement : (m,) array
        Mean chance-corrected agreement with the other views; NaN where the method has none.
    unrelated : tuple of str
        Views that agree with no other beyond chance.
    without : tuple of LeftOut
        One refit without each view; empty for a single view.
    """

    names: tuple[str, ...]
    agreement: np.ndarray
    unrelated: tuple[str, ...]
    without: tuple[LeftOut, ...]

    def __str__(self) -> str:
        if not self.without:
            return "A single view: nothing can be left out."
        verb = "agree" if len(self.unrelated) > 1 else "agrees"
        named = f"{' and '.join(self.unrelated)} {verb} with no other view beyond chance. "
        first = named if self.unrelated else ""
        low, high = (find(self.without, key=lambda left: left.ari) for find in (min, max))
        if low.ari == 1:
            return f"{first}Leaving out any view changes nothing."
        if low.ari == high.ari:
            return f"{first}Leaving out any view changes the labels equally (ARI {low.ari:.3f})."
        return (
            f"{first}Leaving out {low.view} changes the labels most (ARI {low.ari:.3f} with "
            f"the clustering of all views), leaving out {high.view} least ({high.ari:.3f})."
        )


def view_influence(estimator: Any, views: Any) -> ViewInfluence:
    """Refit an estimator without each view and compare the labels.

    Graphs and eigenvectors of single views are computed once; as many refits run at once as there
    are cores. Of more than 20 000 samples 5000 are drawn first.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`

    Returns
    -------
    ViewInfluence

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, view_influence
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    >>> found = view_influence(GraphFusion(3, random_state=0), views)
    >>> found.unrelated, found.without[2].ari
    (('noise1',), 1.0)
    """
    with shared_views():
        model = fitted(estimator, views)
        some = views_of(model, views)
        names, refit = some.data.names, partial(_left_out, model, some)
        left = refit_all(refit, names if len(names) > 1 else (), len(some.data))
        fit = vars(fit_of_distinct(model, some))
    agreed = fit.get("agreement_")
    return ViewInfluence(
        names=names,
        agreement=np.full(len(names), np.nan) if agreed is None else mean_agreement(agreed),
        unrelated=tuple(fit.get("unrelated_views_", ())),
        without=tuple(left),
    )


def _left_out(model: MultiViewClusterer, some: Samples, gone: str) -> LeftOut:
    step(f"refit without {gone}")
    data = some.data
    rest = [name for name in data.names if name != gone]
    rows = np.flatnonzero(np.delete(data.held, data.names.index(gone), axis=1).any(axis=1))
    seed = 0 if model.random_state is None else model.random_state
    some = some if len(rows) == len(data) else some.subset(rows)
    found = unfitted(model, random_state=seed, columns=None).fit(some.data.select(rest)).labels_
    own = np.asarray(model.labels_)[some.rows]
    return some.extend(LeftOut(gone, ari(own, found), found, some.rows))


def describe_ari(value: float) -> str:
    """Return one word for the ARI between two partitions.

    >>> describe_ari(0.99), describe_ari(0.8), describe_ari(0.2)
    ('nearly the same', 'similar', 'different')
    """
    return "nearly the same" if value >= SAME else "similar" if value >= SIMILAR else "different"
