"""New samples of fits to kernels: fitted ones get their row and label back, others a cluster."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel

from _support.banks import centered_and_normalized
from _support.fits import fit
from mkclust import METHODS, MKCDNM, MultiView, metrics, read
from mkclust.data.datasets import load_mfeat, make_views
from mkclust.exceptions import InputError
from mkclust.kernels.functions import KERNELS, fitted_kernel
from mkclust.linalg.scaling import centering_of

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")
every_centering = pytest.mark.parametrize("center", [True, False])
every_scale = pytest.mark.parametrize("normalize", [True, False])


@pytest.fixture(scope="module")
def views():
    return make_views(120, n_clusters=3, n_views=3, noise=0.8, random_state=0)


def in_halves(views, seed):
    order = np.random.default_rng(seed).permutation(len(views))
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


def held_out_accuracy(views, k, seed, **settings):
    """ACC of the half that was not fitted, and of all samples."""
    fitted, held_out = in_halves(views, seed)
    model = fit(views[fitted], k, **settings)
    labels = np.empty(len(views), dtype=int)
    labels[fitted], labels[held_out] = model.labels_, model.predict(views[held_out])
    return [metrics.accuracy(views.labels[r], labels[r]) for r in (held_out, slice(None))]


def assert_own_rows(model, views):
    np.testing.assert_allclose(model.transform(views), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


@every_centering
@every_scale
def test_rows_are_centered_and_normalized_as_the_kernel_was(center, normalize):
    X = np.random.default_rng(0).standard_normal((40, 5)) + 3
    K = X @ X.T
    done = centering_of(K, center, normalize)
    expected = centered_and_normalized(K.copy(), center, normalize)
    found = done.rows(K[5:9].copy(), np.diagonal(K)[5:9])
    np.testing.assert_allclose(found, expected[5:9], atol=1e-11)


@pytest.mark.parametrize("kernel", list(KERNELS))
@every_centering
@every_scale
def test_fitted_samples_get_their_rows_and_new_ones_their_cluster(kernel, center, normalize, views):
    settings = {"kernel": kernel, "center": center, "normalize": normalize}
    assert_own_rows(fit(views, **settings), views)
    if center and normalize:
        assert min(held_out_accuracy(views, 3, 0, **settings)) > 0.95


def test_fitted_rows_come_back_on_real_data(data_dir):
    digits = load_mfeat()[::20]
    assert_own_rows(fit(digits, 10), digits)
    texts = read(data_dir / "bbcsport_2view.mat")
    assert sp.issparse(texts.views[0])
    assert_own_rows(fit(texts, 5, kernel=["gaussian", "cosine"]), texts)


def test_a_degenerate_consensus_and_one_by_thin_svd_place_their_samples(views, monkeypatch):
    same = np.repeat(np.eye(3), 5, axis=0)
    model = fit([same, same], kernel="linear")
    assert np.count_nonzero(model.singular_values_) < 3
    np.testing.assert_array_equal(model.predict([same, same]), model.labels_)
    monkeypatch.setattr("mkclust.dual_noise.consensus.ORTHONORMAL", -1.0)  # never good enough
    assert_own_rows(fit(views), views)


def test_samples_may_lack_views(views):
    model = fit(views[:80])
    gaps = [view[80:].copy() for view in views.views]
    gaps[0][:10] = np.nan
    gaps[2][5:15] = np.nan
    np.testing.assert_array_equal(model.predict(gaps), model.predict(views[80:]))
    present = np.ones((40, 3), dtype=bool)
    present[:10, 0] = present[5:15, 2] = False
    sparse = MultiView([sp.csr_array(np.nan_to_num(v)) for v in gaps], present=present)
    np.testing.assert_allclose(model.transform(sparse), model.transform(gaps), atol=1e-10)


def test_kernel_columns_place_new_samples(views):
    kernels = np.stack([view @ view.T for view in views.views])
    train, test = slice(0, 80), slice(80, 120)
    model = fit(kernels[:, train, train], kernel="precomputed")
    own = [np.diagonal(K)[test] for K in kernels]
    labels = model.predict(kernels[:, test, train], self_similarity=own)
    np.testing.assert_array_equal(labels, fit(views[:80], kernel="linear").predict(views[80:]))
    assert_own_rows(model, MultiView(list(kernels[:, train, train]), kernels=True))
    fitted = dict(zip("ab", kernels[:, train, train], strict=False))
    named = fit(fitted, kernel="precomputed")
    by_name = {"b": kernels[1][test, train], "a": kernels[0][test, train]}
    assert named.predict(by_name, self_similarity={"a": own[0], "b": own[1]}).shape == (40,)


def test_self_similarities_are_asked_for_only_where_needed(views):
    kernels = np.stack([view @ view.T for view in views.views])
    model = fit(kernels, kernel="precomputed")
    some, ones = kernels[:, :5], [np.ones(5)] * 3
    for rows, own, message in (
        (some, None, "self_similarity"),
        (some, [np.ones(4)] * 3, "'view1' must be 5 finite numbers"),
        (some, [np.full(5, np.nan)] * 3, "'view1' must be 5 finite numbers"),
        (some, ones[:1], "given for view1, view2, view3"),
        (kernels[:, :5, :4], ones, "4 features, but MKCDNM is expecting 120"),
        (kernels[:2, :5], None, "3 kernels were fitted, but got 2"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict(rows, self_similarity=own)
    plain = fit(kernels, kernel="precomputed", normalize=False)
    np.testing.assert_array_equal(plain.predict(some), plain.labels_[:5])
    unit = np.stack([fitted_kernel("gaussian", {}, view).matrix() for view in views.views])
    for scale in (1.0, 1e150):
        assert_own_rows(fit(scale * unit, kernel="precomputed"), scale * unit)
    with pytest.raises(InputError, match="this model was fitted on views"):
        fit(views).predict(views, self_similarity=[np.ones(120)] * 3)


def test_kernels_and_features_side_by_side(views):
    K = views.views[1] @ views.views[1].T
    model = fit([views.views[0][:80], K[:80, :80]], kernel=["gaussian", "precomputed"])
    own = {"view2": np.diagonal(K)}
    H = model.transform([views.views[0], K[:, :80]], self_similarity=own)
    same = fit([view[:80] for view in views.views[:2]], kernel=["gaussian", "linear"])
    np.testing.assert_allclose(H, same.transform(list(views.views[:2])), atol=1e-8)
    with pytest.raises(InputError, match="'view1', which was not given as a kernel"):
        model.predict([views.views[0], K[:, :80]], self_similarity={"view1": np.diagonal(K)})


def test_functions_of_two_arguments_place_new_samples(views):
    model = fit(views[:80], kernel=laplacian_kernel, kernel_params={"gamma": 0.05})
    assert_own_rows(model, views[:80])
    labels = np.concatenate([model.labels_, model.predict(views[80:])])
    assert metrics.accuracy(views.labels, labels) > 0.95


def test_kernels_that_cannot_be_extended_are_refused(views):
    K = np.random.default_rng(0).standard_normal((30, 30))
    model = fit([K + K.T] * 2, kernel="precomputed", indefinite="shift")
    with pytest.raises(InputError, match=r"'view1'.*shifted"):
        model.predict([K + K.T] * 2, self_similarity=[np.ones(30)] * 2)
    with pytest.raises(InputError, match=r"'view1'.*one argument"):
        fit(views, kernel=lambda X: X @ X.T).predict(views[:5])

    def scaled_by_all(X, Y=None):
        return (X / X.std()) @ (X if Y is None else Y / Y.std()).T + (Y is None) * np.eye(len(X))

    with pytest.raises(InputError, match="must not depend on any others"):
        fit(views, kernel=scaled_by_all).predict(views[:5])


def test_only_fitted_models_and_methods_with_an_extension_predict(views):
    for call in (MKCDNM(3).predict, MKCDNM(3).transform):
        with pytest.raises(NotFittedError):
            call(views)
    able = {name for name in METHODS if hasattr(METHODS[name](3), "predict")}
    assert able == {"graph-fusion", "mkc-dnm"}
