"""Views of the same samples: containers, joins by sample name, checks, example data.

- `views`: `MultiView`, several tables or kernels aligned by row.
- `alignment`: which rows of which table are the same sample, by name.
- `values`: frames, arrays and sparse matrices as matrices of numbers.
- `missing`: samples and cells that views lack; imputation.
- `input`: from everything an estimator accepts to views; `fitted_views`.
- `input_warnings`: warnings of suspicious input.
- `checksums`: duplicates, and whether data are those of a fit.
- `adapters`: views from MuData and AnnData.
- `memory`: memory size of this machine and of matrices.
- `datasets`: a bundled data set, a generator of planted clusters, public sets.
"""
