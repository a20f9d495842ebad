"""Read views from files, store models, and write files completely or not at all.

One module per format (`formats` lists them) describes a file and loads it: `mat5`, `mat73`, `npz`,
`h5mu`, `delimited` and `excel` (both by `text_table`), `parquet`. Common code then assigns roles
from names and shapes alone: `choose` and `plan` for files with many variables, `columns` and
`tables` for one table per view. `archive` stores models,
`atomic` writes files, `manifest` lists the results of a run, and `_guards` protects the readers
against hostile files. Names are imported on first use, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._guards.limits import Limits
    from .reading import inspect, read
    from .variables import Variable

_HOMES = {
    "Limits": "_guards.limits",
    "Variable": "variables",
    "inspect": "reading",
    "read": "reading",
}

__all__ = ["Limits", "Variable", "inspect", "read"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
