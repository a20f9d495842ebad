"""Where rows live, for data of any length, and the three things done to them.

`sources` reads a range of rows of one view from wherever it lies; `rows` keeps the views aligned
and cuts them into pieces of work. The verbs are `gram` (sums over rows), `project` (rows of the
embedding) and `kmeans`. An engine runs them over the pieces: `engine` on this machine's threads,
`distributed` on a dask cluster; `passes` and `work` make every pass resumable.
"""

from .rows import Rows

__all__ = ["Rows"]
