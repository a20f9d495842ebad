"""Eigenvalues and leading eigenvectors of every view, kept for plots and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..io.models import storable
from ..linalg.eigenpairs import Spectrum


@storable
@dataclass(frozen=True)
class ViewSpectra:
    """Per view: the eigenvalues known, and the first k eigenvectors.

    `values` are arrays (D_p,), descending; `heads` are (n, min(k, D_p)) in single precision,
    which is enough to draw: 4 n k bytes per view.
    """

    values: tuple[np.ndarray, ...]
    heads: tuple[np.ndarray, ...]


def view_spectra(spectra: Sequence[Spectrum], k: int) -> ViewSpectra:
    """Copy what is kept, so that the eigenvectors themselves can be freed.

    >>> kept = view_spectra([Spectrum(np.eye(3), np.array([3.0, 2.0, 1.0]), True)], 2)
    >>> kept.values[0], kept.heads[0].shape
    (array([3., 2., 1.]), (3, 2))
    """
    every = [spectra[p] for p in range(len(spectra))]
    return ViewSpectra(
        values=tuple(np.array(spectrum.values) for spectrum in every),
        heads=tuple(spectrum.vectors[:, :k].astype(np.float32) for spectrum in every),
    )


def view_spectra_of(model: Any) -> ViewSpectra | None:
    """Return what a fitted model kept; None for methods that keep nothing."""
    kept: ViewSpectra | None = getattr(model, "_spectra", None)
    return kept
