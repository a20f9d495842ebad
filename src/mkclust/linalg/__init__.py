"""Numerical linear algebra: eigenpairs, kernels centered and scaled, k-means, threads.

- `eigenpairs`: leading eigenpairs by LAPACK and Lanczos, as a `Spectrum`.
- `scaling`: columns and kernels centered and scaled, and distances between rows.
- `kmeans`: k-means on the unit rows of an embedding.
- `verification`: claims of a fit that are checked again, with another eigensolver.
- `threads`: parallel work on the cores that the user allows.
"""
