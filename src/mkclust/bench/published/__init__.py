"""The values printed in the paper's Tables 2 and 3.

J. Zhang et al., Multiple Kernel Clustering with Dual Noise Minimization, ACM Multimedia 2022.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files


@cache
def scores() -> dict[tuple[str, str, str], float]:
    """Return Table 2 as fractions, by (data set, method, metric), without the entries N/A.

    >>> scores()["bbcsport", "mkcdnm", "acc"]
    0.8761
    """
    return {
        (plain(row["dataset"]), plain(row["method"]), row["metric"]): round(float(value) / 100, 6)
        for row in _rows("table2.csv")
        if (value := row["value_percent"])
    }


@cache
def seconds() -> dict[tuple[str, str, str], float]:
    """Return Table 3 in seconds, by (data set, method, "tune" or "run"), without N/A and "-".

    >>> seconds()["bbcsport", "hmkc", "tune"]
    27.04
    """
    return {
        (plain(row["dataset"]), plain(row["method"]), row["kind"]): float(value)
        for row in _rows("table3.csv")
        if (value := row["seconds"])
    }


@cache
def methods() -> tuple[str, ...]:
    """Return the methods in the order of Table 2.

    >>> methods()[0], methods()[-1]
    ('akkm', 'mkcdnm')
    """
    return tuple(dict.fromkeys(plain(row["method"]) for row in _rows("table2.csv")))


def plain(name: str) -> str:
    """Return a name in lower case without spaces and hyphens, as in the keys of the tables.

    >>> plain("SensIT Vehicle"), plain("MKC-DNM")
    ('sensitvehicle', 'mkcdnm')
    """
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files(__package__).joinpath(name).read_text("utf-8")
    return iter(csv.DictReader(text.splitlines()))
