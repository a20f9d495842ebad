"""Neighbor graphs: metrics, exact and approximate neighbors, affinities.

- `metrics`: the metrics of a view.
- `neighbors`, `exact`, `approximate`: nearest neighbors, exact or by an inverted file index.
- `affinity`: kNN and self-tuning affinities.
- `operator`: the normalized graph as a linear operator.
- `hnsw`: sparse graphs of many rows by usearch, and their eigenvectors as features.
"""
