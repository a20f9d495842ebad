"""Views with planted disagreements: a blind view, a contradicting view, a noise view."""

import numpy as np

from mkclust import MultiView

SIZE = 40  # samples of each cluster


def planted(kind, missing=0.0, k=3, seed=0):
    """Two views with k clusters and a third of the given kind; truth as labels.

    "blind": clusters 0 and 1 have the same center. "contradicting": clusters 0 and 1 have the same
    center, and their samples are divided in two by `other`, which is independent of the clusters.
    "noise": no structure at all. Returns the views and `other` (n,), 0 outside clusters 0 and 1.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(k), SIZE)
    other = np.where(truth > 1, 0, np.arange(len(truth)) % 2)
    far = 8 * np.eye(k + 3)

    def view(centers):
        return centers + rng.standard_normal((len(truth), k + 3))

    third = {
        "blind": far[np.where(truth > 1, truth, 0)],
        "contradicting": far[np.where(truth > 1, truth, other)],
        "noise": np.zeros((len(truth), k + 3)),
    }[kind]
    tables = {"one": view(far[truth]), "two": view(far[truth]), kind: view(third)}
    if missing:
        tables[kind][rng.random(len(truth)) < missing] = np.nan
    return MultiView(tables, labels=truth), other


def named(model, views):
    """The clusters that hold the planted clusters 0, 1, 2, ..."""
    found = [np.bincount(model.labels_[views.labels == c]).argmax() for c in set(views.labels)]
    assert len(set(found)) == len(found)
    return [int(c) for c in found]
