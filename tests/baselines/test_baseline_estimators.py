"""The compared methods as estimators: parameters, fitted attributes, warnings, odd input."""

import inspect
import re
import warnings

import numpy as np
import pytest

from _support.fits import estimator
from mkclust import MKCDNM
from mkclust.base import MultiViewClusterer
from mkclust.baselines import AKKM, CAGL, HMKC, LFMKC, MKKM, MKKMMR, ONKC, OPLF, SNF, SPMKC, SWMC
from mkclust.data.datasets import make_views
from mkclust.exceptions import ConvergenceWarning, InputError, MkclustWarning
from mkclust.methods import METHODS

pytestmark = pytest.mark.versions

SEVEN = [AKKM, MKKM, MKKMMR, ONKC, LFMKC, OPLF, HMKC]
VIEWS = make_views(60, n_clusters=3, n_views=3, noise=0.8, random_state=1)


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_constructors_list_every_parameter_with_the_shared_defaults(kind):
    own = inspect.signature(kind.__init__).parameters
    shared = inspect.signature(MultiViewClusterer.__init__).parameters
    assert not hasattr(kind.__init__, "__signature__")
    assert list(own)[:2] == ["self", "n_clusters"]
    assert {p.kind for p in list(own.values())[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert {name: own[name] for name in shared} == dict(shared)


@pytest.mark.parametrize("kind", SEVEN)
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::mkclust.exceptions.DegenerateWarning")
def test_twins_have_equal_weights(kind):
    X = VIEWS.views[0]
    model = kind(3, random_state=0).fit([X, X, VIEWS.views[1]])
    assert model.weights_[0] == pytest.approx(model.weights_[1], abs=1e-9)


HARD = {  # some methods do not return k clusters here
    "few samples": ([view[:8] for view in VIEWS.views[:2]], 7),
    "copies": ([np.where(np.arange(30)[:, None] % 2, VIEWS.views[0][:30], 1.0)], 10),
    "a line": ([np.linspace(0, 1, 12)[:, None] ** 2], 6),
    "one cluster": (list(VIEWS.views), 1),
}


@pytest.mark.parametrize("name", METHODS)
def test_another_number_of_clusters_is_warned_of(name):
    for case, (views, k) in HARD.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = len(np.unique(estimator(name, k, kernel="linear").fit(views).labels_))
        named = [str(w.message) for w in caught if issubclass(w.category, MkclustWarning)]
        numbers = [set(re.findall(r"\d+", message)) for message in named]
        assert found == k or any({str(found), str(k)} <= given for given in numbers), case


@pytest.mark.parametrize(
    "kind, size",
    [(AKKM, 1), (MKKM, 1), (MKKMMR, 31), (ONKC, 961), (LFMKC, 31), (OPLF, 1), (HMKC, 72)],
)
def test_published_grid(kind, size):
    grid = kind.published_grid(5)
    assert len(grid) == size
    assert len({tuple(setting.items()) for setting in grid}) == size
    for setting in (grid[0], grid[-1]):
        assert setting.items() <= kind(5, **setting).get_params().items()


@pytest.mark.parametrize(
    "model, message",
    [
        (MKKMMR(3, lam=-1), "lam must be a finite number of at least 0, got -1"),
        (MKKMMR(3, lam="1"), "lam must be a finite number"),
        (ONKC(3, rho=0.0), "rho must be a finite number above 0, got 0.0"),
        (ONKC(3, rho=np.nan), "rho must be a finite number above 0, got nan"),
        (ONKC(3, lam=np.inf), "lam must be a finite number"),
        (LFMKC(3, init="random"), 'init must be "align" or "identity", got \'random\''),
        (OPLF(3, init=None), "init must be"),
        (HMKC(3, c1=0), "c1 must be a whole number from 1 on, got 0"),
        (HMKC(3, c2=2.5), "c2 must be a whole number from 1 on, got 2.5"),
        (SWMC(3, graph="full"), "graph must be"),
        (SWMC(3, n_neighbors=0), "n_neighbors must be"),
        (SPMKC(3, lam1=-1.0), "lam1 must be"),
        (SPMKC(3, lam2=0.0), "lam2 must be"),
        (SPMKC(3, lam3=0), "lam3 must be"),
        (CAGL(3, alpha=np.inf), "alpha must be"),
        (CAGL(3, n_neighbors=2.5), "n_neighbors must be"),
        (SNF(3, n_neighbors=0), "n_neighbors must be a whole number from 1 on, got 0"),
        (SNF(3, mu=0.0), "mu must be a finite number above 0, got 0.0"),
        (SNF(3, n_iter=1.5), "n_iter must be a whole number"),
        (SNF(3, metric="cosine"), '"sqeuclidean" or "euclidean", got \'cosine\''),
        (SNF(3, indefinite="no"), 'indefinite must be "raise"'),
    ],
)
def test_a_bad_parameter_is_named(model, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        model.fit(VIEWS)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.ConvergenceWarning")
def test_accumulating_lets_lam_fade():
    """With a running sum the average partition's share shrinks; with a fresh one it stays."""
    H_0 = AKKM(3, random_state=0).fit(VIEWS).embedding_
    models = [LFMKC(3, lam=8.0, accumulate=a, random_state=0) for a in (False, True)]
    fresh, running = (np.vdot(H_0, model.fit(VIEWS).embedding_) for model in models)
    assert running < fresh


def test_oplf_reports_empty_clusters(monkeypatch):
    """A kernel with two clusters and a weaker third direction that is nowhere the largest."""
    first = np.arange(40) < 20
    third = np.tile(np.r_[np.linspace(0.5, 1, 10), np.linspace(-0.5, -1, 10)], 2)
    H = np.column_stack([first, ~first, third])
    H = H / np.linalg.norm(H, axis=0)
    monkeypatch.setattr("mkclust.baselines.oplf.first_centroids", lambda *_: np.eye(3))
    as_given = {"kernel": "precomputed", "center": False, "normalize": False, "init": "identity"}
    with pytest.warns(ConvergenceWarning, match="OPLF .* 2 instead of 3; .* empty clusters"):
        model = OPLF(3, **as_given).fit([(H * [3.0, 2.0, 1.0]) @ H.T])
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], 20))
    np.testing.assert_array_equal(model.empty_clusters_, [2])
    np.testing.assert_allclose(model.centroids_[2], [0, 0, 1], atol=1e-12)  # as it was


@pytest.mark.parametrize("model", [MKCDNM(3, max_dimension=4), SPMKC(3, lam1=1e4)])
def test_warnings_point_to_the_line_that_called(model):
    views = make_views(60, n_views=2, n_noise_views=1, random_state=0)
    with pytest.warns(MkclustWarning) as caught:
        model.set_params(random_state=0).fit(views)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("method", "parameter"),
    [("spmkc", "lam1"), ("spmkc", "lam3"), ("cagl", "alpha"), ("onkc", "rho")],
)
def test_extreme_parameters_are_refused_by_name(method, parameter):
    views = make_views(30, 3, 2, random_state=0)
    for value in (1e-320, 1e308, 10**400, float("inf")):
        with pytest.raises(InputError, match=f"^{parameter} must be"):
            METHODS[method](3, **{parameter: value}).fit(views)
