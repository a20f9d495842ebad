"""A suite on the data at hand: what is there, what is missing, and the run itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..exceptions import InputError
from .peers import PEERS, takes_anything, uses_kernels
from .registry import Dataset, dataset
from .runner import Runner, Setting, installed_peers
from .shared import Shared, remove_empty
from .store import Limits, Store
from .suite import Suite, check_methods, load_suite
from .units import Planned, expand


@dataclass(frozen=True)
class Wishes:
    """What a user may say differently from the suite's file."""

    data: Path | None = None
    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    jobs: int = 1
    time_limit: float | None = None
    memory_limit: float | None = None
    peers_python: str | None = None
    retry: bool = False


@dataclass(frozen=True)
class Experiment:
    """What will be run, and what will not and why."""

    suite: Suite
    planned: list[Planned]
    absent: list[Dataset]
    not_installed: list[str]


def prepare(name: str, wishes: Wishes) -> Experiment:
    """Choose data sets, methods and limits; name what is absent."""
    suite = _as_wished(load_suite(name), wishes)
    members = suite.members(wishes.data)
    absent = [entry for entry in members if not entry.present(wishes.data)]
    present = [entry for entry in members if entry.present(wishes.data)]
    named = [method for method in suite.methods if method in PEERS]
    there = installed_peers(named, wishes.peers_python)
    missing = [method for method in named if method not in there]
    kept = tuple(method for method in suite.methods if method not in missing)
    planned = expand(replace(suite, methods=kept), present, wishes.data)
    return Experiment(suite, [item for item in planned if _applies(item, wishes)], absent, missing)


def run(
    experiment: Experiment,
    path: Path,
    wishes: Wishes,
    report: Callable[[Runner], None] = lambda _: None,
    keep_kernels: bool = False,
) -> Store:
    """Run what is open into the store at `path`; kernels are kept beside it while needed."""
    suite = experiment.suite
    store = Store(path)
    limits = Limits(suite.time_limit, suite.memory_limit * 2**30)
    store.plan(suite.name, experiment.planned, limits)
    if wishes.retry:
        store.retry()
    cache = path.with_name(path.name + ".kernels")
    shared = _shared(experiment.planned, cache)
    for unit_id, kernels in shared.items():
        if not kernels.ready:
            store.forget(unit_id)
    setting = Setting(wishes.data, cache, limits, wishes.jobs, wishes.peers_python)
    Runner(store, setting, report).run()
    if not keep_kernels:
        _remove(shared, cache, store)
    return store


def _shared(planned: Sequence[Planned], cache: Path) -> dict[str, Shared]:
    """The kernels that units use, by the id of the unit that computes them."""
    units = [item.unit for item in planned if uses_kernels(item.unit.method)]
    return {unit.shared().id: Shared.of(cache, unit.dataset, unit.content) for unit in units}


def _remove(shared: dict[str, Shared], cache: Path, store: Store) -> None:
    """Delete kernels nobody waits for; whoever needs them again computes them again."""
    for unit_id, kernels in shared.items():
        if not store.waiting(unit_id):
            store.forget(unit_id)
            kernels.remove()
    remove_empty(cache)


def _as_wished(suite: Suite, wishes: Wishes) -> Suite:
    changes: dict[str, object] = {}
    if wishes.datasets:
        changes["datasets"] = tuple(wishes.datasets)
    if wishes.methods:
        check_methods(tuple(wishes.methods))
        changes["methods"] = tuple(wishes.methods)
    if wishes.time_limit is not None:
        changes["time_limit"] = wishes.time_limit
    if wishes.memory_limit is not None:
        changes["memory_limit"] = wishes.memory_limit
    changed = replace(suite, **changes)  # type: ignore[arg-type]
    if min(changed.time_limit, changed.memory_limit) <= 0 or wishes.jobs < 1:
        raise InputError("limits must be above 0, and jobs at least 1")
    return changed


def _applies(item: Planned, wishes: Wishes) -> bool:
    """Peers that work on features have nothing to work on where a file holds kernels."""
    if uses_kernels(item.unit.method) or takes_anything(item.unit.method):
        return True
    return dataset(item.unit.dataset, wishes.data).kernel != ""
