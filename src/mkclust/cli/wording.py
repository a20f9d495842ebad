"""Error messages of the library in the words of the command line."""

from __future__ import annotations

import re

SPECIAL = {
    "n_clusters": "-k",
    "random_state": "--seed",
    "kernel_params": "--kernel-param",
}
PARAMETERS = (
    "approximation", "columns", "dask", "graph", "index", "indefinite", "init", "kernel", "kernels",
    "labels", "max_dimension", "method", "missing", "missing_rows", "n_components",
    "n_init", "n_neighbors", "on_infeasible", "precision", "solver", "threshold", "transpose",
    "views", "work", *SPECIAL,
)  # fmt: skip
_VALUE = r"\"(?P<quoted>[^\"\s]*)\"|'(?P<single>[^']*)'|(?P<bare>\.\.\.|True|False|None)"
_GIVEN = re.compile(rf"\b(?P<name>{'|'.join(PARAMETERS)})=(?:{_VALUE})")
_NAMED = re.compile(r"\b(?P<name>(?!in_memory)(?:" + "|".join(
    name for name in PARAMETERS if "_" in name) + r"))\b")  # fmt: skip
_SUBJECT = re.compile(rf"^(?P<name>{'|'.join(PARAMETERS)})(?= must be )")


def in_options(message: str) -> str:
    """Replace names of Python parameters by the options that set them.

    >>> in_options("n_clusters = 61 is more than the 60 samples")
    '-k 61 is more than the 60 samples'
    >>> in_options("several columns are named like labels: choose with labels=...")
    'several columns are named like labels: choose with --labels NAME'
    >>> in_options('solver must be one of authors, paper, exact, got "magic"')
    '--solver must be one of authors, paper, exact, got "magic"'
    >>> in_options("pass labels=False for none, or kernels=True")
    'pass --labels none for none, or --kernels'
    """
    message = _GIVEN.sub(_given, message)
    message = _SUBJECT.sub(lambda found: option(found["name"]), message)
    message = re.sub(r"\bn_clusters = ", "-k ", message)
    return _NAMED.sub(lambda found: option(found["name"]), message)


def option(name: str) -> str:
    """Return the option that sets a parameter.

    >>> option("n_neighbors"), option("random_state")
    ('--n-neighbors', '--seed')
    """
    return SPECIAL.get(name, f"--{name.replace('_', '-')}")


def _given(found: re.Match[str]) -> str:
    name, value = found["name"], found["quoted"] or found["single"] or found["bare"] or "''"
    if name in ("transpose", "kernels") and value in ("True", "False"):
        opposite = {"transpose": "--no-transpose", "kernels": "--features"}[name]
        return option(name) if value == "True" else opposite
    words = {"...": "NAME", "False": "none", "None": "none", "True": ""}
    return f"{option(name)} {words.get(value, value)}".strip()
