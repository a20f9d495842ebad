"""The outputs of the methods' own programs, reproduced from their stored inputs."""

import numpy as np
import pytest
from scipy.io import loadmat

from mkclust.baselines import AKKM, HMKC, MKKM, MKKMMR, ONKC
from mkclust.baselines.lfmkc import first_rotations, late_fusion
from mkclust.baselines.oplf import empty_clusters, fuse, one_pass
from mkclust.linalg.kmeans import unit_rows

pytestmark = pytest.mark.versions


class Stored:
    """One data set's stored input, and what each program returned on it."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        given = loadmat(folder / f"{name}_input.mat")
        self.k = int(given["k"].item())
        self.kernels = views_first(given["KH"])

    def output(self, method):
        return loadmat(self.folder / f"{self.name}_{method}.mat")

    def fit(self, kind, **settings):
        as_given = {"kernel": "precomputed", "center": False, "normalize": False, "n_init": 1}
        return kind(self.k, random_state=0, **as_given, **settings).fit(self.kernels)


def views_first(stack):
    """(r, c, m) as stored, (m, r, c) as used."""
    return np.ascontiguousarray(np.moveaxis(stack, 2, 0))


@pytest.fixture(scope="module", params=["synth60", "AR10P", "YALE"])
def stored(request):
    where = "synth60_dir" if request.param == "synth60" else "fixture_dir"
    return Stored(request.getfixturevalue(where), request.param)


def close(found, expected, tolerance):
    """Equal in number of entries, and entry by entry relative to the largest."""
    found, expected = np.squeeze(found), np.squeeze(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def same_partition(H, expected, tolerance):
    """Equal up to an orthogonal change of basis."""
    assert H.shape == expected.shape
    close(H @ H.T, expected @ expected.T, tolerance)


def test_akkm(stored):
    expected, model = stored.output("akkm"), stored.fit(AKKM)
    close(model.embedding_ @ model.embedding_.T, expected["P"], 1e-9)
    close(model.objective_history_, expected["obj"], 1e-12)


def test_mkkm(stored):
    expected, model = stored.output("mkkm"), stored.fit(MKKM)
    close(model.weights_, expected["theta"], 1e-10)
    close(model.objective_history_, expected["objective"], 1e-10)
    close(model.embedding_ @ model.embedding_.T, expected["P"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_mkkm_mr(stored, case):
    expected = stored.output(f"mkkm_mr_l{case}")
    model = stored.fit(MKKMMR, lam=expected["lambda"].item())
    close(model.weights_, expected["gamma"], 1e-9)
    close(model.objective_history_, expected["obj"], 1e-9)
    same_partition(unit_rows(model.embedding_), expected["H_normalized"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_onkc(stored, case):
    expected = stored.output(f"onkc_{case}")
    model = stored.fit(ONKC, rho=expected["rho"].item(), lam=expected["lambda"].item())
    close(model.weights_, expected["gamma"], 1e-9)
    close(model.kernel_, expected["G"], 1e-9)
    close(model.objective_history_, expected["obj"], 1e-9)
    same_partition(unit_rows(model.embedding_), expected["H_normalized"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_lfmkc(stored, case):
    expected = stored.output(f"lfmkc_{case}")
    H_p, H_0 = views_first(expected["HP"]), expected["H0"]
    given = first_rotations(H_p, H_0, "identity")
    H, W, gamma, trace = late_fusion(H_p, H_0, given, expected["lambda"].item(), accumulate=True)
    close(gamma, expected["gamma"], 1e-10)
    close(W, views_first(expected["WP"]), 1e-10)
    close(trace.values, expected["obj"], 1e-10)
    close(H @ H.T, expected["P"], 1e-10)


def test_oplf(stored):
    expected = stored.output("oplf")
    H_p = views_first(expected["HP"])
    identity = np.tile(np.eye(stored.k), (len(H_p), 1, 1))
    labels, _, C, W, beta, trace = one_pass(H_p, expected["C0"], identity)
    if stored.name == "YALE":  # two clusters run empty at once: what follows is the SVD's choice
        close(trace.values[0], expected["obj"][0, 0], 1e-10)
        return
    np.testing.assert_array_equal(labels, expected["lab"].ravel() - 1)
    close(trace.values, expected["obj"], 1e-10)
    close(beta, expected["beta"], 1e-10)
    assert len(empty_clusters(labels, stored.k)) == 0
    close(C, expected["C"], 1e-9)
    close(W, views_first(expected["WP"]), 1e-9)


def test_oplf_objective_of_the_stored_state(stored):
    expected = stored.output("oplf")
    YC = expected["C"][expected["lab"].ravel().astype(int) - 1]
    R = fuse(expected["beta"].ravel(), views_first(expected["HP"]), views_first(expected["WP"]))
    close(np.vdot(YC, R), expected["obj"][0, -1], 1e-10)


def test_hmkc(stored):
    expected = stored.output("hmkc")
    c1, c2 = int(expected["c1"].item()), int(expected["c2"].item())
    assert (c1, c2) == (4 * stored.k, 3 * stored.k)
    model = stored.fit(HMKC, c1=c1, c2=c2)
    values, wanted = model.objective_history_, expected["obj"].ravel()
    assert values[0] == pytest.approx(wanted[0], rel=1e-10)
    assert abs(len(values) - len(wanted)) <= 2
    both = min(len(values), len(wanted))
    np.testing.assert_allclose(values[:both], wanted[:both], rtol=1e-4)
    assert values[-1] == pytest.approx(wanted[-1], rel=1e-4)
    weighted = model.weights_, *model.layer_weights_
    for weights, name in zip(weighted, ("beta", "g1", "g2"), strict=True):
        np.testing.assert_allclose(weights, expected[name].ravel(), atol=2e-3)
