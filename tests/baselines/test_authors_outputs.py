"""The outputs of the methods' own programs, reproduced from their stored inputs."""

import numpy as np
import pytest
from scipy.io import loadmat

from mkclust.baselines.akkm import average_partition
from mkclust.baselines.hmkc import hierarchy
from mkclust.baselines.lfmkc import first_rotations, late_fusion
from mkclust.baselines.mkkm import multiple_kernel_kmeans
from mkclust.baselines.mkkm_mr import regularized_kernel_kmeans
from mkclust.baselines.onkc import neighborhood_kernel
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
    expected = stored.output("akkm")
    H, objective = average_partition(stored.kernels.mean(axis=0), stored.k)
    close(H @ H.T, expected["P"], 1e-9)
    close(objective, expected["obj"], 1e-12)


def test_mkkm(stored):
    expected = stored.output("mkkm")
    found = multiple_kernel_kmeans(stored.kernels, stored.k)
    close(found.theta, expected["theta"], 1e-10)
    close(found.trace.values, expected["objective"], 1e-10)
    close(found.H @ found.H.T, expected["P"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_mkkm_mr(stored, case):
    expected = stored.output(f"mkkm_mr_l{case}")
    found = regularized_kernel_kmeans(stored.kernels, stored.k, expected["lambda"].item())
    close(found.gamma, expected["gamma"], 1e-9)
    close(found.trace.values, expected["obj"], 1e-9)
    same_partition(unit_rows(found.H), expected["H_normalized"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_onkc(stored, case):
    expected = stored.output(f"onkc_{case}")
    rho, lam = expected["rho"].item(), expected["lambda"].item()
    found = neighborhood_kernel(stored.kernels, stored.k, rho, lam)
    close(found.gamma, expected["gamma"], 1e-9)
    close(found.G, expected["G"], 1e-9)
    close(found.trace.values, expected["obj"], 1e-9)
    same_partition(unit_rows(found.H), expected["H_normalized"], 1e-9)


@pytest.mark.parametrize("case", [1, 2, 3])
def test_lfmkc(stored, case):
    expected = stored.output(f"lfmkc_{case}")
    H_p, H_0 = views_first(expected["HP"]), expected["H0"]
    W = first_rotations(H_p, H_0, "identity")
    found = late_fusion(H_p, H_0, W, expected["lambda"].item(), accumulate=True)
    close(found.gamma, expected["gamma"], 1e-10)
    close(found.W, views_first(expected["WP"]), 1e-10)
    close(found.trace.values, expected["obj"], 1e-10)
    close(found.H @ found.H.T, expected["P"], 1e-10)


def test_oplf(stored):
    expected = stored.output("oplf")
    H_p = views_first(expected["HP"])
    found = one_pass(H_p, expected["C0"], np.tile(np.eye(stored.k), (len(H_p), 1, 1)))
    if stored.name == "YALE":  # two clusters run empty at once: what follows is the SVD's choice
        close(found.trace.values[0], expected["obj"][0, 0], 1e-10)
        return
    np.testing.assert_array_equal(found.labels, expected["lab"].ravel() - 1)
    close(found.trace.values, expected["obj"], 1e-10)
    close(found.beta, expected["beta"], 1e-10)
    assert len(empty_clusters(found.labels, stored.k)) == 0
    close(found.C, expected["C"], 1e-9)
    close(found.W, views_first(expected["WP"]), 1e-9)


def test_oplf_objective_of_the_stored_state(stored):
    expected = stored.output("oplf")
    YC = expected["C"][expected["lab"].ravel().astype(int) - 1]
    R = fuse(expected["beta"].ravel(), views_first(expected["HP"]), views_first(expected["WP"]))
    close(np.vdot(YC, R), expected["obj"][0, -1], 1e-10)


def test_hmkc(stored):
    expected = stored.output("hmkc")
    c1, c2 = int(expected["c1"].item()), int(expected["c2"].item())
    assert (c1, c2) == (4 * stored.k, 3 * stored.k)
    found = hierarchy(stored.kernels, stored.k, c1, c2)
    values, wanted = np.array(found.trace.values), expected["obj"].ravel()
    assert values[0] == pytest.approx(wanted[0], rel=1e-10)
    assert abs(len(values) - len(wanted)) <= 2
    both = min(len(values), len(wanted))
    np.testing.assert_allclose(values[:both], wanted[:both], rtol=1e-4)
    assert values[-1] == pytest.approx(wanted[-1], rel=1e-4)
    for weights, name in [
        (found.weights.beta, "beta"),
        (found.weights.omega1, "g1"),
        (found.weights.omega2, "g2"),
    ]:
        np.testing.assert_allclose(weights, expected[name].ravel(), atol=2e-3)
