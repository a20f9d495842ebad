"""Peers, shared kernels and the scoring of one unit."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans

from mkclust import METHODS, MultiView, metrics
from mkclust.bench.peers import PEERS, Peer, concatenated, peer, uses_kernels
from mkclust.bench.protocol import REFITTED, SEEDLESS, Place, compute, given_views
from mkclust.bench.registry import dataset, row_order
from mkclust.bench.runner import Options, installed_peers, prepare
from mkclust.bench.shared import Shared
from mkclust.bench.store import DONE, FAILED
from mkclust.bench.suite import KERNELS, Protocol, Unit
from mkclust.bench.workers import attempt
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelBank
from mkclust.linalg import spectrum
from mkclust.linalg.kmeans import kmeans_labels

ONCE, TWICE = Protocol(runs=1), Protocol(runs=2)
OWN = ["concat-kmeans", "concat-spectral"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the kernels of the planted set."""
    made = Place(None, tmp_path_factory.mktemp("cache"))
    outcome = compute(unit(KERNELS), made)
    assert outcome.status == DONE and outcome.cpu > 0
    return made


def unit(method, protocol=TWICE, order="shuffled", seed=0, **parameters):
    content = "mkclust:planted"
    return Unit("planted", content, method, parameters, seed, order, protocol=protocol)


def planted(seed=0):
    """The planted set as a unit of this seed sees it."""
    views = dataset("planted").load(None)
    return views[row_order(views.labels, "shuffled", seed)]


def scores(outcome):
    return {(metric, normalizer): mean for metric, normalizer, mean, _ in outcome.metrics}


@pytest.mark.parametrize("method", METHODS)
def test_a_unit_scores_a_fit_to_the_shuffled_views(method, place):
    outcome = compute(unit(method), place)
    views = planted()
    models = [METHODS[method](3, random_state=seed).fit(views) for seed in range(2)]
    if method in SEEDLESS:
        labels = [models[0].labels_]
    elif method in REFITTED:
        labels = [model.labels_ for model in models]
    else:
        labels = [kmeans_labels(models[0].embedding_, 3, 10, seed) for seed in range(2)]
    expected = np.mean([metrics.accuracy(views.labels, found) for found in labels])
    assert scores(outcome)["acc", ""] == pytest.approx(expected)
    shared = Shared.of(place.cache, unit(method)).cpu() if uses_kernels(method) else 0.0
    assert outcome.shared_cpu >= shared and (outcome.shared_cpu > 0) == uses_kernels(method)
    assert outcome.runs == len(labels)


@pytest.mark.parametrize("method", ["graph-fusion", "akkm"])
def test_the_order_of_rows_does_not_change_the_scores_of_planted_clusters(method, place):
    found = []
    for order, seed in (("shuffled", 0), ("shuffled", 1), ("sorted", 0)):
        one = unit(method, order=order, seed=seed)
        compute(one.shared(), place)
        outcome = compute(one, place)
        found.append([mean for *_, mean, _ in outcome.metrics])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=0, atol=1e-12)


def test_a_method_sees_the_rows_in_the_order_of_its_unit(place, monkeypatch):
    seen = []

    def label(views, k, seed):
        seen.append(views[0][:, 0])
        return np.argsort(np.argsort(views[0][:, 0])) % k

    monkeypatch.setitem(PEERS, "concat-kmeans", Peer("a test", "", label))
    views = dataset("planted").load(None)
    column, classes = views.views[0][:, 0], views.labels
    outcomes = [
        compute(unit("concat-kmeans", ONCE, order=order, seed=seed), place)
        for order, seed in (("sorted", 0), ("shuffled", 0), ("shuffled", 1))
    ]
    np.testing.assert_array_equal(seen[0], column[np.argsort(classes, kind="stable")])
    for given in seen[1:]:
        assert not np.array_equal(given, column)
        np.testing.assert_array_equal(np.sort(given), np.sort(column))
    assert not np.array_equal(seen[1], seen[2])
    # The labels depend on the samples only, so that mapping them back must give equal scores.
    assert outcomes[0].metrics == outcomes[1].metrics == outcomes[2].metrics


def test_graph_fusion_is_given_kernels_as_kernels(tmp_path):
    views = dataset("planted").load(None)
    grams = {f"K{p}": np.asarray(view @ view.T) for p, view in enumerate(views.views)}
    np.savez(tmp_path / "mine.npz", **grams, y=views.labels)
    place, one = Place(tmp_path, tmp_path), unit("graph-fusion")
    held = dataset("mine.npz", tmp_path)
    assert held.load(tmp_path).kernels
    given = replace(one, dataset="mine.npz", content=held.key(tmp_path))
    kernels = held.load(tmp_path)[row_order(views.labels, "shuffled", 0)]
    models = [METHODS["graph-fusion"](3, precomputed=True, random_state=s) for s in range(2)]
    labels = [model.fit(kernels).labels_ for model in models]
    expected = np.mean([metrics.accuracy(kernels.labels, found) for found in labels])
    assert scores(compute(given, place))["acc", ""] == pytest.approx(expected)


def test_the_published_protocol_is_means_over_runs_from_random_samples(place):
    how = Protocol(runs=4, restarts=1, start="random")
    outcome = compute(unit("akkm", how), place)
    views = planted()
    H = METHODS["akkm"](3, random_state=0).fit(views).embedding_
    values = [
        metrics.nmi(views.labels, kmeans_labels(H, 3, 1, seed, "random")) for seed in range(4)
    ]
    (row,) = [row for row in outcome.metrics if row[:2] == ("nmi", "max")]
    assert row[2:] == pytest.approx((np.mean(values), np.std(values)))


def test_shared_kernels_are_those_of_the_library_and_cannot_be_written_to(place):
    mapped = Shared.of(place.cache, unit("akkm")).kernels()
    views = planted()
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
    assert second.shared_cpu == first.shared_cpu > Shared.of(place.cache, unit("lfmkc")).cpu()
    assert second.metrics == first.metrics


def test_the_best_view_is_a_grid_over_views(place):
    views = planted()
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


@pytest.mark.parametrize("method", ["concat-kmeans", "graph-fusion"])
def test_slow_fits_are_repeated_less_often(method, place):
    hurried = Place(None, place.cache, seconds=1e-9)
    assert compute(unit(method), hurried).runs == 1


def test_twelve_kernels_are_given_to_methods_and_the_view_to_peers(place):
    views = MultiView([np.eye(4) + 1.0], labels=[0, 0, 1, 1])
    single = replace(dataset("planted"), kernel="twelve")
    assert given_views(unit("graph-fusion"), single, views).n_views == 12
    assert given_views(unit("concat-kmeans"), single, views) is views


def test_sparse_columns_are_concatenated_without_filling_them():
    rng = np.random.default_rng(0)
    views = [sp.random_array((30, 8), density=0.3, rng=rng, format="csr") for _ in range(2)]
    X, full = concatenated(views), concatenated([view.toarray() for view in views])
    assert sp.issparse(X)
    np.testing.assert_allclose(pdist(X.toarray()), pdist(full))


def test_leiden_finds_k_clusters():
    pytest.importorskip("leidenalg")
    views = planted()
    labels = np.asarray(PEERS["leiden"].label(views.views[:3], 3, 0))
    assert len(np.unique(labels)) == 3 and metrics.accuracy(views.labels, labels) > 0.8


def test_peers_that_are_not_installed_are_named_and_skipped(monkeypatch):
    names = ["concat-kmeans", "leiden"]
    monkeypatch.setattr("mkclust.bench.peers.find_spec", lambda name: None)
    assert installed_peers(names, None) == ["concat-kmeans"]
    options = Options(methods=("concat-kmeans", "leiden"), datasets=("planted",))
    experiment = prepare("quick", options)
    assert experiment.not_installed == ["leiden"]
    assert {item.unit.method for item in experiment.planned} == {"concat-kmeans"}


def test_another_interpreter_is_asked_what_it_has():
    assert installed_peers(OWN, sys.executable) == OWN


def test_peers_that_need_features_leave_out_sets_of_kernels(tmp_path):
    (tmp_path / "YALE_Kmatrix.mat").write_bytes(b"")
    options = Options(tmp_path, ("YALE",), ("graph-fusion", "akkm", "concat-kmeans"))
    found = {item.unit.method for item in prepare("multiview", options).planned}
    assert found == {"graph-fusion", "akkm"}


def test_absent_sets_are_named(tmp_path):
    experiment = prepare("paper-table2", Options(tmp_path))
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
    outcome = attempt(unit(name, ONCE), place)
    assert outcome["status"] == DONE or (outcome["status"] == FAILED and outcome["message"])
