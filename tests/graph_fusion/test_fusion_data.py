"""The default on real data: what docs/research.md says of it, on sets small enough to run."""

from __future__ import annotations

import numpy as np
import pytest

from mkclust import MultiView, cluster, metrics, read
from mkclust.linalg.kmeans import kmeans_labels


def accuracy(views: MultiView, k: int, classes: np.ndarray) -> float:
    found = cluster(views, k, verdict=False, random_state=0).embedding_
    scores = [
        metrics.accuracy(classes, kmeans_labels(found, k, random_state=seed)) for seed in range(3)
    ]
    return float(np.mean(scores))


@pytest.mark.parametrize(
    ("file", "k", "at_least"),
    [("MSRC-v1.mat", 7, 0.90), ("bbcsport_2view.mat", 5, 0.95)],
)
def test_accuracy_with_and_without_views_of_noise(data_dir, file, k, at_least):
    views = read(data_dir / file)
    clean = accuracy(views, k, views.labels)
    rng = np.random.default_rng(0)
    noise = [rng.standard_normal((len(views), width)) for width in (100, 1000)]
    assert clean > at_least
    assert accuracy(MultiView([*views.views, *noise]), k, views.labels) > clean - 0.03
