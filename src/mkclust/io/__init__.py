"""Read views from files, and store models.

`reading` has the one entry point, `read`. `tables`, `matlab`, `npz` and `h5mu` read one kind of
file each by its library. `roles` decides what is a view, a kernel, the labels or the names.
`untrusted` reads in a child process. `models` saves and loads models. Names are imported on first
use, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reading import inspect, read
    from .roles import Variable
    from .tables import read_table

_HOMES = {"Variable": "roles", "inspect": "reading", "read": "reading", "read_table": "tables"}

__all__ = ["Variable", "inspect", "read", "read_table"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
