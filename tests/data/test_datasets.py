import hashlib
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkclust.data.datasets import load_mfeat, make_views
from mkclust.exceptions import InputError

# sha256 of the tables as read from their csv source, as little-endian float64, row by row
MFEAT = {
    "fou": (76, "02b7797e21bd296fb602e2144e9667ca3423907ae2bbee1b95dc0a6218330c91"),
    "fac": (216, "9b0ec35b591d5e71c3e72762dcb14280997659bd3a5db689903d6ed7a00f0717"),
    "kar": (64, "96e4613832c7458d092e9d06500f9982944256b42fea99583751badc7283749e"),
    "pix": (240, "e8bdfbd1d74394d5954e186f2aab1bccd259b28c334318e5a670bba2de48b9e0"),
    "zer": (47, "a942b80c25bb3096d391efc30a737659dfb7147b1d36419f9648cb4a56882e17"),
    "mor": (6, "a3f2453c73acf36b59c8add222626f605d1ee610bfaae054234608e6871147e5"),
}


def test_mfeat_equals_its_source_and_ships_with_its_attribution():
    mfeat = load_mfeat()
    assert mfeat.names == tuple(MFEAT)
    assert np.array_equal(mfeat.labels, np.repeat(np.arange(10), 200))
    for name, (width, digest) in MFEAT.items():
        assert mfeat[name].shape == (2000, width)
        assert hashlib.sha256(mfeat[name].astype("<f8").tobytes()).hexdigest() == digest
    text = files("mkclust.data").joinpath("MFEAT.md").read_text(encoding="utf-8")
    assert "10.24432/C5HC70" in text and "CC BY 4.0" in text


def test_noise_views_know_nothing_of_the_clusters_and_change_no_other_view():
    few = make_views(2000, 4, 1, n_noise_views=2, random_state=3)
    assert np.array_equal(few["view1"], make_views(2000, 4, 1, random_state=3)["view1"])
    for name in ("noise1", "noise2"):
        means = np.array([few[name][few.labels == j].mean(axis=0) for j in range(4)])
        assert np.abs(means).max() < 5 / np.sqrt(500)


@given(n=st.integers(1, 500), data=st.data())
def test_clusters_differ_by_one_sample_at_most(n, data):
    k = data.draw(st.integers(1, n))
    sizes = np.bincount(make_views(n, k, 1, n_features=1, random_state=0).labels, minlength=k)
    assert sizes.sum() == n and sizes.min() >= 1 and np.ptp(sizes) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number from 1 on, got 0"),
        ({"n_samples": 10.5}, "n_samples must be a whole number"),
        ({"n_clusters": True}, "n_clusters must be a whole number"),
        ({"n_samples": 3, "n_clusters": 4}, r"n_clusters must be at most n_samples \(3\), got 4"),
        ({"n_views": -1}, "n_views must be a whole number from 0 on"),
        ({"n_views": 0}, "at least one is needed"),
        ({"n_noise_views": 1.5}, "n_noise_views must be a whole number"),
        ({"n_features": 0}, "n_features must be a whole number from 1 on, got 0"),
        ({"n_features": [1, 2]}, r"n_features must be one number or one per view \(3\)"),
        ({"noise": -1}, "noise and separation must be finite numbers of at least 0, got -1"),
        ({"noise": [1.0, 2.0]}, r"noise must be one number or one per view \(3\)"),
        ({"noise": [1.0, 2.0, float("nan")]}, "noise and separation"),
        ({"separation": float("inf")}, "noise and separation"),
        ({"separation": "far"}, "noise and separation"),
        ({"random_state": "seed"}, "random_state: 'seed' cannot be used"),
        ({"random_state": -1}, "random_state: Seed must be between"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        make_views(**arguments)
