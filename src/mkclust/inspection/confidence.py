"""Confidence: which samples are certain of their cluster, and which are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..base import MultiViewClusterer
from ..exceptions import InputError

LISTED = 20  # least certain samples that a report and result.json list
CERTAIN = 0.5  # a sample below this is more probably in some other cluster


class Uncertain(NamedTuple):
    """A sample, its cluster and the next most probable one, with their probabilities."""

    sample: Any
    cluster: int
    confidence: float
    rival: int
    rival_confidence: float


@dataclass(frozen=True)
class Confidence:
    """Confidence of every sample.

    Attributes
    ----------
    samples : (n,) array
        Probability of each sample's own cluster.
    rivals : (n,) int array
        The next most probable cluster; with one cluster, that cluster.
    rival_samples : (n,) array
        Its probability.
    clusters : (k,) array
        Mean confidence of the samples of each cluster.
    labels : (n,) int array
    index : (n,) array
        Names of the samples.
    """

    title: ClassVar[str] = "Confidence"

    samples: np.ndarray
    rivals: np.ndarray
    rival_samples: np.ndarray
    clusters: np.ndarray
    labels: np.ndarray
    index: np.ndarray

    @property
    def mean(self) -> float:
        """Mean over all samples: the expected share whose class is the largest of their cluster."""
        return float(self.samples.mean())

    def least(self, count: int = LISTED) -> list[Uncertain]:
        """Return the `count` least certain samples, least certain first."""
        order = np.argsort(self.samples, kind="stable")[:count]
        columns = (self.index, self.labels, self.samples, self.rivals, self.rival_samples)
        return list(map(Uncertain, *(np.asarray(column)[order].tolist() for column in columns)))

    def __str__(self) -> str:
        few = int(np.count_nonzero(self.samples < CERTAIN))
        text = f"samples are in their cluster with probability {self.mean:.2f} on average"
        if len(self.clusters) > 1:
            worst = int(np.argmin(self.clusters))
            text += f"; the least certain cluster is {worst} ({self.clusters[worst]:.2f})"
        return f"{text}; {few} of {len(self.samples)} samples are below {CERTAIN:g}"


def confidence(model: MultiViewClusterer, index: Any = None) -> Confidence:
    """Return the confidence of every sample of a fitted model.

    It is read from the fit in O(n k r) time for r components and O(n) memory; nothing is refitted.

    Parameters
    ----------
    model : MultiViewClusterer
        Fitted, by a method with an embedding and cluster centers.
    index : (n,) sequence, optional
        Names of the samples, in place of those of the fit.

    Returns
    -------
    Confidence

    Examples
    --------
    >>> from mkclust import GraphFusion, datasets
    >>> from mkclust.inspection import confidence
    >>> views = datasets.make_views(90, n_clusters=3, n_views=2, noise=0.5, random_state=0)
    >>> found = confidence(GraphFusion(3, random_state=0).fit(views))
    >>> print(found)
    samples are in their cluster with probability 1.00 on average; the least certain cluster is
    0 (1.00); 0 of 90 samples are below 0.5
    """
    if not model._has_membership:
        raise InputError(
            f"{model.title} has no confidence here: its labels come without cluster centers in an "
            "embedding, or the embedding was not kept"
        )
    labels = np.asarray(model.labels_)
    fitted = getattr(model, "sample_names_in_", np.arange(len(labels)))
    names = np.asarray(fitted if index is None else index)
    if names.shape != labels.shape:
        raise InputError(f"index has {len(names)} names for {len(labels)} samples")
    own, rivals, next_best = (
        np.concatenate(part)
        for part in zip(*map(_two_largest, model._membership_blocks()), strict=True)
    )
    return Confidence(
        samples=own,
        rivals=rivals,
        rival_samples=next_best,
        clusters=np.bincount(labels, weights=own) / np.maximum(np.bincount(labels), 1),
        labels=labels,
        index=names,
    )


def _two_largest(P: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest entry of every row, and the position and value of the next one."""
    if P.shape[1] == 1:
        return P[:, 0], np.zeros(len(P), dtype=int), P[:, 0]
    places = np.argpartition(P, -2, axis=1)[:, -2]
    return P.max(axis=1), places, P[np.arange(len(P)), places]
