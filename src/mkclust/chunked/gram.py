"""Sums over all rows: moments of columns, means of features, cross-products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels.features import FeatureMap, Features
from .engine import Task
from .rows import Piece
from .work import Arrays

BLOCK = 16 << 20  # bytes of features at a time


@dataclass(frozen=True)
class MomentsTask:
    r"""Mean, squared deviations and range of every column; largest squared norm of every view.

    Two pieces combine as $M = M_a + M_b + \delta^2 n_an_b/n$ (Chan, Golub, LeVeque 1979). This
    first pass also checks all rows for NaN and infinity, and returns the checksums of all pieces
    in order, (pieces, m, 32).
    """

    def __call__(self, piece: Piece) -> Arrays:
        views = piece.load()
        piece.check_finite(views)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [_moments(np.asarray(view, dtype=np.float64)) for view in views]
        joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        joined["checksums"] = piece.checksums(views)[None]
        return joined | {"count": np.array(float(piece.stop - piece.start))}

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        a, b = left["count"], right["count"]
        with np.errstate(over="ignore", invalid="ignore"):
            delta = right["mean"] - left["mean"]
            squares = left["squares"] + right["squares"] + delta**2 * (a * b / (a + b))
        return {
            "mean": left["mean"] + delta * (b / (a + b)),
            "squares": squares,
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
            "longest": np.maximum(left["longest"], right["longest"]),
            "count": a + b,
            "checksums": np.concatenate([left["checksums"], right["checksums"]]),
        }


@dataclass(frozen=True)
class MeansTask(Task):
    """Sums of every view's features before whitening, for centering."""

    maps: tuple[FeatureMap, ...]

    def __call__(self, piece: Piece) -> Arrays:
        sums: list[np.ndarray | float] = [0.0] * len(self.maps)
        for views in piece.blocks(block_height(self.maps)):
            for p, (found, view) in enumerate(zip(self.maps, views, strict=True)):
                sums[p] = sums[p] + found.raw(view).sum(axis=0, dtype=np.float64)
        return {"sum": np.concatenate(sums)}


@dataclass(frozen=True)
class GramTask:
    r"""$Z^TZ$ of all views' features side by side (sum r, sum r), and the largest lengths (m,)."""

    features: Features

    def __call__(self, piece: Piece) -> Arrays:
        size = int(self.features.starts[-1])
        gram, peak = np.zeros((size, size)), np.zeros(len(self.features.maps))
        for views in piece.blocks(block_height(self.features.maps)):
            Z, peaks = self.features(views)
            gram += Z.T @ Z
            np.maximum(peak, peaks, out=peak)
        return {"gram": gram, "peak": peak}

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        return {
            "gram": left["gram"] + right["gram"],
            "peak": np.maximum(left["peak"], right["peak"]),
        }


def block_height(maps: Sequence[FeatureMap]) -> int:
    """Return the number of rows per block, whose features take about `BLOCK` bytes."""
    return int(np.clip(BLOCK // (8 * sum(found.width for found in maps)), 64, 8192))


def _moments(X: np.ndarray) -> Arrays:
    mean = X.mean(axis=0)
    return {
        "mean": mean,
        "squares": ((X - mean) ** 2).sum(axis=0),
        "low": X.min(axis=0),
        "high": X.max(axis=0),
        "longest": np.einsum("ij,ij->i", X, X).max(keepdims=True),
    }
