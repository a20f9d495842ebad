"""NaN cells: refused by default, filled on request, in a fit, in new samples and from files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer, SimpleImputer

from _support.fits import estimator, fit_quietly
from mkclust import METHODS, MultiView, cluster, load, metrics
from mkclust.data.datasets import make_views
from mkclust.data.missing import fit_imputation
from mkclust.exceptions import ColumnsWarning, InputError
from mkclust.inspection import choose_k, stability, verify, view_influence

N, K = 60, 3
WHOLE = make_views(N, K, 2, noise=0.3, separation=6.0, random_state=0)
FILL = {"median": SimpleImputer(strategy="median"), "knn": KNNImputer()}
PREDICTING = [name for name in METHODS if hasattr(METHODS[name], "predict")]


def with_gaps(share=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(view.shape) < share, np.nan, view) for view in WHOLE.views]


@pytest.mark.parametrize("name", METHODS)
def test_gaps_are_refused_by_default_and_filled_on_request(name):
    gappy = with_gaps()
    with pytest.raises(InputError, match=r"'view1' has \d+ NaN cells, .*missing=\"median\""):
        estimator(name, K).fit(gappy)
    for method in ("median", "knn"):
        model = fit_quietly(name, gappy, K, missing=method)
        assert metrics.accuracy(WHOLE.labels, model.labels_) == 1.0
        np.testing.assert_allclose(model.gap_shares_, [np.isnan(view).mean() for view in gappy])
        assert sum("were NaN and filled" in note for note in model.notes_) == 2


@pytest.mark.parametrize("method", FILL)
def test_the_imputer_is_that_of_scikit_learn(method):
    gappy = with_gaps(0.2)
    found = fit_imputation(MultiView(gappy), method).fill(MultiView(gappy))
    for view, filled in zip(gappy, found.views, strict=True):
        np.testing.assert_array_equal(filled, FILL[method].fit_transform(view))
    plain = fit_quietly("graph-fusion", list(found.views), K)
    filled = fit_quietly("graph-fusion", gappy, K, missing=method)
    np.testing.assert_array_equal(filled.labels_, plain.labels_)


@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.parametrize("method", FILL)
def test_new_samples_are_filled_as_fitted_and_from_a_file(name, method, tmp_path):
    old, new = ([view[part] for view in with_gaps(0.1)] for part in (slice(0, 45), slice(45, N)))
    model = fit_quietly(name, old, K, missing=method)
    np.testing.assert_array_equal(model.predict(old), model.labels_)
    by_hand = [FILL[method].fit(a).transform(b) for a, b in zip(old, new, strict=True)]
    found = model.transform(new)
    np.testing.assert_allclose(found, model.transform(by_hand), atol=1e-12)
    again = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.transform(new), found)
    assert again.gap_shares_.tolist() == model.gap_shares_.tolist()
    unfilled = fit_quietly(name, [view[:45] for view in WHOLE.views], K)
    with pytest.raises(InputError, match=r"NaN cell.*fitted without filling NaN cells"):
        unfilled.predict(new)


@pytest.mark.parametrize("name", PREDICTING)
def test_rows_of_nan_only_are_missing_samples_still(name):
    gappy = with_gaps()
    gappy[1][7] = np.nan
    model = fit_quietly(name, gappy, K, missing="median")
    assert model.presence_[7].tolist() == [True, False]
    assert model.presence_.sum() == 2 * N - 1
    assert model.gap_shares_[1] == np.isnan(np.delete(gappy[1], 7, axis=0)).mean()
    np.testing.assert_array_equal(model.predict(gappy), model.labels_)


def test_columns_with_too_many_gaps_are_left_out_and_named(tmp_path):
    rna, dna = map(pd.DataFrame, with_gaps())
    frames = {"rna": rna.add_prefix("rna."), "dna": dna.add_prefix("dna.")}
    frames["rna"]["bad"] = np.where(np.arange(N) < 31, np.nan, 1.0)
    frames["rna"]["half"] = np.where(np.arange(N) < 30, np.nan, np.arange(N))
    with pytest.warns(ColumnsWarning, match=r"'rna': 1 column .*half of the .* left out: 'bad'"):
        model = cluster(frames, K, missing="median", verdict=False, random_state=0)
    assert any("'bad'" in note for note in model.notes_)
    assert "bad" in model.view_feature_names_in_[0]
    turned = {name: frame.iloc[:, ::-1] for name, frame in reversed(frames.items())}
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    again = load(model.save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.predict(frames), model.labels_)
    arrays = [frame.to_numpy() for frame in frames.values()]
    np.testing.assert_array_equal(model.predict(arrays), model.labels_)
    with pytest.raises(InputError, match=r"'rna' of X has 11 features, .* expecting 12"):
        model.predict([arrays[0][:, 1:], arrays[1]])
    empty = np.where(np.arange(N)[:, None] % 3 == np.arange(3), 1.0, np.nan)
    with pytest.raises(InputError, match="'view2': every column is NaN in more than half"):
        estimator("mkc-dnm", K).set_params(missing="median").fit([arrays[1], empty, arrays[1]])


@pytest.mark.parametrize("wrong", ["mean", 3])
def test_other_values_are_refused(wrong):
    with pytest.raises(InputError, match='missing must be "median" or "knn"'):
        estimator("graph-fusion", K).set_params(missing=wrong).fit(with_gaps())


def test_rows_in_chunks_are_not_filled(tmp_path):
    np.save(tmp_path / "a.npy", WHOLE.views[0])
    rows = {"a": tmp_path / "a.npy"}
    with pytest.raises(InputError, match="missing='median' is for tables in memory"):
        METHODS["mkc-dnm"](K, missing="median").fit(rows)
    model = fit_quietly("mkc-dnm", {"a": with_gaps()[0]}, K, missing="median")
    with pytest.raises(InputError, match="which is for tables in memory"):
        model.predict(rows)


@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.filterwarnings("ignore")
def test_questions_fill_the_gaps_too(name):
    gappy = with_gaps()
    model = fit_quietly(name, gappy, K, missing="median")
    assert verify(model, gappy).holds
    assert choose_k(model, gappy, [K]).k == K
    assert stability(model, gappy, n_splits=2).labels.tolist() == model.labels_.tolist()
    assert len(view_influence(model, gappy).without) == 2
