"""Agreement between views: overlaps of leading subspaces, chance levels, weights.

- `subspaces`: the protocol `Subspaces`, the eigenvectors of all views.
- `overlap`, `common_rows`: overlaps of all pairs of views, complete or with missing samples.
- `chance`: tests of the agreement against chance.
- `redundancy`, `weights`: redundant views, and the weights of all views.
- `spectra`, `cache`: eigenvectors of the views of a fitted model, and their cache.
"""
