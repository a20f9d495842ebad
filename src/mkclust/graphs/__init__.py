"""Neighbor graphs: metrics, exact neighbors, affinities, anchors.

- `metrics`: the metrics of a view, each with its share.
- `neighbors`: exact nearest neighbors.
- `affinity`: kNN and self-tuning affinities.
- `anchors`: links of every sample to a few anchors, in linear time.
- `operator`: the normalized graph as a linear operator.
"""
