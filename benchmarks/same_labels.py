"""Labels of the default and of every method on every data set at hand, to compare two commits.

Run it once on each commit with the same folder of data, then compare the two result folders::

    python benchmarks/same_labels.py record DATA BEFORE --seconds 60
    python benchmarks/same_labels.py record DATA AFTER --seconds 60
    python benchmarks/same_labels.py compare BEFORE AFTER

It uses only names that every version has: `METHODS`, `cluster` and the registry of `bench`. Each
fit runs in a process of its own with one thread; one that takes longer than the limit is recorded
as such and left out of the comparison.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

DEFAULT = "default"
MOST = 10_000  # samples of the largest data set


def fitted(method: str, dataset: Any, views: Any) -> Any:
    """A model of one method with seed 0, on the kernels that the registry names."""
    from mkclust import METHODS, cluster

    if method == DEFAULT:
        return cluster(views, dataset.k, random_state=0)
    if method == "graph-fusion":
        return METHODS[method](dataset.k, random_state=0).fit(views)
    made, recipe = dataset.kernels(views)
    settings = {"kernel": recipe.kernel, "indefinite": recipe.indefinite}
    return METHODS[method](dataset.k, random_state=0, **settings).fit(made)


def record_one(method: str, name: str, data: Path, target: Path) -> None:
    """Fit and write the labels; a refusal is an answer too."""
    from mkclust.bench.registry import dataset

    warnings.simplefilter("ignore")
    threadpool_limits(1)
    entry = dataset(name, data)
    views = entry.load(data)
    try:
        labels = np.asarray(fitted(method, entry, views).labels_)
        np.savez(target, labels=labels)
    except ValueError as error:
        np.savez(target, refused=str(error))


def record(
    data: Path, folder: Path, seconds: float, only: list[str], like: Path | None = None
) -> None:
    """Record every method on every data set, small sets first; what is there already is kept.

    Fits that took too long in the record `like` are left out.
    """
    from mkclust import METHODS
    from mkclust.bench.registry import registered

    folder.mkdir(parents=True, exist_ok=True)
    known = (s for s in registered().values() if s.n <= MOST and not s.truth)
    sets = sorted((s for s in known if s.present(data)), key=lambda s: s.n)
    for entry in sets:
        for method in only or [DEFAULT, *METHODS]:
            target = folder / f"{entry.name}--{method}.npz"
            if target.exists() or (like is not None and _late(like / target.name)):
                continue
            process = multiprocessing.Process(
                target=record_one, args=(method, entry.name, data, target)
            )
            process.start()
            process.join(seconds)
            if process.is_alive():
                process.kill()
                process.join()
                np.savez(target, late=seconds)
            outcome = sorted(np.load(target).files)[0] if target.exists() else "failed"
            print(f"{entry.name:30} {method:12} {outcome}", flush=True)


def _late(path: Path) -> bool:
    return path.exists() and "late" in np.load(path).files


def compare(before: Path, after: Path) -> int:
    """Print what differs; 0 where every partition is equal."""
    compared = different = renumbered = late = refused = 0
    missing = []
    for one in sorted(before.glob("*.npz")):
        other = after / one.name
        was = np.load(one)
        if "late" in was.files:
            late += 1
            continue
        if not other.exists():
            missing.append(one.stem)
            continue
        now = np.load(other)
        if "refused" in was.files and "refused" in now.files:
            refused += 1
            continue
        compared += 1
        if "labels" not in was.files or "labels" not in now.files:
            different += 1
            print(f"{one.stem}: {was.files[0]} before, {now.files[0]} after")
        elif np.array_equal(was["labels"], now["labels"]):
            continue
        elif adjusted_rand_score(was["labels"], now["labels"]) == 1:
            renumbered += 1
        else:
            different += 1
            count = np.count_nonzero(was["labels"] != now["labels"])
            print(f"{one.stem}: {count} of {len(was['labels'])} labels differ")
    print(
        f"{compared} fits compared, {different} differ, {renumbered} are the same partition with "
        f"other numbers; {refused} refused by both, {late} beyond the limit before, {len(missing)} "
        "not recorded after"
    )
    return int(different > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("data", type=Path)
    recording.add_argument("folder", type=Path)
    recording.add_argument("--seconds", type=float, default=60.0)
    recording.add_argument("--only", action="append", default=[])
    recording.add_argument("--like", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        record(options.data, options.folder, options.seconds, options.only, options.like)
        return 0
    return compare(options.before, options.after)


if __name__ == "__main__":
    sys.exit(main())
