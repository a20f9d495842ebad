"""Neighbor graphs: metrics, exact neighbors, affinities, anchors.

- `metrics`: the metrics of a view.
- `neighbors`, `exact`: exact nearest neighbors.
- `bounded`: edges of dense points by single precision, the same as by double.
- `affinity`, `self_tuning`: kNN and self-tuning affinities.
- `anchors`: links of every sample to a few anchors, in linear time.
- `operator`: the normalized graph as a linear operator.
- `hnsw`: sparse graphs of many rows by usearch, and their eigenvectors as features.
"""
