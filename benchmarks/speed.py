"""Speed as ratios measured in one run, in turns, by CPU seconds: ``python -m benchmarks.speed``."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import SpectralClustering

from mkclust import (
    GraphFusion,
    MultiView,
    cluster,
    datasets,
    explain,
    read,
    stability,
    view_influence,
)
from mkclust import choose_k as choose

from .peers import concatenate


def measure_in_turns(
    functions: dict[str, Callable[[], Any]], repeat: int = 3, summary: Callable[..., Any] = min
) -> dict[str, float]:
    """Return the CPU seconds of each function: the least, or another summary of all turns.

    Turns spread other load over all functions.
    """
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeat):
        for name, function in functions.items():
            began = time.process_time()
            function()
            found[name].append(time.process_time() - began)
    return {name: float(summary(seconds)) for name, seconds in found.items()}


def against_concatenation(views: MultiView, k: int, repeat: int = 3) -> tuple[float, float]:
    """Return CPU seconds of a fit, and of spectral clustering of the concatenated columns."""
    X = concatenate(views.views)
    peer = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    found = measure_in_turns(
        {"fit": lambda: GraphFusion(k, random_state=0).fit(views), "peer": lambda: peer.fit(X)},
        repeat,
    )
    return found["fit"], found["peer"]


def help_seconds() -> float:
    """Return the CPU seconds of ``mkclust --help``."""
    code = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-m', 'mkclust', "
        "'--help'], stdout=subprocess.DEVNULL); u = resource.getrusage(resource.RUSAGE_CHILDREN);"
        " print(u.ru_utime + u.ru_stime)"
    )
    return float(subprocess.check_output([sys.executable, "-c", code]))


def reading_seconds(rows: int, columns: int, files: int, decimals: int | None) -> dict[str, float]:
    """Return the CPU seconds of `read` and of ``pandas.read_csv``, medians of five turns.

    The same tables of rows with names are read, in files that have the columns in equal parts.
    """
    rng = np.random.default_rng(0)
    names = pd.Index([f"TCGA-{i:06d}" for i in range(rows)], name="sample")
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"table{p}.csv") for p in range(files)]
        for path in paths:
            frame = pd.DataFrame(rng.standard_normal((rows, columns // files)), names)
            written = frame.add_prefix("g").to_csv(float_format=decimals and f"%.{decimals}f")
            path.write_text(written, encoding="utf-8")
        return measure_in_turns(
            {"pandas": lambda: [pd.read_csv(path) for path in paths], "read": lambda: read(folder)},
            5,
            np.median,
        )


def main() -> None:
    warnings.simplefilter("ignore")
    digits = datasets.load_mfeat()
    planted = datasets.make_views(20_000, 10, 3, noise=2.0, random_state=0)
    print("| what | CPU s | compared with | CPU s | ratio |")
    print("|:---|---:|:---|---:|---:|")
    for name, views, repeat in (("Mfeat", digits, 3), ("planted, n = 20 000", planted, 1)):
        ours, theirs = against_concatenation(views, 10, repeat)
        print(f"| fit of {name} | {ours:.2f} | spectral clustering of the concatenation | "
              f"{theirs:.2f} | {ours / theirs:.2f} |")  # fmt: skip
    model = GraphFusion(10, random_state=0).fit(digits)
    questions = {
        "fit": lambda: GraphFusion(10, random_state=0).fit(digits),
        "cluster with its verdict": lambda: cluster(digits, 10, random_state=0),
        "choose_k": lambda: choose(model, digits),
        "explain": lambda: explain(model, digits),
        "stability": lambda: stability(model, digits),
        "view_influence": lambda: view_influence(model, digits),
    }
    found = measure_in_turns(questions, 2)
    for name in list(questions)[1:]:
        print(f"| {name}, Mfeat | {found[name]:.2f} | one fit | {found['fit']:.2f} | "
              f"{found[name] / found['fit']:.2f} |")  # fmt: skip
    for rows, columns in ((2000, 6000), (60_000, 200)):
        for files in (1, 4):
            for decimals in (5, None):
                took = reading_seconds(rows, columns, files, decimals)
                what = f"read {files} x .csv of {rows} x {columns // files}"
                what += f", {decimals} decimals" if decimals else ", all digits"
                print(f"| {what} | {took['read']:.2f} | pandas.read_csv | {took['pandas']:.2f} | "
                      f"{took['read'] / took['pandas']:.2f} |")  # fmt: skip
    print(f"| mkclust --help | {help_seconds():.2f} | | | |")


if __name__ == "__main__":
    main()
