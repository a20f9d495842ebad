"""Views of the same samples: containers, joins by sample name, checks, example data.

- `views`: `MultiView`, several tables or kernels aligned by row; checksums of views.
- `alignment`: which rows of which table are the same sample, by name.
- `values`: one view as a matrix of numbers, its kind, hashes of its rows.
- `missing`: samples and cells that views lack; imputation.
- `input`: from everything an estimator accepts to views; `fitted_views`; warnings.
- `adapters`: views from MuData and AnnData.
- `preparation`: logarithms of counts, columns of large variance.
- `memory`: memory size of this machine and of matrices.
- `datasets`: a bundled data set, a generator of planted clusters, public sets.
"""
