"""New samples: fitted ones get their own row and label back, held-out ones the right cluster."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel

from _support.banks import centered_and_normalized
from _support.fits import fit
from mkclust import METHODS, MKCDNM, MultiView, metrics, read
from mkclust.agreement.cache import shared_views
from mkclust.data.datasets import load_mfeat, make_views
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.kernels.functions import FUNCTION_KERNELS, KERNELS
from mkclust.kernels.neighbor_graphs import GRAPH_KERNELS
from mkclust.linalg.centering import centering_of
from mkclust.out_of_sample.nystroem import embedded

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
every_centering = pytest.mark.parametrize("center", [True, False])
every_scale = pytest.mark.parametrize("normalize", [True, False])


@pytest.fixture(scope="module")
def views():
    return make_views(120, n_clusters=3, n_views=3, noise=0.8, random_state=0)


@pytest.fixture(scope="module")
def digits():
    return load_mfeat()[::20]


def by_the_map_alone(model, views):
    """Rows of the embedding without recognising the fitted samples among the new ones."""
    views = views if isinstance(views, MultiView) else MultiView(views)
    return np.concatenate(list(embedded(model._extension, views, [None] * len(views.names))))


def in_halves(views, seed):
    order = np.random.default_rng(seed).permutation(len(views))
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


# ---------------------------------------------------------------- rows of kernels


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (kernel, scale)
        for kernel in FUNCTION_KERNELS
        for scale in (1.0, 1e-8, 1e120)
        if kernel != "polynomial" or scale <= 1  # which overflows when fitted
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_fitted_samples_are_those_of_the_kernel(kernel, sparse, scale):
    X = scale * np.random.default_rng(0).random((30, 6)) * (np.arange(6) < 5)
    fitted = sp.csr_array(X) if sparse else X
    K = KERNELS[kernel]().matrix(fitted)
    for new in (X, sp.csr_array(X)):
        rows, own = FUNCTION_KERNELS[kernel]().rows(fitted)(new[10:20])
        np.testing.assert_allclose(rows, K[10:20], rtol=1e-12, atol=1e-12 * np.abs(K).max())
        np.testing.assert_allclose(own, np.diagonal(K)[10:20], rtol=1e-12)


@every_centering
@every_scale
def test_rows_are_centered_and_normalized_as_the_kernel_was(center, normalize):
    X = np.random.default_rng(0).standard_normal((40, 5)) + 3
    K = X @ X.T
    done = centering_of(K, center, normalize)
    expected = centered_and_normalized(K.copy(), center, normalize)
    found = done.rows(K[5:9].copy(), np.diagonal(K)[5:9])
    np.testing.assert_allclose(found, expected[5:9], atol=1e-11)


@pytest.mark.parametrize("kernel", list(GRAPH_KERNELS))
def test_weights_in_a_graph_are_those_of_the_nearest_samples(kernel):
    X = np.random.default_rng(0).standard_normal((50, 4))
    new = np.random.default_rng(1).standard_normal((7, 4))
    W = GRAPH_KERNELS[kernel](n_neighbors=6).weights(X)(new)
    W = W.toarray() if sp.issparse(W) else W
    np.testing.assert_allclose(W.sum(axis=1), 1)
    assert ((W > 0).sum(axis=1) == 6).all()
    assert (W >= 0).all()


# ---------------------------------------------------------------- fitted samples


@every_kernel
@every_centering
@every_scale
def test_a_fitted_sample_gets_its_own_row_and_label(kernel, center, normalize, digits):
    model = fit(digits, 10, kernel=kernel, center=center, normalize=normalize)
    np.testing.assert_allclose(model.transform(digits), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.predict(digits), model.labels_)
    some = np.array([7, 3, 80])
    np.testing.assert_array_equal(model.predict(digits[some]), model.labels_[some])


@pytest.mark.parametrize("kernel", list(FUNCTION_KERNELS))
@every_centering
@every_scale
def test_the_map_itself_gives_fitted_rows_back(kernel, center, normalize, views):
    model = fit(views, kernel=kernel, center=center, normalize=normalize)
    np.testing.assert_allclose(by_the_map_alone(model, views), model.embedding_, atol=1e-8)


def test_the_map_itself_gives_fitted_rows_back_on_real_data(digits, data_dir):
    model = fit(digits, 10)
    np.testing.assert_allclose(by_the_map_alone(model, digits), model.embedding_, atol=1e-8)
    texts = read(data_dir / "bbcsport_2view.mat")
    assert sp.issparse(texts.views[0])
    for kernel in ("gaussian", "cosine", "linear"):
        model = fit(texts, 5, kernel=kernel)
        np.testing.assert_allclose(by_the_map_alone(model, texts), model.embedding_, atol=1e-8)


def test_kernels_may_differ_by_view(views):
    model = fit(views, kernel=["gaussian", "knn", laplacian_kernel])
    np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-8)


def test_a_degenerate_consensus_still_places_its_samples():
    same = np.repeat(np.eye(3), 5, axis=0)
    model = fit([same, same], kernel="linear")
    assert np.count_nonzero(model.singular_values_) < 3
    np.testing.assert_allclose(by_the_map_alone(model, [same, same]), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.predict([same, same]), model.labels_)


def test_a_consensus_by_thin_svd_gives_its_rows_back_too(views, monkeypatch):
    monkeypatch.setattr("mkclust.dual_noise.consensus.ORTHONORMAL", -1.0)  # never good enough
    model = fit(views)
    np.testing.assert_allclose(by_the_map_alone(model, views), model.embedding_, atol=1e-8)


# ---------------------------------------------------------------- new samples


@every_kernel
def test_held_out_samples_of_planted_clusters_are_found(kernel, views):
    fitted, held_out = in_halves(views, 0)
    model = fit(views[fitted], kernel=kernel)
    labels = np.empty(len(views), dtype=int)
    labels[fitted], labels[held_out] = model.labels_, model.predict(views[held_out])
    assert metrics.accuracy(views.labels, labels) > 0.95


@pytest.mark.slow
def test_half_of_the_digits_predicts_the_other_half():
    """Within 3 points of fitting on all, over random halves."""
    digits = load_mfeat()[::2]
    everything = metrics.accuracy(digits.labels, fit(digits, 10).labels_)
    scores = [held_out_accuracy(digits, 10, seed) for seed in range(3)]
    assert np.mean(scores, axis=0).min() > everything - 0.03


def test_half_of_the_texts_predicts_the_other_half(data_dir):
    """The same for word counts by the angle between them; see docs/new-samples.md for others."""
    texts = read(data_dir / "bbcsport_2view.mat")
    settings = {"kernel": "cosine", "n_init": 10}
    everything = metrics.accuracy(texts.labels, fit(texts, 5, **settings).labels_)
    scores = [held_out_accuracy(texts, 5, seed, **settings) for seed in range(10)]
    assert np.mean(scores, axis=0).min() > everything - 0.03


def held_out_accuracy(views, k, seed, **settings):
    """ACC of the half that was not fitted, and of all samples."""
    fitted, held_out = in_halves(views, seed)
    model = fit(views[fitted], k, **settings)
    labels = np.empty(len(views), dtype=int)
    labels[fitted], labels[held_out] = model.labels_, model.predict(views[held_out])
    return [metrics.accuracy(views.labels[r], labels[r]) for r in (held_out, slice(None))]


def test_one_sample_and_blocks_of_any_size_agree(views, monkeypatch):
    model = fit(views[:80])
    whole = model.transform(views)
    np.testing.assert_allclose(model.transform(views[[100]]), whole[[100]], atol=1e-12)
    monkeypatch.setattr(
        "mkclust.out_of_sample.nystroem.ROWS_AT_ONCE", 8 * 80 * 7
    )  # seven rows at a time
    np.testing.assert_allclose(model.transform(views), whole, atol=1e-12)


def test_a_column_constant_when_fitted_does_not_matter_later(views):
    wide = [np.hstack([view, np.ones((120, 1))]) for view in views.views]
    model = fit([view[:80] for view in wide])
    odd = [np.hstack([view, np.full((120, 1), 1e6)]) for view in views.views]
    np.testing.assert_array_equal(
        model.predict([v[80:] for v in odd]), model.predict([v[80:] for v in wide])
    )


def test_samples_may_lack_views(views):
    model = fit(views[:80])
    gaps = [view[80:].copy() for view in views.views]
    gaps[0][:10] = np.nan
    gaps[2][5:15] = np.nan
    labels = model.predict(gaps)
    np.testing.assert_array_equal(labels, model.predict(views[80:]))
    present = np.ones((40, 3), dtype=bool)
    present[:10, 0] = present[5:15, 2] = False
    sparse = MultiView([sp.csr_array(np.nan_to_num(v)) for v in gaps], present=present)
    np.testing.assert_allclose(model.transform(sparse), model.transform(gaps), atol=1e-10)


def test_a_model_of_incomplete_samples_places_them_and_others(views):
    present = np.random.default_rng(0).random((120, 3)) > 0.2
    present[~present.any(axis=1)] = True
    gaps = MultiView(list(views.views), present=present)
    model = fit(gaps[:80])
    np.testing.assert_allclose(model.transform(gaps[:80]), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.predict(gaps[:80]), model.labels_)
    labels = np.concatenate([model.labels_, model.predict(gaps[80:])])
    assert metrics.accuracy(views.labels, labels) > 0.95


def test_fits_that_share_their_spectra_place_samples_alike(views):
    fitted = views[:80]
    expected = [fit(fitted, k).transform(views) for k in (3, 4)]
    with shared_views():
        found = [fit(fitted, k).transform(views) for k in (3, 4)]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


# ---------------------------------------------------------------- explicit features


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
@pytest.mark.parametrize("kernel", ["gaussian", "rbf", "linear", "cosine", "polynomial"])
def test_features_place_fitted_and_new_samples(approximation, kernel, views, tmp_path):
    settings = {"approximation": approximation, "kernel": kernel, "n_components": 40}
    model = fit(views[:80], **settings)
    np.testing.assert_allclose(model.transform(views[:80]), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.predict(views[:80]), model.labels_)
    labels = np.concatenate([model.labels_, model.predict(views[80:])])
    assert metrics.accuracy(views.labels, labels) > 0.9
    paths = {name: tmp_path / f"{name}.npy" for name in views.names}
    for name, path in paths.items():
        np.save(path, views[name])
    np.testing.assert_array_equal(model.predict(paths), model.predict(views))
    np.testing.assert_array_equal(fit(views[:80]).predict(paths), fit(views[:80]).predict(views))


def test_beyond_the_sample_of_k_means_labels_are_still_the_nearest_centers(monkeypatch):
    monkeypatch.setattr("mkclust.chunked.kmeans.SAMPLE", 500)
    views = make_views(4000, n_clusters=4, n_views=2, noise=1.0, random_state=0)
    model = fit(views[:3000], 4, approximation="nystroem", n_components=50)
    np.testing.assert_array_equal(model.predict(views[:3000]), model.labels_)
    labels = np.concatenate([model.labels_, model.predict(views[3000:])])
    assert metrics.accuracy(views.labels, labels) > 0.95


def test_a_sparse_graph_of_large_data_says_that_it_cannot(views):
    pytest.importorskip("usearch", reason="neighbor graphs of large data need usearch")
    model = fit(views, approximation="nystroem", kernel="knn")
    with pytest.raises(InputError, match=r"'view1'.*no extension to new samples"):
        model.predict(views[:5])


# ---------------------------------------------------------------- errors


def test_other_views_and_columns_are_refused_by_name(views):
    model = fit({"shape": views.views[0], "colour": views.views[1]})
    a, b = views.views[0][:5], views.views[1][:5]
    np.testing.assert_array_equal(model.predict({"colour": b, "shape": a}), model.predict([a, b]))
    with pytest.raises(InputError, match="fitted on the views shape, colour, but got shape, x"):
        model.predict({"shape": a, "x": b})
    with pytest.raises(InputError, match="'colour' has 9 columns, but was fitted on 10"):
        model.predict([a, b[:, :9]])
    with pytest.raises(InputError, match="fitted on the views"):
        model.predict([a])
    with pytest.raises(InputError, match="NaN"):
        model.predict([a, np.where(np.arange(50).reshape(5, 10) == 3, np.nan, b)])
    with pytest.raises(InputError, match="lacks samples"):
        gap = np.where(np.arange(5)[:, None] == 3, np.nan, b)
        fit(views, approximation="nystroem").predict([a, gap, b])


def test_a_model_must_be_fitted_first(views):
    for call in (MKCDNM(3).predict, MKCDNM(3).transform):
        with pytest.raises(NotFittedError):
            call(views)


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name not in ("graph-fusion", "mkc-dnm")]
)
def test_the_compared_methods_say_that_they_cannot(name):
    model = METHODS[name](3)
    assert not hasattr(model, "predict")
    assert not hasattr(model, "transform")
    with pytest.raises(AttributeError, match="were not fitted"):
        model.predict  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        model.nonsense  # noqa: B018


def test_no_warning_is_given_for_new_samples(views):
    model = fit(views[:80])
    with warnings.catch_warnings():
        warnings.simplefilter("error", MkclustWarning)
        assert model.predict(views[80:]).shape == (40,)
