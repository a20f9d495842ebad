"""Agreement between views: overlaps of leading subspaces, chance levels, weights.

- `subspaces`: the leading eigenvectors of all views, of graphs or kernels.
- `subspace_overlap`: overlaps of all pairs of views, complete or with missing samples.
- `chance`: tests of the agreement against chance.
- `weights`: redundant views, and the weights of all views.
"""
