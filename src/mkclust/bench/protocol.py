"""One unit: fit, label as the protocol says, compare with the classes, and measure what it took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MultiViewClusterer
from ..contingency import Table
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import remembered_by
from ..methods import METHODS
from .peers import peer, takes_anything, uses_kernels
from .record import DONE
from .registry import class_numbers, dataset
from .shared import MappedKernels, Shared, SharedSpectra
from .store import Outcome
from .units import KERNELS, Unit

LABELS_OF_ITS_OWN = ("oplf", "swmc", "cagl")  # scored as they are: no k-means of ours after them
REPEATING = 0.7  # share of the time limit that repeated fits of a peer may fill
SCORES: dict[tuple[str, str], Callable[[Table], float]] = {
    ("acc", ""): Table.accuracy,
    ("nmi", "max"): Table.nmi,
    ("nmi", "arithmetic"): lambda table: table.nmi("arithmetic"),
    ("purity", ""): Table.purity,
    ("ari", ""): Table.ari,
}


@dataclass(frozen=True)
class Place:
    """Where a worker finds data and shared kernels, and the seconds a unit may take."""

    data: Path | None
    cache: Path
    seconds: float = float("inf")

    def shared(self, unit: Unit) -> Shared:
        return Shared.of(self.cache, unit.dataset, unit.content)


@dataclass(frozen=True)
class Fit:
    """Labels of every repetition, seconds of one fit, and of the shared spectra it used."""

    labels: list[np.ndarray]
    cpu: float
    wall: float
    spectra: float = 0.0


def compute(unit: Unit, place: Place) -> Outcome:
    """The outcome of a unit; whatever goes wrong is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if unit.method == KERNELS:
            return build_kernels(unit, place)
        if not uses_kernels(unit.method):
            views = dataset(unit.dataset, place.data).load(place.data)
            classes = class_numbers(views)
            given = views if takes_anything(unit.method) else views.views
            fit = peer_fit(unit, given, int(classes.max()) + 1, place.seconds)
            return scored(unit, fit, classes)
        shared = place.shared(unit)
        classes = shared.classes()
        fit = kernel_fit(unit, shared.kernels(), int(classes.max()) + 1, place.seconds)
        return scored(unit, fit, classes, shared.cpu())


def build_kernels(unit: Unit, place: Place) -> Outcome:
    """The unit that the others of a data set wait for."""
    shared = place.shared(unit)
    began = time.perf_counter()
    if not shared.ready:
        shared.build(dataset(unit.dataset, place.data), place.data)
    return Outcome(DONE, cpu=shared.cpu(), wall=time.perf_counter() - began)


def kernel_fit(unit: Unit, kernels: MappedKernels, k: int, seconds: float) -> Fit:
    """A method on the shared kernels, or a peer that takes kernels."""
    parameters = dict(unit.parameters)
    if unit.method == "best-view":
        kernels = kernels.only(parameters.pop("view"))
        return model_fit(METHODS["akkm"](k, random_state=unit.seed), kernels, unit)
    if unit.method not in METHODS:
        return peer_fit(unit, list(kernels), k, seconds)
    model = METHODS[unit.method](k, random_state=unit.seed, **parameters)
    return model_fit(model, kernels, unit)


def model_fit(model: MultiViewClusterer, kernels: MappedKernels, unit: Unit) -> Fit:
    """One fit; the repetitions are of k-means on its embedding, where labels come from there."""
    spectra = SharedSpectra(kernels)
    cpu, wall = time.process_time(), time.perf_counter()
    with remembered_by(spectra):
        model.fit_kernels(kernels)
    cpu, wall = time.process_time() - cpu - spectra.spent, time.perf_counter() - wall
    how, k = unit.protocol, int(model.n_clusters)
    if unit.method in LABELS_OF_ITS_OWN:
        return Fit([model.labels_], cpu, wall, spectra.used)
    labels = [
        kmeans_labels(model.embedding_, k, how.restarts, unit.seed + run, how.start)
        for run in range(how.runs)
    ]
    return Fit(labels, cpu, wall, spectra.used)


def peer_fit(unit: Unit, views: Any, k: int, seconds: float) -> Fit:
    """One fit per repetition, each with its own seed; the time is that of one.

    No repetition is begun that would probably end after the limit: there are then fewer.
    """
    label = peer(unit.method).label
    cpu, wall = time.process_time(), time.perf_counter()
    labels: list[np.ndarray] = []
    while len(labels) < unit.protocol.runs:
        labels.append(np.asarray(label(views, k, unit.seed + len(labels))))
        spent = time.process_time() - cpu
        if spent * (len(labels) + 1) / len(labels) > REPEATING * seconds:
            break
    passed = time.perf_counter() - wall
    return Fit(labels, spent / len(labels), passed / len(labels))


def scored(unit: Unit, fit: Fit, classes: Any, shared_cpu: float = 0.0) -> Outcome:
    """Mean and standard deviation of every metric over the repetitions."""
    tables = [Table.of(classes, labels, finite=True) for labels in fit.labels]
    rows = []
    for (metric, normaliser), score in SCORES.items():
        values = [score(table) for table in tables]
        rows.append((metric, normaliser, float(np.mean(values)), float(np.std(values))))
    return Outcome(
        DONE, metrics=rows, runs=len(fit.labels), cpu=fit.cpu, wall=fit.wall,
        shared_cpu=shared_cpu + fit.spectra,
    )  # fmt: skip
