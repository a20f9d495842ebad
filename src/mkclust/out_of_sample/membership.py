"""Membership of the fitted samples, for every estimator with an embedding."""

from __future__ import annotations

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
        if not hasattr(self, "embedding_") or not hasattr(self, "inertia_"):
            raise AttributeError(
                f"{type(self).__name__} has no membership_: it needs a fit with an embedding and "
                "cluster centers"
            )
        H = self.embedding_
        take = getattr(H, "read", lambda start, stop: H[start:stop])  # parts on disk, or an array
        starts = range(0, len(self.labels_), ROWS)
        return np.concatenate(
            [self._membership_of(take(i, min(i + ROWS, len(self.labels_)))) for i in starts]
        )

    @property
    def confidence_(self) -> np.ndarray:
        """Probability of each sample's own cluster, (n,)."""
        return np.asarray(self.membership_[np.arange(len(self.labels_)), self.labels_])

    def _membership_of(self, H: np.ndarray) -> np.ndarray:
        """Return the membership (b, k) of rows of the embedding (b, r)."""
        k = len(self.cluster_centers_)
        scale = temperature(self.inertia_, len(self.labels_), k, self._sharpness(k))
        return membership(H, self.cluster_centers_, scale)

    def _sharpness(self, k: int) -> float:
        return ORTHONORMAL * sqrt(k)
