"""One unit: fit the method, label by the protocol, score against the truth, measure the cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base import KernelClusterer, MultiViewClusterer
from ..baselines.base import FitsCompleteRows
from ..data.views import MultiView
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import remembered_by
from ..methods import METHODS, estimator_for
from .peers import dense, peer
from .registry import Dataset, dataset, row_order, twelve_kernels, with_gaps
from .shared import MappedKernels, Shared, SharedSpectra
from .store import DONE, Outcome
from .suite import KERNELS, Unit
from .truth import Classes, Truth

REFITTED = ("graph-fusion", "oplf")  # labels of their own, which depend on the seed
SEEDLESS = ("swmc", "cagl")  # labels of their own, which do not
REPEATING = 0.7  # share of the time limit that repeated fits may use


@dataclass(frozen=True)
class Place:
    """Where a worker finds data and shared kernels, and the seconds a unit may take."""

    data: Path | None
    cache: Path
    seconds: float = float("inf")


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
        entry = dataset(unit.dataset, place.data)
        if unit.needs_kernels:
            shared = Shared.of(place.cache, unit)
            truth: Truth = Classes(shared.classes())
            fit = fitted(unit, shared.kernels(), entry.k, place.seconds)
            return scored(unit, fit, truth, shared.cpu())
        views = entry.load(place.data)
        truth = entry.known(views, place.data)
        data = given_views(unit, entry, views)[row_order(truth.values, unit.order, unit.seed)]
        return scored(unit, fitted(unit, data, entry.k, place.seconds), truth)


def given_views(unit: Unit, entry: Dataset, views: MultiView) -> MultiView:
    """Return the views as a method gets them: with gaps, or as twelve kernels of a single view.

    Peers that need columns get the single view itself.
    """
    if entry.gaps is not None:
        return with_gaps(views, *entry.gaps, unit.seed)
    if entry.kernel == "twelve" and unit.method in METHODS:
        return twelve_kernels(views)
    return views


def build_kernels(unit: Unit, place: Place) -> Outcome:
    """Compute the shared kernels of a data set, which other units wait for."""
    shared = Shared.of(place.cache, unit)
    began = time.perf_counter()
    if not shared.ready:
        shared.build(dataset(unit.dataset, place.data), place.data, unit)
    return Outcome(DONE, cpu=shared.cpu(), wall=time.perf_counter() - began)


def fitted(unit: Unit, data: MultiView | MappedKernels, k: int, seconds: float) -> Fit:
    """Fit a method to views, or to the shared kernels if it works on kernels."""
    settings = dict(unit.parameters)
    if unit.method == "best-view":
        data, method = data.select([data.names[settings.pop("view")]]), "akkm"
    elif unit.method in METHODS:
        method = unit.method
    else:
        label, views = peer(unit.method).label, _as_arrays(data)
        return repeated(lambda seed: label(views, k, seed), unit, seconds)
    settings |= _settings_for(data, method)
    spectra = SharedSpectra(data) if isinstance(data, MappedKernels) else None

    def model(seed: int) -> MultiViewClusterer:
        return _fit(estimator_for(method, k, random_state=seed, **settings), data, spectra)

    if method in REFITTED or getattr(data, "present", None) is not None:
        found = repeated(lambda seed: model(seed).labels_, unit, seconds)
    else:
        found = fitted_once(model, unit, k)
    if spectra is None:
        return found
    n_fits = len(found.labels) if method in REFITTED else 1
    return Fit(found.labels, found.cpu - spectra.spent / n_fits, found.wall, spectra.used / n_fits)


def fitted_once(model: Callable[[int], MultiViewClusterer], unit: Unit, k: int) -> Fit:
    """Fit once; the repetitions are runs of k-means on the embedding, if it has a part."""
    with _clock() as spent:
        found = model(unit.seed)
    if unit.method in SEEDLESS:
        return Fit([found.labels_], *spent)
    how = unit.protocol
    labels = [
        kmeans_labels(found.embedding_, k, how.restarts, unit.seed + run, how.start)
        for run in range(how.runs)
    ]
    return Fit(labels, *spent)


def repeated(label: Callable[[int], Any], unit: Unit, seconds: float) -> Fit:
    """Fit once per repetition, each with its own seed; the time is that of one fit.

    A repetition that would probably exceed the time limit is not started.
    """
    labels: list[np.ndarray] = []
    cpu = wall = 0.0
    while len(labels) < unit.protocol.runs:
        with _clock() as spent:
            labels.append(np.asarray(label(unit.seed + len(labels))))
        cpu, wall = cpu + spent[0], wall + spent[1]
        if cpu * (len(labels) + 1) / len(labels) > REPEATING * seconds:
            break
    return Fit(labels, cpu / len(labels), wall / len(labels))


def scored(unit: Unit, fit: Fit, truth: Truth, shared_cpu: float = 0.0) -> Outcome:
    """Return mean and standard deviation of every metric over the repetitions."""
    back = np.argsort(row_order(truth.values, unit.order, unit.seed))
    found = [truth.scores(labels[back]) for labels in fit.labels]
    table = []
    for metric, normalizer in found[0]:
        values = [scores[metric, normalizer] for scores in found]
        table.append((metric, normalizer, float(np.mean(values)), float(np.std(values))))
    return Outcome(
        DONE, metrics=table, runs=len(found), cpu=fit.cpu, wall=fit.wall,
        shared_cpu=shared_cpu + fit.spectra,
    )  # fmt: skip


@contextmanager
def _clock() -> Iterator[list[float]]:
    """Yield a list that holds CPU and wall seconds of the block afterwards."""
    spent: list[float] = []
    cpu, wall = time.process_time(), time.perf_counter()
    yield spent
    spent += [time.process_time() - cpu, time.perf_counter() - wall]


def _fit(
    model: MultiViewClusterer, data: MultiView | MappedKernels, spectra: SharedSpectra | None
) -> MultiViewClusterer:
    if spectra is None:
        return model.fit(data)
    assert isinstance(model, KernelClusterer) and isinstance(data, MappedKernels)
    with remembered_by(spectra):
        return model.fit_kernels(data)


def _settings_for(data: MultiView | MappedKernels, method: str) -> dict[str, Any]:
    """Return what a user has to set for these views: kernels, missing samples, NaN cells."""
    if isinstance(data, MappedKernels):
        return {}
    found: dict[str, Any] = {"precomputed": True} if data.kernels else {}
    if data.present is not None and issubclass(METHODS[method], FitsCompleteRows):
        found["missing_rows"] = "complete"
    if any(data.gaps):
        found["missing"] = "median"
    return found


def _as_arrays(data: MultiView | MappedKernels) -> list[Any]:
    """Return the views for a peer; the rows of samples that a view lacks are NaN."""
    if isinstance(data, MappedKernels):
        return list(data)
    if data.present is None:
        return list(data.views)
    pairs = zip(data.views, data.present.T, strict=True)
    return [np.where(held[:, None], dense(view), np.nan) for view, held in pairs]
