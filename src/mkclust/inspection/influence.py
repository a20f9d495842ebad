"""Which views matter: the answer with each view left out, and the views that are noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..agreement.cache import Opened, opened_fit, sharing
from ..agreement.chance import chance_of_relation, mean_agreement
from ..dual_noise.noise import dual_noise
from ..dual_noise.selection import select
from ..graph_fusion.fusion import partition
from ..linalg.kmeans import kmeans_labels
from ..metrics import ari
from .stability import quiet

SAME = 0.95  # ARI from which two answers are called nearly the same
OTHER = 0.6  # ARI below which they are called different


@dataclass(frozen=True)
class LeftOut:
    """The answer without some views.

    `ari` compares it with the answer from all views. `kept` is the sum of dimensions of the
    views that remain, `noise` their N-noise, beside `kept_before` and `noise_before`, what the
    same views had in the full answer.
    """

    views: tuple[str, ...]
    ari: float
    kept: int
    kept_before: int
    noise: float
    noise_before: float
    labels: np.ndarray

    def cost(self) -> str:
        """What the other views keep less, as the beginning of a sentence; empty where nothing."""
        if self.kept >= self.kept_before:
            return ""
        return f"the other views keep {self.kept} directions instead of {self.kept_before}, and "


@dataclass(frozen=True)
class ViewInfluence:
    """What each view does to the answer, in the order of `names`.

    `agreement` (m,) is the mean with the other views. `chance` (m,) says how often a view
    unrelated to all others would agree with one of them as much as this view does. `unrelated`
    are the names the model calls so, `without` the answers with one view left out, and
    `without_unrelated` the one with all unrelated views left out, None where there are none.
    """

    title: ClassVar[str] = "Views"

    names: tuple[str, ...]
    agreement: np.ndarray
    chance: np.ndarray
    unrelated: tuple[str, ...]
    without: tuple[LeftOut, ...]
    without_unrelated: LeftOut | None

    def __str__(self) -> str:
        lines = [_unrelated_words(self)] if self.unrelated else []
        if not self.without:
            return "A single view: nothing to leave out."
        alike = [left.ari for left in self.without]
        most, least = int(np.argmin(alike)), int(np.argmax(alike))
        if alike[most] == alike[least]:
            whichever = f"Leaving out any one view changes the answer alike (ARI {alike[most]:.2f} "
            return " ".join([*lines, f"{whichever}to the answer from all views)."])
        lines.append(
            f"Leaving out {self.names[most]} changes the answer most (ARI {alike[most]:.2f} to the "
            f"answer from all views), leaving out {self.names[least]} least ({alike[least]:.2f})."
        )
        return " ".join(lines)


def view_influence(
    views: Any, n_clusters: int, *, random_state: int = 0, recipe: str = "auto", **settings: Any
) -> ViewInfluence:
    """Cluster views, then again without each of them.

    `recipe` is as for `cluster`, `settings` are those of MKCDNM; ``model.view_influence(views)``
    asks a fitted model. Every view must have every sample. No eigenproblem of a view is solved
    again: leaving one out costs a search for dimensions, the consensus and a k-means.

    >>> from mkclust import datasets, view_influence
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    >>> found = view_influence(views, 3)
    >>> found.unrelated
    ('noise1',)
    >>> found.without_unrelated.ari
    1.0
    """
    from ..dual_noise.estimator import MKCDNM, with_recipe

    model = MKCDNM(n_clusters, random_state=random_state, **with_recipe(recipe, settings))
    with sharing():
        return influence_of(model.fit(views), views)


def influence_of(model: Any, views: Any) -> ViewInfluence:
    """The influence of a fitted model's views; `views` are what it was fitted to.

    Of more samples than kernels can be made of, 5000 are drawn and looked at.
    """
    found = opened_fit(model, views)
    k, names = int(model.n_clusters), found.views.names
    found.spectra.grow(min(2 * k, len(found.views)))
    heads = [spectrum.vectors[:, : 2 * k] for spectrum in found.spectra]
    chances = chance_of_relation(heads, k)
    known = np.sum(~np.isnan(chances), axis=1)
    least = np.where(np.isnan(chances), np.inf, chances).min(axis=1)
    lone = tuple(model.unrelated_views_)
    every = range(len(names)) if len(names) > 1 else ()
    apart = [p for p, name in enumerate(names) if name in lone]
    drop_all = 0 < len(apart) < len(names)
    return ViewInfluence(
        names=names,
        agreement=mean_agreement(model.agreement_),
        chance=np.minimum(
            np.where(known > 0, known * np.where(known > 0, least, 1.0), np.nan), 1.0
        ),
        unrelated=lone,
        without=tuple(_left_out(model, found, [p]) for p in every),
        without_unrelated=_left_out(model, found, apart) if drop_all else None,
    )


def _left_out(model: Any, found: Opened, gone: Sequence[int]) -> LeftOut:
    rest = [p for p in range(len(found.views.names)) if p not in gone]
    k, n = int(model.n_clusters), len(found.views)
    spectra = found.spectra.chosen(rest)
    seed = 0 if model.random_state is None else model.random_state
    with quiet():
        selected = select(spectra, model._goal(k, n))
        result = partition(spectra, selected, k)
        labels = kmeans_labels(result.embedding, k, n_init=model.n_init, random_state=seed)
    return LeftOut(
        views=tuple(found.views.names[p] for p in gone),
        ari=ari(np.asarray(model.labels_)[found.rows], labels),
        kept=int(selected.d.sum()),
        kept_before=int(model.dimensions_[rest].sum()),
        noise=float(dual_noise(result.H, spectra, selected.d).null.sum()),
        noise_before=float(model.noise_.null[rest].sum()),
        labels=labels,
    )


def _unrelated_words(found: ViewInfluence) -> str:
    names = " and ".join(found.unrelated)
    many = len(found.unrelated) > 1
    text = f"{names} {'agree' if many else 'agrees'} with no other view beyond chance."
    left = found.without_unrelated
    if left is None:
        return text
    return (
        f"{text} Without {'them' if many else 'it'} {left.cost()}the answer is {change(left.ari)} "
        f"(ARI {left.ari:.2f} to the answer from all views)."
    )


def change(value: float) -> str:
    """One word for the ARI between two answers.

    >>> change(0.99), change(0.8), change(0.2)
    ('nearly the same', 'similar', 'another')
    """
    return "nearly the same" if value >= SAME else "similar" if value >= OTHER else "another"
