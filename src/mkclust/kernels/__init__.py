"""Turn views into kernel matrices, and new samples into kernel rows.

- `functions`: the kernel functions, by scikit-learn, at the scale of the fitted samples.
- `bank`: how a view becomes a centered and normalized kernel, and the kernels of all views.
- `given`: checks of a kernel matrix that is given or returned by a user's function.
"""
