"""Peers, shared kernels and the scoring of one unit."""

import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mkclust import METHODS, metrics
from mkclust.bench.experiment import Wishes, prepare
from mkclust.bench.peers import PEERS, concatenated, peer, uses_kernels
from mkclust.bench.protocol import Place, compute
from mkclust.bench.record import DONE, FAILED
from mkclust.bench.registry import dataset
from mkclust.bench.runner import installed_peers
from mkclust.bench.shared import Shared
from mkclust.bench.suite import Protocol
from mkclust.bench.units import KERNELS, Unit
from mkclust.bench.work import attempt
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelBank
from mkclust.linalg import spectrum
from mkclust.linalg.kmeans import kmeans_labels

TWICE = Protocol(runs=2)
OWN = ["concat-kmeans", "concat-spectral"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the kernels of the planted set."""
    made = Place(None, tmp_path_factory.mktemp("cache"))
    outcome = compute(unit(KERNELS), made)
    assert outcome.status == DONE and outcome.cpu > 0
    return made


def unit(method, protocol=TWICE, **parameters):
    return Unit("planted", "mkclust:planted", method, parameters, protocol=protocol)


def scores(outcome):
    return {(metric, normaliser): mean for metric, normaliser, mean, _ in outcome.metrics}


@pytest.mark.parametrize("method", METHODS)
def test_shared_kernels_give_what_a_fit_from_the_views_gives(method, place):
    outcome = compute(unit(method), place)
    views = dataset("planted").load(None)
    model = METHODS[method](3, random_state=0).fit(views)
    labels = [model.labels_]
    if method not in ("oplf", "swmc", "cagl"):
        labels = [kmeans_labels(model.embedding_, 3, 10, seed) for seed in range(2)]
    expected = np.mean([metrics.accuracy(views.labels, found) for found in labels])
    assert scores(outcome)["acc", ""] == pytest.approx(expected)
    assert outcome.shared_cpu >= place.shared(unit(method)).cpu()
    assert outcome.runs == len(labels)


def test_the_published_protocol_is_means_over_runs_from_random_samples(place):
    how = Protocol(runs=4, restarts=1, start="random")
    outcome = compute(unit("akkm", how), place)
    views = dataset("planted").load(None)
    H = METHODS["akkm"](3, random_state=0).fit(views).embedding_
    values = [
        metrics.nmi(views.labels, kmeans_labels(H, 3, 1, seed, "random")) for seed in range(4)
    ]
    (row,) = [row for row in outcome.metrics if row[:2] == ("nmi", "max")]
    assert row[2:] == pytest.approx((np.mean(values), np.std(values)))


def test_shared_kernels_are_those_of_the_library_and_cannot_be_written_to(place):
    mapped = Shared.of(place.cache, "planted", "mkclust:planted").kernels()
    views = dataset("planted").load(None)
    for ours, theirs in zip(mapped, KernelBank(*dataset("planted").kernels(views)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        with pytest.raises(ValueError, match="read-only"):
            ours[0, 0] = 1.0
    assert mapped.names == views.names


def test_eigenvectors_of_shared_kernels_are_computed_once_and_paid_for_by_all(place, monkeypatch):
    asked = []
    top = spectrum._top
    monkeypatch.setattr(spectrum, "_top", lambda K, k: asked.append(len(K)) or top(K, k))
    first = compute(unit("lfmkc", lam=2.0), place)
    asked.clear()
    second = compute(unit("lfmkc", lam=2.0), place)
    assert len(asked) == 1  # of the sum of the kernels
    assert second.shared_cpu == first.shared_cpu > place.shared(unit("lfmkc")).cpu()
    assert second.metrics == first.metrics


def test_the_best_view_is_a_grid_over_views(place):
    views = dataset("planted").load(None)
    found = [scores(compute(unit("best-view", view=p), place))["acc", ""] for p in range(4)]
    single = METHODS["akkm"](3, random_state=0).fit([views.views[3]])
    expected = [
        metrics.accuracy(views.labels, kmeans_labels(single.embedding_, 3, 10, s)) for s in (0, 1)
    ]
    assert found[3] == pytest.approx(np.mean(expected))
    assert max(found[:3]) > found[3] + 0.2  # the fourth view is noise


@pytest.mark.parametrize("method", OWN)
def test_baselines_label_every_sample(method, place):
    outcome = compute(unit(method), place)
    assert outcome.runs == 2 and outcome.shared_cpu == 0
    assert scores(outcome)["acc", ""] > 0.6


def test_concatenation_gives_every_column_the_same_weight():
    rng = np.random.default_rng(0)
    X = concatenated([rng.normal(5, 100, (40, 3)), np.ones((40, 1)), rng.normal(0, 0.1, (40, 2))])
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), [1, 1, 1, 0, 1, 1])
    labels = PEERS["concat-kmeans"].label([X], 2, 0)
    np.testing.assert_array_equal(labels, KMeans(2, n_init=10, random_state=0).fit_predict(X))


def test_slow_peers_are_repeated_less_often(place):
    hurried = Place(None, place.cache, seconds=1e-9)
    assert compute(unit("concat-kmeans"), hurried).runs == 1


def test_peers_that_are_not_installed_are_named_and_skipped(monkeypatch):
    names = ["concat-kmeans", "snfpy"]
    monkeypatch.setattr("mkclust.bench.peers.find_spec", lambda name: None)
    assert installed_peers(names, None) == ["concat-kmeans"]
    wishes = Wishes(methods=["concat-kmeans", "snfpy"], datasets=["planted"])
    experiment = prepare("quick", wishes)
    assert experiment.not_installed == ["snfpy"]
    assert {item.unit.method for item in experiment.planned} == {"concat-kmeans"}


def test_another_interpreter_is_asked_what_it_has():
    assert installed_peers(OWN, sys.executable) == OWN


def test_peers_on_features_leave_out_sets_of_kernels(tmp_path):
    (tmp_path / "YALE_Kmatrix.mat").write_bytes(b"")
    wishes = Wishes(tmp_path, ["YALE"], ["akkm", "concat-kmeans"])
    assert {item.unit.method for item in prepare("leaderboard", wishes).planned} == {"akkm"}


def test_absent_sets_are_named(tmp_path):
    experiment = prepare("paper-table2", Wishes(tmp_path))
    assert [entry.name for entry in experiment.absent][:2] == ["BBCSport", "Plant"]
    assert experiment.planned == []


def test_any_function_is_a_method_by_its_import_path():
    assert peer("mkclust.bench.peers:concat_kmeans").label is PEERS["concat-kmeans"].label
    assert not uses_kernels("mkclust.bench.peers:concat_kmeans")
    for name in ("no.such.module:f", "mkclust.bench.peers:no_such", "nothing"):
        with pytest.raises(InputError, match="no method"):
            peer(name)


@pytest.mark.parametrize("name", [name for name in PEERS if PEERS[name].package])
def test_an_installed_peer_gives_labels_or_says_why_not(name, place):
    if not PEERS[name].installed:
        pytest.skip(f"{PEERS[name].package} is not installed")
    outcome = attempt(unit(name, Protocol(runs=1)), place)
    assert outcome["status"] == DONE or (outcome["status"] == FAILED and outcome["message"])
