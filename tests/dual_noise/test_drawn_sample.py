"""MKC-DNM of many rows: a drawn sample is fitted, and predict places all rows."""

import numpy as np
import pytest

from mkclust import MKCDNM, MultiView, load, metrics
from mkclust.data.datasets import make_views
from mkclust.exceptions import InfeasibleError, InfeasibleWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")


@pytest.fixture(scope="module")
def views():
    return make_views(600, 3, 2, noise=0.5, n_noise_views=1, random_state=0)


def stored(views, folder, kind):
    """The same rows outside memory."""
    if kind == "dask":
        from_array = pytest.importorskip("dask.array").from_array
        return [from_array(view, chunks=(170, 4)) for view in views.views]
    paths = [folder / f"{name}.npy" for name in views.names]
    for path, view in zip(paths, views.views, strict=True):
        np.save(path, view)
    if kind == "memmap":
        return [np.load(path, mmap_mode="r") for path in paths]
    for path, view in zip(paths, views.views, strict=True):
        path.with_suffix("").mkdir()
        for number, part in enumerate(np.array_split(view, 3)):
            np.save(path.with_suffix("") / f"part-{number}.npy", part)
    return [path.with_suffix("") for path in paths]


def test_many_samples_are_drawn_and_told(views, monkeypatch):
    monkeypatch.setattr("mkclust.dual_noise.estimator.ALL_UP_TO", 500)
    monkeypatch.setattr("mkclust.dual_noise.estimator.DRAWN", 200)
    model = MKCDNM(3, random_state=0).fit(views)
    assert model.n_samples_fit_ == 200 and "600 samples: 200 of them" in model.notes_[0]
    assert MKCDNM(3, random_state=0).fit(views[:500]).n_samples_fit_ == 500
    assert MKCDNM(3, n_samples_fit=700, random_state=0).fit(views).n_samples_fit_ == 600
    assert metrics.accuracy(views.labels, model.labels_) > 0.97
    assert model.unrelated_views_ == ["noise1"]


def test_all_rows_are_placed_by_predict(views, tmp_path):
    model = MKCDNM(3, n_samples_fit=150, random_state=0).fit(views)
    assert model.embedding_.shape == (600, 3) and model.membership_.shape == (600, 3)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)
    again = MKCDNM(3, n_samples_fit=150, random_state=0).fit(views)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    other = MKCDNM(3, n_samples_fit=150, random_state=1).fit(views)
    assert np.abs(other.embedding_ - model.embedding_).max() > 1e-3
    read = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(read.predict(views), model.labels_)


@pytest.mark.parametrize("kind", ["dask", "memmap", "parts"])
def test_rows_outside_memory_give_the_same_labels(kind, views, tmp_path):
    here = MKCDNM(3, n_samples_fit=150, random_state=0).fit(list(views.views))
    there = MKCDNM(3, n_samples_fit=150, random_state=0).fit(stored(views, tmp_path, kind))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-10)


def test_samples_may_lack_views(views):
    present = np.random.default_rng(0).random((600, 3)) > 0.2
    present[~present.any(axis=1)] = True
    model = MKCDNM(3, n_samples_fit=300, random_state=0).fit(
        MultiView(list(views.views), present=present)
    )
    assert model.support_.shape == (600,) and len(model.labels_) == 600
    assert metrics.accuracy(views.labels, model.labels_) > 0.85


@pytest.mark.parametrize("wrong", [2, 2.5, True, "many"])
def test_the_number_is_checked(wrong, views):
    with pytest.raises(InputError, match="n_samples_fit must be a whole number from 3 on"):
        MKCDNM(3, n_samples_fit=wrong).fit(views)
    K = views.views[0] @ views.views[0].T
    with pytest.raises(InputError, match="given kernels are fitted as a whole"):
        MKCDNM(3, n_samples_fit=50, kernel="precomputed").fit([K, K])


def test_relaxed_constraints_are_warned_of_and_unrelated_views_named(views):
    settings = {"max_dimension": 6, "n_samples_fit": 400, "random_state": 0}
    with pytest.warns(InfeasibleWarning, match="Unrelated to every other view: noise1"):
        model = MKCDNM(3, **settings).fit(views)
    assert model.unrelated_views_ == ["noise1"]
    assert "cannot reach an overlap of 3" in model.notes_[1]
    with pytest.raises(InfeasibleError, match="noise1"):
        MKCDNM(3, on_infeasible="raise", **settings).fit(views)
