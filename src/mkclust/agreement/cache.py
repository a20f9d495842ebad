"""Spectra shared by several questions about the same views, inside the block that asks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chunked.rows import Rows
from ..data.views import MultiView
from ..exceptions import InputError
from ..kernels.approximation import IN_MEMORY_UP_TO
from ..kernels.bank import KernelBank
from ..linalg.spectrum import Spectra

DRAWN = 5000  # samples on which questions about data too large for kernels are answered

_known: ContextVar[list[tuple[KernelBank, Spectra]] | None] = ContextVar("known", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside the block, no spectrum of the same kernels of the same views is computed twice.

    Fit, number of clusters, stability and influence of views all need the same ones; they stay
    in memory until the block ends: n x (sum D) numbers, and the kernels where a bank keeps them.

    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, 2, 2, random_state=0)
    >>> with sharing():
    ...     one, two = cluster(views, 2, random_state=0), cluster(views, 3, random_state=0)
    """
    token = None if _known.get() is not None else _known.set([])
    try:
        yield
    finally:
        if token is not None:
            _known.reset(token)


def spectra_of(kernels: KernelBank) -> Spectra:
    """Spectra of the kernels: what an open block knows of them, or new ones."""
    known = _known.get()
    for bank, spectra in known or ():
        if bank.serves(kernels):
            kernels.centrings = bank.centrings
            return spectra.chosen(range(len(kernels)))
    fresh = Spectra(kernels, kernels.names, at_once=kernels.at_once)
    if known is not None:
        known.append((kernels, fresh))
    return fresh


@dataclass(frozen=True)
class Opened:
    """Views of a fitted model and spectra of their kernels, for questions beyond the fit.

    `rows` are the samples drawn, where there are too many for kernels; all `n_samples` otherwise.
    """

    views: MultiView
    spectra: Spectra
    rows: np.ndarray
    n_samples: int

    @property
    def index(self) -> np.ndarray:
        """Names of the samples, their positions where they have none."""
        return self.rows if self.views.index is None else np.asarray(self.views.index)


def opened(model: Any, views: Any, random_state: int = 0) -> Opened:
    """The views as the model takes them, with spectra; the model itself is not touched."""
    taken = type(model)(**model.get_params(deep=False))._checked_views(views)
    data, rows = _drawn(taken, random_state)
    spectra = spectra_of(KernelBank(data, model._recipe(data)))
    if spectra.present is not None:
        raise InputError(
            "some samples are absent from some views: this question needs all samples in all "
            "views; leave those samples or views out"
        )
    return Opened(data, spectra, rows, len(taken))


def opened_fit(model: Any, views: Any, random_state: int = 0) -> Opened:
    """As `opened`, for a fitted model and what it was fitted to."""
    found = opened(model, views, random_state)
    n, names = len(model.labels_), tuple(map(str, model.view_names_in_))
    if found.n_samples != n:
        raise InputError(f"the model was fitted to {n} samples, but views has {found.n_samples}")
    if found.views.names != names:
        raise InputError(
            f"the model was fitted to the views {', '.join(names)}, but views has "
            f"{', '.join(found.views.names)}"
        )
    return found


def _drawn(views: MultiView | Rows, random_state: int) -> tuple[MultiView, np.ndarray]:
    """Views small enough for kernels, as they are or of `DRAWN` samples, and which those are."""
    n = len(views)
    if n <= IN_MEMORY_UP_TO:
        return views.in_memory() if isinstance(views, Rows) else views, np.arange(n)
    rows = np.random.default_rng(random_state).choice(n, DRAWN, replace=False)
    rows.sort()
    if isinstance(views, MultiView):
        return views[rows], rows
    return MultiView(views.take(rows), names=views.names), rows
