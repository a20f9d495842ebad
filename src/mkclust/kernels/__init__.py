"""Turn a view into a kernel matrix, into kernel rows of new samples, or into explicit features.

Modules:

- `functions`: one class per kernel function (`GaussianKernel`, `LinearKernel`, ...) with
  ``matrix(view)`` and ``rows(fitted)``, and the registry `KERNELS` of all kernels by name.
- `neighbor_graphs`: the graph kernels ``"knn"`` and ``"self-tuning"`` of that registry, with
  ``matrix(view)`` and ``weights(fitted)``.
- `bank`: `KernelRecipe` describes how a view becomes a centered and normalized kernel;
  `KernelBank` builds the kernels of all views with it, one at a time.
- `given`: checks of a kernel that is given or returned by a user's function.
- `features`: explicit features Z with $K \\approx ZZ^T$ for data whose n x n kernels are too large;
  `EXPLICIT` names the kernels that have them.
- `approximation`: the rule that decides when kernels are approximated, and its settings.

Centering and normalizing a kernel is in `mkclust.linalg.centering`.
"""
