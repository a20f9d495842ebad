r"""Out-of-sample extension of graph fusion with anchors: links times coefficients.

A new sample has links z (R,) to the anchors as the fitted ones, and its row of the embedding is
$d^{-1/2}zW$. A fitted sample gets its own row by the same formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graphs.anchors import AnchorLinks
from ..io.models import check_shape, storable
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

    def check(self, width: int) -> None:
        size = len(self.links.held)
        for block in self.links.blocks:
            check_shape(block.groups.shape, (size,), "the groups of its anchors")
            check_shape(block.scales.shape, (len(self.names),), "the scales of its anchors")
        check_shape(self.links.held.shape, (size, len(self.names)), "the samples of its anchors")
        pairs = zip(self.links.views, self.links.held.T, self.widths, strict=True)
        for view, held, columns in pairs:
            check_shape(view.shape, (int(held.sum()), columns), "the rows of its anchors")
        expected = int(self.links.starts[-1]), width
        check_shape(self.W.shape, expected, "the coefficients of its anchors")

    def embedder(self) -> Embedder:
        links = self.links

        def embed(new: NewRows) -> np.ndarray:
            return links.embed(new.views, new.present, self.W)

        return embed
