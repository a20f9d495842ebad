"""Equal to what the authors of MKC-DNM published, and to the trace of their own program."""

import numpy as np
import pytest
import scipy.io

from _support.banks import centered_and_normalized
from _support.planted import projector, trace_of
from mkclust import MKCDNM, metrics
from mkclust.linalg.kmeans import kmeans_labels


@pytest.fixture(scope="module")
def bbcsport(data_dir):
    stored = scipy.io.loadmat(data_dir / "bbcsport_2view.mat")
    model = MKCDNM(5, random_state=0).fit(list(stored["data"].ravel()))
    return model, stored["truth"].ravel()


def test_bbcsport_has_the_published_dimensions_and_partition(bbcsport, fixture_dir):
    model, _ = bbcsport
    published = scipy.io.loadmat(fixture_dir / "bbcsport_published.mat")["H"]
    np.testing.assert_array_equal(model.dimensions_, [11, 11])
    signs = np.sign(np.sum(published * model.embedding_, axis=0))
    assert np.abs(model.embedding_ * signs - published).max() <= 1e-8


def test_bbcsport_has_the_published_scores(bbcsport, fixture_dir):
    """20 times the best of 10 starts from random samples, as the released results were made."""
    model, truth = bbcsport
    random = np.random.RandomState(0)
    runs = [kmeans_labels(model.embedding_, 5, 10, random, init="random") for _ in range(20)]
    scores = [metrics.evaluate(truth, labels) for labels in runs]
    mean = {name: np.mean([score[name] for score in scores]) for name in scores[0]}
    assert mean["acc"] == pytest.approx(0.876, abs=0.004)
    assert mean["nmi"] == pytest.approx(0.697, abs=0.006)
    assert mean["purity"] == pytest.approx(0.876, abs=0.004)
    assert mean["ari"] == pytest.approx(0.696, abs=0.006)
    published = scipy.io.loadmat(fixture_dir / "bbcsport_published.mat")["res_mean"].ravel()
    np.testing.assert_allclose(list(mean.values()), published, atol=0.006)


@pytest.fixture(params=["synth60", "AR10P", "YALE"])
def reference(request):
    folder = "synth60_dir" if request.param == "synth60" else "fixture_dir"
    folder = request.getfixturevalue(folder)
    given, result = (
        scipy.io.loadmat(folder / f"{request.param}_{part}.mat") for part in ("input", "mkc_dnm")
    )
    return request.param, given, result


def test_dimensions_partition_and_every_step_equal_the_authors_program(reference):
    _, given, result = reference
    k = int(given["k"].item())
    model = MKCDNM(k, kernel="precomputed", center=False, normalize=False, random_state=0)
    model.fit(np.moveaxis(given["KH"], -1, 0))
    np.testing.assert_array_equal(model.dimensions_, result["d"].ravel())
    assert np.abs(projector(model.embedding_) - result["P"]).max() <= 1e-8
    np.testing.assert_allclose(model.singular_values_, result["sv"].ravel(), atol=1e-8)
    rows = trace_of(model.history_, result["d0"].ravel().astype(int))
    np.testing.assert_array_equal(rows, result["tr"])
    assert model.history_[-1].penalty == result["Mend"].item()


def test_raw_kernels_become_the_authors_kernels(reference):
    name, given, _ = reference
    for p in range(given["KH"].shape[2]):
        raw = given["Kraw"][:, :, p]
        made = centered_and_normalized((raw + raw.T) / 2)
        # AR10P's sixth kernel is constant but for 1e-10: 1.5e-5 between two correct programs.
        tolerance = 1.5e-5 if (name, p) == ("AR10P", 5) else 1e-11
        np.testing.assert_allclose(made, given["KH"][:, :, p], atol=tolerance)


def test_raw_kernels_give_the_same_dimensions(reference):
    """Through the estimator, centring and normalising on the way."""
    name, given, result = reference
    k = int(given["k"].item())
    model = MKCDNM(k, kernel="precomputed", random_state=0)
    model.fit(np.moveaxis(given["Kraw"], -1, 0))
    np.testing.assert_array_equal(model.dimensions_, result["d"].ravel())
    tolerance = 1e-6 if name == "AR10P" else 1e-8  # its sixth kernel, as above
    assert np.abs(projector(model.embedding_) - result["P"]).max() <= tolerance
