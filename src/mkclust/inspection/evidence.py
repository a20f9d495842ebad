"""What the explanations of a partition share: the graph of every view, and one of all views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..agreement.weights import SMALL
from ..base import KernelClusterer
from ..data.views import MultiView
from ..graph_fusion import GraphFusion
from ..graph_fusion.fusion import blend, joint_graph, joint_weights, mean_graph
from ..graph_fusion.view_graphs import ViewGraphs
from ..graphs.affinity import default_n_neighbors, knn_affinity, placed
from ..graphs.metrics import Metric
from ..graphs.neighbors import neighborhood
from ..kernels.bank import KernelBank
from .fitting import fitted, quiet, sample_names, views_of
from .structure import modularity


@dataclass(frozen=True)
class Evidence:
    """A fitted model with the graphs of its views, over the samples that are compared.

    Attributes
    ----------
    model : MultiViewClusterer
        Fitted.
    data : MultiView
        The views; 5000 drawn samples where there are more than 20 000.
    rows : (n,) int array
        Which samples of the fit they are.
    graphs : tuple of (n, n) sparse arrays
        The affinity graphs of graph fusion, else a kNN graph of every view.
    """

    model: Any
    data: MultiView
    rows: np.ndarray
    graphs: tuple[sp.csr_array, ...]
    built: ViewGraphs | None

    @cached_property
    def labels(self) -> np.ndarray:
        return np.asarray(self.model.labels_)[self.rows]

    @property
    def k(self) -> int:
        """Number of clusters found."""
        return int(np.max(self.model.labels_)) + 1

    @property
    def names(self) -> tuple[str, ...]:
        return self.data.names

    @property
    def index(self) -> np.ndarray:
        """Names of the samples, or their positions."""
        return sample_names(self.data, self.rows)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the views (m,); equal ones where the method has none."""
        m = len(self.names)
        return np.asarray(getattr(self.model, "weights_", np.full(m, 1 / m)), dtype=float)

    @cached_property
    def trusted(self) -> list[int]:
        """Views that are neither unrelated to the others nor hardly used."""
        unrelated = set(getattr(self.model, "unrelated_views_", ()))
        least = SMALL * self.weights.sum() / len(self.names)
        return [
            p for p, name in enumerate(self.names)
            if name not in unrelated and self.weights[p] >= least
        ]  # fmt: skip

    def held(self, p: int) -> np.ndarray:
        """Which samples view p holds (n,)."""
        present = self.data.present
        return np.ones(len(self.data), dtype=bool) if present is None else present[:, p]

    @cached_property
    def mean(self) -> sp.csr_array:
        """The weighted mean of the graphs of all views."""
        return mean_graph(self.graphs, self.weights)

    @cached_property
    def joint(self) -> sp.csr_array:
        """The graph of all views at once; only for graph fusion."""
        assert self.built is not None
        return joint_graph(self.built, joint_weights(self.built, self.weights))

    @cached_property
    def fused(self) -> sp.csr_array:
        """The graph on which partitions are compared: the fused one, or of the average kernel."""
        if self.built is not None:
            return blend(self.mean, self.joint)
        return self.model.affinity(self.data, self.k)

    @cached_property
    def modularity(self) -> float:
        """Modularity of the model's own partition."""
        return modularity(self.fused, self.labels)

    def score(self, labels: np.ndarray) -> float:
        """Return the modularity of a partition, relative to that of the model's own."""
        own = self.modularity
        return modularity(self.fused, labels) / own if own > 0 else np.nan


def evidence_of(estimator: Any, views: Any, random_state: int = 0) -> Evidence:
    """Return the graphs of all views of a fitted model; an unfitted one is fitted first."""
    model = fitted(estimator, views)
    data, rows = views_of(model, views, random_state)
    k = int(np.max(model.labels_)) + 1
    with quiet():
        if isinstance(model, GraphFusion):
            built = model.view_graphs(data)
            return Evidence(model, data, rows, tuple(built), built)
        return Evidence(model, data, rows, _neighbor_graphs(model, data, k), None)


def _metrics(model: Any, data: MultiView) -> Iterator[Metric]:
    """Yield one metric of every view: the distances of its kernel, or the model's own."""
    if not isinstance(model, KernelClusterer):
        yield from model.view_metrics(data)
        return
    for name, K in zip(data.names, KernelBank(data, model._recipe(data)), strict=True):
        yield Metric(name, np.asarray(K, dtype=float), gram=True)


def _neighbor_graphs(model: Any, data: MultiView, k: int) -> tuple[sp.csr_array, ...]:
    """Return one kNN graph (n, n) of every view."""
    found = []
    for p, metric in enumerate(_metrics(model, data)):
        count = default_n_neighbors(metric.n_samples, k)
        near = neighborhood(metric, count)
        held = np.ones(len(data), dtype=bool) if data.present is None else data.present[:, p]
        found.append(placed(knn_affinity(near, count), held))
    return tuple(found)
