"""Run the units of a suite in processes with limits, and append them to one table of results.

A unit is one method in one setting on one data set. A second run continues where the first
stopped: units that the table holds are not computed again.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from concurrent.futures import TimeoutError, as_completed
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pebble import ProcessExpired, ProcessPool

from mkclust import METHODS, MultiView
from mkclust.base import KernelClusterer
from mkclust.linalg.kmeans import kmeans_labels

from .data import LOG_RANK, Dataset, dense, row_order, twelve_kernels
from .peers import PEERS
from .suites import SUITES, Suite

TABLE = Path(__file__).with_name("results.csv")
METRICS = ("acc", "nmi", "purity", "ari", LOG_RANK)
KEY = ["suite", "dataset", "method", "parameters", "seed"]
COLUMNS = [*KEY, "tuned", "status", "runs", "cpu",
           *(f"{metric}_{part}" for metric in METRICS for part in ("mean", "std"))]  # fmt: skip
SLOW = 30.0  # CPU seconds of a fit above which it is not repeated
REFITTED = ("graph-fusion", "oplf", *PEERS)  # labels of their own, which depend on the seed
SEEDLESS = ("swmc", "cagl")  # labels of their own, which do not


def read_table(path: Path = TABLE) -> pd.DataFrame:
    """Return the table of results; empty where there is none yet."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, keep_default_na=False, na_values={c: [""] for c in COLUMNS[6:]})


def run(
    name: str,
    path: Path = TABLE,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    order: str = "shuffled",
    jobs: int = 2,
    again: str | None = None,
    report: Callable[[str], None] = print,
) -> None:
    """Run the units of a suite that the table lacks, and append each when it is finished.

    Units of these data sets and methods whose status begins with `again` are computed again, such
    as those out of time under other limits.
    """
    suite, stored = SUITES[name], name if order == "shuffled" else f"{name}-{order}"
    table = read_table(path)
    if again is not None:
        gone = (table.suite == stored) & table.status.str.startswith(again)
        for column, chosen in ((table.dataset, datasets), (table.method, methods)):
            gone &= column.isin(chosen) if chosen else True
        table = table[~gone]
        table.to_csv(path, index=False, lineterminator="\n")
    known = set(map(tuple, table[KEY].astype(str).to_numpy()))
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    left = []
    for entry, method, setting, tuned, seed in suite.units():
        key = (stored, entry.name, method, json.dumps(setting, sort_keys=True), str(seed))
        chosen = (not datasets or entry.name in datasets) and (not methods or method in methods)
        if chosen and key not in known:
            left.append((key, entry, method, setting, tuned, seed))
    report(f"{name}: {len(left)} units to run, {len(known)} in {path.name}")
    with ProcessPool(max_workers=jobs, max_tasks=1) as pool:
        futures = {}
        for key, entry, method, setting, tuned, seed in left:
            task = (suite, entry, method, setting, seed, order)
            futures[pool.schedule(run_unit, task, timeout=10 * suite.cpu)] = (key, tuned)
        try:
            for future in as_completed(futures):
                key, tuned = futures[future]
                row = dict(zip(KEY, key, strict=True)) | {"tuned": int(tuned)}
                row |= outcome(future, suite.cpu)
                with path.open("a", newline="", encoding="utf-8") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
                report(f"{key[1]:24} {key[2]:16} {key[3]:24} {row['status']}")
        except BaseException:
            pool.stop()  # else the pool would finish all units before the interrupt is heard
            raise


def outcome(future: Any, limit: float) -> dict[str, Any]:
    """Return the row of a unit; what ended its process is the status.

    A unit that was out of time has used the CPU seconds that were its `limit`.
    """
    late = {"status": "out of time", "cpu": f"{limit:.3f}"}
    try:
        return dict(future.result())
    except TimeoutError:
        return late
    except ProcessExpired as error:
        killed = error.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        return late if killed else {"status": f"ended with code {error.exitcode}"}


def run_unit(suite: Suite, *unit: Any) -> dict[str, Any]:
    """Compute a unit in this process, which is limited for good; a failure is a result, too.

    Errors of other packages cannot always be pickled, so they are put into words here. What these
    packages print is dropped.
    """
    spent = round(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + int(suite.cpu), spent + int(suite.cpu) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (int(suite.memory * 2**30),) * 2)
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            return compute(suite, *unit)
    except MemoryError:
        return {"status": "out of memory"}
    except Exception as error:
        text = str(error).splitlines()[0][:160] if str(error) else ""
        return {"status": f"failed: {type(error).__name__}: {text}"}


def compute(
    suite: Suite, entry: Dataset, method: str, setting: dict[str, Any], seed: int, order: str
) -> dict[str, Any]:
    """Fit and score one unit; return its row of the table."""
    warnings.simplefilter("ignore")
    views, score = entry.load(seed)
    rows = row_order(score.values, order, seed)
    labels, cpu = fit(suite, entry, method, setting, views[rows], seed)
    found = pd.DataFrame([score(each[np.argsort(rows)]) for each in labels])
    row = {"status": "done", "runs": len(labels), "cpu": f"{cpu:.3f}"}
    for metric in found:
        row |= {
            f"{metric}_mean": f"{found[metric].mean():.5f}",
            f"{metric}_std": f"{found[metric].std(ddof=0):.5f}",
        }
    return row


def fit(
    suite: Suite, entry: Dataset, method: str, setting: dict[str, Any], views: MultiView, seed: int
) -> tuple[list[np.ndarray], float]:
    """Return the labels of every repetition, and the CPU seconds of one fit with its kernels."""
    k, setting, own = entry.k, dict(setting), method
    if method in PEERS:
        tables = arrays(views)
        return repeat(lambda s: np.asarray(PEERS[method](tables, k, s)), suite.runs, seed)
    if method == "best-view":
        method, view = "akkm", setting.pop("view")
    kind = METHODS[method]
    if entry.kernel == "twelve":
        views = twelve_kernels(views)
    if own == "best-view":
        views = views.select([views.names[view]])
    setting |= settings_for(kind, entry, views)

    def fitted(s: int) -> Any:
        return kind(k, random_state=s, **setting).fit(views)

    if method in REFITTED or views.present is not None:
        return repeat(lambda s: fitted(s).labels_, suite.runs, seed)
    began = time.process_time()
    model = fitted(seed)
    cpu = time.process_time() - began
    if method in SEEDLESS:
        return [model.labels_], cpu
    seeds = range(seed, seed + suite.runs)
    return [kmeans_labels(model.embedding_, k, 10, s, suite.start) for s in seeds], cpu


def repeat(
    label: Callable[[int], np.ndarray], runs: int, seed: int
) -> tuple[list[np.ndarray], float]:
    """Fit once per seed; a fit that took more than `SLOW` seconds is not repeated."""
    began = time.process_time()
    labels = [label(seed)]
    if time.process_time() - began <= SLOW:
        labels += [label(seed + r) for r in range(1, runs)]
    return labels, (time.process_time() - began) / len(labels)


def settings_for(kind: Any, entry: Dataset, views: MultiView) -> dict[str, Any]:
    """Return what a user has to set for these views: kernels, missing samples, NaN cells."""
    found: dict[str, Any] = {}
    if issubclass(kind, KernelClusterer):
        if views.kernels:
            found["indefinite"] = "ignore" if entry.kernel == "twelve" else "shift"
        else:
            found["kernel"] = entry.kernel or "gaussian"
    elif views.kernels and "precomputed" in kind(2).get_params():
        found["precomputed"] = True
    if views.present is not None and "missing_rows" in kind(2).get_params():
        found["missing_rows"] = "complete"
    if any(views.gaps):
        found["missing"] = "median"
    return found


def arrays(views: MultiView) -> list[Any]:
    """Return the views for a peer; the rows of samples that a view lacks are NaN."""
    if views.present is None:
        return list(views.views)
    pairs = zip(views.views, views.present.T, strict=True)
    return [np.where(held[:, None], dense(view), np.nan) for view, held in pairs]
