"""From what a caller gives to the views that a method takes.

- `columns`: columns of new samples in the order of the fit, matched by name.
- `intake`: `TakesViews`, the input checks that all estimators share.
"""
