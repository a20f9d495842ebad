"""The shapes of the paper's Table 3 as synthetic data, and one timed run on each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from mkclust import METHODS, datasets, metrics


@dataclass(frozen=True)
class Shape:
    name: str
    n: int
    m: int
    k: int
    published: dict[str, float]  # the paper's run time, seconds
    time_limit: float = 300.0


def _published(ours, akkm, lfmkc, hmkc):
    return {"mkc-dnm": ours, "akkm": akkm, "lfmkc": lfmkc, "hmkc": hmkc}


SHAPES = (
    Shape("BBCSport", 544, 2, 5, _published(0.02, 0.04, 0.02, 0.38)),
    Shape("Plant", 940, 69, 4, _published(15.29, 0.16, 0.81, 21.43)),
    Shape("SensIT", 1500, 2, 3, _published(0.22, 0.04, 0.11, 1.77)),
    Shape("CCV", 6773, 3, 20, _published(55.99, 1.64, 6.74, 302.44)),
    Shape("Flower102", 8189, 4, 102, _published(237.29, 7.27, 38.57, 5489.66)),
    Shape("Reuters", 18758, 5, 6, _published(44.57, 11.43, 50.69, 1297.23)),
)


def run_shape(method, shape):
    """Fit one method on planted clusters of this shape, from features; accuracy."""
    noise_views = shape.m // 3 if shape.m > 10 else 0
    views = datasets.make_views(
        shape.n, shape.k, shape.m - noise_views, n_noise_views=noise_views,
        n_features=30, noise=1.5, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = METHODS[method](shape.k, random_state=0).fit_predict(views)
    return metrics.accuracy(views.labels, labels)
