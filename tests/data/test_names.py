"""Names of samples and features: from the input to labels, frames, saved models and predictions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _support.fits import fit_quietly
from mkclust import METHODS, GraphFusion, MultiView, load, metrics
from mkclust.data.datasets import make_views
from mkclust.exceptions import ColumnsWarning, FileFormatError, InputError
from mkclust.large import LargeViews

N = 60
SAMPLES = [f"patient{i}" for i in range(N)]
PREDICTING = [name for name in METHODS if hasattr(METHODS[name], "predict")]
predicting = pytest.mark.parametrize("name", PREDICTING)


FRAMES = {
    name: pd.DataFrame(view, index=SAMPLES).add_prefix(f"{name}.")
    for name, view in zip(
        ("rna", "protein"),
        make_views(N, 3, 2, noise=0.3, separation=6.0, random_state=0).views,
        strict=True,
    )
}
FITTED = {name: fit_quietly(name, FRAMES, 3) for name in PREDICTING}


def shuffled(seed):
    """The same tables: views, rows and columns in another order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(FRAMES))
    return {
        str(name): FRAMES[name].iloc[rng.permutation(N), rng.permutation(FRAMES[name].shape[1])]
        for name in names
    }


@predicting
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore")
def test_predictions_follow_the_names(name, seed):
    model, new = FITTED[name], shuffled(seed)
    expected = dict(zip(SAMPLES, model.labels_.tolist(), strict=True))
    found = pd.Series(model.predict(new), index=MultiView(new).index)
    assert found.index.tolist() == next(iter(new.values())).index.tolist()
    assert found.to_dict() == expected
    some = {view: frame.iloc[:40] for view, frame in new.items()}  # some in one view only
    found = pd.Series(model.predict(some), index=MultiView(some).index)
    assert set(found.index) == {n for frame in some.values() for n in frame.index}
    assert metrics.accuracy([expected[n] for n in found.index], found) == 1.0


@predicting
def test_names_are_kept_and_saved(name, tmp_path):
    model = FITTED[name]
    for found in (model, load(model.save(tmp_path / "model.npz"))):
        assert found.sample_names_in_.tolist() == SAMPLES
        assert found.sample_names_in_.dtype == object
        assert found.view_names_in_.tolist() == ["rna", "protein"]
        for names, frame in zip(found.view_feature_names_in_, FRAMES.values(), strict=True):
            assert names.tolist() == list(frame.columns)
        assert not hasattr(found, "feature_names_in_")
        assert found.to_frame().index.tolist() == SAMPLES
        soft = [f"membership_{c}" for c in range(3)]
        assert list(found.to_frame().columns) == ["cluster", *soft]
        assert found.labels_series().name == "cluster"
        np.testing.assert_array_equal(found.labels_series(), model.labels_)


@predicting
def test_arrays_have_no_names(name, tmp_path):
    arrays = [frame.to_numpy() for frame in FRAMES.values()]
    model = fit_quietly(name, FRAMES, 3).fit(arrays)  # the names of the earlier fit are forgotten
    assert not hasattr(model, "sample_names_in_")
    assert model.view_feature_names_in_ == [None, None]
    assert model.labels_series().index.tolist() == list(range(N))
    np.testing.assert_array_equal(model.labels_, FITTED[name].labels_)
    assert load(model.save(tmp_path / "model.npz")).view_feature_names_in_ == [None, None]


def test_numbers_and_dates_are_names(tmp_path):
    days = pd.date_range("2020-01-01", periods=N)
    for index, kind, first in ((range(100, 100 + N), int, "100"), (days, str, "2020-01-01")):
        model = fit_quietly("graph-fusion", FRAMES["rna"].set_axis(index), 3)
        again = load(model.save(tmp_path / "model.npz"))
        for found in (model, again):
            assert isinstance(found.sample_names_in_[0], kind)
            assert str(found.sample_names_in_[0]).startswith(first)


def test_numbers_name_columns_unless_they_are_positions():
    rna = FRAMES["rna"].set_axis(range(10, 20), axis=1)
    model = fit_quietly("graph-fusion", [rna], 3)
    np.testing.assert_array_equal(model.predict([rna[rna.columns[::-1]]]), model.labels_)
    model = fit_quietly("graph-fusion", [rna.set_axis(range(9, -1, -1), axis=1)], 3)
    positions = rna.set_axis(range(9, -1, -1), axis=1)[list(range(10))]
    np.testing.assert_array_equal(model.predict([positions]), model.labels_)
    model = fit_quietly("graph-fusion", [rna.set_axis(range(10), axis=1)], 3)
    assert model.view_feature_names_in_ == [None]
    with pytest.warns(ColumnsWarning, match="fitted without: its columns are taken by position"):
        np.testing.assert_array_equal(model.predict([rna]), model.labels_)


@predicting
def test_missing_columns_are_named(name):
    few = {**FRAMES, "rna": FRAMES["rna"].drop(columns=["rna.3", "rna.5"])}
    with pytest.raises(InputError, match=r"'rna' lacks 2 of the 10 columns .*'rna.3', 'rna.5'$"):
        FITTED[name].predict(few)
    renamed = {**FRAMES, "rna": FRAMES["rna"].add_prefix("x")}
    with pytest.raises(InputError, match=r"lacks 10 of the 10 columns .*'rna.4' and 5 more"):
        FITTED[name].transform(MultiView(renamed))
    with pytest.raises(InputError, match="fitted on the views rna, protein, but got rna, dna"):
        FITTED[name].predict({"rna": FRAMES["rna"], "dna": FRAMES["protein"]})


@predicting
def test_other_columns_are_ignored_with_a_warning(name):
    first = FRAMES | {"rna": FRAMES["rna"].assign(note="text")[["note", *FRAMES["rna"].columns]]}
    last = MultiView(FRAMES | {"rna": FRAMES["rna"].assign(a=1.0, b=2.0)})
    for wide, count, names in ((first, "1 column", "'note'"), (last, "2 columns", "'a', 'b'")):
        with pytest.warns(ColumnsWarning, match=f"'rna': {count} that .* ignored: {names}"):
            found = FITTED[name].predict(wide)
        np.testing.assert_array_equal(found, FITTED[name].labels_)


def test_repeated_columns_are_matched_only_as_they_were():
    names = ["a", "a", *FRAMES["rna"].columns[2:]]
    array = FRAMES["rna"].to_numpy()
    twice = MultiView({"rna": array}, feature_names=[names])
    model = fit_quietly("graph-fusion", twice, 3)
    np.testing.assert_array_equal(model.predict(twice), model.labels_)
    with pytest.raises(InputError, match="several columns named 'a'"):
        model.predict(MultiView({"rna": array[:, ::-1]}, feature_names=[names[::-1]]))
    for wrong in ([names[:3]], [names, names]):
        with pytest.raises(InputError, match="feature_names"):
            MultiView({"rna": array}, feature_names=wrong)


def test_kernels_are_matched_by_sample():
    kernels = {name: frame @ frame.T for name, frame in FRAMES.items()}
    model = fit_quietly("mkc-dnm", kernels, 3, kernel="precomputed", normalize=False)
    assert model.sample_names_in_.tolist() == SAMPLES
    order = np.random.default_rng(0).permutation(N)
    new = {name: K.iloc[:5, order] for name, K in reversed(kernels.items())}
    np.testing.assert_array_equal(model.predict(new), model.labels_[:5])
    with pytest.raises(InputError, match=r"lacks 1 of the 60 columns .*'patient0'"):
        model.predict({name: K.iloc[:5].drop(columns="patient0") for name, K in kernels.items()})


def test_parquet_parts_are_matched_by_name(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)

    def stored(folder, order):
        paths = {}
        for name, frame in FRAMES.items():
            paths[name] = tmp_path / folder / name
            paths[name].mkdir(parents=True)
            columns = rng.permutation(frame.columns) if order else frame.columns
            for part in range(2):
                some = frame[list(columns)].iloc[30 * part : 30 * (part + 1)]
                some.to_parquet(paths[name] / f"part-{part}.parquet", index=False)
        return paths

    paths = stored("fit", False)
    model = fit_quietly("mkc-dnm", paths, 3, n_samples_fit=40)
    assert model.view_feature_names_in_[0].tolist() == list(FRAMES["rna"].columns)
    turned = stored("new", True)
    np.testing.assert_array_equal(model.predict(turned), model.predict(paths))
    assert LargeViews(turned).in_memory().feature_names[0].tolist() != list(FRAMES["rna"].columns)
    FRAMES["rna"].iloc[:3, ::-1].to_parquet(turned["rna"] / "part-2.parquet", index=False)
    with pytest.raises(FileFormatError, match="has other columns"):
        model.predict(turned)


def test_per_sample_has_the_number_of_views_where_some_are_missing():
    some = {**FRAMES, "protein": FRAMES["protein"].iloc[5:]}
    with pytest.warns(UserWarning):
        model = GraphFusion(3, random_state=0).fit(some)
    assert model.to_frame()["views"].tolist() == [1] * 5 + [2] * 55
