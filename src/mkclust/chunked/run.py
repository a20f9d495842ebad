r"""Fits to many samples: explicit features instead of kernels, rows read in passes.

The eigenvectors are $V_p = Z_pE_p$ with $E_p$ from the small $Z_p^TZ_p$, every overlap is
$E_p^T(Z_p^TZ_q)E_q$, and the consensus is $H = ZW$. Four passes over the rows compute the moments,
the means, the cross-products and the embedding; k-means then runs over an n x k array. No array
of n x n or n x r is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from ..agreement.overlap import Overlap
from ..exceptions import InputError
from ..graphs.hnsw import graph_features, sparse_neighbor_graph
from ..kernels.approximation import Approximation
from ..kernels.features import (
    Columns,
    FeatureMap,
    Features,
    Fourier,
    Moments,
    feature_map,
    feature_means,
)
from ..linalg.scaling import ROUNDING
from ..linalg.spectrum import RANK_TOLERANCE, with_fixed_signs
from ..progress import step
from .engine import Engine
from .gram import GramTask, MeansTask, MomentsTask
from .passes import total
from .project import ProjectTask
from .row_run import ChunkedEmbedding, RowRun
from .rows import Piece, Rows
from .sources import ArraySource, Source

SINGLE_RANK_TOLERANCE = 1e-6  # as RANK_TOLERANCE, for features of single precision
SQUARED = 1e-290  # a variance below it has lost its digits to underflow
CONSTANT = 1e-14  # of the kernel's diagonal: rows closer than this are equal


class FeatureSubspaces:
    r"""Leading eigenvectors of every view's features, from the cross-products alone.

    $Z_p^TZ_p = Q\Lambda Q^T$, $E_p = Q\Lambda^{-1/2}$: the columns of $Z_pE_p$ are the
    eigenvectors of $Z_pZ_p^T$. Squaring the features squares their condition, so eigenvectors
    with an eigenvalue below `floor` of the largest are left out. O(sum r^3), no n. It follows
    the protocol of `agreement.subspaces.Subspaces`; `project` turns coefficients of the features
    (sum r, k) into rows of the embedding.
    """

    present = None

    def __init__(
        self,
        gram: np.ndarray,
        starts: np.ndarray,
        names: Sequence[str],
        n: int,
        floor: float,
        project: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        self.names = tuple(names)
        self._gram = gram
        self._starts = starts
        self._n = n
        self._size = 0
        self._project = project
        self._E = [self._eigenvectors(p, floor) for p in range(len(self.names))]

    def _eigenvectors(self, p: int, floor: float) -> np.ndarray:
        span = slice(self._starts[p], self._starts[p + 1])
        values, Q = scipy.linalg.eigh(self._gram[span, span])
        values, Q = values[::-1], with_fixed_signs(Q[:, ::-1])
        kept = values > floor * max(values[0], 0.0)
        if not kept.any():
            raise InputError(f"view {self.names[p]!r} has no positive eigenvalue")
        return np.asarray(Q[:, kept] / np.sqrt(values[kept]))

    def __len__(self) -> int:
        return len(self.names)

    def grow(self, size: int) -> None:
        """Use `size` eigenvectors of every view, or all where there are fewer."""
        self._size = max(size, self._size)

    @property
    def horizon(self) -> int | None:
        """Number of eigenvectors in use of views that have more; None where all are in use."""
        return self._size if any(E.shape[1] > self._size for E in self._E) else None

    def overlap(self, k: int = 0) -> Overlap:
        """Return $E_p^T(Z_p^TZ_q)E_q$ for all pairs."""
        step("overlaps of all pairs of views")
        E = [E[:, : self._size] for E in self._E]
        starts = np.concatenate([[0], np.cumsum([part.shape[1] for part in E])])
        cross = np.empty((starts[-1], starts[-1]))
        for p in range(len(E)):
            rows = slice(self._starts[p], self._starts[p + 1])
            half = E[p].T @ self._gram[rows]
            for q in range(len(E)):
                columns = slice(self._starts[q], self._starts[q + 1])
                block = half[:, columns] @ E[q]
                cross[starts[p] : starts[p + 1], starts[q] : starts[q + 1]] = block
        return Overlap((cross + cross.T) / 2, starts, self._n)

    def sketch(self, size: int) -> None:
        """Return None: exact eigenvectors are available."""

    def vectors(self, size: int) -> None:
        """Return None: eigenvectors of all rows are never formed."""

    def embed(self, d: np.ndarray, W: np.ndarray) -> Any:
        """Read the rows once more and compute their rows of the embedding."""
        if self._project is None:
            raise TypeError("these subspaces have no rows to embed")
        return self._project(self.weights(d, W))

    def coordinates(self, H: Any, W: np.ndarray, d: np.ndarray) -> list[np.ndarray]:
        """Return $H^TU_p = W^TU^TU_p$, which the overlaps contain."""
        overlap = self.overlap()
        kept = overlap.columns(d)
        T = W.T @ overlap.cross[np.ix_(kept, kept)]
        return np.split(T, np.cumsum(d)[:-1], axis=1)

    def weights(self, d: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Return coefficients (sum r, k) of the features from those of the eigenvectors, W."""
        parts = np.split(W, np.cumsum(d)[:-1])
        pairs = zip(self._E, d, parts, strict=True)
        return np.vstack([E[:, :size] @ part for E, size, part in pairs])


class LargeRun(RowRun):
    """The passes of MKC-DNM over the rows of one data set, with explicit features."""

    def __init__(
        self,
        rows: Rows,
        approximation: Approximation,
        engine: Engine | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.approximation = approximation
        super().__init__(rows, approximation.seed, engine, folder, vars(approximation))

    def subspaces(self) -> FeatureSubspaces:
        """Run passes one to three: moments of columns, means of features, cross-products."""
        self._pieces = self._with_graphs().pieces()
        moments = self._moments()
        self.features = self._features(moments)
        with self._timed("cross-products"):
            found = self._total("cross-products", GramTask(self.features))
        single = self._dtype == np.float32
        for name, map_, peak in zip(
            self.rows.names, self.features.maps, found["peak"], strict=True
        ):
            if peak <= (1e5 * CONSTANT if single else CONSTANT) * map_.largest:
                raise InputError(f"view {name!r} is constant: all its samples are the same")
        floor = SINGLE_RANK_TOLERANCE if single else RANK_TOLERANCE
        with self._timed("small problem"):
            return FeatureSubspaces(
                found["gram"], self.features.starts, self.rows.names, len(self.rows), floor,
                self.embed,
            )  # fmt: skip

    def embed(self, W: np.ndarray) -> ChunkedEmbedding:
        """Run pass four: rows of the embedding."""
        return self.project(ProjectTask(W, features=self.features))

    @property
    def graph_views(self) -> tuple[str, ...]:
        """Views whose features are those of a sparse graph."""
        kernels = zip(self.rows.names, self.approximation.kernels, strict=True)
        return tuple(name for name, kernel in kernels if kernel == "knn")

    @property
    def described(self) -> str:
        """Describe the features that replace the kernels."""
        sizes = np.diff(self.features.starts)
        few, many = int(sizes.min()), int(sizes.max())
        count = str(few) if few == many else f"{few} to {many}"
        of = {Columns: "the columns", Fourier: "random Fourier features"}
        kinds = {
            "a sparse graph" if kernel == "knn" else of.get(type(m), "landmarks")
            for m, kernel in zip(self.features.maps, self.approximation.kernels, strict=True)
        }
        single = " in single precision" if self._dtype == np.float32 else ""
        return f"{count} features per view ({', '.join(sorted(kinds))}){single}"

    def _with_graphs(self) -> Rows:
        """Return the rows, with graph features in place of every view with a "knn" kernel."""
        given = self.approximation
        sources: dict[str, Any] = dict(zip(self.rows.names, self.rows.sources, strict=True))
        for name, kernel in zip(self.rows.names, given.kernels, strict=True):
            if kernel == "knn":
                with self._timed("graphs"):
                    sources[name] = ArraySource(self._graph(name, sources[name]))
        self._rows = Rows(sources)
        return self._rows

    def _graph(self, name: str, source: Source) -> np.ndarray:
        given = self.approximation
        X = np.ascontiguousarray(source.read(0, len(self.rows)))
        kept = None
        if self._work is not None:
            checksums = Piece(0, len(X), (source,), (name,)).checksums([X])
            self._work.check_data(f"data-{name}", checksums[None], lambda *_: f"view {name!r}")
            self._work.bind(checksums.tobytes())
            kept = self._work.load(f"graph-{name}")
        if kept is None:
            S = sparse_neighbor_graph(X, name=name, **given.params)
            Z = graph_features(S, given.graph_size, given.center, given.normalize, given.seed)
            kept = {"features": Z.astype(self._dtype)}
            if self._work is not None:
                self._work.save(f"graph-{name}", kept)
        return kept["features"]

    def _moments(self) -> list[Moments]:
        """Run the pass that reads all rows in every run: its checksums identify the data."""
        with self._timed("moments"):
            found = total("moments", MomentsTask(), self._pieces, self.engine, None)
        self._bind(found["checksums"])
        edges = np.cumsum([source.width for source in self._pieces[0].sources])[:-1]
        means, variances, varies = (
            np.split(values, edges)
            for values in (
                found["mean"],
                found["squares"] / found["count"],
                found["high"] - found["low"]
                > ROUNDING * np.maximum(abs(found["high"]), abs(found["low"])),
            )
        )
        longest = found["longest"].tolist()
        moments = [Moments(*view) for view in zip(means, variances, varies, longest, strict=True)]
        for name, view in zip(self.rows.names, moments, strict=True):
            if not (np.isfinite(view.variance).all() and np.isfinite(view.longest)):
                raise InputError(f"view {name!r} has values too large to square: scale its columns")
            if (view.varies & (view.variance < SQUARED)).any():
                raise InputError(f"view {name!r} has values too small to square: scale its columns")
        return moments

    def _features(self, moments: Sequence[Moments]) -> Features:
        """Build the feature maps on seeded landmarks, and run the pass that centers them."""
        maps = self._maps(moments)
        given = self.approximation
        raw = [view.mean for view in moments]
        if given.center and not all(isinstance(m, Columns) and not m.unit for m in maps):
            with self._timed("means"):
                sums = self._total("means", MeansTask(maps))["sum"]
            raw = np.split(sums / len(self.rows), np.cumsum([m.width for m in maps])[:-1])
        graphs = [kernel == "knn" for kernel in given.kernels]  # already centered and normalized
        raw = [
            np.zeros(m.width) if graph or not given.center else mean
            for m, mean, graph in zip(maps, raw, graphs, strict=True)
        ]
        normalize = tuple(given.normalize and not graph for graph in graphs)
        return Features(maps, feature_means(maps, raw, self._dtype), normalize, self._dtype)

    def _maps(self, moments: Sequence[Moments]) -> tuple[FeatureMap, ...]:
        given = self.approximation
        n, r = len(self.rows), given.n_components
        step(f"{min(n, r)} landmarks")
        chosen = np.random.default_rng([given.seed, 0]).choice(n, min(n, r), replace=False)
        landmarks = self._rows.take(np.sort(chosen))
        maps = []
        for p, (name, L) in enumerate(zip(self.rows.names, landmarks, strict=True)):
            random = np.random.default_rng([given.seed, 2, p])
            L = np.asarray(L, dtype=np.float64)
            if given.method == "fourier" and r > n:
                L = np.resize(L, (r, L.shape[1]))
            settings = given.kernels[p], given.params, moments[p], L, given.method
            try:
                maps.append(feature_map(*settings, self._dtype, random))
            except InputError as error:
                raise InputError(f"view {name!r}: {error}") from None
        return tuple(maps)
