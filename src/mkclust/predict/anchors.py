r"""Out-of-sample extension of graph fusion with anchors: links times coefficients.

A new sample has links z (R,) to the anchors as the fitted ones, and its row of the embedding is
$d^{-1/2}zW$. A fitted sample gets its own row by the same formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graphs.anchors import AnchorLinks
from ..io.models import storable
from .new_samples import Embedder, Extension, NewRows


@storable
@dataclass(frozen=True)
class AnchorExtension(Extension):
    """The anchors of a fitted model and the coefficients W (R, D) of its embedding."""

    links: AnchorLinks
    W: np.ndarray

    @property
    def height(self) -> int:
        return self.links.height

    def embedder(self) -> Embedder:
        links = self.links

        def embed(new: NewRows) -> np.ndarray:
            return links.embed(new.views, new.present, self.W)

        return embed
