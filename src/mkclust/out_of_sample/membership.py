"""Membership of the fitted samples, for every estimator with an embedding."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from ..linalg.membership import ORTHONORMAL, membership, temperature

ROWS = 65_536  # of the embedding at a time


class Membership:
    """Mixin with `membership_` and `confidence_`, from the embedding and the cluster centers.

    Both are computed when they are read, in O(n k r), and are not stored. An estimator without
    cluster centers has neither attribute.
    """

    labels_: np.ndarray
    embedding_: Any
    cluster_centers_: np.ndarray
    inertia_: float

    @property
    def membership_(self) -> np.ndarray:
        """Probability of every cluster for every sample, (n, k); rows sum to 1."""
        self._require_centers("membership_")
        return np.concatenate(list(self._membership_blocks()))

    @property
    def confidence_(self) -> np.ndarray:
        """Probability of each sample's own cluster, (n,)."""
        self._require_centers("confidence_")
        return np.concatenate([P.max(axis=1) for P in self._membership_blocks()])

    @property
    def _has_membership(self) -> bool:
        """Whether there is a membership, without computing it."""
        return hasattr(self, "embedding_") and hasattr(self, "inertia_")

    def _require_centers(self, name: str) -> None:
        if not self._has_membership:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: it needs a fit with an embedding and "
                "cluster centers"
            )

    def _membership_blocks(self) -> Iterator[np.ndarray]:
        """Yield the membership of the fitted samples, some rows at a time."""
        H, n = self.embedding_, len(self.labels_)
        for start in range(0, n, ROWS):
            yield self._membership_of(H[start : start + ROWS])

    def _membership_of(self, H: np.ndarray) -> np.ndarray:
        """Return the membership (b, k) of rows of the embedding (b, r)."""
        k = len(self.cluster_centers_)
        scale = temperature(self.inertia_, len(self.labels_), k, self._sharpness(k))
        return membership(H, self.cluster_centers_, scale)

    def _sharpness(self, k: int) -> float:
        return ORTHONORMAL * sqrt(k)
