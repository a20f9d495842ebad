"""What a benchmark does where the system, a package or a method is not as it should be."""

import os
import socket
import sys
import time
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust.bench import machine, peers, workers
from mkclust.bench.peers import PEERS, Peer
from mkclust.bench.registry import class_numbers, registered, twelve_kernels
from mkclust.bench.store import FAILED, OUT_OF_MEMORY
from mkclust.data.views import MultiView
from mkclust.exceptions import InputError
from mkclust.metrics import accuracy


def refuse(error):
    def raised(*_, **__):
        raise error

    return raised


# ---------------------------------------------------------------- workers


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (MemoryError("no room for 3 TiB"), OUT_OF_MEMORY, "no room for 3 TiB"),
        (ValueError("rows\n  differ"), FAILED, "ValueError: rows differ"),
        (RuntimeError("x" * 10_000), FAILED, None),
    ],
)
def test_whatever_a_method_raises_is_an_outcome(monkeypatch, error, status, message):
    monkeypatch.setattr("mkclust.bench.workers.compute", refuse(error))
    outcome = workers.attempt(None, None)
    assert outcome["status"] == status
    assert len(outcome["message"]) <= workers.MESSAGE
    if message is not None:
        assert outcome["message"] == message


def test_peak_memory_is_known_without_proc(monkeypatch):
    monkeypatch.setattr(workers.Path, "read_text", refuse(OSError("no such file")))
    held = np.ones(1_000_000)
    assert workers.peak() > held.nbytes


# ---------------------------------------------------------------- the machine


def test_memory_of_a_group_is_known_without_proc(monkeypatch):
    listed = "  7 100\n  8 50\n  7 24\n"
    monkeypatch.setattr(machine.Path, "exists", lambda self: False)
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=listed))
    found = machine.usages()
    assert {group: usage.memory for group, usage in found.items()} == {7: 124 * 1024, 8: 50 * 1024}
    assert not any(usage.awake or usage.cpu for usage in found.values())


def test_a_claim_lives_as_long_as_its_owner():
    here = machine.owner_name()
    assert machine.alive(here, lease=0.0)
    host, pid, _ = here.rsplit(":", 2)
    assert not machine.alive(f"{host}:{pid}:1", lease=0.0)  # the number is another's by now
    assert machine.alive(f"elsewhere:{pid}:1", lease=time.time() + 60)
    assert not machine.alive(f"elsewhere:{pid}:1", lease=time.time() - 60)


def test_an_owner_that_ended_or_is_not_ours_to_ask(monkeypatch):
    claim = f"{socket.gethostname()}:1:5"
    monkeypatch.setattr(machine.os, "kill", refuse(ProcessLookupError()))
    assert not machine.alive(claim, lease=time.time() + 60)
    monkeypatch.setattr(machine.os, "kill", refuse(PermissionError()))
    assert machine.alive(claim, lease=0.0)


def test_a_machine_that_says_little_is_named_all_the_same(monkeypatch):
    monkeypatch.setattr(machine.Path, "read_text", refuse(OSError("no such file")))
    assert machine._processor()
    assert machine._began(os.getpid()) == ""


# ---------------------------------------------------------------- peers


def fake_package(monkeypatch, *names, **content):
    for name in names:
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(
    ("name", "package", "kind"),
    [
        ("mvlearn-kmeans", "mvlearn.cluster", "MultiviewKMeans"),
        ("polyview-coreg", "polyview", "MultiViewCoRegSpectralClustering"),
        ("imml-nemo", "imml.cluster", "NEMO"),
    ],
)
def test_other_packages_get_dense_views_k_and_the_seed(monkeypatch, name, package, kind):
    given = []

    class Clusterer:
        def __init__(self, **settings):
            given.append(settings)

        def fit_predict(self, views):
            given.extend(views)
            return np.arange(len(views[0])) % 2

    fake_package(monkeypatch, package.partition(".")[0], package, **{kind: Clusterer})
    views = [np.eye(6), sp.csr_array(np.arange(12.0).reshape(6, 2))]
    assert PEERS[name].label(views, 2, 7).tolist() == [0, 1, 0, 1, 0, 1]
    assert given[0] == {"n_clusters": 2, "random_state": 7}
    np.testing.assert_array_equal(np.asarray(given[1]), np.eye(6))
    np.testing.assert_array_equal(np.asarray(given[2]), views[1].toarray())


def test_factors_of_mofa_are_clustered_by_kmeans(monkeypatch):
    truth = np.repeat([0, 1], 10)
    given = []

    class Model:
        def __getattr__(self, name):
            return lambda *args, **settings: given.append((name, args, settings))

        @property
        def model(self):
            factors = np.eye(2)[truth]
            return SimpleNamespace(getExpectations=lambda: {"Z": {"E": factors}})

    fake_package(
        monkeypatch, "mofapy2", "mofapy2.run", "mofapy2.run.entry_point", entry_point=Model
    )
    assert accuracy(truth, PEERS["mofa"].label([np.eye(20)] * 3, 2, 5)) == 1
    calls = {name: (args, settings) for name, args, settings in given}
    assert [len(group) for group in calls["set_data_matrix"][0][0]] == [1, 1, 1]
    assert calls["set_train_options"][1]["seed"] == 5


def test_peers_that_cannot_be_imported_are_left_to_their_units(monkeypatch):
    broken = Peer("a test", "email.no_such_part", lambda views, k, seed: [])
    monkeypatch.setattr(peers, "PEERS", {"broken": broken})
    assert broken.installed
    peers.import_peers()


def test_the_best_view_is_not_fitted_by_itself():
    with pytest.raises(InputError, match="chosen among the fits of single kernels"):
        PEERS["best-view"].label([np.eye(3)], 2, 0)


# ---------------------------------------------------------------- starting, reading, writing


def test_workers_that_cannot_be_started_say_why(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho first >&2\necho no such module: mkclust >&2\nexit 1\n")
    python.chmod(0o755)
    server = workers.Server(str(python), {})
    try:
        with pytest.raises(OSError, match="cannot be started: no such module: mkclust"):
            server.start()
    finally:
        server.close()


def test_data_without_classes_cannot_be_scored():
    with pytest.raises(InputError, match="no classes to compare labels with"):
        class_numbers(MultiView([np.eye(3)]))


def test_a_file_must_have_the_size_that_is_registered(tmp_path):
    entry = registered()["BBCSport"]
    np.savez(tmp_path / "views.npz", a=np.eye(4), labels=np.array([0, 0, 1, 1]))
    found = replace(entry, files=("views.npz",))
    with pytest.raises(InputError, match=f"should have {entry.n} samples in {entry.k} classes"):
        found.load(tmp_path)
    with pytest.raises(InputError, match="BBCSport is absent: put"):
        entry.load(tmp_path)


def test_how_kernels_are_made_is_part_of_a_data_set():
    one, K = MultiView([np.random.default_rng(0).normal(size=(8, 3))]), np.eye(4)
    entry = registered()["planted"]
    built, recipe = replace(entry, kernel="twelve").kernels(one)
    assert (built.n_views, recipe.kernel) == (12, "precomputed")
    given = MultiView([K], kernels=True)
    assert replace(entry, kernel="").kernels(given)[1].kernel == "precomputed"
    assert replace(entry, kernel="").kernels(one)[1].kernel == "gaussian"
    with pytest.raises(InputError, match="twelve kernels are made of one view, got 2"):
        twelve_kernels(MultiView([K, K]))
