"""Three answers about a fitted model: separation by view, conflicts of views, other partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..agreement.cache import shared_views
from .alternatives import Alternatives, alternatives_of
from .conflicts import Conflict, conflicts_of
from .evidence import evidence_of
from .view_profile import ViewProfile, profile_of

NO_CONFLICT = "no two trusted views contradict each other about a pair of clusters"


@dataclass(frozen=True)
class Explanation:
    """What `explain` finds.

    Attributes
    ----------
    profile : ViewProfile
        Which view sees which cluster.
    conflicts : tuple of Conflict
        Pairs of clusters about which trusted views contradict each other.
    alternatives : Alternatives
        Other partitions that are nearly as good.
    index : (n,) array
        Names, or positions, of the samples that the labels of conflicts and alternatives are of.
    """

    title: ClassVar[str] = "Explanation"

    profile: ViewProfile
    conflicts: tuple[Conflict, ...]
    alternatives: Alternatives
    index: np.ndarray

    def describe(self) -> dict[str, tuple[str, ...]]:
        """Return sentences by heading: separation by view, conflicts, other answers."""
        return {
            ViewProfile.title: self.profile.describe(),
            "Conflicts": tuple(map(str, self.conflicts)) or (NO_CONFLICT,),
            Alternatives.title: self.alternatives.describe(),
        }

    def __str__(self) -> str:
        pairs = [f"{a} and {b}" for a, b in (conflict.clusters for conflict in self.conflicts)]
        first = f"views conflict about clusters {'; '.join(pairs)}" if pairs else NO_CONFLICT
        count = len(self.alternatives)
        if count == 0:
            return f"{first}. No other answer is both clearly different and nearly as good"
        others = (
            "is 1 other answer that is" if count == 1 else f"are {count} other answers that are"
        )
        return f"{first}. There {others} clearly different and nearly as good"


def explain(estimator: Any, views: Any, *, random_state: int = 0) -> Explanation:
    """Answer which view sees which cluster, where views conflict, and what else is nearly as good.

    The graphs of the views are built once for `view_profile`, `conflicts` and `alternatives`.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Of more than 20 000 samples 5000 are drawn.
    random_state : int
        Seed of k-means and of the samples drawn.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets, explain
    >>> views = datasets.make_views(90, 3, 2, noise=0.5, random_state=0)
    >>> found = explain(GraphFusion(3, random_state=0), views)
    >>> print(*found.profile.describe())
    every pair of clusters is separated by at least one view and merged by none
    >>> found.conflicts, len(found.alternatives)
    ((), 0)
    """
    with shared_views():
        evidence = evidence_of(estimator, views, random_state)
        profile = profile_of(evidence)
        found = conflicts_of(evidence, profile)
        others = alternatives_of(evidence, found, random_state)
    return Explanation(profile, found, others, evidence.index)
