"""Rows of the embedding, H = Z W, stored in memory, in files or on workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .gram import block_height
from .rows import Piece
from .work import part_is_sound, save_part


@dataclass(frozen=True)
class Block:
    """Rows start ... stop-1 of the embedding: in memory, or in a .npy part."""

    start: int
    stop: int
    rows: np.ndarray | None = None
    path: Path | None = None

    def load(self) -> np.ndarray:
        if self.rows is not None:
            return self.rows
        return np.asarray(np.load(str(self.path), allow_pickle=False))


@dataclass(frozen=True)
class ProjectTask:
    r"""$H = ZW$ for the rows of a piece: features (b, sum r) times W (sum r, k).

    With a `folder` the worker writes the rows there and returns only the path. `key` is that of
    the run and its data, for the seals of the parts.
    """

    W: np.ndarray
    features: Any
    folder: Path | None = None
    height: int = 1
    key: str = ""

    def __call__(self, piece: Piece) -> Block:
        if self.folder is None:
            return Block(piece.start, piece.stop, self.embedded(piece))
        path = self.folder / f"part-{piece.start // self.height:05}.npy"
        if not part_is_sound(path, self.key):
            save_part(path, self.embedded(piece), self.key)
        return Block(piece.start, piece.stop, path=path)

    def embedded(self, piece: Piece) -> np.ndarray:
        """Return the rows of the embedding of a piece."""
        W = self.W.astype(self.features.dtype)
        height = block_height(self.features.maps)
        return np.concatenate([self.features(views)[0] @ W for views in piece.blocks(height)])
