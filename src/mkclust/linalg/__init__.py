"""Numerical linear algebra: eigenpairs, kernels centered and scaled, k-means, threads.

- `eigenpairs`: leading eigenpairs by LAPACK and Lanczos, as a `Spectrum`.
- `centering`: centering and normalization of kernels.
- `scaling`: standardization of columns and distances between rows.
- `kmeans`: k-means on the unit rows of an embedding.
- `checks`: results of the verification of a fit.
- `threads`: parallel work on the cores that the user allows.
"""
