"""What a page or a plot shows of a fit that its answer does not contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linalg.spectrum import Spectrum


@dataclass(frozen=True)
class Evidence:
    """Per view: the eigenvalues known, and the first k eigenvectors.

    `values` are arrays (D_p,), descending; `heads` are (n, min(k, D_p)), in single precision,
    which is enough to draw: 4 n k bytes per view are all that is kept.
    """

    values: tuple[np.ndarray, ...]
    heads: tuple[np.ndarray, ...]


def evidence(spectra: Sequence[Spectrum], k: int) -> Evidence:
    """Copies, so that the bases themselves can be let go.

    >>> kept = evidence([Spectrum(np.eye(3), np.array([3.0, 2.0, 1.0]), True)], 2)
    >>> kept.values[0], kept.heads[0].shape
    (array([3., 2., 1.]), (3, 2))
    """
    every = range(len(spectra))
    return Evidence(
        values=tuple(np.array(spectra[p].values) for p in every),
        heads=tuple(spectra[p].vectors[:, :k].astype(np.float32) for p in every),
    )


def evidence_of(model: Any) -> Evidence | None:
    """What a fitted model kept; None for other methods and where kernels were approximated."""
    if getattr(model, "approximation_", None) is not None:
        return None
    kept: Evidence | None = getattr(model, "_evidence", None)
    return kept
