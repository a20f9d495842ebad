"""From what a caller gives to the views that a method takes.

- `columns`: columns of new samples in the order of the fit, matched by name.
- `imputation`: NaN cells filled, in a fit and in new samples.
- `suspects`: warnings of huge values and of kernels close to the identity.
- `intake`: `TakesViews`, the input checks that all estimators share.
"""
