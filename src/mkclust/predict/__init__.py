"""New samples: their rows of the embedding, and so their labels.

- `new_samples`: the methods `predict` and `transform`, and what an extension to new samples is.
- `kernels`: the extension of fits to kernels.
- `neighbors`: the extensions of fits to neighbor graphs and to links to anchors.
"""
