"""Reading views from files, whatever dialect they are in, and writing files whole or not at all.

One module per format says what a file holds and loads it: `mat5` and `mat73` behind `mat`, `npz`,
`delimited`, `parquet`. What becomes of it is decided in one place for all of them, from names and
shapes alone: `choose` and `plan` for files with many variables, `tables` for one table per view.
"""

from ._guards.limits import Limits
from .atomic import write_csv_atomic, write_npz_atomic, write_text_atomic
from .reading import inspect, read
from .variables import Variable

__all__ = [
    "Limits",
    "Variable",
    "inspect",
    "read",
    "write_csv_atomic",
    "write_npz_atomic",
    "write_text_atomic",
]
