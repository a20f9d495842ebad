"""Confidence: how probably a sample would be in its cluster if the study were repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..io.models import storable
from .fitting import fitted
from .stability import SPLITS, Stability, stability

LISTED = 20  # least certain samples that a report and result.json list
CERTAIN = 0.5  # a sample below this is more probably in some other cluster
PRIOR = 3.0  # refits that the mean of the cluster counts for
MEANING = (
    "the probability that a sample stays in its cluster if the study is repeated with other "
    "samples, not that the cluster is a biological class"
)


class Uncertain(NamedTuple):
    """A sample, its cluster, its confidence, and the cluster it is put into most often instead.

    `rival` is None where every refit keeps the sample in its cluster.
    """

    sample: Any
    cluster: int
    confidence: float
    rival: int | None


@storable
@dataclass(frozen=True)
class Confidence:
    """Confidence of every sample: the reproducibility of its cluster.

    Attributes
    ----------
    samples : (n,) array
        Probability that the sample stays in its cluster if the study is repeated.
    clusters : (k,) array
        Mean of the samples of each cluster.
    rivals : (n,) int array
        The cluster that refits put a sample into most often instead; -1 where all keep it.
    refits : int
        Refits that were made.
    labels : (n,) int array
    index : (n,) array
        Names of the samples, or their positions.
    """

    samples: np.ndarray
    clusters: np.ndarray
    rivals: np.ndarray
    refits: int
    labels: np.ndarray
    index: np.ndarray

    @property
    def mean(self) -> float:
        """Mean over all samples."""
        return float(self.samples.mean())

    def least(self, count: int = LISTED) -> list[Uncertain]:
        """Return the `count` least certain samples, least certain first."""
        order = np.argsort(self.samples, kind="stable")[:count]
        columns = (self.index, self.labels, self.samples, self.rivals)
        found = map(Uncertain, *(np.asarray(column)[order].tolist() for column in columns))
        return [each._replace(rival=None) if each.rival == -1 else each for each in found]

    def __str__(self) -> str:
        few = int(np.count_nonzero(self.samples < CERTAIN))
        text = f"{self.mean:.2f} on average ({MEANING})"
        if len(self.clusters) > 1:
            worst = int(np.argmin(self.clusters))
            text += f"; the least reproducible cluster is {worst} ({self.clusters[worst]:.2f})"
        return f"{text}; {few} of {len(self.samples)} samples are below {CERTAIN:g}"


def confidence(
    estimator: Any, views: Any, *, n_splits: int = SPLITS, random_state: int = 0
) -> Confidence:
    """Estimate how probably each sample stays in its cluster if the study is repeated.

    The samples are divided into halves five times. The estimator is refitted to each half and
    predicts the other one, and its clusters are matched to those of the answer. The confidence
    of a sample is the share of these ten refits that keep it in its cluster, shrunk towards the
    mean of its cluster, which counts for three refits. It says nothing about known classes.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Fitted to `views`, or not.
    views : as for its `fit`
        Of more than 20 000 samples 5000 are drawn; the others get the mean of their cluster.
    n_splits : int
        Number of divisions into halves.
    random_state : int
        Seed of the halves and of k-means.

    Returns
    -------
    Confidence

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import confidence
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = confidence(GraphFusion(3, random_state=0), views)
    >>> found.mean, found.least(1)[0].rival
    (1.0, None)
    """
    model = fitted(estimator, views)
    return confidence_of(
        stability(model, views, n_splits=n_splits, random_state=random_state), model
    )


def confidence_of(found: Stability, model: Any) -> Confidence:
    """Return the confidence of all samples of a model, from refits that are at hand.

    Samples that were not among those of the refits get the mean of their cluster.
    """
    labels = np.asarray(model.labels_)
    k = int(labels.max()) + 1
    sizes = np.maximum(np.bincount(found.labels, minlength=k), 1)
    means = np.bincount(found.labels, weights=found.samples, minlength=k) / sizes
    samples, rivals = means[labels], np.full(len(labels), -1)
    shrunk = found.samples * found.counted + PRIOR * means[found.labels]
    samples[found.rows] = shrunk / (found.counted + PRIOR)
    rivals[found.rows] = np.where(found.samples < 1, found.rivals, -1)
    names = getattr(model, "sample_names_in_", np.arange(len(labels)))
    return Confidence(
        samples=samples,
        clusters=np.bincount(labels, weights=samples) / np.maximum(np.bincount(labels), 1),
        rivals=rivals,
        refits=len(found.refits),
        labels=labels,
        index=np.asarray(names),
    )
