"""Views of the same samples: containers, alignment, missing samples, example data.

- `views`: `MultiView`, several tables or kernels aligned by row.
- `alignment`, `frames`: pandas and polars frames, aligned by sample names.
- `missing`: checks of the samples and cells that views lack.
- `adapters`: views from MuData and AnnData.
- `memory`: memory size of this machine and of matrices.
- `datasets`: a bundled data set and a generator of planted clusters.
"""
