"""Fits to data too large for memory, in passes over blocks of rows.

- `run`: the fit as a whole, with explicit features in place of kernels.
- `rows`: aligned views, cut into pieces of work.
- `sources`, `parts`: row ranges of one view from an array, files, zarr or dask.
- `gram`, `project`, `kmeans`: sums over rows, rows of the embedding, k-means.
- `engine`, `distributed`: execution on the threads of this machine or on a dask cluster.
- `passes`, `work`: passes that can be resumed from a work folder.
"""

from .rows import Rows

__all__ = ["Rows"]
