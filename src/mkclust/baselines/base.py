"""Base classes of the compared methods: missing rows, objective trace, published grids."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from ..base import PER_PAIR, KernelClusterer, MultiViewClusterer, default_n_neighbors
from ..data.missing import require_complete
from ..data.views import MultiView
from ..exceptions import (
    ConvergenceWarning,
    InputError,
    MissingRowsWarning,
    check_choice,
    is_number,
    warn,
)
from ..kernels.bank import KernelBank
from ..linalg.kmeans import inertia
from ..predict.neighbors import neighbor_extension
from ..predict.new_samples import embedding_blocks
from ..progress import step

MISSING_ROWS = ("raise", "complete")
POWERS_OF_TWO = tuple(2.0**exponent for exponent in range(-15, 16))  # the grid of most papers

EXTREME = 1e50  # of a regularization parameter: powers of it must not overflow


class Trace:
    """The iterations of one run, their objective values, and the stopping rule.

    The run ends when the relative change of the objective is at most `tolerance`, or at iteration
    `cap`. The change is first tested at iteration `after` + 1, counted from 1.

    Examples
    --------
    >>> trace = Trace("Example", tolerance=0.1, after=2, cap=50)
    >>> for number in trace:
    ...     trace.add([4.0, 4.0, 4.1, 4.1][number])
    >>> trace.values, trace.converged
    ([4.0, 4.0, 4.1], True)
    """

    def __init__(self, title: str, tolerance: float, after: int, cap: int) -> None:
        self.title, self.tolerance, self.after, self.cap = title, tolerance, after, cap
        self.values: list[float] = []
        self.converged = False

    def __iter__(self) -> Iterator[int]:
        """Yield the number of every iteration, from 0 on, until the run ends."""
        while not self.converged and len(self.values) < self.cap:
            step(f"{self.title}, iteration {len(self.values) + 1}")
            yield len(self.values)

    def add(self, value: float, settled: bool | None = None) -> None:
        """Record the objective of an iteration; `settled` is for a convergence test of its own."""
        if settled is None:
            due = len(self.values) >= max(self.after, 1)
            settled = due and abs(value - self.values[-1]) <= self.tolerance * abs(value)
        self.values.append(float(value))
        self.converged = bool(settled)


class FitsCompleteRows(MultiViewClusterer):
    """Base class of methods that need every sample in every view and place no new samples.

    A subclass has the parameter `missing_rows` and fits complete views in `_fit_rows`.
    """

    missing_rows: str

    def _note_presence(self, views: MultiView, k: int) -> None:
        check_choice("missing_rows", self.missing_rows, MISSING_ROWS)
        if self.missing_rows == "raise":
            require_complete(views, self.title)
        super()._note_presence(views, k)

    @classmethod
    def published_grid(cls, k: int) -> list[dict[str, Any]]:
        """Return the settings that the authors tuned over, for k clusters; [{}] for none."""
        return [dict(zip(cls.grid, values, strict=True)) for values in product(*cls.grid.values())]

    @abstractmethod
    def _fit_rows(self, views: MultiView, k: int) -> None:
        """Set the fitted attributes, `labels_` among them, from views without missing rows."""

    def _fit(self, views: MultiView, k: int) -> None:
        if views.present is None:
            self._fit_rows(views, k)
            return
        complete = np.flatnonzero(views.present.all(axis=1))
        if len(complete) < max(k, 2):
            raise InputError(
                f"{len(complete)} of the {len(views)} samples are in every view, too few for {k} "
                f"clusters: leave views out, or use graph fusion, which needs no complete samples"
            )
        self._fit_rows(views[complete], k)
        self._place_incomplete(views, complete)
        self._note(
            f"{self.title} was fitted to the {len(complete)} samples that all views have; the "
            f"other {len(views) - len(complete)} have the cluster of their nearest fitted samples.",
            MissingRowsWarning,
        )

    def _place_incomplete(self, views: MultiView, complete: np.ndarray) -> None:
        """Extend a fit to the samples at the positions `complete` (c,) to all samples.

        A sample that some views lack gets the weighted mean over its nearest complete samples in
        the views it has, of the indicators of their clusters and of their rows of the embedding.
        The cluster with the largest mean is its own. Graphs are zero where a sample was not
        fitted.
        """
        n, labels = len(views), np.asarray(self.labels_)
        clusters = np.eye(int(labels.max()) + 1)[labels]
        k = clusters.shape[1]
        rest = np.setdiff1d(np.arange(n), complete)
        H = vars(self).get("embedding_", np.empty((len(labels), 0)))
        values = np.empty((n, k + H.shape[1]))
        values[complete] = np.hstack([clusters, H])
        values[rest] = mean_of_neighbors(views, complete, rest, values[complete], k)
        self.labels_ = values[:, :k].argmax(axis=1).astype(labels.dtype)
        if H.shape[1]:
            self.embedding_ = values[:, k:]
        if self._has_membership:
            self.inertia_ = inertia(self.embedding_, self.labels_, self.cluster_centers_)
        for name in PER_PAIR:
            if name in vars(self):
                full = np.zeros((n, n))
                full[np.ix_(complete, complete)] = vars(self)[name]
                setattr(self, name, full)


def mean_of_neighbors(
    views: MultiView, complete: np.ndarray, rest: np.ndarray, values: np.ndarray, k: int
) -> np.ndarray:
    """Return the means of `values` (c, r) over the nearest complete samples, for the rest."""
    m, count = views.n_views, default_n_neighbors(len(complete), k)
    spreads = [(1.0, 1.0, 1.0)] * m
    extension = neighbor_extension(
        views[complete], [1 / m] * m, [0.0] * m, spreads, values, count, joint_share=0.0
    )
    tables = [v[rest][:, complete] if views.kernels else v[rest] for v in views.views]
    own = [np.asarray(v.diagonal())[rest] if views.kernels else None for v in views.views]
    new = MultiView(tables, names=views.names, present=views.held[rest])
    return np.concatenate(list(embedding_blocks(extension, new, own)))


@dataclass(eq=False, repr=False, kw_only=True)
class ComparedMethod(FitsCompleteRows, KernelClusterer):
    """Base class of the methods of the paper's comparison.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    missing_rows : {"raise", "complete"}
        What to do with samples that some views lack. ``"raise"`` refuses them. ``"complete"``
        fits the samples that all views have, and gives each other sample the cluster with the
        largest weight among its nearest fitted ones, in the views it has.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    presence_, support_
        As in GraphFusion. With ``missing_rows="complete"``, rows of `embedding_` of samples that
        were not fitted are weighted means over their nearest fitted samples; their rows and
        columns of `graph_` and `kernel_` are zero.
    objective_history_ : (n_iter_,) array; CAGL has none, because it has no single objective
    n_iter_ : int
    converged_ : bool, False if the maximal number of iterations was reached
    """

    missing_rows: str = "raise"

    def _refit(self, views: MultiView) -> Callable[[Any], Any]:
        """Return the function that fits a copy of the estimator; all copies share the kernels."""
        if views.present is not None:
            return lambda model: model.fit(views)
        kernels = KernelBank(views, self._recipe(views))
        return lambda model: model.fit_kernels(kernels)

    def fit_kernels(self, kernels: KernelBank) -> Self:
        """Cluster from kernels that are ready, of samples that every view holds."""
        require_complete(kernels.views, f"fit_kernels of {self.title}")
        return super().fit_kernels(kernels)

    def _fit_rows(self, views: MultiView, k: int) -> None:
        KernelClusterer._fit(self, views, k)

    def _keep(self, trace: Trace) -> None:
        """Store the trace; warn if the run did not converge."""
        self.objective_history_ = np.array(trace.values)
        self.n_iter_ = len(trace.values)
        self.converged_ = trace.converged
        if not trace.converged:
            warn(
                f"{self.title} stopped at its cap of {trace.cap} iterations before it converged",
                ConvergenceWarning,
            )

    def _keep_labels(self, labels: np.ndarray, k: int, remark: str) -> None:
        """Store labels that do not come from k-means; warn if they are not k clusters."""
        self.labels_ = labels
        found = len(np.unique(labels))
        if found != k:
            warn(
                f"{self.title} found another number of clusters than asked for: {found} instead "
                f"of {k}; {remark}",
                ConvergenceWarning,
            )


def check_number(name: str, value: Any, above: bool = False) -> float:
    """Return a number of at least zero, or above zero, whose powers do not overflow."""
    least = 1 / EXTREME
    if not (is_number(value) and (least <= value <= EXTREME or (value == 0 and not above))):
        raise InputError(
            f"{name} must be a finite number {'above 0' if above else 'of at least 0'}, got "
            f"{value!r}; the iterations overflow beyond {least:g} to {EXTREME:g}"
        )
    return float(value)
