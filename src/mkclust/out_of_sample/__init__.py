"""Out-of-sample extension: labels and embedding of new samples.

- `predictor`: `OutOfSample`, the methods `predict` and `transform`.
- `nystroem`: extension of fits to kernels and to explicit features.
- `neighbors`: extension of fits to neighbor graphs.
- `fitted_rows`: recognition of fitted samples among new ones.
"""
