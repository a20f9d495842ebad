r"""Graph fusion by anchor graphs over chunked rows: three passes and k-means.

The stacked links are $B = \Delta^{-1/2}ZC$ (n, R) with $C = \mathrm{diag}(\sqrt{s_b/L})$ and
$\Delta$ the degrees, and the fused graph is $S = BB^T$. The first pass draws a sample and checks
all rows; anchors, view weights and approximate right singular vectors come from the sample. The
second pass makes one step of subspace iteration, the third one the embedding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..data.views import MultiView
from ..graphs.anchors import AnchorLinks
from .engine import Engine
from .passes import total
from .project import ProjectTask
from .row_run import ChunkedEmbedding, RowRun
from .rows import Piece, Rows
from .sources import ArraySource
from .work import Arrays

SINGULAR = 1e-10  # relative; directions of the start that are rounding
ITERATED = 1_000_000  # rows drawn for the step of subspace iteration, of more


@dataclass(frozen=True)
class SampleTask:
    """The rows at ascending positions `rows`, of every view that is not an array in memory.

    All rows are read: they are checked for NaN and infinity, unless they are `checked`, and the
    checksums (pieces, m, 32) identify them.
    """

    rows: np.ndarray
    checked: bool

    def __call__(self, piece: Piece) -> Arrays:
        views = piece.native()
        if not self.checked:
            piece.check_finite(views)
        here = self.rows[(self.rows >= piece.start) & (self.rows < piece.stop)] - piece.start
        found = {
            f"view{p}": view[here]
            for p, (source, view) in enumerate(zip(piece.sources, views, strict=True))
            if not isinstance(source, ArraySource)
        }
        return found | {"checksums": piece.checksums(views)[None]}

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        return {key: np.concatenate([left[key], right[key]]) for key in left}


@dataclass(frozen=True)
class LinksTask:
    r"""Sums over the rows for a trial matrix X (R, q).

    `mass` is $Z^T1$ (R,), `product` $Z^T\Delta^{-1}ZX$ (R, q) and `gram` $X^TZ^T\Delta^{-1}ZX$. A
    `share` of the rows is drawn at random from every piece; `rows` is their number.
    """

    links: AnchorLinks
    X: np.ndarray
    present: np.ndarray | None
    share: float = 1.0
    seed: int = 0

    def __call__(self, piece: Piece) -> Arrays:
        R, q = self.X.shape
        rows = self._drawn(piece)
        found = {"mass": np.zeros(R), "product": np.zeros((R, q)), "gram": np.zeros((q, q))}
        found["rows"] = np.array(piece.stop - piece.start if rows is None else len(rows))
        for Z, degree in linked(self.links, piece, self.present, rows):
            F = (Z @ self.X) * _inverse_root(degree)[:, None]
            across = Z.T.tocsr()
            found["mass"] += np.asarray(across.sum(axis=1, dtype=np.float64)).ravel()
            found["product"] += across @ (F * _inverse_root(degree)[:, None])
            found["gram"] += F.T @ F
        return found

    def _drawn(self, piece: Piece) -> np.ndarray | None:
        """Return the rows of a piece that are used, ascending; None for all."""
        if self.share >= 1:
            return None
        height = piece.stop - piece.start
        random = np.random.default_rng([self.seed, 5, piece.start])
        return np.sort(random.choice(height, int(np.ceil(self.share * height)), replace=False))

    def combine(self, left: Arrays, right: Arrays) -> Arrays:
        return {key: left[key] + right[key] for key in left}


@dataclass(frozen=True)
class AnchorProjectTask(ProjectTask):
    r"""$H = \Delta^{-1/2}ZW$ for the rows of a piece; `features` are `AnchorLinks`."""

    present: np.ndarray | None = None
    dtype: Any = np.float64

    def embedded(self, piece: Piece) -> np.ndarray:
        parts = [embed_links(*each, self.W) for each in linked(self.features, piece, self.present)]
        return np.concatenate(parts).astype(self.dtype)


def linked(
    links: AnchorLinks, piece: Piece, present: np.ndarray | None, rows: np.ndarray | None = None
) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
    """Yield links and degrees of the rows of a piece, or of some of them, block by block."""
    views, held = piece.native(), None if present is None else present[piece.start : piece.stop]
    if rows is not None:
        views = [view[rows] for view in views]
        held = None if held is None else held[rows]
    for start in range(0, views[0].shape[0], links.height):
        some = slice(start, start + links.height)
        yield links([view[some] for view in views], None if held is None else held[some])


def embed_links(Z: sp.csr_array, degree: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return rows of the embedding (b, D) from links (b, R) and coefficients W (R, D)."""
    return np.asarray((Z @ W) * _inverse_root(degree)[:, None])


class AnchorRun(RowRun):
    """The passes over the rows of one data set.

    `present` (n, m) says which rows the views hold; None for all.
    """

    def __init__(
        self,
        rows: Rows,
        seed: int,
        engine: Engine | None,
        folder: str | Path | None,
        settings: Mapping[str, Any],
        present: np.ndarray | None = None,
    ) -> None:
        missing = "" if present is None else hashlib.sha256(present.tobytes()).hexdigest()
        described = {"seed": seed, **settings, "missing samples": missing}
        super().__init__(rows, seed, engine, folder, described)
        self.present = present
        self._pieces = rows.pieces(native=True)

    def sample(self, size: int, checked: bool, kinds: tuple[str, ...] | None = None) -> MultiView:
        """Draw `size` samples; all rows are read, and checked for NaN unless they are `checked`."""
        n = len(self.rows)
        chosen = np.random.default_rng([self.seed, 2]).choice(n, min(n, size), replace=False)
        chosen.sort()
        stored = [p for p, s in enumerate(self.rows.sources) if not isinstance(s, ArraySource)]
        found: Arrays = {}
        if stored or not checked or self._work is not None:
            task = SampleTask(chosen, checked)
            with self._timed("sample"):
                found = total("sample", task, self._pieces, self.engine, None)
            self._bind(found["checksums"])
        views = [
            source.take(chosen) if isinstance(source, ArraySource) else found[f"view{p}"]
            for p, source in enumerate(self.rows.sources)
        ]
        present = None if self.present is None else self.present[chosen]
        return MultiView(views, names=self.rows.names, present=present, kinds=kinds)

    def iterate(self, links: AnchorLinks, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Make one step of subspace iteration from a trial matrix X (R, q).

        It uses all rows, or a million drawn at random: what the sums over all rows are estimated
        from is then still a hundred times the sample that the anchors are made from.

        With $\tilde X = C^{-1}X$ and $G = B^TB$, Rayleigh-Ritz in the span of $\tilde X$ gives
        eigenvalues and $v = \tilde Xa$; $u = BGv\lambda^{-3/2}$ are the eigenvectors of S.
        Returned are the eigenvalues (q,), descending, and W (R, q) with $u = \Delta^{-1/2}ZW$.
        """
        digest = hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()[:12]
        share = min(1.0, ITERATED / len(self.rows))
        with self._timed("links"):
            task = LinksTask(links, X, self.present, share, self.seed)
            found = self._total(f"links-{digest}", task)
        self.iterated = int(found["rows"])
        if share < 1:
            times = len(self.rows) / self.iterated
            found |= {key: times * found[key] for key in ("mass", "product", "gram")}
        C = links.column_scales(found["mass"])[:, None]
        start = np.divide(X, C, out=np.zeros_like(X), where=C > 0)
        length, Q = scipy.linalg.eigh(start.T @ start)
        kept = length > SINGULAR * length[-1]
        T = Q[:, kept] / np.sqrt(length[kept])
        values, A = scipy.linalg.eigh(T.T @ found["gram"] @ T)
        values, A = values[::-1], T @ A[:, ::-1]
        positive = values > SINGULAR * values[0]
        values, A = values[positive], A[:, positive]
        return values, C**2 * (found["product"] @ A) * values**-1.5

    def embed(self, links: AnchorLinks, W: np.ndarray) -> ChunkedEmbedding:
        """Compute the embedding of all rows."""
        task = AnchorProjectTask(W, links, present=self.present, dtype=self._dtype)
        return self.project(task)


def _inverse_root(degree: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
