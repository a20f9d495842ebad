"""Rows of the embedding, H = Z W, stored in memory, in files or on workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .engine import Engine
from .gram import block_height
from .passes import Meter
from .rows import Piece, blocks
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
        path = self.path(piece)
        if path is not None and part_is_sound(path, self.key):
            return Block(piece.start, piece.stop, path=path)
        rows = self.embedded(piece)
        if path is None:
            return Block(piece.start, piece.stop, rows)
        save_part(path, rows, self.key)
        return Block(piece.start, piece.stop, path=path)

    def embedded(self, piece: Piece) -> np.ndarray:
        """Return the rows of the embedding of a piece."""
        W = self.W.astype(self.features.dtype)
        parts = [
            self.features([np.asarray(view, dtype=np.float64) for view in views])[0] @ W
            for views in blocks(piece.load(), block_height(self.features.maps))
        ]
        return np.concatenate(parts)

    def path(self, piece: Piece) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / f"part-{piece.start // self.height:05}.npy"


def project(task: ProjectTask, pieces: Sequence[Piece], engine: Engine) -> list[Any]:
    """Compute the blocks of the embedding, in order: O(n r k), and O(n r^2) for the features."""
    task = replace(task, height=pieces[0].stop - pieces[0].start)
    meter = Meter("embedding", pieces[-1].stop)
    held = []
    for piece, block in zip(pieces, engine.hold(task, pieces), strict=True):
        held.append(block)
        meter.done(piece.stop - piece.start)
    return held
