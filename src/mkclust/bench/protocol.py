"""One unit: fit the method, label by the protocol, score against the classes, measure the cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base import KernelClusterer, MultiViewClusterer
from ..data.views import MultiView
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import remembered_by
from ..methods import METHODS, estimator_for
from ..metrics import accuracy, ari, nmi, purity
from .peers import peer, uses_kernels
from .record import DONE
from .registry import class_numbers, dataset, row_order
from .shared import MappedKernels, Shared, SharedSpectra
from .store import Outcome
from .units import KERNELS, Unit

OWN_LABELS = ("oplf", "swmc", "cagl")  # methods that do not label by k-means on an embedding
REPEATING = 0.7  # share of the time limit that repeated fits of a peer may use
SCORES: dict[tuple[str, str], Callable[[Any, Any], float]] = {
    ("acc", ""): accuracy,
    ("nmi", "max"): nmi,
    ("nmi", "arithmetic"): partial(nmi, normalizer="arithmetic"),
    ("purity", ""): purity,
    ("ari", ""): ari,
}


@dataclass(frozen=True)
class Place:
    """Where a worker finds data and shared kernels, and the seconds a unit may take."""

    data: Path | None
    cache: Path
    seconds: float = float("inf")

    def shared(self, unit: Unit) -> Shared:
        """Return the folder of the kernels that a unit uses."""
        return Shared.of(self.cache, unit)


@dataclass(frozen=True)
class Fit:
    """Labels of every repetition, seconds of one fit, and of the shared spectra it used."""

    labels: list[np.ndarray]
    cpu: float
    wall: float
    spectra: float = 0.0


def compute(unit: Unit, place: Place) -> Outcome:
    """Return the outcome of a unit; errors of the method are raised.

    The method gets the rows in the order of the unit. Its labels are mapped back to the order of
    the data set before they are scored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if unit.method == KERNELS:
            return build_kernels(unit, place)
        if uses_kernels(unit.method):
            shared = place.shared(unit)
            classes, shared_cpu = shared.classes(), shared.cpu()
            data: Any = shared.kernels()
        else:
            views = dataset(unit.dataset, place.data).load(place.data)
            classes, shared_cpu = class_numbers(views), 0.0
            data = views[row_order(classes, unit.order, unit.seed)]
        fit = fitted(unit, data, int(classes.max()) + 1, place.seconds)
        return scored(unit, fit, classes, shared_cpu)


def build_kernels(unit: Unit, place: Place) -> Outcome:
    """Compute the shared kernels of a data set, which other units wait for."""
    shared = place.shared(unit)
    began = time.perf_counter()
    if not shared.ready:
        shared.build(dataset(unit.dataset, place.data), place.data, unit)
    return Outcome(DONE, cpu=shared.cpu(), wall=time.perf_counter() - began)


def fitted(unit: Unit, data: MultiView | MappedKernels, k: int, seconds: float) -> Fit:
    """Fit a method to views, or to the shared kernels if it works on kernels."""
    settings = dict(unit.parameters)
    if unit.method == "best-view":
        assert isinstance(data, MappedKernels)
        model = estimator_for("akkm", k, random_state=unit.seed)
        return model_fit(model, data.only(settings["view"]), unit)
    if unit.method not in METHODS:
        given = data.views if isinstance(data, MultiView) else list(data)
        return peer_fit(unit, given, k, seconds)
    if isinstance(data, MultiView) and data.kernels:
        settings["precomputed"] = True
    model = estimator_for(unit.method, k, random_state=unit.seed, **settings)
    return model_fit(model, data, unit)


def model_fit(model: MultiViewClusterer, data: MultiView | MappedKernels, unit: Unit) -> Fit:
    """Fit once; the repetitions are runs of k-means on the embedding, if there is one."""
    cpu, wall = time.process_time(), time.perf_counter()
    used = spent = 0.0
    if isinstance(data, MappedKernels):
        assert isinstance(model, KernelClusterer)
        spectra = SharedSpectra(data)
        with remembered_by(spectra):
            model.fit_kernels(data)
        used, spent = spectra.used, spectra.spent
    else:
        model.fit(data)
    cpu, wall = time.process_time() - cpu - spent, time.perf_counter() - wall
    if unit.method in OWN_LABELS:
        return Fit([model.labels_], cpu, wall, used)
    how, k = unit.protocol, int(model.n_clusters)
    labels = [
        kmeans_labels(model.embedding_, k, how.restarts, unit.seed + run, how.start)
        for run in range(how.runs)
    ]
    return Fit(labels, cpu, wall, used)


def peer_fit(unit: Unit, views: Any, k: int, seconds: float) -> Fit:
    """Fit once per repetition, each with its own seed; the time is that of one fit.

    A repetition that would probably exceed the time limit is not started.
    """
    label = peer(unit.method).label
    cpu, wall = time.process_time(), time.perf_counter()
    labels: list[np.ndarray] = []
    spent = 0.0
    while len(labels) < unit.protocol.runs:
        labels.append(np.asarray(label(views, k, unit.seed + len(labels))))
        spent = time.process_time() - cpu
        if spent * (len(labels) + 1) / len(labels) > REPEATING * seconds:
            break
    passed = time.perf_counter() - wall
    return Fit(labels, spent / len(labels), passed / len(labels))


def scored(unit: Unit, fit: Fit, classes: np.ndarray, shared_cpu: float = 0.0) -> Outcome:
    """Return mean and standard deviation of every metric over the repetitions."""
    rows = row_order(classes, unit.order, unit.seed)
    found = [in_original_order(labels, rows) for labels in fit.labels]
    table = []
    for (metric, normalizer), score in SCORES.items():
        values = [score(classes, labels) for labels in found]
        table.append((metric, normalizer, float(np.mean(values)), float(np.std(values))))
    return Outcome(
        DONE, metrics=table, runs=len(found), cpu=fit.cpu, wall=fit.wall,
        shared_cpu=shared_cpu + fit.spectra,
    )  # fmt: skip


def in_original_order(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the labels (n,) of samples taken at `rows` in the order of the data set.

    >>> in_original_order(np.array([7, 8, 9]), np.array([2, 0, 1])).tolist()
    [8, 9, 7]
    """
    found = np.empty_like(labels)
    found[rows] = labels
    return found
