"""Neighbor graphs: metrics, exact neighbors, affinities, anchors.

- `metrics`: the metrics of a view, each with its share.
- `neighbors`: exact nearest neighbors.
- `affinity`: kNN and self-tuning affinities, and a graph as a centered kernel.
- `anchors`: links of every sample to a few anchors, in linear time.
"""
