"""The verdict on an answer: are there clusters, are they reproducible, which views to distrust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.views import MultiView
from ..exceptions import InputError
from ..graph_fusion import GraphFusion
from ..graph_fusion.fusion import DEPENDENT
from ..io.models import storable
from .annotations import category_test
from .choose_k import LEVEL, ROWS, ChoiceOfK, checked_range, drawn, structure_test
from .fitting import Samples, fit_of_distinct, fitted, quiet, views_of
from .stability import SPLITS, Confidence, Stability, compare_halves, confidence_of

MANY = 1000  # samples of the refits, at most: more samples, fewer refits, less time than the fit
FEW = 12  # samples; fewer are not tested
WELL, PARTLY = 0.9, 0.7  # reproducibility in words


@storable
@dataclass(frozen=True)
class Verdict:
    """What to think of the clusters of a model.

    Attributes
    ----------
    structured : bool
        Whether the data have clusters beyond chance: `p_value` is at most 0.05.
    p_value : float
        Of the test of cluster structure (see `choose_k`); NaN where it was not possible.
    n_clusters : int
    confidence : Confidence or None
        Reproducibility of every sample's cluster; None for one cluster and where there are too
        few samples.
    unrelated, uninformative : tuple of str
        Views that agree with no other beyond chance; views in which all samples are equally far
        apart.
    missingness : dict of str to float
        Views whose missing samples the clusters follow, with the p value.
    n_views : int
    not_tested : tuple of str
        What could not be computed, and why.
    """

    structured: bool
    p_value: float
    n_clusters: int
    confidence: Confidence | None
    unrelated: tuple[str, ...]
    uninformative: tuple[str, ...]
    missingness: dict[str, float]
    n_views: int
    not_tested: tuple[str, ...] = ()

    @property
    def reproducibility(self) -> float:
        """Mean confidence: the share of samples that stay in their cluster in a repetition."""
        return np.nan if self.confidence is None else self.confidence.mean

    @property
    def distrusted_views(self) -> tuple[str, ...]:
        """Views that are unrelated, uninformative, or followed by the clusters where missing."""
        return tuple(dict.fromkeys((*self.unrelated, *self.uninformative, *self.missingness)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, the most important sentence first."""
        return (self._structure(), *self._doubts(), *self.not_tested)

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def _structure(self) -> str:
        if np.isnan(self.p_value):
            return "Whether there are clusters beyond chance is not known."
        if self.structured:
            return f"There are clusters beyond chance ({_p(self.p_value)})."
        several = f"the {self.n_clusters} clusters are no clearer than those in data without any"
        what = several if self.n_clusters > 1 else "all samples are one cluster"
        return f"No cluster structure found ({_p(self.p_value)}): {what}."

    def _doubts(self) -> Iterator[str]:
        """Yield how reproducible the clusters are, and which views to distrust."""
        if self.confidence is not None:
            value = self.reproducibility
            how = "well" if value >= WELL else "partly" if value >= PARTLY else "poorly"
            share = "over 99" if value >= 0.995 else f"{100 * value:.0f}"
            yield (
                f"The {self.n_clusters} clusters are {how} reproducible: {share} % of "
                "the samples would stay in their cluster in a repetition with other samples, which "
                "does not mean that the clusters are biological classes."
            )
        if 1 < len(self.unrelated) == self.n_views:
            yield (
                "No two views agree beyond chance: they show no common clusters. One of them may "
                "have clusters of its own: cluster it alone."
            )
        elif self.unrelated:
            verb = "agrees" if len(self.unrelated) == 1 else "agree"
            yield f"Distrust {_names(self.unrelated)}: {verb} with no other view beyond chance."
        if self.uninformative:
            yield f"Distrust {_names(self.uninformative)}: all samples are equally far apart."
        for name, p in self.missingness.items():
            yield f"Distrust {name}: the clusters follow which samples it lacks ({_p(p)})."
        if self.n_views > 1 and not self.distrusted_views and not self.not_tested:
            yield "No view has to be distrusted."


def verdict(
    estimator: Any,
    views: Any,
    *,
    choice: ChoiceOfK | None = None,
    stability: Stability | None = None,
    random_state: int = 0,
) -> Verdict:
    """Judge the clusters of a fitted model: are there any, are they reproducible, which views fit.

    The test of structure is that of `choose_k`, by graph fusion on 100 to 1000 samples. The
    reproducibility comes from the ten refits to halves of `stability`, or, from 1000 samples on,
    from two refits to halves of 1000 samples. It then costs as much as one to two fits of 2000.
    Samples that are equal in every view count once.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
    choice : ChoiceOfK, optional
        Of the same views: saves the test of structure.
    stability : Stability, optional
        Of the same model: saves the refits.
    random_state : int
        Seed of the samples drawn, the null model and the refits.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, verdict
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    >>> found = verdict(GraphFusion(3, random_state=0), views)
    >>> found.structured, found.reproducibility, found.distrusted_views
    (True, 1.0, ('noise1',))
    """
    model = fitted(estimator, views)
    reasons = []

    def ask(failed: str, otherwise: Any, question: Callable[..., Any], *known: Any) -> Any:
        try:
            return question(*known, random_state)
        except InputError as error:
            reasons.append(f"{failed}: {error}.")
            return otherwise

    with quiet():
        some = views_of(model, views, random_state)
        data = some.data
        p = ask("Cluster structure was not tested", np.nan, _p_value, data, choice)
        known = _some_refits, model, views, len(data)
        found = stability or ask("Reproducibility was not estimated", None, *known)
        fit = ask("Views were not tested", {}, _view_tests, model, some)
    return Verdict(
        structured=bool(p <= LEVEL),
        p_value=float(p),
        n_clusters=int(np.max(model.labels_)) + 1,
        confidence=None if found is None else confidence_of(found, model),
        unrelated=tuple(map(str, fit.get("unrelated_views_", ()))),
        uninformative=tuple(map(str, fit.get("uninformative_views_", ()))),
        missingness=_missingness(model, some),
        n_views=data.n_views,
        not_tested=tuple(reasons),
    )


def _p_value(data: MultiView, choice: ChoiceOfK | None, random_state: int) -> float:
    """Return the p value of the test of cluster structure, by a choice of k if there is one."""
    if len(data) < FEW:
        raise InputError(f"{len(data)} samples are too few")
    if choice is not None:
        return choice.p_value
    ks = checked_range("auto", len(data))
    some = drawn(data, max(ROWS, 2 * ks[-1]), np.random.default_rng(random_state))
    model = GraphFusion(2, precomputed=data.kernels, indefinite="ignore")
    return structure_test(model, some, ks, random_state).p_value


def _view_tests(model: Any, samples: Samples, random_state: int) -> dict[str, Any]:
    """Return the attributes of a fit that name views to distrust.

    Graph fusion tests the views of a method that does not, on at most 1000 samples.
    """
    own, data = vars(fit_of_distinct(model, samples)), samples.data
    if "uninformative_views_" in own:
        return own
    some = drawn(data, MANY, np.random.default_rng(random_state))
    k = min(int(np.max(model.labels_)) + 1, len(some))
    test = GraphFusion(k, precomputed=data.kernels, indefinite="ignore", n_init=1, random_state=0)
    return vars(test.fit(some)) | own


def _some_refits(model: Any, views: Any, n: int, random_state: int) -> Stability | None:
    """Return the refits of `stability`, or two from many samples (n); None for one cluster."""
    if int(np.max(model.labels_)) < 1:
        return None
    if n < MANY:
        return compare_halves(model, views, SPLITS, random_state)
    rows = np.sort(np.random.default_rng(random_state).permutation(n)[:MANY])
    return compare_halves(model, views, 1, random_state, rows)


def _missingness(model: Any, some: Samples) -> dict[str, float]:
    """Return the views whose missing samples the clusters follow, with p values."""
    present: np.ndarray | None = vars(model).get("presence_")
    if present is None or int(np.max(model.labels_)) < 1:
        return {}
    labels, present = np.asarray(model.labels_)[some.distinct], present[some.distinct]
    views = zip(model.view_names_in_, present.T, strict=True)
    tests = [category_test(str(name), labels, held) for name, held in views if not held.all()]
    return {test.column: test.p for test in tests if test.p * present.shape[1] < DEPENDENT}


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _names(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
