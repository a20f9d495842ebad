"""What all fits over chunked rows share: passes, the embedding, k-means, the work folder."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._version import __version__
from ..exceptions import InputError
from ..io.atomic import passing
from ..kernels.features import precision
from .engine import Engine, LocalEngine
from .kmeans import Clustering, kmeans
from .parts import npy_part
from .passes import Meter, total
from .project import ProjectTask
from .rows import Piece, Rows
from .sources import PartsSource
from .work import Work

KEPT_EMBEDDING = 512 << 20  # bytes: larger embeddings are written as parts


def run_seed(random_state: Any, work: Any) -> int:
    """Return the seed of a run: fixed where it can be resumed."""
    if random_state is None and work is not None:
        raise InputError("a run that can be resumed needs a seed: give random_state")
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


class RowRun:
    """Passes over the rows of one data set, each saved in the work folder if there is one.

    `settings` are what the passes depend on besides the rows: a work folder of other rows or
    settings is refused. `seconds` has the wall time of every stage.
    """

    def __init__(
        self,
        rows: Rows,
        seed: int,
        engine: Engine | None,
        folder: str | Path | None,
        settings: Mapping[str, Any],
    ) -> None:
        self.rows, self.seed = rows, seed
        self.engine: Engine = LocalEngine() if engine is None else engine
        self.seconds: dict[str, float] = {}
        self._dtype = precision(len(rows))
        self._stamps = rows.stamps()
        self._pieces: list[Piece] = []
        described = {"version": __version__, "rows": rows.describe(), **settings}
        self._work = None if folder is None else Work(folder, described)

    def _bind(self, checksums: np.ndarray) -> None:
        """Bind the work folder, if there is one, to data with these checksums (pieces, m, 32)."""
        if self._work is not None:
            self._work.check_data("data", checksums, self._where)
            self._work.bind(checksums.tobytes())

    def _where(self, number: int, p: int) -> str:
        """Describe the rows of view p in one piece."""
        piece = self._pieces[number]
        place = piece.sources[p].place(piece.start)
        return f"view {piece.names[p]!r}, in the {piece.stop - piece.start} rows from {place} on"

    def project(self, task: ProjectTask) -> ChunkedEmbedding:
        """Compute rows of the embedding: in memory, in parts, or on the workers.

        O(n r k), and O(n r^2) for the features.
        """
        W = np.ascontiguousarray(task.W)
        digest, keeper = hashlib.sha256(W.tobytes()).hexdigest()[:12], None
        folder = None if self._work is None else self._work.folder / f"embedding-{digest}"
        large = len(self.rows) * W.shape[1] * np.dtype(self._dtype).itemsize > KEPT_EMBEDDING
        if folder is None and large and isinstance(self.engine, LocalEngine):
            keeper = tempfile.TemporaryDirectory(prefix="mkclust-")
            passing(keeper.name)
            folder = Path(keeper.name) / "embedding"
        key = "" if self._work is None else self._work.key
        height = self._pieces[0].stop - self._pieces[0].start
        task = replace(task, W=W, folder=folder, key=key, height=height)
        meter, blocks = Meter("embedding", len(self.rows)), []
        with self._timed("embedding"):
            for piece, block in zip(
                self._pieces, self.engine.hold(task, self._pieces), strict=True
            ):
                blocks.append(block)
                meter.done(piece.stop - piece.start)
        self._check_unchanged()
        return ChunkedEmbedding(self, W, blocks, f"kmeans-{digest}", large, keeper)

    def _check_unchanged(self) -> None:
        stamps = self.rows.stamps()
        for name, before, now in zip(self.rows.names, self._stamps, stamps, strict=True):
            if before != now:
                raise InputError(
                    f"the files of view {name!r} changed while they were read; fit again, into an "
                    "empty work folder, once they no longer change"
                )

    def _total(self, name: str, task: Any) -> Any:
        return total(name, task, self._pieces, self.engine, self._work)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        began = perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - began


@dataclass(frozen=True)
class ChunkedEmbedding:
    """Rows of the embedding in blocks, and the coefficients (R, D) of the features."""

    run: RowRun
    weights: np.ndarray
    blocks: list[Any]
    name: str
    large: bool
    keeper: Any

    def cluster(self, k: int, n_init: int) -> Clustering:
        """Cluster the rows by k-means, block by block."""
        run, name = self.run, f"{self.name}-{k}-{n_init}"
        with run._timed("k-means"):
            return kmeans(self.blocks, k, n_init, run.seed, run.engine, run._work, name)

    def array(self) -> np.ndarray | PartsSource | None:
        """Return the embedding: an array, or a source of parts; None where it stayed on workers."""
        if any(getattr(block, "path", None) is not None for block in self.blocks):
            return PartsSource([npy_part(block.path) for block in self.blocks], self.keeper)
        return None if self.large else np.concatenate([block.load() for block in self.blocks])
