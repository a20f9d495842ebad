"""Prepare a suite on the data sets that are present, and run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..exceptions import InputError
from ..methods import METHODS
from .peers import PEERS, uses_kernels
from .registry import Dataset, dataset
from .runner import Runner, Setting, installed_peers
from .shared import Shared, remove_empty
from .store import Limits, Store
from .suite import Suite, check_methods, check_order, load_suite
from .units import Planned, expand


@dataclass(frozen=True)
class Options:
    """Where a suite runs, and what overrides its file; None keeps the value of the file."""

    data: Path | None = None
    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    jobs: int = 1
    time_limit: float | None = None
    memory_limit: float | None = None
    peers_python: str | None = None
    retry: bool = False
    order: str | None = None


@dataclass(frozen=True)
class Experiment:
    """The units to run, the data sets that are absent and the peers that are not installed."""

    suite: Suite
    planned: list[Planned]
    absent: list[Dataset]
    not_installed: list[str]


def prepare(name: str, options: Options) -> Experiment:
    """Select data sets, methods and limits; list what is absent."""
    suite = _overridden(load_suite(name), options)
    members = suite.members(options.data)
    absent = [entry for entry in members if not entry.present(options.data)]
    present = [entry for entry in members if entry.present(options.data)]
    named = [method for method in suite.methods if method in PEERS]
    there = installed_peers(named, options.peers_python)
    missing = [method for method in named if method not in there]
    kept = tuple(method for method in suite.methods if method not in missing)
    planned = expand(replace(suite, methods=kept), present, options.data)
    return Experiment(suite, [item for item in planned if _applies(item, options)], absent, missing)


def run(
    experiment: Experiment,
    path: Path,
    options: Options,
    report: Callable[[Runner], None] = lambda _: None,
    keep_kernels: bool = False,
) -> Store:
    """Run the open units of a suite into the store at `path`.

    Shared kernels are kept beside the store until no unit needs them.
    """
    suite = experiment.suite
    store = Store(path)
    limits = Limits(suite.time_limit, suite.memory_limit * 2**30)
    store.plan(suite.stored_as, experiment.planned, limits)
    if options.retry:
        store.retry()
    cache = path.with_name(path.name + ".kernels")
    shared = _shared(experiment.planned, cache)
    for unit_id, kernels in shared.items():
        if not kernels.ready:
            store.forget(unit_id)
    setting = Setting(options.data, cache, limits, options.jobs, options.peers_python)
    Runner(store, setting, report).run()
    if not keep_kernels:
        _remove(shared, cache, store)
    return store


def _shared(planned: Sequence[Planned], cache: Path) -> dict[str, Shared]:
    """Return the shared kernels of the units, by the id of the unit that computes them."""
    units = [item.unit for item in planned if item.unit.needs_kernels]
    return {unit.shared().id: Shared.of(cache, unit) for unit in units}


def _remove(shared: dict[str, Shared], cache: Path, store: Store) -> None:
    """Delete the kernels that no open unit needs."""
    for unit_id, kernels in shared.items():
        if not store.waiting(unit_id):
            store.forget(unit_id)
            kernels.remove()
    remove_empty(cache)


def _overridden(suite: Suite, options: Options) -> Suite:
    changes: dict[str, object] = {}
    if options.datasets:
        changes["datasets"] = tuple(options.datasets)
    if options.methods:
        check_methods(tuple(options.methods))
        changes["methods"] = tuple(options.methods)
    if options.order is not None:
        check_order(options.order)
        changes["order"] = options.order
    if options.time_limit is not None:
        changes["time_limit"] = options.time_limit
    if options.memory_limit is not None:
        changes["memory_limit"] = options.memory_limit
    changed = replace(suite, **changes)  # type: ignore[arg-type]
    if min(changed.time_limit, changed.memory_limit) <= 0 or options.jobs < 1:
        raise InputError("time_limit and memory_limit must be above 0, and jobs at least 1")
    return changed


def _applies(item: Planned, options: Options) -> bool:
    """Return False for a peer that needs features on a data set that holds kernels."""
    if item.unit.method in METHODS or uses_kernels(item.unit.method):
        return True
    return dataset(item.unit.dataset, options.data).kernel != ""
