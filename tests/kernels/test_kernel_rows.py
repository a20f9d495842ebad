"""New samples as kernel columns, and by a user's own kernel function."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel

from _support.fits import fit
from mkclust import MultiView, metrics
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.kernels.functions import GaussianKernel
from mkclust.out_of_sample.nystroem import embedded

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")


@pytest.fixture(scope="module")
def views():
    return make_views(120, n_clusters=3, n_views=3, noise=0.8, random_state=0)


def test_kernel_columns_place_new_samples(views):
    kernels = np.stack([view @ view.T for view in views.views])
    train, test = slice(0, 80), slice(80, 120)
    model = fit(kernels[:, train, train], kernel="precomputed")
    own = [np.diagonal(K)[test] for K in kernels]
    labels = model.predict(kernels[:, test, train], self_similarity=own)
    np.testing.assert_array_equal(labels, fit(views[:80], kernel="linear").predict(views[80:]))
    again = [np.diagonal(K)[train] for K in kernels]
    H = model.transform(kernels[:, train, train], self_similarity=again)
    np.testing.assert_allclose(H, model.embedding_, atol=1e-8)
    given = MultiView(list(kernels[:, train, train]), kernels=True)
    np.testing.assert_allclose(model.transform(given), model.embedding_, atol=1e-8)
    named = fit(
        {"a": kernels[0][train, train], "b": kernels[1][train, train]}, kernel="precomputed"
    )
    by_name = {"b": kernels[1][test, train], "a": kernels[0][test, train]}
    selves = {"a": own[0], "b": own[1]}
    assert named.predict(by_name, self_similarity=selves).shape == (40,)


def test_self_similarities_are_asked_for_only_where_needed(views):
    kernels = np.stack([view @ view.T for view in views.views])
    model = fit(kernels, kernel="precomputed")
    with pytest.raises(InputError, match="self_similarity"):
        model.predict(kernels[:, :5])
    for bad in (np.ones(4), np.full(5, np.nan)):
        with pytest.raises(InputError, match="'view1' must be 5 finite numbers"):
            model.predict(kernels[:, :5], self_similarity=[bad] * 3)
    with pytest.raises(InputError, match="given for view1, view2, view3"):
        model.predict(kernels[:, :5], self_similarity=[np.ones(5)])
    with pytest.raises(InputError, match="4 columns, but was fitted on 120"):
        model.predict(kernels[:, :5, :4], self_similarity=[np.ones(5)] * 3)
    with pytest.raises(InputError, match="3 kernels were fitted, but got 2"):
        model.predict(kernels[:2, :5])
    plain = fit(kernels, kernel="precomputed", normalize=False)
    np.testing.assert_array_equal(plain.predict(kernels[:, :5]), plain.labels_[:5])
    unit = np.stack([GaussianKernel().matrix(view) for view in views.views])
    model = fit(unit, kernel="precomputed")
    np.testing.assert_array_equal(model.predict(unit[:, :5]), model.labels_[:5])
    huge = fit(1e150 * unit, kernel="precomputed")
    np.testing.assert_allclose(huge.transform(1e150 * unit), huge.embedding_, atol=1e-8)
    with pytest.raises(InputError, match="this model was fitted on views"):
        fit(views).predict(views, self_similarity=[np.ones(120)] * 3)


def test_kernels_and_features_side_by_side(views):
    K = views.views[1] @ views.views[1].T
    model = fit([views.views[0][:80], K[:80, :80]], kernel=["gaussian", "precomputed"])
    own = {"view2": np.diagonal(K)}
    H = model.transform([views.views[0], K[:, :80]], self_similarity=own)
    np.testing.assert_allclose(H[:80], model.embedding_, atol=1e-8)
    same = fit([view[:80] for view in views.views[:2]], kernel=["gaussian", "linear"])
    np.testing.assert_allclose(H, same.transform(list(views.views[:2])), atol=1e-8)
    with pytest.raises(InputError, match="'view1', which was not given as a kernel"):
        model.predict([views.views[0], K[:, :80]], self_similarity={"view1": np.diagonal(K)})


def test_a_shifted_kernel_has_no_place_for_new_samples():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((30, 30))
    K = K + K.T
    model = fit([K, K], kernel="precomputed", indefinite="shift")
    with pytest.raises(InputError, match=r"'view1'.*shifted"):
        model.predict([K, K], self_similarity=[np.ones(30)] * 2)


def test_functions_of_two_arguments_place_new_samples(views):
    model = fit(views[:80], kernel=laplacian_kernel, kernel_params={"gamma": 0.05})
    rows = np.concatenate(list(embedded(model._extension, views[:80], [None] * 3)))
    np.testing.assert_allclose(rows, model.embedding_, atol=1e-8)
    labels = np.concatenate([model.labels_, model.predict(views[80:])])
    assert metrics.accuracy(views.labels, labels) > 0.95


def test_functions_that_cannot_are_refused(views):
    one = fit(views, kernel=lambda X: X @ X.T)
    with pytest.raises(InputError, match=r"'view1'.*one argument"):
        one.predict(views[:5])

    def scaled_by_all(X, Y=None):
        return (X / X.std()) @ (X if Y is None else Y / Y.std()).T + (Y is None) * np.eye(len(X))

    with pytest.raises(InputError, match="must not depend on any others"):
        fit(views, kernel=scaled_by_all).predict(views[:5])
