"""Nothing is changed in silence: what docs/guarantees.md says is told is told."""

import numpy as np
import pytest

from mkclust import METHODS, datasets
from mkclust.exceptions import ConvergenceWarning


def planted(n=60, **settings):
    return datasets.make_views(n, 3, 2, noise=0.5, random_state=0, **settings)


@pytest.mark.parametrize("name", ["mkkm", "mkkm-mr", "onkc"])
def test_a_method_that_stops_at_its_cap_tells_it(name, monkeypatch):
    from mkclust.baselines import base

    class Capped(base.Trace):
        def __init__(self, title, tolerance, after, cap):
            super().__init__(title, 0.0, after, 2)

    monkeypatch.setattr(f"mkclust.baselines.{name.replace('-', '_')}.Trace", Capped)
    views = datasets.make_views(40, 3, 3, noise=1.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped at its cap of 2 iterations"):
        METHODS[name](3, random_state=0).fit(views)


@pytest.mark.parametrize(
    ("name", "large", "there"),
    [
        ("swmc", {"n_neighbors": 500}, {"n_neighbors": 28}),
        ("cagl", {"n_neighbors": 500}, {"n_neighbors": 28}),
        ("snf", {"n_neighbors": 500}, {"n_neighbors": 29}),
        ("hmkc", {"c1": 500, "c2": 400}, {"c1": 29, "c2": 29}),
    ],
)
@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
def test_neighbors_and_layers_beyond_the_samples_are_those_there_are(name, large, there):
    asked, used = (METHODS[name](3, **s, random_state=0).fit(planted(30)) for s in (large, there))
    np.testing.assert_array_equal(asked.labels_, used.labels_)
    assert name != "snf" or asked.n_neighbors_ == 29
    assert name != "hmkc" or asked.layer_sizes_.tolist() == [29, 29]
