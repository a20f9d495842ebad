"""Rows in blocks: slices of arrays in memory, or chunks of dask arrays on disk and clusters.

- `arrays`: dask arrays from memory maps, .npy, .parquet and zarr.
- `views`: views whose rows stay outside memory.
- `blocks`: one function mapped over all blocks, with sums in a fixed order.
- `kmeans`: k-means from sums and counts of blocks.
"""

from .blocks import block_height, map_blocks, sum_blocks
from .views import LargeViews, as_large_views

__all__ = ["LargeViews", "as_large_views", "block_height", "map_blocks", "sum_blocks"]
